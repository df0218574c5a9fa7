"""The choice of a kernel: whether it repays its making, its steps that are compared with the definition's, and its step sizes.

The first steps of a run that may have a kernel are taken on torch and timed. The bits do not depend on the choice, nor on its time.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Any
from weakref import WeakKeyDictionary

from sgverify.errors import ConfigurationError, Unreached
from sgverify.samplers.randomness.philox import ROWS
from sgverify.samplers.reading.constants import Constant
from sgverify.samplers.run.leg import Keeping, Leg, Summing
from sgverify.targets import Target

PROVED = 0.05
"""Seconds in which a built kernel is loaded and its first steps are proved (`python -m benchmarks compilers`)."""

CHECKED = 2
"""The first and the last steps that every plain leg compares: two each, so that what moves is seen to move."""

MOVED = 3
"""The steps before one that renews: the first evaluates gradients that a table has already, later ones change it."""

TIMED = 0.03
"""Seconds of steps on torch after which their pace is taken to be known; a run that is over before needs no kernel."""


def is_candidate(leg: Leg) -> bool:
    """May a kernel move this leg, by its settings and by what is to be observed?"""
    settings, observer = leg.settings, leg.observer
    if settings.compiled == "kernel":
        return True
    return (
        settings.compiled == "auto"
        and leg.taped
        and leg.start[0].device.type == "cpu"
        and isinstance(observer, Summing | Keeping | None)
    )


RECORDED: WeakKeyDictionary[Target, Any] = WeakKeyDictionary()
"""The definitions that this process has translated, by target; to be cleared where the code that made it has been changed."""


def is_untimed(leg: Leg, pace: float | None) -> bool:
    """Is a kernel wanted only if it saves time, and not known to, at so many seconds for a step on torch (None: not known)?"""
    return leg.settings.compiled == "auto" and (pace is None or not pays(leg, leg.steps, pace))


def may_have_kernel(leg: Leg, pace: float | None, *, proved: bool) -> bool:
    """Is a kernel to be made, or, with `proved`, its text looked up: proved already, it repays itself within a few steps?"""
    if not is_candidate(leg):
        return False
    return not is_untimed(leg, pace) or (proved and leg.target in RECORDED and repays_proof(leg))


def pays(leg: Leg, steps: range, pace: float) -> bool:
    """Would these steps of a leg, at so many seconds for one on torch, take longer than proving a kernel that is built?"""
    return pace * (len(steps) - sum(map(len, windows(leg, steps)))) > PROVED


def windows(leg: Leg, steps: range, known: frozenset[int] | None = None) -> list[range]:
    """The windows of these steps that a proof takes on torch as well.

    The first and the last steps, in which a composite acts four times at least, and those up to each kind of step that renews what
    the gradient estimator or the composite keeps: a bug in such a step shows nowhere else. Of a text that is proved already the
    first and the last few steps, and no renewals of a kind that is `known`.
    """
    size = max(compared(leg), 1 if leg.hooks is None else 4 * leg.hooks.every)
    size = size if known is None else fewest(leg)
    found = [steps[:size], steps[-size:]]
    for kind, renewal in enumerate(_renewals(leg, steps.start)):
        new = known is None or kind not in known
        if new and all(_renewals(leg, window.start)[kind] >= window.stop for window in found):
            found += [_up_to(renewal, steps)] if renewal < steps.stop else []
    # In order: a source of permutations keeps the present one only.
    return sorted(found, key=lambda window: window.start)


def _up_to(renewal: int, steps: range) -> range:
    """The window that ends with a step that renews."""
    return range(max(steps.start, renewal - MOVED), renewal + 1)


def _renewals(leg: Leg, first: int) -> tuple[int, ...]:
    hooks = () if leg.hooks is None else leg.hooks.renewals(first)
    return (*leg.estimator.renewals(first), *hooks)


def fewest(leg: Leg) -> int:
    """The first and the last steps that every leg compares, in which a composite acts in each of its ways."""
    return CHECKED if leg.hooks is None else max(CHECKED, 2 * leg.hooks.every)


def repays_proof(leg: Leg) -> bool:
    """Is a leg so long that to record its kernel, and to compare the fewest steps, costs less than what a proved text saves?"""
    # A composite's actions are recorded too.
    return len(leg.steps) > (4 if leg.hooks is None else 16) * fewest(leg)


def renewed(leg: Leg, shown: Sequence[range]) -> frozenset[int]:
    """The kinds of renewals of the gradient estimator that these windows contain; a composite's are never known."""
    return frozenset(
        kind
        for window in shown
        for kind, renewal in enumerate(leg.estimator.renewals(window.start))
        if renewal < window.stop
    )


def takes(kernel: Any, leg: Leg, h: Constant) -> bool:
    """Does a kernel, proved at other step sizes, take steps of the sizes h? Otherwise torch does.

    Raises `ConfigurationError` if `compiled="kernel"` requires it.
    """
    try:
        kernel.meet(h)
    except Unreached as reason:
        if leg.settings.compiled == "kernel":
            raise cannot_compile(leg, reason) from reason
        return False
    return True


def cannot_compile(leg: Leg, reason: Exception) -> ConfigurationError:
    """Why `compiled="kernel"` cannot be had."""
    return ConfigurationError(
        f"compiled='kernel' with the scheme {leg.bound.definition.name} on the target {leg.target.name}: {reason}; expected "
        "arithmetic and elementary functions of states, a potential that is not torch code of a user, "
        "and device='cpu'; leave compiled='auto'"
    )


def compared(leg: Leg) -> int:
    """The steps of the first and last window: enough to use every position in a block of each random stream."""
    scheme, choice = leg.bound.definition, leg.settings.gradient
    used = [scheme.draws * leg.target.dim]
    if choice.estimator.draws_data:
        used.append(choice.batch * scheme.minibatches)
    used.append(0 if leg.hooks is None else leg.hooks.uniforms)
    return max(-(-2 * ROWS // number) for number in used if number) if any(used) else 1


class TimedStart:
    """Times the first steps of a leg on torch, in blocks that double: what begins a block is paid by ever more steps."""

    def __init__(self) -> None:
        self._spent = self._started = 0.0

    def start(self) -> None:
        """A block begins now."""
        self._started = time.perf_counter()

    def stop(self, taken: int) -> float | None:
        """The block has taken so many steps; the seconds of one step, None if they are not known yet."""
        seconds = time.perf_counter() - self._started
        self._spent += seconds
        return seconds / taken if self._spent > TIMED else None
