"""The exact answers about a model: one protocol for all engines, and the choice of the engine for a model.

`questions` is the protocol; `quadratic` answers by cumulants and Poisson equations, `modes` the same for many coordinates,
`moments` by the recursion of moments, `epochs` under reshuffled minibatches, `invariant` has the first two moments of the
invariant law.
"""

from __future__ import annotations

from sgverify.exact.affine.model import Model
from sgverify.exact.answers.epochs import EpochAnswers
from sgverify.exact.answers.modes import ModeAnswers
from sgverify.exact.answers.moments import MomentAnswers
from sgverify.exact.answers.quadratic import QuadraticAnswers
from sgverify.exact.answers.questions import Coefficients, ExactAnswers
from sgverify.exact.recursion.additive import StateIndependentNoise
from sgverify.exact.recursion.average import Expandable
from sgverify.exact.recursion.hessians import FreshHessians, Orders
from sgverify.exact.recursion.snapshots import Snapshots

__all__ = [
    "Coefficients",
    "EpochAnswers",
    "ExactAnswers",
    "ModeAnswers",
    "MomentAnswers",
    "QuadraticAnswers",
    "answers_for",
    "unreached",
]


def unreached(model: Model) -> str | None:
    """Why no engine reaches this model; None where one does."""
    degree, randomness = model.observable.degree, _randomness(model)
    if model.noise.exchangeable and not model.noise.multiplicative and degree > 2:
        return f"the test function {model.observable} has degree {degree}; for the blocks of a permutation at most 2 is reached"
    return None if randomness is None else randomness.unreached(degree)


def answers_for(model: Model) -> ExactAnswers:
    """The engine for this model; defined where `unreached` is None."""
    randomness = _randomness(model)
    if randomness is not None:
        return MomentAnswers(randomness)
    if model.noise.exchangeable:
        return EpochAnswers(model)
    return ModeAnswers(model) if ModeAnswers.suits(model) else QuadraticAnswers(model)


def _randomness(model: Model) -> Expandable | None:
    """The kind of randomness for the recursion of moments; None where mean and covariance alone suffice."""
    if model.noise.multiplicative:
        kind = (
            Snapshots
            if model.noise.refresh is not None
            else Orders
            if model.noise.exchangeable
            else FreshHessians
        )
        return kind(model)
    return (
        StateIndependentNoise(model) if model.observable.degree > 2 and not model.noise.exchangeable else None
    )
