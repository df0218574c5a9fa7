"""Gradient estimators: each one declared object, which samplers, exact engines, strategies and the configuration ask."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from sgverify.errors import find_named
from sgverify.values import Count, Numbers

# The declaration of a gradient estimator, independent of how it is run or analysed.


@dataclass(frozen=True, kw_only=True)
class GradientEstimator:
    """An estimator of the gradient of U = prior + sum_i likelihood(x_i), by what it declares.

    Whoever asks about an estimator asks this object, never its name. A way to run it (`sgverify.samplers.gradients.kinds`)
    and an exact law of its noise (`sgverify.exact.affine.noise`) are registered for its class. One family of estimators is
    a class, one estimator an instance in `ESTIMATORS`. Minibatches hold n = `gradient.batch` of N data.

    `summary`, `source`: what it is, for `sgverify list gradients`; `label`: the same in a report, with {batch} for n.
    `own_keys`: the keys of the gradient table that it declares, {key: (type, default)}, beside `batch` where it draws data.
    `noisy`: whether an estimate differs from the full gradient. `unbiased`: whether its mean is the full gradient of U, for a
    likelihood that is neither scaled nor clipped. `each_evaluation`: noise is fresh at every evaluation, else every minibatch
    has one. `draws_data`: it looks at minibatches; `replaced` says whether with replacement. `sweeps`: how often the blocks
    of one permutation of the data are gone over, the second time in reverse; 0 where every minibatch is drawn anew.
    `plain`: an estimate is grad prior plus N/n times the sum over a minibatch of equally likely data; `centred`: what the
    minibatch says at the target's location is subtracted. `memory`: what is carried from step to step, in words;
    `remembers_minibatches`: later steps depend on the minibatches of earlier ones. `cancelled`: where all data have one Hessian,
    from what the minibatch cancels, in words. `energies_replaced`: whether the data of the energies of swaps are drawn with
    replacement. `unread`: why no exact engine reads its noise, in words, empty where one does.
    """

    name: str
    summary: str
    label: str
    source: str = ""
    own_keys: Mapping[str, tuple[Any, Any]] = field(default_factory=dict, hash=False)
    noisy: bool = True
    unbiased: bool = True
    each_evaluation: bool = False
    draws_data: bool = True
    replaced: bool = False
    sweeps: int = 0
    plain: bool = True
    centred: bool = False
    memory: str = ""
    remembers_minibatches: bool = False
    cancelled: str = ""
    energies_replaced: bool = False
    unread: str = ""

    @property
    def keys(self) -> tuple[str, ...]:
        """The keys of the gradient table that it reads, but for those that every estimator reads."""
        return (*(("batch",) if self.draws_data else ()), *self.own_keys)

    @property
    def exchangeable(self) -> bool:
        """Whether the minibatches of an epoch are the blocks of one permutation of the data."""
        return self.sweeps > 0

    @property
    def fresh(self) -> bool:
        """Whether estimates are plain sums over minibatches that are drawn anew for each step."""
        return self.draws_data and self.plain and not self.exchangeable and not self.memory

    def centre(self, target: Any) -> Sequence[Any] | None:
        """Where the gradients of single data are taken that an estimate subtracts, exactly where it is known; None where nowhere.

        Shape (d,). A `centred` estimator has one.
        """
        return None

    def centre_float64(self, target: Any) -> tuple[float, ...] | None:
        """`centre`, each entry rounded once."""
        centre = self.centre(target)
        return None if centre is None else tuple(map(float, centre))


# The estimators that ship: a family is a class, an estimator one object of it in `ESTIMATORS`.


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


READERS: Mapping[str, tuple[str, ...]] = {
    key: tuple(name for name, estimator in ESTIMATORS.items() if key in estimator.keys)
    for key in dict.fromkeys(key for estimator in ESTIMATORS.values() for key in estimator.keys)
}
"""The estimators that read a key of the gradient table; a key that is not here every estimator reads."""


def find_estimator(kind: str) -> GradientEstimator:
    """The estimator of this name; raises `UnknownNameError` with the nearest one."""
    return find_named("gradient.kind", kind, ESTIMATORS)
