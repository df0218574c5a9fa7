"""The hooks of an `Ensemble`, around the steps of a composite's scheme, and the settings that change from epoch to epoch.

Each row of a sweep becomes `replicas` consecutive rows of the tensor. At every step the run takes its gradients from the
estimator that the hook `estimator` returns, tests chains for divergence, and passes the state to the hook `after`. All hooks
see tensors of shape (S, C, d or 1), for the S rows that run. Chains must remain independent of one another. `with_weights`
adds up states that have weights in averages.

Settings change, and momenta are drawn anew, between two steps, at multiples of a number of steps: a run ends a leg there and
begins the next one with other constants, or with other momenta. Steps themselves are taken by the definition, its tape or a
kernel in C as in every other leg.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import singledispatch
from types import MappingProxyType
from typing import Any

import numpy as np
import torch
from torch import Tensor

from sgverify.errors import ConfigurationError
from sgverify.samplers.gradients.differentiation import Potential
from sgverify.samplers.gradients.estimators import Estimator
from sgverify.samplers.randomness.philox import Stream
from sgverify.samplers.reading.elementary import exp
from sgverify.samplers.reading.motion import State
from sgverify.samplers.run.schedules import Row
from sgverify.samplers.run.settings import Settings
from sgverify.schemes import Scheme
from sgverify.targets import Target


@dataclass(frozen=True, eq=False)
class Stage:
    """The rows that run together, with scheme, potential, settings, temperatures and random streams.

    `streams` gives the random stream of a kind: a stream for each row if the kind's name begins like one of `OF_REPLICAS`,
    else one stream shared by all replicas of a row. `temperatures` holds T of each row, float64 of shape (S,).
    """

    scheme: Scheme
    potential: Potential
    rows: tuple[Row, ...]
    settings: Settings
    temperatures: np.ndarray
    streams: Callable[[str], Stream]


class StepHooks:
    """The actions around the steps of a scheme; this base class has none.

    One object belongs to one ensemble and serves one run at a time.
    """

    replicas = 1
    """The number of consecutive rows of the tensor for each row of a sweep; they end together."""

    def rows(self, rows: Sequence[Row]) -> tuple[Row, ...]:
        """The rows of the tensor. Raises `ConfigurationError` for rows that the composite cannot run."""
        return tuple(rows)

    def temperatures(self, rows: Sequence[Row], settings: Settings) -> np.ndarray:
        """The temperature of each row of the tensor, shape (S,)."""
        return np.full(len(rows), settings.temperature, dtype=np.float64)

    def enter(self, stage: Stage, state: State, carried: tuple[Tensor, ...]) -> None:
        """Begin with these rows at `state`.

        `carried` is () before step 1; in a resumed run it begins with the tensors that `carried` returned.
        """

    def estimator(self, estimator: Estimator) -> Estimator:
        """The estimator that the steps use, made from the scheme's own `estimator`."""
        return estimator

    def prepare(self, first: int, count: int) -> None:
        """Draw the random numbers for the steps first, ..., first + count - 1, counted from 0."""

    def after(self, place: int, number: int, state: State, steps: np.ndarray) -> State:
        """The state after the composite's actions at step l = `number`; `state`, from the scheme's step, may be overwritten.

        `place` is the step's index in its block, and `steps`, shape (S,), its step sizes.
        """
        return state

    @property
    def carried(self) -> tuple[Tensor, ...]:
        """The tensors that later steps need of earlier ones: a fixed number, each of shape (S, C, k)."""
        return ()

    every = 1
    """The steps from one action to the next, where most steps have none."""

    uniforms = 0
    """How many numbers of a random stream of the composite's own a step has, for each row and chain."""

    def renewals(self, first: int) -> tuple[int, ...]:
        """The first steps from step `first` on, counted from 0, that renew what most steps keep. See `Estimator.renewals`."""
        return ()

    weighted = False
    """Do states have weights in averages, given by `log_weights`?"""

    def log_weights(self) -> Tensor:
        """The log weight of the present state in averages, in addition to the schedule's weight; float64 of shape (S, C)."""
        raise NotImplementedError(f"{type(self).__name__} weighs no states")

    def why_diverged(self, row: int, chains: np.ndarray) -> str:
        """A clause about a possible cause of the divergence of some chains of a row, for the error message.

        `row` is an index among the running rows, `chains` are indices within the row.
        """
        return ""

    statistics: Mapping[str, type[np.generic]] = MappingProxyType({})
    """The statistics of draws by name, with their dtypes: what is `recorded`, and `swaps`, those accepted since the last draw."""

    def recorded(self) -> Mapping[str, Tensor]:
        """What is known of the latest step by name, each of shape (S, C): statistics, `energy`, and which rows are `swapped`."""
        return {}


@singledispatch
def hooks_of(composite: Any, settings: Settings) -> StepHooks:
    """The hooks of a composite under these settings; a new type of composite registers its own function here."""
    raise ConfigurationError(
        f"scheme={getattr(composite, 'name', composite)!r}: a {type(composite).__name__} cannot be sampled; expected a Scheme, or "
        "a composite whose type is registered with sgverify.samplers.composites.hooks.hooks_of"
    )


