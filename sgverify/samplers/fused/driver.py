"""The mover of a run by a C kernel, and the proof that its bits are the definition's.

A kernel is used only after it has reproduced the bits of the definition, and of a composite's actions, on some steps of the run: on
`choosing.windows`, fewer where a run before has proved the same C text (see `_prove`). A step after which chains have diverged is
taken by torch.
"""

from __future__ import annotations

import math
import time
from collections.abc import Iterator, Sequence
from copy import copy
from dataclasses import replace
from typing import Any, cast

import numpy as np
import torch
from torch import Tensor

from sgverify.errors import Unreached
from sgverify.samplers.composites.adapting import Adapting
from sgverify.samplers.composites.exchange import Exchange
from sgverify.samplers.fused.choosing import (
    RECORDED,
    cannot_compile,
    compared,
    is_untimed,
    renewed,
    takes,
    windows,
)
from sgverify.samplers.fused.compiler import CannotBuild, NoCompiler, tell_of_slow_steps
from sgverify.samplers.fused.composites.rule import Rule
from sgverify.samplers.fused.composites.swaps import Swaps
from sgverify.samplers.fused.composites.weights import Weights
from sgverify.samplers.fused.drawing import equal_bits
from sgverify.samplers.fused.kernel import Kernel, Moved
from sgverify.samplers.reading.carrier import ObservedFunctions
from sgverify.samplers.reading.constants import Constant
from sgverify.samplers.reading.motion import State
from sgverify.samplers.run.leg import FAR, Keeping, Leg, Room, Statistics, Summing, Sums
from sgverify.samplers.run.schedules import Fixed, step_sizes
from sgverify.samplers.run.stepwise import Stepwise, Watched

# The first block of a kernel, in random numbers, and the longest; then blocks take this many seconds of the processor.
_NUMBERS, _LONGEST, _BLOCK = 1 << 20, 1 << 14, 0.2
# How many times as long the first block is with tables of gradients, which are copied before each later one.
_WITHOUT_COPY = 8
# The most random numbers of a block that are drawn outside of the kernel, as tensors.
_OUTSIDE = 1 << 22

_RULES: dict[type[Any], type[Rule]] = {type(None): Rule, Exchange: Swaps, Adapting: Weights}
"""The actions that a kernel takes, by the type of hooks."""


