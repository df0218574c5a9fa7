"""The exact answers about a model: one protocol for all engines, and the choice of the engine for a model.

`questions` is the protocol; `quadratic` answers by cumulants and Poisson equations, `modes` the same for many coordinates, in
the eigenvectors of the precision, which decouple them all but for the gradient's noise (`normal_modes`), `moments` by the
recursion of moments, `epochs` under reshuffled minibatches; `invariant` has the first two moments of the invariant law.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from sgverify.errors import Unreached
from sgverify.exact.affine.model import Model
from sgverify.exact.chain.chain import components
from sgverify.exact.numbers import ball
from sgverify.exports import lazily

if TYPE_CHECKING:
    from sgverify.exact.answers.quadratic import QuadraticAnswers
    from sgverify.exact.answers.questions import Coefficients, ExactAnswers
    from sgverify.exact.recursion.average import Expandable

__all__ = ["Coefficients", "ExactAnswers", "QuadraticAnswers", "answers_for"]

__getattr__, __dir__ = lazily(__name__)

MANY = 8
"""Coupled coordinates of theta from which the eigenvectors pay, by measurement: with momentum the values of a sweep and the
expansion take 0.04 s at 8 coordinates, and 0.9 s by the chain as a whole; at 4 both take 0.03 to 0.05 s."""

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
        from sgverify.exact.answers.epochs import EpochAnswers

        return EpochAnswers(model)
    if _couples_many(model):
        from sgverify.exact.answers.modes import ModeAnswers

        return ModeAnswers(model)
    from sgverify.exact.answers.quadratic import QuadraticAnswers

    return QuadraticAnswers(model)


def _couples_many(model: Model) -> bool:
    """Does the precision couple so many coordinates that its eigenvectors pay?"""
    dim = model.target.dim
    if dim < MANY:
        return False
    return max(map(len, components(dim, [ball.matrix(model.target.precision)]))) >= MANY


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
