"""A leg of a run: the rows that run together until one of them ends, and what their steps are made of.

What a run hands on: the states of a few steps of the rows that still run, and which of them left every bound.

The steps of a leg one by one: by the definition, or by its tape where that has shown the same bits.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import islice
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
import torch
from torch import Tensor

from sgverify.errors import SgverifyError
from sgverify.samplers.reading.carrier import ObservedFunctions
from sgverify.samplers.reading.constants import Clock, Constant
from sgverify.samplers.reading.motion import Motion, State, together
from sgverify.samplers.reading.tape import Tape
from sgverify.samplers.run.schedules import Row
from sgverify.samplers.run.settings import Settings
from sgverify.schemes import Scheme
from sgverify.schemes.definition.binding import Bound
from sgverify.targets import Target

if TYPE_CHECKING:
    from sgverify.samplers.composites.hooks import StepHooks

FAR = 1e9
"""A chain has diverged where a coordinate is NaN or beyond FAR units from 0. The unit is the largest of 1, sqrt(T),
the friction, the start's and the mean's distance from 0 and the standard deviations of the target."""


@dataclass(frozen=True)
class Divergence:
    """A row that left every bound: its schedule, the step at which, the numbers of the chains that did, and what may be why."""

    schedule: str
    step_number: int
    chains: tuple[int, ...]
    why: str = field(default="", compare=False)

    def __str__(self) -> str:
        named = ", ".join(map(str, self.chains[:5])) + (", ..." if len(self.chains) > 5 else "")
        return f"{self.schedule} diverged at step {self.step_number} (chains {named}){self.why}"


@dataclass(frozen=True)
class Block:
    """The steps l = first, ..., first + K - 1 of the rows that still run, and the state X_l at their end.

    `rows` are their places in the sweep; `state` maps each variable to a tensor (S, C, d or 1), to be read before the
    run goes on; `steps` holds h_l, float64, shape (K, S); `diverged` the rows whose last state is not to be used.
    """

    rows: tuple[int, ...]
    first: int
    state: Mapping[str, Tensor]
    steps: np.ndarray
    diverged: dict[int, Divergence]

    @property
    def last(self) -> int:
        """The number of the last step."""
        return self.first + len(self.steps) - 1


def divergences(
    block: Block, beyond: np.ndarray, schedules: Sequence[str], first_chain: int
) -> dict[int, Divergence]:
    """The rows of a block with chains that are `beyond` every bound, shape (S, C); `schedules` names all rows."""
    found = {}
    for i, row in enumerate(block.rows):
        chains = tuple(int(chain) + first_chain for chain in np.flatnonzero(beyond[i]))
        if chains:
            found[row] = Divergence(schedules[row], block.last, chains)
    return found


def whole_groups(diverged: Mapping[int, Divergence], size: int) -> dict[int, Divergence]:
    """The same for every row of a group of `size` consecutive ones: each ends with the first that left every bound."""
    found = dict(diverged)
    for row in sorted(diverged):
        first = row - row % size
        for other in range(first, first + size):
            found.setdefault(other, diverged[row])
    return found


@dataclass(frozen=True, eq=False)
class Position:
    """Where a run stands between two steps, and all that the next one needs.

    `rows` are the places of those that go on, after `done` steps; `state` their variables, each (S, C, d or 1),
    `carried` what a composite and the gradient estimator keep, `generators` the positions of torch's own generators, if they draw.
    """

    rows: tuple[int, ...]
    done: int
    state: tuple[Tensor, ...]
    carried: tuple[Tensor, ...] = ()
    generators: tuple[Tensor, ...] = ()


def check_shapes(
    name: str, state: Mapping[str, Tensor], expected: Mapping[str, tuple[int, ...]], dtype: torch.dtype
) -> None:
    """Raise `SgverifyError` where a step has changed the dtype or the shape of a variable."""
    for variable, value in state.items():
        if value.dtype != dtype or tuple(value.shape) != expected[variable]:
            raise SgverifyError(
                f"scheme={name!r}: {variable} became {value.dtype} of shape {tuple(value.shape)}; expected {dtype} of shape "
                f"{expected[variable]}"
            )


def by_coordinate(tensor: Tensor) -> Tensor:
    """The same values, the chains side by side in memory for each coordinate. Shape (S, C, d)."""
    return tensor.mT.contiguous().mT


def far_out(state: Sequence[Tensor], bound: float) -> np.ndarray | None:
    """Which chains are NaN or beyond `bound`, shape (S, C); None where none is. One number is read from the device."""
    dense = [tensor if tensor.is_contiguous() else tensor.mT for tensor in state]
    flat = [tensor.reshape(-1) for tensor in dense]
    # One pass first: no entry is larger than the root of the sum of squares. NaN compares as false.
    squares = sum((torch.dot(entries, entries) for entries in flat[1:]), torch.dot(flat[0], flat[0]))
    if squares.item() <= bound * bound or all(_within(tensor, bound) for tensor in dense):
        return None
    beyond = torch.stack([~(tensor.abs().amax(-1) <= bound) for tensor in state])
    return np.asarray(beyond.any(0).cpu().numpy())


def _within(dense: Tensor, bound: float) -> bool:
    low, high = torch.aminmax(dense)
    return -bound <= low.item() and high.item() <= bound


class Stepwise:
    """Moves by `Motion`, and many steps at once where torch has compiled its tape."""

    def __init__(self, leg: Leg, length: int) -> None:
        self._leg, self.length = leg, length
        self._motion = Motion(leg.bound, leg.clock, leg.fixed, tape=leg.taped)

    def move(
        self, state: State, done: int, steps: np.ndarray, h: Constant
    ) -> tuple[State, np.ndarray | None, int]:
        """See `Mover.move`."""
        leg, count = self._leg, len(steps)
        drawn = leg.drawn_in(done, count)
        leg.applied_estimator.prepare(done, count)
        if leg.hooks is not None:
            leg.hooks.prepare(done, count)
        k, beyond = 0, None
        while k < count and beyond is None:
            many = together(leg.settings.compiled, self._motion.tape, leg.observer, count - k)
            if many:
                state, beyond, taken = self._compiled(state, list(islice(drawn, many)), done, k, steps)
            else:
                state, beyond = self._one(state, drawn, done, k, steps[k], h)
                taken = 1
            k += taken
        return state, beyond, k

    def _one(
        self, state: State, drawn: Iterator[State], done: int, k: int, sizes: np.ndarray, h: Constant
    ) -> tuple[State, np.ndarray | None]:
        leg = self._leg
        leg.clock.now = k
        leg.applied_estimator.begin(k, state[0])
        state = self._motion.move(
            state, next(drawn), h, partial(leg.applied_estimator.of_step, k), leg.applied_estimator.given(k)
        )
        beyond = far_out(state, leg.farthest)
        if leg.hooks is not None:
            # To rows that do not diverge here this is a step like any other.
            state = leg.hooks.after(k, done + k + 1, state, sizes)
        if leg.observer is not None:
            leg.observer.show(leg.places, done + k + 1, state, sizes)
        return state, beyond

    def _compiled(
        self, state: State, drawn: list[State], done: int, k: int, steps: np.ndarray
    ) -> tuple[State, np.ndarray | None, int]:
        leg, taken = self._leg, 0
        stretch = self._motion.move_compiled(
            state, drawn, k, None if leg.observer is None else leg.observer.tape
        )
        for new, values in zip(stretch.states, stretch.values, strict=True):
            if leg.observer is not None:
                leg.observer.add(leg.places, done + k + taken + 1, values, steps[k + taken])
            taken += 1
            beyond = far_out(new, leg.farthest)
            if beyond is not None:
                return new, beyond, taken
        return new, None, taken


@dataclass(frozen=True, eq=False)
class Leg:
    """`places` are those of the rows in the sweep. Steps are counted from 0; the leg takes those in `steps`.

    `estimator` is the configured gradient estimator, `applied_estimator` the one that the steps use: the same, or what the
    hooks of a composite make of it. `fixed` are the tensors of which a gradient is made. `taped`: whether a tape or a kernel
    may stand for the definition. A chain beyond `farthest` has diverged. `draws` gives the noise of the next steps
    (first, count), one tensor (S, C, d) for each draw.
    """

    places: tuple[int, ...]
    rows: tuple[Row, ...]
    start: State
    steps: range
    bound: Bound[Scheme]
    clock: Clock
    settings: Settings
    estimator: Any
    applied_estimator: Any
    hooks: StepHooks | None
    draws: Callable[[int, int], Iterator[Tensor]]
    streams: Callable[[str], Any]
    fixed: tuple[Tensor, ...]
    taped: bool
    farthest: float
    observer: RunObserver | None

    @property
    def target(self) -> Target:
        """What is sampled."""
        target: Target = self.estimator.potential.target
        return target

    def telling(self, tell: Callable[[Tensor], None]) -> Leg:
        """The same leg, which tells each of its draws before it is used."""

        def draws(first: int, count: int) -> Iterator[Tensor]:
            for draw in self.draws(first, count):
                tell(draw)
                yield draw

        return replace(self, draws=draws)

    def drawn_in(self, first: int, count: int) -> Iterator[State]:
        """The draws of each of the next `count` steps."""
        draws, each = self.draws(first, count), self.bound.definition.draws
        return (tuple(islice(draws, each)) for _ in range(count))


class Mover(Protocol):
    """One way to take the steps of a leg: by the definition, its tape, torch's compiler or a kernel in C."""

    length: int
    """Steps of a block at most."""

    def move(
        self, state: State, done: int, steps: np.ndarray, h: Constant
    ) -> tuple[State, np.ndarray | None, int]:
        """The state after steps of sizes `steps` (K, S), h with its constants; which chains left every bound; steps taken.

        It stops after the first step that takes a chain beyond the bound. Everybody who watches has been shown the steps.
        """


