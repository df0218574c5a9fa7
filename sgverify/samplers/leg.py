"""A leg of a run: the rows that run together until one of them ends, and what their steps are made of."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from itertools import islice
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
from torch import Tensor

from sgverify.samplers.constants import Clock, Constant
from sgverify.samplers.motion import State
from sgverify.samplers.schedules import Row
from sgverify.samplers.settings import Settings
from sgverify.schemes import Scheme
from sgverify.schemes.binding import Bound
from sgverify.targets import Target

if TYPE_CHECKING:
    from sgverify.samplers.around import StepHooks
    from sgverify.samplers.watching import RunObserver


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
