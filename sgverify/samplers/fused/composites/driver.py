"""Does a C kernel move a run of a composite, and how does the run call it?

A kernel is used only after it has reproduced the bits of the definition and of the composite's actions, on the first steps of
the run and on the last ones. Single steps that a kernel does not take are taken by torch.
"""

from __future__ import annotations

import time
from copy import copy
from dataclasses import replace
from typing import cast

import numpy as np
import torch
from torch import Tensor

from sgverify.samplers.composites.exchange import Exchange
from sgverify.samplers.composites.swap_energies import Controls
from sgverify.samplers.fused.choosing import compared
from sgverify.samplers.fused.composites.kernel import CompositeKernel
from sgverify.samplers.fused.composites.swaps import Swaps
from sgverify.samplers.fused.translation import NotTranslatable
from sgverify.samplers.reading.carrier import ObservedFunctions
from sgverify.samplers.reading.constants import Constant
from sgverify.samplers.reading.motion import State
from sgverify.samplers.run.leg import Leg, RunObserver, Stepwise, Summing, Sums
from sgverify.samplers.run.schedules import step_sizes

# The numbers of a block of steps that are drawn outside of the kernel, and the longest block; then blocks take this many seconds.
_OUTSIDE, _LONGEST, _BLOCK = 1 << 22, 1 << 14, 0.2


