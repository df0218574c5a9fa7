"""How do the rows of a run move together until one of them ends, and what do they report?

A leg is the part of a run during which the same rows run. It moves in blocks of a few steps; each block reports its last state
and the rows that diverged.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import islice
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from torch import Tensor

from sgverify.errors import SgverifyError
from sgverify.samplers.reading.carrier import ObservedFunctions
from sgverify.samplers.reading.constants import Clock
from sgverify.samplers.reading.motion import State
from sgverify.samplers.run.schedules import Row
from sgverify.samplers.run.settings import Settings
from sgverify.schemes import Scheme
from sgverify.schemes.definition.binding import Bound
from sgverify.targets import Target

if TYPE_CHECKING:
    from sgverify.samplers.composites.hooks import StepHooks

FAR = 1e9
"""A chain has diverged if a coordinate is NaN or farther than FAR units from 0. The unit is the largest of 1, sqrt(T), the
friction, the distances of start and mean from 0, and the standard deviations of the target."""


@dataclass(frozen=True)
class Divergence:
    """The divergence of a row: its schedule, the step number, the numbers of the diverged chains, and a possible cause."""

    schedule: str
    step_number: int
    chains: tuple[int, ...]
    why: str = field(default="", compare=False)

    def __str__(self) -> str:
        named = ", ".join(map(str, self.chains[:5])) + (", ..." if len(self.chains) > 5 else "")
        return f"{self.schedule} diverged at step {self.step_number} (chains {named}){self.why}"


@dataclass(frozen=True)
class Block:
    """The steps l = first, ..., first + K - 1 of the running rows, and the state after the last of them.

    `rows` are the indices of these rows in the sweep. `state` maps each variable to a tensor (S, C, d or 1), which is valid until
    the run continues. `steps` holds h_l, float64 of shape (K, S). `diverged` holds the rows whose last state must not be used.
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
    """The divergences of a block by row; `beyond`, shape (S, C), marks diverged chains, `schedules` names all rows."""
    found = {}
    for i, row in enumerate(block.rows):
        chains = tuple(int(chain) + first_chain for chain in np.flatnonzero(beyond[i]))
        if chains:
            found[row] = Divergence(schedules[row], block.last, chains)
    return found


def whole_groups(diverged: Mapping[int, Divergence], size: int) -> dict[int, Divergence]:
    """The divergences extended to whole groups of `size` consecutive rows: a group ends with its first diverged row."""
    found = dict(diverged)
    for row in sorted(diverged):
        first = row - row % size
        for other in range(first, first + size):
            found.setdefault(other, diverged[row])
    return found


@dataclass(frozen=True, eq=False)
class Position:
    """The position of a run between two steps, with all values that the next step needs.

    `rows` are the indices of the running rows after `done` steps, `state` their variables, each of shape (S, C, d or 1),
    `carried` the tensors of composite and gradient estimator.
    """

    rows: tuple[int, ...]
    done: int
    state: tuple[Tensor, ...]
    carried: tuple[Tensor, ...] = ()


def check_shapes(
    name: str, state: Mapping[str, Tensor], expected: Mapping[str, tuple[int, ...]], dtype: torch.dtype
) -> None:
    """Raise `SgverifyError` if a step has changed the dtype or the shape of a variable."""
    for variable, value in state.items():
        if value.dtype != dtype or tuple(value.shape) != expected[variable]:
            raise SgverifyError(
                f"scheme={name!r}: {variable} became {value.dtype} of shape {tuple(value.shape)}; expected {dtype} of shape "
                f"{expected[variable]}"
            )


def by_coordinate(tensor: Tensor) -> Tensor:
    """The tensor, shape (S, C, d), in a memory layout with the chains of each coordinate side by side."""
    return tensor.mT.contiguous().mT


