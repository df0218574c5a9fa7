"""How are steps taken one by one, by the definition or by its tape, and what is an observer shown of them?

The tape is played once it has reproduced the same bits. A kernel (`samplers.fused`) takes many steps at once.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import partial

import numpy as np
import torch
from torch import Tensor

from sgverify.samplers.composites.hooks import with_weights
from sgverify.samplers.reading.carrier import Observation
from sgverify.samplers.reading.constants import Constant
from sgverify.samplers.reading.motion import Motion, State
from sgverify.samplers.run.leg import Keeping, Leg, Room, Statistics, Summing, Sums


def far_out(state: Sequence[Tensor], bound: float) -> np.ndarray | None:
    """A mask, shape (S, C), of the chains that are NaN or beyond `bound`; None if there are none.

    If no chain is beyond, only one number is read from the device.
    """
    dense = [tensor if tensor.is_contiguous() else tensor.mT for tensor in state]
    flat = [tensor.reshape(-1) for tensor in dense]
    # A first pass: no entry exceeds the root of the sum of squares. NaN compares as false.
    squares = sum((torch.dot(entries, entries) for entries in flat[1:]), torch.dot(flat[0], flat[0]))
    if squares.item() <= bound * bound or all(_within(tensor, bound) for tensor in dense):
        return None
    beyond = torch.stack([~(tensor.abs().amax(-1) <= bound) for tensor in state])
    return np.asarray(beyond.any(0).cpu().numpy())


def _within(dense: Tensor, bound: float) -> bool:
    low, high = torch.aminmax(dense)
    return -bound <= low.item() and high.item() <= bound


class Stepwise:
    """Moves a leg step by step with `Motion`, in blocks of at most `length` steps."""

    def __init__(self, leg: Leg, length: int) -> None:
        self._leg, self.length = leg, length
        self._motion = Motion(leg.bound, leg.clock, tape=leg.taped)
        self._observe: Observation | None = None
        if isinstance(leg.observer, Summing):
            self._observe = Observation(leg.observer.asked)

    def move(
        self, state: State, done: int, steps: np.ndarray, h: Constant
    ) -> tuple[State, np.ndarray | None, int]:
        """The state after steps of sizes `steps`, shape (K, S); a mask of diverged chains or None; the number of steps taken.

        `h` holds the step sizes as a constant of the run. The move stops after the first step at which a chain diverges. All
        observers have been shown the steps taken.
        """
        leg, watched = self._leg, Watched(self._leg, done, steps, self._observe)
        count = watched.count
        drawn = leg.drawn_in(done, count)
        leg.applied_estimator.prepare(done, count)
        if leg.hooks is not None:
            leg.hooks.prepare(done, count)
        k, beyond = 0, None
        while k < count and beyond is None:
            state, beyond = self._one(state, drawn, done, k, steps[k], h)
            watched.show(k, state)
            k += 1
        watched.settle(k)
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
            # For rows that do not diverge at this step, the composite acts as at every other step.
            state = leg.hooks.after(k, done + k + 1, state, sizes)
        return state, beyond


OWN = frozenset({"energy", "log_weight"})
"""The statistics of a composite that are recorded in fields of their own: the energy of all data, and the weights."""


class Watched:
    """Some steps as the observer of a leg is shown them: every state, or the `sums` of states, or those that it has `room` for.

    `count` is how many of the steps there is room for. States that are taken one by one are shown here; of others, a kernel hands
    the sums, and what is said of the states, to `settle`.
    """

    def __init__(self, leg: Leg, first: int, steps: np.ndarray, observe: Observation | None = None) -> None:
        self._leg, self._first, self._steps, self._observe = leg, first, steps, observe
        observer, places = leg.observer, leg.places
        self.sums = observer.sums(places, first + 1, steps) if isinstance(observer, Summing) else None
        self.room = observer.room(places, first + 1, steps) if isinstance(observer, Keeping) else None
        self.count = len(steps) if self.room is None else min(len(steps), len(self.room.marked))
        self._kept, self._total = 0, torch.empty(0)
        self._recorded: dict[str, dict[int, np.ndarray]] = {}
        self._counts: dict[int, np.ndarray] = {}
        self._logs: list[np.ndarray] = []
        if self.sums is not None:
            counted, weighted = self.sums.counted, leg.hooks is not None and leg.hooks.weighted
            self._counts_at = np.asarray(counted.any(1), dtype=bool).tolist()
            # The sums are added to in place where the states of all rows count once.
            alike: np.ndarray = counted.all(1) & (self.sums.weights == 1).all(1)
            self._alike: list[bool] = [False] * len(counted) if weighted else alike.tolist()
            self._total = self.sums.total.clone()

    def show(self, k: int, state: State) -> None:
        """The state after step k of these."""
        leg, number = self._leg, self._first + k + 1
        if self.sums is not None:
            self._add(self.sums, k, state)
        if self.room is not None:
            self._keep(self.room, bool(self.room.marked[k]), state)
        elif self.sums is None and leg.observer is not None:
            leg.observer.show(leg.places, number, state, self._steps[k])

    def settle(self, taken: int, total: Tensor | None = None, statistics: Statistics | None = None) -> None:
        """So many steps have been taken."""
        leg, steps = self._leg, self._steps[:taken]
        if isinstance(leg.observer, Summing):
            leg.observer.settle(
                leg.places,
                leg.observer.sums(leg.places, self._first + 1, steps),
                self._total if total is None else total,
            )
        if isinstance(leg.observer, Keeping):
            leg.observer.keep(leg.places, self._first + 1, steps, statistics or self._statistics())

    def _add(self, sums: Sums, k: int, state: State) -> None:
        """Add the test functions of a state, with the weights of the composite where its states have some."""
        if not self._counts_at[k]:
            return
        assert self._observe is not None
        values, hooks = self._observe(state), self._leg.hooks
        if self._alike[k]:
            for total, value in zip(self._total, values, strict=True):
                total += value
            return
        factor, counts = (
            torch.from_numpy(entry)[:, None].to(self._total.device)
            for entry in (sums.weights[k], sums.counted[k])
        )
        if hooks is not None and hooks.weighted:
            new = torch.stack(with_weights(self._total.unbind(), values, hooks.log_weights(), factor))
        else:
            new = self._total + torch.stack(list(values)) * factor
        # Not multiplied by 0: the test function may overflow at a state that does not count.
        self._total = torch.where(counts, new, self._total)

    def _keep(self, room: Room, marked: bool, state: State) -> None:
        """Keep a state of the first row, if it is `marked`, with what a composite says of it."""
        hooks, found = self._leg.hooks, dict[str, np.ndarray]()
        if hooks is not None:
            found = {
                name: value[0].cpu().numpy() for name, value in hooks.recorded().items() if name not in OWN
            }
        swapped = found.pop("swapped", None)
        if swapped is not None:
            now = (swapped != 0).astype(np.int64)
            self._counts[self._kept] = self._counts.get(self._kept, 0) + now
        if not marked:
            return
        for array, value in zip(room.arrays, state, strict=False):
            if array is not None:
                array[self._kept] = value[0].cpu().numpy()
        for name, told in found.items():
            self._recorded.setdefault(name, {})[self._kept] = told.copy()
        if hooks is not None and hooks.weighted:
            self._logs.append(hooks.log_weights()[0].cpu().numpy().copy())
        self._kept += 1

    def _statistics(self) -> Statistics | None:
        """What a composite says of the states that were kept."""
        if self._leg.hooks is None:
            return None
        values = {name: _at_places(found, self._kept) for name, found in self._recorded.items()}
        counts = _at_places(self._counts, self._kept + 1) if self._counts else None
        return Statistics(values, counts, np.stack(self._logs) if self._logs else None)


def _at_places(found: Mapping[int, np.ndarray], count: int) -> tuple[np.ndarray, np.ndarray]:
    """Arrays by their places in one array, and which of its places are filled."""
    first = next(iter(found.values()))
    whole, there = np.zeros((count, *first.shape), first.dtype), np.zeros(count, dtype=bool)
    for place, value in found.items():
        whole[place], there[place] = value, True
    return whole, there
