"""Which class computes the estimates of each declared gradient estimator on tensors?"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import singledispatch
from typing import Any

from sgverify.errors import ConfigurationError
from sgverify.gradients import (
    AdditiveNoise,
    CentredGradient,
    FullGradient,
    GradientEstimator,
    MinibatchGradient,
    SnapshotGradient,
    TableGradient,
)
from sgverify.samplers.gradients.biased import effective_potential
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


@singledispatch
def running(estimator: GradientEstimator, at: Place) -> Estimator:
    """The running estimator of a declared one at a place; each family registers a function that makes it."""
    raise NotImplementedError(f"{type(estimator).__name__} registers no way to run")


@running.register
def _(estimator: FullGradient, at: Place) -> Estimator:
    return Estimator(at.potential)


@running.register
def _(estimator: AdditiveNoise, at: Place) -> Estimator:
    stream = at.stream(at.choice.kind)
    return AdditiveEstimator(at.potential, stream, covariance=at.choice.covariance, per_step=at.evaluations)


@running.register
def _(estimator: MinibatchGradient, at: Place) -> Estimator:
    return at.on_minibatches(MinibatchEstimator)


@running.register
def _(estimator: SnapshotGradient, at: Place) -> Estimator:
    return at.on_minibatches(SnapshotEstimator, refresh=_refresh(at))


@running.register
def _(estimator: TableGradient, at: Place) -> Estimator:
    return at.on_minibatches(TableEstimator)


@running.register
def _(estimator: CentredGradient, at: Place) -> Estimator:
    return at.on_minibatches(CentredEstimator, centre=estimator.centre_float64(at.potential.target))


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
    return running(estimator, Place(choice, potential, stream, minibatches, evaluations))


def _refresh(at: Place) -> int:
    """The number of steps between two snapshots."""
    refresh, size = at.choice.refresh, at.potential.target.size
    if refresh is not None and (isinstance(refresh, bool) or not isinstance(refresh, int) or refresh < 1):
        raise ConfigurationError(
            f"gradient.refresh={refresh!r}: expected a positive whole number of steps from snapshot to snapshot"
        )
    assert size is not None
    return int(at.choice.estimator.interval(size, at.choice))
