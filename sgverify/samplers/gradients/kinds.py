"""How the declared gradient estimators run: for each family the class that computes its estimates on tensors."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
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
    """Where an estimator runs: its settings, the potential, the random streams by name, and what a step asks for."""

    choice: Any
    potential: Potential
    stream: Callable[[str], Stream]
    minibatches: int
    evaluations: int

    def on_minibatches(self, estimator: type[MinibatchEstimator], **more: Any) -> Estimator:
        """An estimator with minibatches as its declaration has them drawn."""
        choice, size = self.choice, self.potential.target.size
        assert size is not None
        source = source_of(choice.estimator, choice, self.stream(choice.kind), size, self.minibatches)
        return estimator(self.potential, source, batch=choice.batch, per_step=self.minibatches, **more)


RUNNING: dict[type[GradientEstimator], Callable[[Place], Estimator]] = {
    FullGradient: lambda at: Estimator(at.potential),
    AdditiveNoise: lambda at: AdditiveEstimator(
        at.potential, at.stream(at.choice.kind), covariance=at.choice.covariance, per_step=at.evaluations
    ),
    MinibatchGradient: lambda at: at.on_minibatches(MinibatchEstimator),
    SnapshotGradient: lambda at: at.on_minibatches(SnapshotEstimator, refresh=_refresh(at)),
    TableGradient: lambda at: at.on_minibatches(TableEstimator),
    CentredGradient: lambda at: at.on_minibatches(CentredEstimator),
}
"""How the estimators of each family run."""


def make_estimator(
    choice: Any, potential: Potential, stream: Callable[[str], Stream], *, minibatches: int, evaluations: int
) -> Estimator:
    """The estimator that `choice` (a `GradientChoice` or what has its fields) names, for steps that ask so many times.

    `stream` gives the random stream of a kind. Raises `UnknownNameError` or `ConfigurationError` for a choice
    that the target cannot have.
    """
    estimator = choice.estimator
    potential = effective_potential(potential, choice)
    if estimator.draws_data:
        check_minibatches(choice.kind, potential.target, choice.batch)
    return RUNNING[type(estimator)](Place(choice, potential, stream, minibatches, evaluations))


def _refresh(at: Place) -> int:
    """The steps from snapshot to snapshot."""
    refresh, size = at.choice.refresh, at.potential.target.size
    if refresh is not None and (isinstance(refresh, bool) or not isinstance(refresh, int) or refresh < 1):
        raise ConfigurationError(
            f"gradient.refresh={refresh!r}: expected a positive whole number of steps from snapshot to snapshot"
        )
    assert size is not None
    return int(at.choice.estimator.interval(size, at.choice))
