"""How the declared gradient estimators run: for each family the class that computes its estimates on tensors."""

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
from sgverify.samplers.biased import felt_potential
from sgverify.samplers.control_variates import CentredEstimator, TableEstimator
from sgverify.samplers.differentiation import Potential
from sgverify.samplers.gradients import AdditiveEstimator, Estimator, MinibatchEstimator, SnapshotEstimator
from sgverify.samplers.minibatches import Minibatches, check_minibatches, source_of
from sgverify.samplers.philox import Stream


@dataclass(frozen=True)
class Place:
    """Where an estimator runs: its settings, the potential, the random streams by name, and what a step asks for."""

    choice: Any
    potential: Potential
    stream: Callable[[str], Stream]
    minibatches: int
    evaluations: int

    @property
    def size(self) -> int:
        """N."""
        assert self.potential.target.size is not None
        return self.potential.target.size

    @property
    def source(self) -> Minibatches:
        """The minibatches, as the declared estimator draws them."""
        estimator = self.choice.estimator
        return source_of(estimator, self.stream(estimator.name), self.size, self.choice.batch)

    @property
    def sizes(self) -> dict[str, int]:
        """The size of a minibatch and the number of them in a step, by the names of the classes."""
        return {"batch": self.choice.batch, "per_step": self.minibatches}


def make_estimator(
    choice: Any, potential: Potential, stream: Callable[[str], Stream], *, minibatches: int, evaluations: int
) -> Estimator:
    """The estimator that `choice` (a `GradientChoice` or what has its fields) names, for steps that ask so many times.

    `stream` gives the random stream of a kind. Raises `UnknownNameError` or `ConfigurationError` for a choice
    that the target cannot have.
    """
    estimator = choice.estimator
    potential = felt_potential(potential, choice)
    if estimator.draws_data:
        check_minibatches(choice.kind, potential.target, choice.batch)
    return running(estimator, Place(choice, potential, stream, minibatches, evaluations))


@singledispatch
def running(estimator: GradientEstimator, place: Place) -> Estimator:
    """The estimator on tensors; every family registers its own."""
    raise NotImplementedError(f"{type(estimator).__name__} registers no way to run it")


@running.register
def _(estimator: FullGradient, place: Place) -> Estimator:
    return Estimator(place.potential)


@running.register
def _(estimator: AdditiveNoise, place: Place) -> Estimator:
    stream, covariance = place.stream(estimator.name), place.choice.covariance
    return AdditiveEstimator(place.potential, stream, covariance=covariance, per_step=place.evaluations)


@running.register
def _(estimator: MinibatchGradient, place: Place) -> Estimator:
    return MinibatchEstimator(place.potential, place.source, **place.sizes)


@running.register
def _(estimator: SnapshotGradient, place: Place) -> Estimator:
    refresh = _refresh(place.choice, place.size)
    return SnapshotEstimator(place.potential, place.source, **place.sizes, refresh=refresh)


@running.register
def _(estimator: TableGradient, place: Place) -> Estimator:
    return TableEstimator(place.potential, place.source, **place.sizes)


@running.register
def _(estimator: CentredGradient, place: Place) -> Estimator:
    return CentredEstimator(place.potential, place.source, **place.sizes)


def _refresh(choice: Any, size: int) -> int:
    """The steps from snapshot to snapshot."""
    if choice.refresh is None:
        return -(-size // int(choice.batch))
    if isinstance(choice.refresh, bool) or not isinstance(choice.refresh, int) or choice.refresh < 1:
        raise ConfigurationError(
            f"gradient.refresh={choice.refresh!r}: expected a positive whole number of steps from snapshot to snapshot"
        )
    return choice.refresh
