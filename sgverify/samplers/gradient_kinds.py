"""The kinds of gradient estimators by name."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from sgverify.errors import ConfigurationError, UnknownNameError
from sgverify.samplers.biased import felt_potential
from sgverify.samplers.control_variates import CentredEstimator, TableEstimator
from sgverify.samplers.differentiation import Potential
from sgverify.samplers.gradients import AdditiveEstimator, Estimator, MinibatchEstimator, SnapshotEstimator
from sgverify.samplers.minibatches import SOURCES, Iid, check_minibatches
from sgverify.samplers.philox import Stream

KINDS = ("full", *SOURCES, "svrg", "saga", "control-variate", "additive")


def make_estimator(
    choice: Any, potential: Potential, stream: Callable[[str], Stream], *, minibatches: int, evaluations: int
) -> Estimator:
    """The estimator that `choice` (a `GradientChoice` or what has its fields) names, for steps that ask so many times.

    `stream` gives the random stream of a kind. Raises `UnknownNameError` or `ConfigurationError` for a choice
    that the target cannot have.
    """
    if choice.kind not in KINDS:
        raise UnknownNameError("gradient.kind", str(choice.kind), KINDS)
    potential = felt_potential(potential, choice)
    if choice.kind == "full":
        return Estimator(potential)
    if choice.kind == "additive":
        return AdditiveEstimator(
            potential, stream("additive"), covariance=choice.covariance, per_step=evaluations
        )
    size = check_minibatches(choice.kind, potential.target, choice.batch)
    if choice.kind == "svrg":
        return SnapshotEstimator(
            potential,
            Iid(stream(choice.kind), size, choice.batch),
            batch=choice.batch,
            per_step=minibatches,
            refresh=_refresh(choice, size),
        )
    if choice.kind == "saga":
        return TableEstimator(
            potential, Iid(stream(choice.kind), size, choice.batch), batch=choice.batch, per_step=minibatches
        )
    if choice.kind == "control-variate":
        return CentredEstimator(
            potential, Iid(stream(choice.kind), size, choice.batch), batch=choice.batch, per_step=minibatches
        )
    source = SOURCES[choice.kind](stream(choice.kind), size, choice.batch)
    return MinibatchEstimator(potential, source, batch=choice.batch, per_step=minibatches)


def _refresh(choice: Any, size: int) -> int:
    """The steps from snapshot to snapshot."""
    if choice.refresh is None:
        return -(-size // int(choice.batch))
    if isinstance(choice.refresh, bool) or not isinstance(choice.refresh, int) or choice.refresh < 1:
        raise ConfigurationError(
            f"gradient.refresh={choice.refresh!r}: expected a positive whole number of steps from snapshot to snapshot"
        )
    return choice.refresh