class FusedComposite:
    """Moves a leg of a composite's run by a kernel (see `Mover`)."""

    def __init__(self, leg: Leg, rule: Swaps, kernel: CompositeKernel) -> None:
        self._leg, self._rule, self._kernel = leg, rule, kernel
        self._h: Constant | None = None
        self._stepwise = Stepwise(leg, 1)
        numbers = (1 + rule.batch) * len(leg.places) * leg.settings.chains
        self._longest = max(1, min(_LONGEST, _OUTSIDE // numbers))
        self.length = min(64, self._longest)

    def move(
        self, state: State, done: int, steps: np.ndarray, h: Constant
    ) -> tuple[State, np.ndarray | None, int]:
        """See `Mover.move`."""
        leg, started, taken = self._leg, time.perf_counter(), 0
        if h is not self._h:
            self._h = h
            self._kernel.meet(h)
        beyond = None
        while taken < len(steps) and beyond is None:
            count = self._until_torch(done + taken, len(steps) - taken)
            state, moved = self._in_kernel(state, done + taken, steps[taken : taken + count], taken)
            taken += moved
            if taken < len(steps):
                one = (
                    h if len(h.value) == 1 else Constant(h.value[taken : taken + 1], leg.clock, passing=True)
                )
                state, beyond, _ = self._stepwise.move(state, done + taken, steps[taken : taken + 1], one)
                taken += 1
        pace = (time.perf_counter() - started) / taken
        self.length = max(1, min(self._longest, 4 * self.length, int(_BLOCK / max(pace, 1e-9))))
        return state, beyond, taken

    def _until_torch(self, done: int, most: int) -> int:
        """The steps that the kernel takes before one that torch takes."""
        until = self._rule.until_torch(done)
        return most if until is None else min(most, until)

    def _in_kernel(self, state: State, done: int, steps: np.ndarray, place: int) -> tuple[State, int]:
        """The state after these steps, the first of which is at `place` in its block, and the number of steps taken."""
        leg = self._leg
        if not len(steps):
            return state, 0
        if leg.observer is None:
            state, tensors, _, taken = self._kernel.move(state, done, steps, None, place)
        else:
            summing = cast(Summing, leg.observer)
            sums = summing.sums(leg.places, done + 1, steps)
            state, tensors, total, taken = self._kernel.move(state, done, steps, sums, place)
            assert total is not None
            if taken < len(steps):
                sums = summing.sums(leg.places, done + 1, steps[:taken])
            summing.settle(leg.places, sums, total)
        self._rule.take(tensors)
        return state, taken


def fused_composite(leg: Leg, patience: float) -> FusedComposite:
    """The kernel of a composite's leg, after its steps have been compared with those of torch; `patience` as for `build`.

    Raises `NotTranslatable`, `NotRecordable` or `CannotBuild`.
    """
    hooks, observer = leg.hooks, leg.observer
    if type(hooks) is not Exchange:
        raise NotTranslatable(f"the actions of {type(hooks).__name__}")
    if observer is not None and not isinstance(observer, Summing):
        raise NotTranslatable("every state of a composite is asked for")
    rule, steps = Swaps(leg, hooks, patience), leg.steps
    window = max(compared(leg), 4 * rule.every)
    asked: ObservedFunctions | None = None
    first = step_sizes(leg.rows, steps.start, min(len(steps), window))
    if isinstance(observer, Summing):
        asked = observer.sums(leg.places, steps.start + 1, first).asked
    kernel = CompositeKernel(leg, rule, asked, patience)
    for some in (steps[:window], steps[-min(len(steps), window) :]):
        _show(leg, hooks, kernel, some, asked)
    kernel.follow(rule)
    return FusedComposite(leg, rule, kernel)


def _show(
    leg: Leg, hooks: Exchange, kernel: CompositeKernel, steps: range, asked: ObservedFunctions | None
) -> None:
    """Raise `NotTranslatable` if the kernel's steps, swaps or sums differ from those of the definition."""
    sizes = step_sizes(leg.rows, steps.start, len(steps))
    moving = bool((sizes != sizes[0]).any())
    h = Constant(sizes if moving else sizes[:1], leg.clock, passing=moving)
    place = np.arange(sizes.size).reshape(sizes.shape)
    # Weights that differ between steps and rows, some of them 0.
    weights, counted = 1 + place % 7 / 8, place % 3 != 1
    shape = (0 if asked is None else len(asked.observables), len(leg.places), leg.settings.chains)
    sums = None if asked is None else Sums(asked, torch.zeros(shape, dtype=torch.float64), weights, counted)
    one, other = _shown(hooks), _shown(hooks)
    kernel.meet(h)
    kernel.follow(Swaps(leg, one))
    found, tensors, total, taken = kernel.move(leg.start, steps.start, sizes, sums, 0)
    observer = _Adding(asked, torch.zeros(shape, dtype=torch.float64), weights, counted)
    torch_leg = replace(leg, hooks=other, observer=observer, taped=False)
    torch_leg.estimator.resume(torch_leg.estimator.carried)
    # Without measurements of the noise, which torch takes in any case.
    other.period = steps.stop + 1
    expected, _, _ = Stepwise(torch_leg, taken).move(leg.start, steps.start, sizes[:taken], h)
    for name, mine, its in zip(leg.bound.definition.state, found, expected, strict=True):
        if not torch.equal(mine, its.expand(mine.shape)):
            raise NotTranslatable(
                f"steps {steps.start + 1} to {steps.start + taken} in C end at another {name} than the definition's do"
            )
    for mine, its in zip(tensors, Swaps(leg, other).tensors, strict=True):
        if not torch.equal(mine, its.expand(mine.shape)):
            raise NotTranslatable("what swaps move beside the states is another in C")
    if total is not None and not torch.equal(total, observer.total):
        raise NotTranslatable("a test function, or what it counts, is another one in C")


def _shown(hooks: Exchange) -> Exchange:
    """Hooks for a proof: no two rows hold equal values, and of the swaps some are accepted and some are not.

    Replicas often start at one point, where an exchange of what they hold would not show; and a first variance is infinite.
    """
    found = copy(hooks)
    rows = torch.arange(len(hooks._variance), dtype=torch.float64)[:, None, None]
    known = hooks._variance.isfinite()
    found._variance = torch.where(known, hooks._variance, 1.0) * (1 + rows / 8)
    if hooks.controls is not None:
        at, full, coefficient = hooks.controls.tensors
        apart = rows.to(at.dtype) / 1024
        found.controls = Controls(
            at * (1 + apart) + apart, full * (1 + rows / 1024), coefficient * (1 - rows / 64)
        )

    def prepare(first: int, count: int) -> None:
        hooks_prepare(found, first, count)
        # Of three numbers one always accepts, one always refuses, and one is what it is.
        numbers = found.log_uniforms.expand(count, *known.shape[:2]).clone()
        numbers.view(-1)[0::3], numbers.view(-1)[1::3] = -torch.inf, 0.0
        found.log_uniforms = numbers

    hooks_prepare = type(hooks).prepare
    found.prepare = prepare  # type: ignore[method-assign]
    return found


class _Adding(RunObserver):
    """The sums of test functions with given weights of each step and row."""

    def __init__(
        self, asked: ObservedFunctions | None, total: Tensor, weights: np.ndarray, counted: np.ndarray
    ) -> None:
        self._asked, self.total, self._place = asked, total, 0
        self._weights, self._counted = torch.from_numpy(weights), torch.from_numpy(counted)

    def show(self, rows: tuple[int, ...], number: int, state: tuple[Tensor, ...], steps: np.ndarray) -> None:
        """Add the values at this state."""
        if self._asked is not None:
            k, self._place = self._place, self._place + 1
            added = torch.stack(self._asked.evaluate(state)) * self._weights[k][:, None]
            self.total = torch.where(self._counted[k][:, None], self.total + added, self.total)
