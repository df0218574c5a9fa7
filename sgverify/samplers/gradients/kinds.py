"""The class that computes each declared gradient estimator on tensors, and the potential of scaled or clipped gradients."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any
from weakref import WeakKeyDictionary

from torch import Tensor

from sgverify.gradients import (
    AdditiveNoise,
    CentredGradient,
    FullGradient,
    GradientEstimator,
    MinibatchGradient,
    SnapshotGradient,
    TableGradient,
)
from sgverify.samplers.gradients.control_variates import CentredEstimator, TableEstimator
from sgverify.samplers.gradients.differentiation import Potential
from sgverify.samplers.gradients.estimators import (
    AdditiveEstimator,
    Estimator,
    MinibatchEstimator,
    SnapshotEstimator,
)
from sgverify.samplers.gradients.minibatches import check_minibatches, source_of
from sgverify.samplers.randomness.philox import Stream
from sgverify.samplers.reading.arithmetic import root
from sgverify.samplers.reading.carrier import Chains
from sgverify.schemes.definition.mathematics import dot
from sgverify.schemes.numbers.algebraic import exact
from sgverify.targets.derived import check_likelihood, with_scaled_likelihood


@dataclass(frozen=True)
class Place:
    """The arguments of an estimator: its choice, the potential, the random streams by name, and its uses per step."""

    choice: Any
    potential: Potential
    stream: Callable[[str], Stream]
    minibatches: int
    evaluations: int

    def on_minibatches(self, estimator: type[MinibatchEstimator], **more: Any) -> Estimator:
        """An estimator of this class, with minibatches drawn according to its declaration."""
        choice, size = self.choice, self.potential.target.size
        assert size is not None
        source = source_of(choice.estimator, choice, self.stream(choice.kind), size, self.minibatches)
        return estimator(self.potential, source, batch=choice.batch, per_step=self.minibatches, **more)


RUNNING: dict[type[GradientEstimator], Callable[[Any, Place], Estimator]] = {
    FullGradient: lambda estimator, at: Estimator(at.potential),
    AdditiveNoise: lambda estimator, at: AdditiveEstimator(
        at.potential, at.stream(at.choice.kind), covariance=at.choice.covariance, per_step=at.evaluations
    ),
    MinibatchGradient: lambda estimator, at: at.on_minibatches(MinibatchEstimator),
    SnapshotGradient: lambda estimator, at: at.on_minibatches(SnapshotEstimator, refresh=_refresh(at)),
    TableGradient: lambda estimator, at: at.on_minibatches(TableEstimator),
    CentredGradient: lambda estimator, at: at.on_minibatches(
        CentredEstimator, centre=estimator.centre_float64(at.potential.target)
    ),
}
"""The maker of the running estimator of a declared one at a place, by the family of the declared one."""


def make_estimator(
    choice: Any, potential: Potential, stream: Callable[[str], Stream], *, minibatches: int, evaluations: int
) -> Estimator:
    """The running estimator of `choice`, a `GradientChoice` or an object with its fields.

    `minibatches` and `evaluations` are the numbers of minibatches and of gradient evaluations in one step; `stream` gives the
    random stream of a kind. Raises `UnknownNameError`, or `ConfigurationError` for a choice that the target does not support.
    """
    estimator = choice.estimator
    potential = effective_potential(potential, choice)
    if estimator.draws_data:
        check_minibatches(choice.kind, potential.target, choice.batch)
    make = next(RUNNING[family] for family in type(estimator).__mro__ if family in RUNNING)
    return make(estimator, Place(choice, potential, stream, minibatches, evaluations))


def _refresh(at: Place) -> int:
    """The number of steps between two snapshots."""
    size = at.potential.target.size
    assert size is not None
    return int(at.choice.estimator.interval(size, at.choice))


# Scaled potentials by factor: each is linearised once, not once for each run of a sweep.
_SCALED: WeakKeyDictionary[Potential, dict[float, Potential]] = WeakKeyDictionary()


class Clipped(Potential):
    """The potential with gradients grad prior + sum_i g_i min(1, limit/|g_i|), g_i = grad likelihood(x_i), Euclidean norm.

    A clipped gradient is not affine: every evaluation visits all data. Energies are not clipped. Source: Abadi et al.
    2016, Algorithm 1.
    """

    def __init__(self, potential: Potential, limit: float) -> None:
        self.target, self.dtype = potential.target, potential.dtype
        self.data, self.affine = potential.data, None
        self._exact, self._whole, self._weights = None, potential.data, None
        self.tracked_prior, self.tracked_likelihood = potential.tracked_prior, potential.tracked_likelihood
        self.operations, self._limit = potential.operations, limit

    def _clipped(self, gradients: Tensor) -> Tensor:
        norms = root(dot(Chains(gradients), Chains(gradients)).tensor)
        return gradients * (self._limit / norms.clamp_min(self._limit))


def effective_potential(potential: Potential, choice: Any) -> Potential:
    """The potential whose gradient is the mean of an estimator with `choice` (scale, clip).

    `clip` bounds the norm of one datum's unscaled gradient. Raises `ConfigurationError` on a target without data.
    """
    if choice.scale != 1:
        potential = _scaled(potential, choice.scale)
    if choice.clip is None:
        return potential
    check_likelihood(potential.target, f"gradient.clip={choice.clip!r}")
    return Clipped(potential, choice.clip * choice.scale)


def _scaled(potential: Potential, factor: float) -> Potential:
    known = _SCALED.setdefault(potential, {})
    if factor not in known:
        target = with_scaled_likelihood(potential.target, exact(factor))
        data = potential.data
        assert data is not None
        known[factor] = Potential(
            target, dtype=data.dtype, device=data.device, hoist=potential.affine is not None
        )
    return known[factor]
