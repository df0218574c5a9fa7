"""Does a C kernel move a run, and how does the run call it?

A kernel is used only after it has reproduced the bits of the definition on some steps of the run: on `choosing.windows`, or, where
a run before has proved the same C text, on `choosing.unproved` (see `_prove`).
"""

from __future__ import annotations

import math
import time
from copy import copy
from functools import partial
from typing import Any, cast

import numpy as np
import torch

from sgverify.samplers.fused.choosing import (
    CHECKED,
    cannot_compile,
    compared,
    is_candidate,
    pays,
    renewed,
    takes,
    unproved,
    windows,
)
from sgverify.samplers.fused.compiler import CannotBuild, NoCompiler, tell_of_slow_steps
from sgverify.samplers.fused.composites.driver import FusedComposite, fused_composite
from sgverify.samplers.fused.kernel import Kernel, equal_bits
from sgverify.samplers.fused.program import forget_recorded, is_recorded
from sgverify.samplers.fused.translation import NotTranslatable
from sgverify.samplers.reading.carrier import ObservedFunctions
from sgverify.samplers.reading.constants import Constant
from sgverify.samplers.reading.motion import Motion, State
from sgverify.samplers.reading.tape import NotRecordable
from sgverify.samplers.run.leg import Keeping, Leg, Room, Stepwise, Summing, Sums, far_out
from sgverify.samplers.run.schedules import Fixed, step_sizes

# The first block of a kernel, in random numbers, and the longest; then blocks take this many seconds.
_NUMBERS, _LONGEST, _BLOCK = 1 << 20, 1 << 14, 0.2
# The most random numbers of a block that are drawn outside of the kernel, as tensors.
_OUTSIDE = 1 << 22


