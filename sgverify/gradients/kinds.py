"""The estimators that ship: a family is a class, an estimator one object of it in `ESTIMATORS`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from sgverify.gradients.estimator import GradientEstimator
from sgverify.values import Count, Numbers


@dataclass(frozen=True, kw_only=True)
class FullGradient(GradientEstimator):
    """grad U itself."""

    noisy: bool = False
    draws_data: bool = False


@dataclass(frozen=True, kw_only=True)
class AdditiveNoise(GradientEstimator):
    """grad U + N(0, covariance)."""

    each_evaluation: bool = True
    draws_data: bool = False


FULL = FullGradient(name="full", summary="All data at every evaluation", label="full gradients")
ADDITIVE = AdditiveNoise(
    name="additive",
    summary="The full gradient and normal noise, fresh at every evaluation",
    label="additive gradient noise",
    own_keys={"covariance": (Numbers, 1.0)},
)


@dataclass(frozen=True, kw_only=True)
class MinibatchGradient(GradientEstimator):
    """grad prior + N/n sum_{i in B} grad likelihood(x_i)."""


IID = MinibatchGradient(
    name="iid",
    summary="A minibatch of data drawn with replacement, fresh at every step",
    label="independent (iid) minibatches of {batch}",
    replaced=True,
    energies_replaced=True,
)
WITHOUT_REPLACEMENT = MinibatchGradient(
    name="without-replacement",
    summary="A fresh subset of the data at every step",
    label="minibatches of {batch} without replacement",
)
RESHUFFLE = MinibatchGradient(
    name="reshuffle",
    summary="A random permutation of the data in each epoch, consumed in blocks",
    label="reshuffled minibatches of {batch}",
    sweeps=1,
)
SYMMETRIC = MinibatchGradient(
    name="symmetric",
    summary="The blocks of a permutation forward, and then backward",
    label="minibatches of {batch} swept forward and backward",
    source="arXiv 2410.19780",
    sweeps=2,
)


@dataclass(frozen=True, kw_only=True)
class SnapshotGradient(GradientEstimator):
    """grad prior(theta) + sum_i g_i(s) + N/n sum_{i in B} (g_i(theta) - g_i(s)), s theta at every `refresh`-th step."""

    replaced: bool = True
    plain: bool = False
    memory: str = "a snapshot"

    def interval(self, size: int, settings: Any) -> int:
        """The steps from snapshot to snapshot: the configured ones, else as many as see N data in batches of n."""
        return int(settings.refresh or -(-size // int(settings.batch)))


@dataclass(frozen=True, kw_only=True)
class TableGradient(GradientEstimator):
    """The estimate of `SnapshotGradient` with g_i at the state where datum i was last drawn in place of g_i(s)."""

    replaced: bool = True
    plain: bool = False
    memory: str = "a table of gradients"
    remembers_minibatches: bool = True


@dataclass(frozen=True, kw_only=True)
class CentredGradient(GradientEstimator):
    """The estimate of `SnapshotGradient` with the target's location at T = 1 in place of s."""

    replaced: bool = True
    plain: bool = False
    centred: bool = True

    def centre(self, target: Any) -> Sequence[Any]:
        """The mean of exp(-U) where U is quadratic, else its mean or mode as it is found numerically."""
        found: Sequence[Any] = target.mean if target.quadratic else target.location_float64(1.0)
        return found


SVRG = SnapshotGradient(
    name="svrg",
    summary="The full gradient at a snapshot, and a minibatch of the change since",
    label="SVRG gradients on minibatches of {batch}",
    source="arXiv 2511.04413",
    own_keys={"refresh": (Count | None, None)},
    cancelled="the change since the snapshot, and SVRG gradients",
    energies_replaced=True,
)
SAGA = TableGradient(
    name="saga",
    summary="A table of every datum's gradient where it was last drawn, and a minibatch of the change since",
    label="SAGA gradients on minibatches of {batch}",
    unread="no exact engine takes its table of N gradients along",
)
CONTROL_VARIATE = CentredGradient(
    name="control-variate",
    summary="All gradients at one centre, and a minibatch of the change from there",
    label="control-variate gradients on minibatches of {batch}",
    source="Baker et al. 2019",
    cancelled="the change since the centre, and its gradients",
)

ESTIMATORS: Mapping[str, GradientEstimator] = {
    estimator.name: estimator
    for estimator in (
        FULL,
        IID,
        WITHOUT_REPLACEMENT,
        RESHUFFLE,
        SYMMETRIC,
        SVRG,
        SAGA,
        CONTROL_VARIATE,
        ADDITIVE,
    )
}
"""The estimators by `gradient.kind`."""