@dataclass(frozen=True, eq=False)
class Leg:
    """A part of a run with a fixed set of rows; it takes the steps in `steps`, counted from 0.

    `places` are the indices of the rows in the sweep. `estimator` is the configured gradient estimator, `applied_estimator` the
    one that the steps use: the same, or the one that the hooks of a composite made from it. `taped`: a tape or a kernel may replace
    the definition. A chain beyond `farthest` has diverged.
    `draws(first, count)` gives the noise of the next steps, one tensor (S, C, d) for each draw.
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
    taped: bool
    farthest: float
    observer: RunObserver | None

    @property
    def target(self) -> Target:
        """The target that is sampled."""
        target: Target = self.estimator.potential.target
        return target

    def telling(self, tell: Callable[[Tensor], None]) -> Leg:
        """A copy of the leg that calls `tell` with each draw before it is used."""

        def draws(first: int, count: int) -> Iterator[Tensor]:
            for draw in self.draws(first, count):
                tell(draw)
                yield draw

        return replace(self, draws=draws)

    def drawn_in(self, first: int, count: int) -> Iterator[State]:
        """The draws of each of the next `count` steps, a tuple of tensors per step."""
        draws, each = self.draws(first, count), self.bound.definition.draws
        return (tuple(islice(draws, each)) for _ in range(count))


class RunObserver:
    """An observer that is shown every step of a run; this base class records nothing."""

    def begin(self, leg: Leg) -> Leg:
        """The leg to run in place of `leg`, called before its first step.

        An observer that records more than states returns a leg whose draws, gradients or hooks report to it.
        """
        return leg

    def show(self, rows: tuple[int, ...], number: int, state: State, steps: np.ndarray) -> None:
        """The state of the rows after step `number` of sizes `steps`, shape (S,)."""


@dataclass(frozen=True)
class Sums:
    """The running sums of the test functions, and the weights with which some steps enter them.

    `total` holds the sums so far, float64 of shape (observables, S, C). `weights`, shape (K, S), multiply the values of each
    step; `counted`, shape (K, S), marks the steps that count.
    """

    total: Tensor
    weights: np.ndarray
    counted: np.ndarray


class Summing(RunObserver):
    """An observer that sums the test functions `asked`, and is given the sums of many steps instead of every state."""

    asked: ObservedFunctions

    def sums(self, rows: tuple[int, ...], number: int, steps: np.ndarray) -> Sums:
        """The sums so far, with the weights of the steps number, number + 1, ... of sizes `steps`, shape (K, S)."""
        raise NotImplementedError

    def settle(self, rows: tuple[int, ...], sums: Sums, total: Tensor) -> None:
        """Take over `total`, the sums after these steps."""
        raise NotImplementedError


@dataclass(frozen=True)
class Room:
    """Room for the states that are kept of the next K steps, those of the first row.

    `marked`, shape (K,), marks the steps whose states are kept; K may be fewer than was asked for. `arrays` has one entry for
    each variable of the state: an array of shape (n, C, width) for the n marked steps, or None if the variable is not kept.
    """

    marked: np.ndarray
    arrays: tuple[np.ndarray | None, ...]


@dataclass(frozen=True)
class Statistics:
    """What a composite records of the n kept states of some steps, those of the first row.

    `values` holds by name an array of shape (n, C), and which of the n states have this statistic, shape (n,). `counts` holds in
    the same way what is summed over steps, shapes (n + 1, C) and (n + 1,): from the state kept before, or from the first of these
    steps, to each kept state, and then after the last one. `log_weights` are those of the states, shape (n, C), or None.
    """

    values: Mapping[str, tuple[np.ndarray, np.ndarray]]
    counts: tuple[np.ndarray, np.ndarray] | None = None
    log_weights: np.ndarray | None = None


class Keeping(RunObserver):
    """An observer that keeps some states, and is given those of many steps at once instead of every state."""

    def room(self, rows: tuple[int, ...], number: int, steps: np.ndarray) -> Room:
        """Room for the states of the steps number, number + 1, ... of sizes `steps`, shape (K, S)."""
        raise NotImplementedError

    def keep(
        self, rows: tuple[int, ...], number: int, steps: np.ndarray, statistics: Statistics | None = None
    ) -> None:
        """The room of these steps has been filled; they may be fewer than there was room for."""
        raise NotImplementedError