class Fused:
    """Moves a leg of a run by a kernel, in blocks of at most `length` steps (see `Stepwise`)."""

    def __init__(self, leg: Leg, rule: Rule, kernel: Kernel) -> None:
        self._leg, self._rule, self._kernel = leg, rule, kernel
        self._h: Constant | None = None
        self._takes = True
        self._stepwise = Stepwise(leg, 1)
        self._longest = max(1, min(_LONGEST, _OUTSIDE // max(1, kernel.outside)))
        numbers = _NUMBERS * (_WITHOUT_COPY if kernel.has_table else 1)
        self.length = max(1, min(self._longest, numbers // max(1, _numbers(leg))))

    def move(
        self, state: State, done: int, steps: np.ndarray, h: Constant
    ) -> tuple[State, np.ndarray | None, int]:
        """See `Stepwise.move`."""
        leg, started, taken, beyond = self._leg, time.thread_time(), 0, None
        if h is not self._h:
            self._h, self._takes = h, takes(self._kernel, leg, h)
        if not self._takes:
            return self._stepwise.move(state, done, steps, h)
        while taken < len(steps) and beyond is None:
            watched = Watched(leg, done + taken, steps[taken:])
            count = watched.count
            moved = self._in_kernel(state, watched, done + taken, steps[taken : taken + count], taken)
            state, taken = moved.state, taken + moved.taken
            if moved.taken == count and taken < len(steps):
                # There is no room for more states before those are handed over.
                break
            if taken < len(steps):
                one = h
                if len(h.value) > 1:
                    one = Constant(h.value[taken : taken + 1], leg.clock, passing=True)
                state, beyond, _ = self._stepwise.move(state, done + taken, steps[taken : taken + 1], one)
                taken += 1
        # Blocks of a fraction of a second, so that progress is shown and Ctrl-C takes effect.
        pace = (time.thread_time() - started) / taken
        self.length = max(1, min(self._longest, 4 * self.length, int(_BLOCK / max(pace, 1e-9))))
        return state, beyond, taken

    def _in_kernel(self, state: State, watched: Watched, done: int, steps: np.ndarray, place: int) -> Moved:
        """Take these steps, the first of which is at `place` in its block, and hand on what came of them."""
        leg, rule, room, statistics = self._leg, self._rule, watched.room, None
        before, shape = rule.tensors, (0 if room is None else int(room.marked.sum()), leg.settings.chains)
        more = [np.empty(shape) for _ in rule.kept]
        if room is not None:
            room = Room(room.marked, (*room.arrays, *more))
        moved = self._kernel.move(state, leg.estimator.carried, done, steps, watched.sums, room, place)
        if moved.taken:
            rule.take(moved.tensors)
            leg.estimator.resume(moved.carried)
        if room is not None:
            marked = room.marked[: moved.taken]
            statistics = rule.statistics(done, marked, [array[: marked.sum()] for array in more], before)
        watched.settle(moved.taken, moved.total, statistics)
        return moved


def fused(leg: Leg, pace: float | None) -> Fused | None:
    """The kernel of a leg that `may_have_kernel`; None if no kernel can be made, or if it would cost more time than it saves.

    `pace` is the measured number of seconds of a step on torch, None if it is not known yet. With "auto" a missing compiler is told
    once. Raises `ConfigurationError` if `compiled="kernel"` requires a kernel that cannot be made.
    """
    wanted, untimed = leg.settings.compiled, is_untimed(leg, pace)
    patience = math.inf if wanted == "kernel" else 0.0 if pace is None else pace * len(leg.steps)
    try:
        _check(leg)
        rule = _RULES[type(leg.hooks)](leg, leg.hooks, patience)
        kernel = Kernel(leg, rule, _asked(leg), patience)
        if untimed and not is_proved(leg, kernel):
            return None
        _prove(leg, kernel)
        return Fused(leg, rule, kernel)
    except (Unreached, CannotBuild) as reason:
        if wanted == "auto":
            if isinstance(reason, NoCompiler):
                tell_of_slow_steps(str(reason))
            return None
        raise cannot_compile(leg, reason) from reason


def _check(leg: Leg) -> None:
    """Raise `Unreached` for settings that no kernel has."""
    device = leg.start[0].device
    if device.type != "cpu":
        raise Unreached(f"the device {device}")
    if not leg.taped:
        raise Unreached("tape=False")
    if type(leg.hooks) not in _RULES:
        raise Unreached(f"the actions of {type(leg.hooks).__name__}")


def _asked(leg: Leg) -> ObservedFunctions | None:
    """The test functions that are summed, if some are. Raises `Unreached` for an observer of every state."""
    observer = leg.observer
    if not isinstance(observer, Summing | Keeping | None):
        raise Unreached("every state is asked for")
    return observer.asked if isinstance(observer, Summing) else None


def _prove(leg: Leg, kernel: Kernel) -> None:
    """Compare some steps of the kernel with the definition's, bit for bit. Raises `Unreached`.

    The first leg of a C text that has enough steps takes all `windows`: the first and last steps, so many that each position in a
    block of random numbers is used, and one step of each kind that renews what the gradient estimator keeps. A later leg in this
    process, of the same text, library and `_circumstances`, has other numbers only: constants, random streams, rows, chains, a
    start and a length of its own. It compares its first and last few steps, in which all of these enter, for every row and chain,
    a window for each kind of renewal that no earlier leg took, and those of a composite, which have a stream of their own. What it
    does not compare again are the
    other positions in a block, and renewals of a kind that was compared: they are statements of the same text, and hold no number
    of the leg.
    """
    asked, key = _asked(leg), _circumstances(leg, kernel)
    known = _PROVED.get(key)
    shown = windows(leg, leg.steps, known)
    whole = True
    # Also with later random numbers of the run, from the same state: a bug may only show at a later step.
    for window in shown:
        whole &= _show(leg, kernel, window, asked)
    # A leg of fewer steps, or one that diverges in them, has not used every position in a block.
    if whole and (known is not None or len(leg.steps) >= compared(leg)):
        _PROVED[key] = (known or frozenset()) | renewed(leg, shown)


_PROVED: dict[tuple[Any, ...], frozenset[int]] = {}
"""The kinds of renewals in the steps that were compared, by C text and circumstances."""


def is_proved(leg: Leg, kernel: Kernel) -> bool:
    """Has a leg with the C text of this one been compared in this process?"""
    return _circumstances(leg, kernel) in _PROVED


def forget_proofs() -> None:
    """Forget all that was recorded and proved: to be called where code has been changed since."""
    RECORDED.clear()
    _PROVED.clear()


def _circumstances(leg: Leg, kernel: Kernel) -> tuple[Any, ...]:
    """The circumstances that decide, beside the C text, which of its statements run: constants that move, streams, the observer."""
    moving = not all(isinstance(row.schedule, Fixed) for row in leg.rows)
    if not kernel.text:
        kernel.meet(Constant(_sizes(leg, leg.steps[:1]), leg.clock, passing=moving))
    kind = leg.settings.gradient.kind
    return kernel.text, moving, leg.settings.coupled, kind, type(leg.observer), len(leg.places) > 1


def _show(leg: Leg, kernel: Kernel, steps: range, asked: ObservedFunctions | None) -> bool:
    """Raise `Unreached` if the kernel's steps, actions or sums differ from the definition's; could all steps be compared?"""
    sizes, made, rule = _sizes(leg, steps), _RULES[type(leg.hooks)], kernel.rule
    moving = bool((sizes != sizes[0]).any())
    h = Constant(sizes if moving else sizes[:1], leg.clock, passing=moving)
    kernel.meet(h)
    # Weights that differ between steps and rows, some of them 0.
    place = np.arange(sizes.size).reshape(sizes.shape)
    weights, counted = 1 + place % 7 / 8, place % 3 != 1
    sums, total = None, torch.zeros(())
    if asked is not None:
        weighted = leg.hooks is not None and leg.hooks.weighted
        wanted = len(asked.observables) + 2 * weighted, len(leg.places), leg.settings.chains
        total = torch.zeros(wanted, dtype=torch.float64)
        if weighted:
            # The log of the unit of the other sums.
            total[-1] = -torch.inf
        sums = Sums(total, weights, counted)
    start = leg.start
    # A copy, since the run itself begins at its first step.
    estimator = copy(leg.estimator)
    if leg.hooks is not None:
        # Chains apart from one another, so that their energies differ.
        apart = torch.arange(leg.settings.chains, dtype=start[0].dtype)[:, None]
        start = (start[0] + apart % 7 * (leg.farthest / FAR / 4), *start[1:])
    ours, theirs = made(leg, rule.shown()), made(leg, rule.shown())
    ours.choose(len(sizes))
    kernel.rule, before = ours, ours.tensors
    room, own = (
        _room(leg, extra, counted[:, 0]) if isinstance(leg.observer, Keeping) else None
        for extra in (ours.kept, ())
    )
    moved = kernel.move(start, estimator.carried, steps.start, sizes, sums, room)
    kernel.rule = rule
    if not moved.taken or (leg.hooks is None and moved.taken < len(steps)):
        raise Unreached("a chain diverges in the first steps, which are compared with the definition's")
    summed = None if asked is None or sums is None else _Summed(asked, sums)
    kept_there = None if own is None else _Kept(own)
    applied = estimator if leg.hooks is None else theirs.hooks.estimator(estimator)
    torch_leg = replace(
        leg,
        hooks=theirs.hooks,
        estimator=estimator,
        observer=summed or kept_there,
        taped=False,
        applied_estimator=applied,
    )
    taken = moved.taken
    expected, _, _ = Stepwise(torch_leg, taken).move(start, steps.start, sizes[:taken], h)
    for name, mine, its in zip(leg.bound.definition.state, moved.state, expected, strict=True):
        if not equal_bits(mine, its.expand(mine.shape)):
            raise Unreached(
                f"steps {steps.start + 1} to {steps.start + taken} in C end at another {name} than the definition's do"
            )
    if not ours.drew(theirs.hooks):
        raise Unreached("the uniform numbers of the composite's actions are others in C")
    for mine, its in zip(moved.tensors, theirs.tensors, strict=True):
        if not _same(mine, its):
            raise Unreached("what the composite changes beside the states is another in C")
    for mine, its in zip(moved.carried, estimator.carried, strict=True):
        if not equal_bits(mine, its.expand(mine.shape)):
            raise Unreached("what the gradient estimator carries from step to step is another in C")
    if moved.total is not None and summed is not None and not equal_bits(moved.total, summed.total):
        raise Unreached("a test function, or what it counts, is another one in C")
    if room is not None and own is not None and kept_there is not None:
        count, states = int(room.marked[:taken].sum()), len(own.arrays)
        kept = [cast(np.ndarray, array)[:count] for array in room.arrays]
        ours.take(moved.tensors)
        said = ours.statistics(steps.start, room.marked[:taken], kept[states:], before)
        theirs_kept = [cast(np.ndarray, array)[:count] for array in own.arrays]
        pairs = [*zip(kept, theirs_kept, strict=False), *_said_twice(said, kept_there.statistics)]
        if not all(_same(*map(torch.from_numpy, pair)) for pair in pairs):
            raise Unreached("what is kept of a state is another in C")
    return taken == len(steps)


def _room(leg: Leg, extra: Sequence[str], marked: np.ndarray) -> Room:
    """Room for all variables of the first replica after these steps, and for what else is kept."""
    size, chains = int(marked.sum()), leg.settings.chains
    states = (torch.empty((size, chains, value.shape[-1]), dtype=value.dtype).numpy() for value in leg.start)
    return Room(marked, (*states, *(np.empty((size, chains)) for _ in extra)))


def _said_twice(mine: Statistics | None, its: Statistics | None) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """What two composites say of the same states, number by number. Raises `Unreached` where one says something else."""
    if mine is None or its is None:
        return
    ours, theirs = dict(mine.values), dict(its.values)
    if mine.counts is not None and its.counts is not None:
        ours["swaps"], theirs["swaps"] = mine.counts, its.counts
    for name, (values, there) in theirs.items():
        if name not in ours or not np.array_equal(ours[name][1], there):
            raise Unreached("what is kept of a state is another in C")
        yield ours[name][0][there], values[there]
    if mine.log_weights is not None and its.log_weights is not None:
        yield mine.log_weights, its.log_weights


def _same(mine: Tensor, its: Tensor) -> bool:
    """Are these the same numbers, 0 and -0 told apart? NaN is what has not been computed yet."""
    equal = (mine == its) & (mine.signbit() == its.signbit())
    return bool((equal | (mine.isnan() & its.isnan())).all())


class _Summed(Summing):
    """Gives the sums that were made for a comparison, and holds what came of them."""

    def __init__(self, asked: ObservedFunctions, sums: Sums) -> None:
        self.asked, self._sums, self.total = asked, sums, sums.total

    def sums(self, rows: tuple[int, ...], number: int, steps: np.ndarray) -> Sums:
        """See `Summing.sums`."""
        return self._sums

    def settle(self, rows: tuple[int, ...], sums: Sums, total: Tensor) -> None:
        """See `Summing.settle`."""
        self.total = total


class _Kept(Keeping):
    """Gives the room that was made for a comparison, and holds what was said of the states in it."""

    statistics: Statistics | None = None

    def __init__(self, room: Room) -> None:
        self._room = room

    def room(self, rows: tuple[int, ...], number: int, steps: np.ndarray) -> Room:
        """See `Keeping.room`."""
        return self._room

    def keep(
        self, rows: tuple[int, ...], number: int, steps: np.ndarray, statistics: Statistics | None = None
    ) -> None:
        """See `Keeping.keep`."""
        self.statistics = statistics


def _sizes(leg: Leg, steps: range) -> np.ndarray:
    """The sizes of the compared steps, shape (K, S)."""
    return step_sizes(leg.rows, steps.start, len(steps))


def _numbers(leg: Leg) -> int:
    """The number of random numbers that a step draws for all rows and chains."""
    choice, scheme = leg.settings.gradient, leg.bound.definition
    each = scheme.draws * leg.target.dim
    if choice.estimator.draws_data:
        each += choice.batch * max(1, scheme.minibatches)
    return each * len(leg.places) * leg.settings.chains