class RunObserver:
    """Records a run; this one records nothing.

    `tape`: what is read of a state, recorded; where there is one, steps that torch has compiled are told by `add`.
    """

    tape: Tape | None = None

    def begin(self, leg: Leg) -> Leg:
        """The leg that is run in place of this one, before its first step.

        A recorder of more than states hands back a leg whose draws, gradients or composite tell it of what they do.
        """
        return leg

    def show(self, rows: tuple[int, ...], number: int, state: State, steps: np.ndarray) -> None:
        """The state of the rows after step `number` of sizes `steps`, shape (S,)."""

    def add(self, rows: tuple[int, ...], number: int, values: Sequence[Tensor], steps: np.ndarray) -> None:
        """The same step, told by the values of `tape` at its state."""
        raise NotImplementedError(f"{type(self).__name__} has no tape")


@dataclass(frozen=True)
class Sums:
    """What some steps add to sums of test functions along the chains.

    `total` holds the sums so far, float64, shape (observables, S, C), by which `weights` each step's values are
    multiplied and whether they are `counted` at all, both (K, S).
    """

    asked: ObservedFunctions
    total: Tensor
    weights: np.ndarray
    counted: np.ndarray


class Summing(RunObserver):
    """Adds test functions up, and can be told the sums of many steps instead of every state."""

    def sums(self, rows: tuple[int, ...], number: int, steps: np.ndarray) -> Sums:
        """What the steps number, number + 1, ... of sizes `steps`, shape (K, S), are to add to."""
        raise NotImplementedError

    def settle(self, rows: tuple[int, ...], sums: Sums, total: Tensor) -> None:
        """The sums after these steps."""
        raise NotImplementedError
