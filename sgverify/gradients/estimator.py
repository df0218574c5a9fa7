"""The declaration of a gradient estimator, independent of how it is run or analysed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any


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

    def period(self, size: int, settings: Any, per_step: int) -> int:
        """The minibatches from one that is independent of all before to the next such: those of a permutation of N data.

        `settings` are those of the gradient table; a step asks for `per_step` minibatches.
        """
        return self.sweeps * (size // int(settings.batch)) or 1

    def draw_of(self, number: int, size: int, settings: Any, per_step: int) -> int:
        """The draw that is minibatch `number` of a run: a sweep back goes over the draws of the sweep there."""
        period = self.period(size, settings, per_step)
        place = number % period
        return number - place + (min(place, period - 1 - place) if self.sweeps == 2 else place)
