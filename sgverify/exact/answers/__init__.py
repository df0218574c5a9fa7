"""The exact answers about a model: one protocol for all engines, and the choice of the engine for a model.

`questions` is the protocol; `quadratic` answers by cumulants and Poisson equations, `moments` by the recursion of moments,
and under reshuffled minibatches; `invariant` has the first two moments of the invariant law.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from sgverify.errors import Unreached
from sgverify.exact.affine.model import Model
from sgverify.exports import lazily

if TYPE_CHECKING:
    from sgverify.exact.answers.quadratic import QuadraticAnswers
    from sgverify.exact.answers.questions import Coefficients, ExactAnswers
    from sgverify.exact.recursion.average import Expandable

__all__ = ["Coefficients", "ExactAnswers", "QuadraticAnswers", "answers_for"]

__getattr__, __dir__ = lazily(__name__)

# An engine is imported where a model needs it: most need one.


def answers_for(model: Model) -> ExactAnswers:
    """The engine for this model. Raises `Unreached` where there is none."""
    degree, randomness = model.observable.degree, _randomness(model)
    if model.noise.exchangeable and not model.noise.multiplicative and degree > 2:
        raise Unreached(
            f"the test function {model.observable} has degree {degree}; for the blocks of a permutation at most 2 is reached"
        )
    if randomness is not None:
        randomness.check(degree)
        from sgverify.exact.answers.moments import MomentAnswers

        return MomentAnswers(randomness)
    if model.noise.exchangeable:
        from sgverify.exact.answers.moments import EpochAnswers

        return EpochAnswers(model)
    from sgverify.exact.answers.quadratic import QuadraticAnswers

    return QuadraticAnswers(model)


def _randomness(model: Model) -> Expandable | None:
    """The kind of randomness for the recursion of moments; None where mean and covariance alone suffice."""
    if model.noise.multiplicative:
        from sgverify.exact.recursion.hessians import FreshHessians, Orders
        from sgverify.exact.recursion.snapshots import Snapshots

        if model.noise.refresh is not None:
            return Snapshots(model)
        return Orders(model) if model.noise.exchangeable else FreshHessians(model)
    if model.observable.degree > 2 and not model.noise.exchangeable:
        from sgverify.exact.recursion.additive import StateIndependentNoise

        return StateIndependentNoise(model)
    return None