def starts_of(start: float | Sequence[float], rows: Sequence[Row], hooks: StepHooks | None) -> np.ndarray:
    """The start of each row of the tensor, shape (S, 1), in standard deviations from the mean: that of its replica.

    Raises `ConfigurationError` for a list without one number for each replica.
    """
    replicas = 1 if hooks is None else hooks.replicas
    given = np.atleast_1d(np.asarray(start, dtype=np.float64)).tolist()
    given = given * replicas if np.ndim(start) == 0 else given
    if len(given) != replicas:
        mend = (
            f"one number, or {replicas}, the coldest replica first"
            if replicas > 1
            else "one number: only replica exchange starts at several places"
        )
        raise ConfigurationError(
            f"start={given}: expected {mend}; mend start, or the length of exchange.ladder"
        )
    return np.array([[given[row.replica]] for row in rows], dtype=np.float64)


def in_units(
    before: Tensor, top: Tensor, logs: Tensor, values: Sequence[Tensor]
) -> tuple[Tensor, list[Tensor]]:
    """What sums in units of exp(before) are multiplied by in units of exp(top), and the values times their weights exp(logs).

    The weights come last. All have shape (S, C); the log of the unit is -inf before the first weight.
    """
    shrunk = torch.where(top == -torch.inf, 0.0, exp(before - top))
    own = torch.where(logs == -torch.inf, 0.0, exp(logs - top))
    # Not multiplied by 0: the test function may overflow where the weight is 0.
    return shrunk, [*(torch.where(own == 0, 0.0, value * own) for value in values), own]


def with_weights(
    sums: Sequence[Tensor], values: Sequence[Tensor], logs: Tensor, factor: Tensor
) -> list[Tensor]:
    """The sums of values and of weights, and the log of their unit, after a state with these log weights counts `factor` times."""
    top = torch.maximum(sums[-1], logs)
    shrunk, added = in_units(sums[-1], top, logs, values)
    return [
        *(total * shrunk + value * factor for total, value in zip(sums[:-1], added, strict=True)),
        top,
    ]


@dataclass(frozen=True)
class Annealing:
    """Epochs of `epoch` steps; step l is in epoch k = floor((l - 1)/epoch), and k' = min(k, until) counts:

        T_k = T / cooling^k',        F_k = F correction^k'.

    With replica exchange every temperature of the ladder is divided, so that the ladder keeps its ratios.
    Source: vr-resgld section 5.2, tau_k = 0.01/1.02^k, kept fixed after the burn-in.
    """

    epoch: int
    cooling: float
    correction: float
    until: int | None

    def epochs(self, done: int) -> int:
        """k' of the step after `done` steps."""
        k = done // self.epoch
        return k if self.until is None else min(k, self.until)

    def settings(self, settings: Settings, done: int) -> Settings:
        """The settings of the step after `done` steps: T_k in the place of T, and F_k of F where replicas swap."""
        changed = replace(settings, temperature=settings.temperature / self.cooling ** self.epochs(done))
        if self.correction == 1 or settings.exchange is None:
            return changed
        factor = settings.exchange.correction * self.correction ** self.epochs(done)
        return replace(changed, exchange=_with_correction(settings.exchange, factor))

    def end(self, done: int) -> int | None:
        """The step with which the present epoch ends; None where nothing changes any more."""
        k = done // self.epoch
        return None if self.until is not None and k >= self.until else (k + 1) * self.epoch


def make_annealing(settings: Settings, target: Target) -> Annealing | None:
    """What is annealed in a run; None where neither temperature nor F is. Raises `ConfigurationError` without an epoch."""
    choice = settings.annealing
    if choice is None or (choice.cooling == 1 and choice.correction == 1):
        return None
    return Annealing(
        epoch_of(settings, target), float(choice.cooling), float(choice.correction), choice.until
    )


def epoch_of(settings: Any, target: Target) -> int:
    """The steps of an epoch: `annealing.epoch`, else N/n rounded up. Raises `ConfigurationError` where there are no minibatches."""
    choice, gradient = settings.annealing, settings.gradient
    if choice is not None and choice.epoch is not None:
        return int(choice.epoch)
    if not gradient.estimator.draws_data or target.size is None:
        raise ConfigurationError(
            f"annealing.epoch left open with gradient.kind={gradient.kind!r}: an epoch is then one pass over the data in "
            "minibatches, and there are none; set annealing.epoch to a number of steps"
        )
    return -(-target.size // int(gradient.batch))


def next_break(annealing: Annealing | None, resampled: int | None, done: int) -> int | None:
    """The next step after which settings change or momenta are drawn anew, behind `done`; None if there is none."""
    ends = [
        None if annealing is None else annealing.end(done),
        None if resampled is None else done + resampled - done % resampled,
    ]
    return min((end for end in ends if end is not None), default=None)


def _with_correction(exchange: Any, correction: float) -> Any:
    copied = getattr(exchange, "model_copy", None)
    return (
        replace(exchange, correction=correction)
        if copied is None
        else copied(update={"correction": correction})
    )
