"""Does a C kernel move a run of a composite, and how does the run call it?

A kernel is used only after it has reproduced the bits of the definition and of the composite's actions on some steps of the run
(`choosing.windows`). Single steps that a kernel does not take are taken by torch.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from copy import copy
from dataclasses import replace
from typing import Any, cast

import numpy as np
import torch
from torch import Tensor

from sgverify.samplers.composites.adapting import Adapting
from sgverify.samplers.composites.exchange import Exchange
from sgverify.samplers.composites.hooks import StepHooks
from sgverify.samplers.fused.choosing import takes, windows
from sgverify.samplers.fused.composites.kernel import CompositeKernel
from sgverify.samplers.fused.composites.rule import Rule
from sgverify.samplers.fused.composites.swaps import Swaps
from sgverify.samplers.fused.composites.weights import Weights
from sgverify.samplers.fused.kernel import equal_bits
from sgverify.samplers.fused.translation import NotTranslatable
from sgverify.samplers.reading.carrier import ObservedFunctions
from sgverify.samplers.reading.constants import Constant
from sgverify.samplers.reading.motion import State
from sgverify.samplers.run.leg import FAR, Keeping, Leg, Room, RunObserver, Stepwise, Summing, Sums
from sgverify.samplers.run.schedules import step_sizes
from sgverify.samplers.run.weighted_sums import with_weights

# The numbers of a block of steps that are drawn outside of the kernel, and the longest block; then blocks take this many seconds.
_OUTSIDE, _LONGEST, _BLOCK = 1 << 22, 1 << 14, 0.2


class FusedComposite:
    """Moves a leg of a composite's run by a kernel (see `Mover`)."""

    def __init__(self, leg: Leg, rule: Rule, kernel: CompositeKernel) -> None:
        self._leg, self._rule, self._kernel = leg, rule, kernel
        self._h: Constant | None = None
        self._takes = True
        self._stepwise = Stepwise(leg, 1)
        numbers = (1 + sum(stream.outside for stream in rule.streams)) * len(leg.places) * leg.settings.chains
        self._longest = max(1, min(_LONGEST, _OUTSIDE // numbers))
        self.length = min(64, self._longest)

    def move(
        self, state: State, done: int, steps: np.ndarray, h: Constant
    ) -> tuple[State, np.ndarray | None, int]:
        """See `Mover.move`."""
        leg, started, taken = self._leg, time.perf_counter(), 0
        if h is not self._h:
            self._h, self._takes = h, takes(self._kernel, leg, h)
        if not self._takes:
            return self._stepwise.move(state, done, steps, h)
        beyond = None
        while taken < len(steps) and beyond is None:
            room = self._room(done + taken, steps[taken:])
            count = len(steps) - taken if room is None else len(room.marked)
            state, moved = self._in_kernel(state, done + taken, steps[taken : taken + count], taken, room)
            taken += moved
            if moved == count and taken < len(steps):
                # There is no room for more states before those are handed over.
                break
            if taken < len(steps):
                one = (
                    h if len(h.value) == 1 else Constant(h.value[taken : taken + 1], leg.clock, passing=True)
                )
                state, beyond, _ = self._stepwise.move(state, done + taken, steps[taken : taken + 1], one)
                taken += 1
        pace = (time.perf_counter() - started) / taken
        self.length = max(1, min(self._longest, 4 * self.length, int(_BLOCK / max(pace, 1e-9))))
        return state, beyond, taken

    def _room(self, done: int, steps: np.ndarray) -> Room | None:
        """Room for the states that are kept, and for what else belongs to them."""
        observer = self._leg.observer
        if not isinstance(observer, Keeping):
            return None
        room = observer.room(self._leg.places, done + 1, steps)
        size, chains = int(room.marked.sum()), self._leg.settings.chains
        more = (np.empty((size, chains)) for _ in self._rule.kept)
        return Room(room.marked, (*room.arrays, *more))

    def _in_kernel(
        self, state: State, done: int, steps: np.ndarray, place: int, room: Room | None
    ) -> tuple[State, int]:
        """The state after these steps, the first of which is at `place` in its block, and the number of steps taken."""
        leg, rule, carried = self._leg, self._rule, self._kernel.carried(self._leg, state[0])
        if leg.observer is None or isinstance(leg.observer, Keeping):
            before = rule.tensors
            state, tensors, _, taken = self._kernel.move(state, done, steps, None, place, room, carried)
            self._take(tensors)
            if room is not None:
                marked = room.marked[:taken]
                kept = [
                    array[: marked.sum()] for array in room.arrays[-len(rule.kept) :] if array is not None
                ]
                found = rule.statistics(done, marked, kept, before)
                cast(Keeping, leg.observer).keep(leg.places, done + 1, steps[:taken], found)
            return state, taken
        summing = cast(Summing, leg.observer)
        sums = summing.sums(leg.places, done + 1, steps)
        state, tensors, total, taken = self._kernel.move(state, done, steps, sums, place, None, carried)
        assert total is not None
        if taken < len(steps):
            sums = summing.sums(leg.places, done + 1, steps[:taken])
        summing.settle(leg.places, sums, total)
        self._take(tensors)
        return state, taken

    def _take(self, tensors: tuple[Tensor, ...]) -> None:
        """Hand the tensors after some steps to the hooks and to the gradient estimator."""
        count = len(self._rule.tensors)
        self._rule.take(tensors[:count])
        if tensors[count:]:
            self._leg.estimator.resume(tensors[count:])


def fused_composite(leg: Leg, patience: float) -> FusedComposite:
    """The kernel of a composite's leg, after its steps have been compared with those of torch; `patience` as for `build`.

    Raises `NotTranslatable`, `NotRecordable` or `CannotBuild`.
    """
    hooks, observer = leg.hooks, leg.observer
    made = _RULES.get(type(hooks))
    if made is None:
        raise NotTranslatable(f"the actions of {type(hooks).__name__}")
    if not isinstance(observer, Summing | Keeping | None):
        raise NotTranslatable("every state of a composite is asked for")
    rule, steps = made(leg, hooks, patience), leg.steps
    first, *others = windows(leg, steps)
    asked: ObservedFunctions | None = None
    if isinstance(observer, Summing):
        asked = observer.sums(
            leg.places, steps.start + 1, step_sizes(leg.rows, first.start, len(first))
        ).asked
    kernel = CompositeKernel(leg, rule, asked, patience)
    for some in (first, *others):
        _show(leg, made, rule, kernel, some, asked)
    kernel.follow(rule)
    return FusedComposite(leg, rule, kernel)


def _show(
    leg: Leg,
    made: Callable[[Leg, Any, float], Rule],
    rule: Rule,
    kernel: CompositeKernel,
    steps: range,
    asked: ObservedFunctions | None,
) -> None:
    """Raise `NotTranslatable` if the kernel's steps, actions or sums differ from those of the definition."""
    sizes = step_sizes(leg.rows, steps.start, len(steps))
    moving = bool((sizes != sizes[0]).any())
    h = Constant(sizes if moving else sizes[:1], leg.clock, passing=moving)
    place = np.arange(sizes.size).reshape(sizes.shape)
    # Weights that differ between steps and rows, some of them 0.
    weights, counted = 1 + place % 7 / 8, place % 3 != 1
    sums, total = None, torch.zeros(())
    if asked is not None:
        total = cast(Summing, leg.observer).sums(leg.places, steps.start + 1, sizes).total
        sums = Sums(asked, total, weights, counted)
    one, other = rule.shown(), rule.shown()
    # Chains apart from one another, so that their energies differ.
    chains = torch.arange(leg.settings.chains, dtype=leg.start[0].dtype)[:, None]
    start = (leg.start[0] + chains % 7 * (leg.farthest / FAR / 4), *leg.start[1:])
    carried = kernel.carried(leg, start[0])
    # A copy, since the run itself begins at its first step.
    estimator = copy(leg.estimator)
    estimator.resume(carried)
    kernel.meet(h)
    proof = made(leg, one, math.inf)
    proof.choose(len(sizes))
    kernel.follow(proof)
    marked = counted[:, 0]
    room = _room(leg, rule, marked) if isinstance(leg.observer, Keeping) else None
    found, tensors, found_total, taken = kernel.move(start, steps.start, sizes, sums, 0, room, carried)
    if not taken:
        raise NotTranslatable("a step after which chains have diverged")
    compared = made(leg, other, math.inf)
    observer = _Adding(asked, other, total, weights, counted, compared)
    torch_leg = replace(
        leg,
        hooks=other,
        estimator=estimator,
        observer=observer,
        taped=False,
        applied_estimator=other.estimator(estimator),
    )
    expected, _, _ = Stepwise(torch_leg, taken).move(start, steps.start, sizes[:taken], h)
    for name, mine, its in zip(leg.bound.definition.state, found, expected, strict=True):
        if not equal_bits(mine, its.expand(mine.shape)):
            raise NotTranslatable(
                f"steps {steps.start + 1} to {steps.start + taken} in C end at another {name} than the definition's do"
            )
    if not proof.drew(other):
        raise NotTranslatable("the uniform numbers of the composite's actions are others in C")
    for mine, its in zip(tensors, (*compared.tensors, *estimator.carried), strict=True):
        if not _same(mine, its):
            raise NotTranslatable("what the composite changes beside the states is another in C")
    if found_total is not None and not equal_bits(found_total, observer.total):
        raise NotTranslatable("a test function, or what it counts, is another one in C")
    if room is not None:
        for number, values in enumerate(observer.seen):
            for array, value in zip(room.arrays, values, strict=True):
                if array is not None and not _same(torch.from_numpy(array[number]), value):
                    raise NotTranslatable("what is kept of a state is another in C")


def _room(leg: Leg, rule: Rule, marked: np.ndarray) -> Room:
    """Room for all variables of the first replica after these steps, and for what else is kept."""
    size, chains = int(marked.sum()), leg.settings.chains
    states = (torch.empty((size, chains, value.shape[-1]), dtype=value.dtype).numpy() for value in leg.start)
    return Room(marked, (*states, *(np.empty((size, chains, 1)) for _ in rule.kept)))


def _same(mine: Tensor, its: Tensor) -> bool:
    """Are these the same numbers, 0 and -0 told apart? NaN is what has not been computed yet."""
    equal = (mine == its) & (mine.signbit() == its.signbit())
    return bool((equal | (mine.isnan() & its.isnan())).all())


_RULES: dict[type[Any], Callable[[Leg, Any, float], Rule]] = {Exchange: Swaps, Adapting: Weights}
"""The actions that a kernel takes, by the type of hooks."""


class _Adding(RunObserver):
    """The sums of test functions with given weights of each step and row, in the way of `RunningSums`."""

    def __init__(
        self,
        asked: ObservedFunctions | None,
        hooks: StepHooks,
        total: Tensor,
        weights: np.ndarray,
        counted: np.ndarray,
        rule: Rule,
    ) -> None:
        self._rule, self.seen = rule, list[list[Tensor]]()
        self._asked, self._hooks, self.total, self._place = asked, hooks, total, 0
        self._weights, self._counted = torch.from_numpy(weights), torch.from_numpy(counted)

    def show(self, rows: tuple[int, ...], number: int, state: tuple[Tensor, ...], steps: np.ndarray) -> None:
        """Add the values at this state, and remember what is kept of it."""
        k, self._place = self._place, self._place + 1
        if self._counted[k][0]:
            names = dict.fromkeys(name[0] for name, *_ in self._rule.held)
            held = dict(zip(names, self._rule.tensors, strict=True))
            more = [held[name[0]] for name in self._rule.kept]
            chains = self._rule.tensors[0].shape[1]
            self.seen.append([value[0].expand(chains, -1).clone() for value in (*state, *more)])
        if self._asked is None:
            return
        values = self._asked.evaluate(state)
        factor = self._weights[k][:, None]
        if self._hooks.weighted:
            new = torch.stack(with_weights(self.total.unbind(), values, self._hooks.log_weights(), factor))
        else:
            new = self.total + torch.stack(values) * factor
        self.total = torch.where(self._counted[k][:, None], new, self.total)
