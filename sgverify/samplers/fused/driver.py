"""The mover of a run by a C kernel, and the proof that its bits are the definition's.

A kernel is used only after it has reproduced the bits of the definition, and of a composite's actions, on some steps of the run: on
`choosing.windows`, or, where a run before has proved the same C text, on `choosing.unproved` (see `_prove`). A step after which
chains have diverged is taken by torch.
"""

from __future__ import annotations

import math
import time
from copy import copy
from dataclasses import replace
from typing import Any, cast

import numpy as np
import torch
from torch import Tensor

from sgverify.errors import Unreached
from sgverify.samplers.composites.adapting import Adapting
from sgverify.samplers.composites.exchange import Exchange
from sgverify.samplers.composites.hooks import with_weights
from sgverify.samplers.fused.choosing import (
    RECORDED,
    cannot_compile,
    compared,
    is_untimed,
    renewed,
    takes,
    unproved,
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
from sgverify.samplers.run.leg import FAR, Keeping, Leg, Room, RunObserver, Stepwise, Summing, Sums
from sgverify.samplers.run.schedules import Fixed, step_sizes

# The first block of a kernel, in random numbers, and the longest; then blocks take this many seconds of the processor.
_NUMBERS, _LONGEST, _BLOCK = 1 << 20, 1 << 14, 0.2
# How many times as long the first block is with tables of gradients, which are copied before each later one.
_WITHOUT_COPY = 8
# The most random numbers of a block that are drawn outside of the kernel, as tensors.
_OUTSIDE = 1 << 22
# The chains with tables of gradients that a text which is proved already is compared on, at either end.
_TABLES = 64

_RULES: dict[type[Any], type[Rule]] = {type(None): Rule, Exchange: Swaps, Adapting: Weights}
"""The actions that a kernel takes, by the type of hooks."""


class Fused:
    """Moves a leg of a run by a kernel (see `Mover`)."""

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
        """See `Mover.move`."""
        leg, started, taken, beyond = self._leg, time.thread_time(), 0, None
        if h is not self._h:
            self._h, self._takes = h, takes(self._kernel, leg, h)
        if not self._takes:
            return self._stepwise.move(state, done, steps, h)
        while taken < len(steps) and beyond is None:
            room = self._room(done + taken, steps[taken:])
            count = len(steps) - taken if room is None else len(room.marked)
            moved = self._in_kernel(state, done + taken, steps[taken : taken + count], taken, room)
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

    def _room(self, done: int, steps: np.ndarray) -> Room | None:
        """Room for the states that are kept, and for what else belongs to them."""
        observer = self._leg.observer
        if not isinstance(observer, Keeping):
            return None
        room = observer.room(self._leg.places, done + 1, steps)
        size, chains = int(room.marked.sum()), self._leg.settings.chains
        return Room(room.marked, (*room.arrays, *(np.empty((size, chains)) for _ in self._rule.kept)))

    def _in_kernel(self, state: State, done: int, steps: np.ndarray, place: int, room: Room | None) -> Moved:
        """Take these steps, the first of which is at `place` in its block, and hand on what came of them."""
        leg, rule, observer = self._leg, self._rule, self._leg.observer
        before, sums = rule.tensors, None
        if isinstance(observer, Summing):
            sums = observer.sums(leg.places, done + 1, steps)
        moved = self._kernel.move(state, leg.estimator.carried, done, steps, sums, room, place)
        if moved.taken:
            rule.take(moved.tensors)
            leg.estimator.resume(moved.carried)
        if isinstance(observer, Summing):
            assert moved.total is not None
            observer.settle(
                leg.places, observer.sums(leg.places, done + 1, steps[: moved.taken]), moved.total
            )
        elif isinstance(observer, Keeping) and room is not None:
            marked = room.marked[: moved.taken]
            more = room.arrays[len(room.arrays) - len(rule.kept) :]
            kept = [array[: marked.sum()] for array in more if array is not None]
            found = rule.statistics(done, marked, kept, before)
            observer.keep(leg.places, done + 1, steps[: moved.taken], found)
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
    if not isinstance(observer, Summing):
        return None
    return observer.sums(leg.places, leg.steps.start + 1, _sizes(leg, leg.steps[:1])).asked


def _prove(leg: Leg, kernel: Kernel) -> None:
    """Compare some steps of the kernel with the definition's, bit for bit. Raises `Unreached`.

    The first leg of a C text that has enough steps takes all `windows`: the first and last steps, so many that each position in a
    block of random numbers is used, and one step of each kind that renews what the gradient estimator keeps. A later leg in this
    process, of the same text, library and `_circumstances`, has other numbers only: constants, random streams, rows, chains, a
    start and a length of its own. It compares its first and last few steps, in which all of these enter, for every row and chain
    (of many chains with tables, its first steps for the first `_TABLES`, its last for the last), a window for each kind of renewal
    that no earlier leg took, and those of a composite, which have a stream of their own. What it does not compare again are the
    other positions in a block, and renewals of a kind that was compared: they are statements of the same text, and hold no number
    of the leg.
    """
    asked, key = _asked(leg), _circumstances(leg, kernel)
    known = _PROVED.get(key)
    shown = windows(leg, leg.steps) if known is None else unproved(leg, leg.steps, known)
    whole = True
    # Also with later random numbers of the run, from the same state: a bug may only show at a later step.
    for window in shown:
        part = leg, kernel
        if known is not None and kernel.has_table and leg.settings.chains > 2 * _TABLES:
            # To fill and compare the tables of all chains would take longer than many runs.
            last = window.stop == leg.steps.stop
            part = _part(leg, kernel, slice(-_TABLES, None) if last else slice(_TABLES))
        whole &= _show(*part, window, asked)
    # A leg of fewer steps, or one that diverges in them, has not used every position in a block.
    if whole and (known is not None or len(leg.steps) >= compared(leg)):
        _PROVED[key] = (known or frozenset()) | renewed(leg, shown)


def _part(leg: Leg, kernel: Kernel, chosen: slice) -> tuple[Leg, Kernel]:
    """Some chains of a leg with their kernel, if it has the same text; else all."""
    part = leg.of_chains(chosen)
    other = Kernel(part, Rule(part), _asked(leg), math.inf)
    return (part, other) if _circumstances(part, other) == _circumstances(leg, kernel) else (leg, kernel)


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
        sums = Sums(asked, total, weights, counted)
    start = leg.start
    # A copy, since the run itself begins at its first step.
    estimator = copy(leg.estimator)
    if leg.hooks is not None:
        # Chains apart from one another, so that their energies differ.
        apart = torch.arange(leg.settings.chains, dtype=start[0].dtype)[:, None]
        start = (start[0] + apart % 7 * (leg.farthest / FAR / 4), *start[1:])
    ours, theirs = made(leg, rule.shown()), made(leg, rule.shown())
    ours.choose(len(sizes))
    kernel.rule = ours
    room = _room(leg, ours, counted[:, 0]) if isinstance(leg.observer, Keeping) else None
    moved = kernel.move(start, estimator.carried, steps.start, sizes, sums, room)
    kernel.rule = rule
    if not moved.taken or (leg.hooks is None and moved.taken < len(steps)):
        raise Unreached("a chain diverges in the first steps, which are compared with the definition's")
    observer = _Adding(asked, theirs, total, weights, counted)
    applied = estimator if leg.hooks is None else theirs.hooks.estimator(estimator)
    torch_leg = replace(
        leg,
        hooks=theirs.hooks,
        estimator=estimator,
        observer=observer,
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
    if moved.total is not None and not equal_bits(moved.total, observer.total):
        raise Unreached("a test function, or what it counts, is another one in C")
    for number, values in enumerate(observer.seen if room is not None else ()):
        for array, value in zip(cast(Room, room).arrays, values, strict=True):
            if array is not None and not _same(torch.from_numpy(array[number]), value):
                raise Unreached("what is kept of a state is another in C")
    return taken == len(steps)


def _room(leg: Leg, rule: Rule, marked: np.ndarray) -> Room:
    """Room for all variables of the first replica after these steps, and for what else is kept."""
    size, chains = int(marked.sum()), leg.settings.chains
    states = (torch.empty((size, chains, value.shape[-1]), dtype=value.dtype).numpy() for value in leg.start)
    return Room(marked, (*states, *(np.empty((size, chains, 1)) for _ in rule.kept)))


def _same(mine: Tensor, its: Tensor) -> bool:
    """Are these the same numbers, 0 and -0 told apart? NaN is what has not been computed yet."""
    equal = (mine == its) & (mine.signbit() == its.signbit())
    return bool((equal | (mine.isnan() & its.isnan())).all())


class _Adding(RunObserver):
    """The sums of test functions with given weights of each step and row, in the way of `RunningSums`."""

    def __init__(
        self,
        asked: ObservedFunctions | None,
        rule: Rule,
        total: Tensor,
        weights: np.ndarray,
        counted: np.ndarray,
    ) -> None:
        self._rule, self.seen = rule, list[list[Tensor]]()
        self._asked, self.total, self._place = asked, total, 0
        self._weights, self._counted = torch.from_numpy(weights), torch.from_numpy(counted)

    def show(self, rows: tuple[int, ...], number: int, state: tuple[Tensor, ...], steps: np.ndarray) -> None:
        """Add the values at this state, and remember what is kept of it."""
        k, self._place, hooks = self._place, self._place + 1, self._rule.hooks
        if self._counted[k][0]:
            names = dict.fromkeys(name[0] for name, *_ in self._rule.held)
            held = dict(zip(names, self._rule.tensors, strict=True))
            more = [held[name[0]] for name in self._rule.kept]
            self.seen.append([value[0].clone() for value in (*state, *more)])
        if self._asked is None:
            return
        values = self._asked.evaluate(state)
        factor = self._weights[k][:, None]
        if hooks is not None and hooks.weighted:
            new = torch.stack(with_weights(self.total.unbind(), values, hooks.log_weights(), factor))
        else:
            new = self.total + torch.stack(values) * factor
        self.total = torch.where(self._counted[k][:, None], new, self.total)


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