class Fused:
    """Moves a leg of a run by a kernel (see `Mover`)."""

    def __init__(self, leg: Leg, kernel: Kernel, numbers: int) -> None:
        self._leg, self._kernel = leg, kernel
        self._h: Constant | None = None
        self._takes = True
        self._longest = max(1, min(_LONGEST, _OUTSIDE // max(1, kernel.outside)))
        self.length = max(1, min(self._longest, _NUMBERS // max(1, numbers)))

    def move(
        self, state: State, done: int, steps: np.ndarray, h: Constant
    ) -> tuple[State, np.ndarray | None, int]:
        """See `Mover.move`."""
        leg, started = self._leg, time.perf_counter()
        if h is not self._h:
            self._h, self._takes = h, takes(self._kernel, leg, h)
        if not self._takes:
            return Stepwise(leg, self.length).move(state, done, steps, h)
        carried = self._kernel.carried(leg, state[0])
        if leg.observer is None:
            new, carried, _, taken = self._kernel.move(state, carried, done, len(steps), None)
        elif isinstance(leg.observer, Keeping):
            room = leg.observer.room(leg.places, done + 1, steps)
            new, carried, _, taken = self._kernel.move(state, carried, done, len(room.marked), None, room)
            leg.observer.keep(leg.places, done + 1, steps[:taken])
        else:
            summing = cast(Summing, leg.observer)
            sums = summing.sums(leg.places, done + 1, steps)
            new, carried, total, taken = self._kernel.move(state, carried, done, len(steps), sums)
            assert total is not None
            if taken < len(steps):
                sums = summing.sums(leg.places, done + 1, steps[:taken])
            summing.settle(leg.places, sums, total)
        leg.estimator.resume(carried)
        # Blocks of a fraction of a second, so that progress is shown and Ctrl-C takes effect.
        pace = (time.perf_counter() - started) / taken
        self.length = max(1, min(self._longest, 4 * self.length, int(_BLOCK / max(pace, 1e-9))))
        return new, far_out(new, leg.farthest), taken


def fused(leg: Leg, pace: float | None, *, proved: bool = True) -> Fused | FusedComposite | None:
    """The kernel of a leg; None if no kernel can be made, or if it would cost more time than it saves.

    `pace` is the measured number of seconds of a step on torch, None if it is not known yet: then only `compiled="kernel"` has a
    kernel, or, unless `proved` is False, a leg whose C text is proved already. With "auto" a missing compiler is told once.
    Raises `ConfigurationError` if `compiled="kernel"` requires a kernel that cannot be made.
    """
    wanted = leg.settings.compiled
    if not is_candidate(leg):
        return None
    # What is proved already repays itself within a few steps, at any pace.
    untimed = wanted == "auto" and (pace is None or not pays(leg, leg.steps, pace))
    proved = proved and leg.hooks is None and is_recorded(leg.target) and len(leg.steps) > 4 * CHECKED
    if untimed and not proved:
        return None
    patience = math.inf if wanted == "kernel" else 0.0 if pace is None else pace * len(leg.steps)
    try:
        _check(leg)
        if leg.hooks is not None:
            return fused_composite(leg, patience)
        kernel = Kernel(leg, _asked(leg), patience)
        if untimed and not is_proved(leg, kernel):
            return None
        _prove(leg, kernel)
        return Fused(leg, kernel, _numbers(leg))
    except (NotTranslatable, NotRecordable, CannotBuild) as reason:
        if wanted == "auto":
            if isinstance(reason, NoCompiler):
                tell_of_slow_steps(str(reason))
            return None
        raise cannot_compile(leg, reason) from reason


def _check(leg: Leg) -> None:
    """Raise `NotTranslatable` for settings that no kernel has."""
    settings, device = leg.settings, leg.start[0].device
    if device.type != "cpu" or settings.generator != "philox":
        raise NotTranslatable(f"generator={settings.generator!r} on {device}")
    if not leg.taped:
        raise NotTranslatable("tape=False")


def _asked(leg: Leg) -> ObservedFunctions | None:
    """The test functions that are summed, if some are. Raises `NotTranslatable` for an observer of every state."""
    observer = leg.observer
    if not isinstance(observer, Summing | Keeping | None):
        raise NotTranslatable("every state is asked for")
    if not isinstance(observer, Summing):
        return None
    return observer.sums(leg.places, leg.steps.start + 1, _sizes(leg, leg.steps[:1])).asked


def _prove(leg: Leg, kernel: Kernel) -> None:
    """Compare some steps of the kernel with the definition's, bit for bit. Raises `NotTranslatable`.

    The first leg of a C text that has enough steps takes all `windows`: the first and last steps, so many that each position in a
    block of random numbers is used, and one step of each kind that renews what the gradient estimator keeps. A later leg in this
    process, of the same text, library and `_circumstances`, has other numbers only: constants, random streams, rows, chains, a
    start and a length of its own. It compares its first and last `CHECKED` steps, in which all of these enter, for every row and
    chain, and a window for each kind of renewal that no earlier leg took. What it does not compare again are the other positions in
    a block, and renewals of a kind that was compared: they are statements of the same text, and hold no number of the leg.
    """
    asked, key = _asked(leg), _circumstances(leg, kernel)
    known = _PROVED.get(key)
    shown = windows(leg, leg.steps) if known is None else unproved(leg, leg.steps, known)
    # Also with later random numbers of the run, from the same state: a bug may only show at a later step.
    for window in shown:
        _show(leg, kernel, window, asked)
    # A leg of fewer steps has not used every position in a block.
    if known is not None or len(leg.steps) >= compared(leg):
        _PROVED[key] = (known or frozenset()) | renewed(leg, shown)


_PROVED: dict[tuple[Any, ...], frozenset[int]] = {}
"""The kinds of renewals in the steps that were compared, by C text and circumstances."""


def is_proved(leg: Leg, kernel: Kernel) -> bool:
    """Has a leg with the C text of this one been compared in this process?"""
    return _circumstances(leg, kernel) in _PROVED


def forget_proofs() -> None:
    """Forget all that was recorded and proved: to be called where code has been changed since."""
    forget_recorded()
    _PROVED.clear()


def _circumstances(leg: Leg, kernel: Kernel) -> tuple[Any, ...]:
    """What decides, beside the C text, which of its statements run: constants that move, shared streams, and the observer."""
    moving = not all(isinstance(row.schedule, Fixed) for row in leg.rows)
    if not kernel.text:
        kernel.meet(Constant(_sizes(leg, leg.steps[:1]), leg.clock, passing=moving))
    return kernel.text, moving, leg.settings.coupled, type(leg.observer), len(leg.places) > 1


def _show(leg: Leg, kernel: Kernel, steps: range, asked: ObservedFunctions | None) -> None:
    """Raise `NotTranslatable` if the kernel's steps or sums differ from those of the definition."""
    sizes = _sizes(leg, steps)
    moving = bool((sizes != sizes[0]).any())
    h = Constant(sizes if moving else sizes[:1], leg.clock, passing=moving)
    kernel.meet(h)
    sums, expected_total = None, torch.zeros(())
    # Weights that differ between steps and rows, some of them 0.
    place = np.arange(sizes.size).reshape(sizes.shape)
    weights, counted = 1 + place % 7 / 8, place % 3 != 1
    if asked is not None:
        expected_total = torch.zeros(
            (len(asked.observables), len(leg.places), leg.settings.chains), dtype=torch.float64
        )
        sums = Sums(asked, expected_total, weights, counted)
    kept = counted[:, 0]
    room = _room(leg, kept) if isinstance(leg.observer, Keeping) else None
    start = kernel.carried(leg, leg.start[0])
    found, carried, total, taken = kernel.move(leg.start, start, steps.start, len(sizes), sums, room)
    motion = Motion(leg.bound, leg.clock, tape=False)
    # A copy, since the run itself begins at its first step.
    estimator = copy(leg.estimator)
    estimator.resume(start)
    estimator.prepare(steps.start, taken)
    expected, seen = leg.start, []
    for k, drawn in enumerate(leg.drawn_in(steps.start, taken)):
        leg.clock.now = k
        estimator.begin(k, expected[0])
        expected = motion.move(expected, drawn, h, partial(estimator.of_step, k))
        if asked is not None:
            added = torch.stack(asked.evaluate(expected)) * torch.from_numpy(weights[k])[:, None]
            expected_total = torch.where(
                torch.from_numpy(counted[k])[:, None], expected_total + added, expected_total
            )
        if kept[k]:
            seen.append([value[0].expand(leg.settings.chains, -1) for value in expected])
    for name, one, other in zip(leg.bound.definition.state, found, expected, strict=True):
        if not equal_bits(one, other.expand(one.shape)):
            raise NotTranslatable(
                f"steps {steps.start + 1} to {steps.start + taken} in C end at another {name} than the definition's do"
            )
    for one, other in zip(carried, estimator.carried, strict=True):
        if not equal_bits(one, other.expand(one.shape)):
            raise NotTranslatable("what the gradient estimator carries from step to step is another in C")
    if far_out(found, leg.farthest) is not None:
        raise NotTranslatable("a chain diverges in the first steps, which are compared with the definition's")
    if total is not None and not equal_bits(total, expected_total):
        raise NotTranslatable("a test function, or what it counts, is another one in C")
    if room is not None and not all(
        equal_bits(
            torch.from_numpy(array[: len(seen)]),
            torch.from_numpy(np.array([values[v].numpy() for values in seen])).reshape(
                len(seen), *array.shape[1:]
            ),
        )
        for v, array in enumerate(room.arrays)
        if array is not None
    ):
        raise NotTranslatable("the states that are kept are others in C")


def _room(leg: Leg, kept: np.ndarray) -> Room:
    """Room for all variables of the state after these steps."""
    size, chains = int(kept.sum()), leg.settings.chains
    return Room(
        kept,
        tuple(torch.empty((size, chains, value.shape[-1]), dtype=value.dtype).numpy() for value in leg.start),
    )


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
