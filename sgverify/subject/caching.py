"""Quantities of a subject are computed once and stored with it; the configured schedule, for the sampler and in exact numbers."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from functools import wraps
from typing import Any, Concatenate, ParamSpec, Protocol, TypeVar

import flint
from flint import arb, fmpq

from sgverify.errors import ConfigurationError, Unreached
from sgverify.samplers import Annealed, Cyclical, Fixed, Row, annealed, cyclical, fixed
from sgverify.samplers.composites.hooks import epoch_of
from sgverify.samplers.run.schedules import Schedule
from sgverify.subject.subject import Subject


class HasMemory(Protocol):
    """An object, such as a subject, with dictionaries for the values derived from it."""

    @property
    def memory(self) -> dict[tuple[Any, ...], Any]:
        """The stored values, by the function that computed each and its further arguments."""

    @property
    def related(self) -> dict[tuple[Any, ...], Any]:
        """The values of which others of its kind have the same, by the function and by what the value depends on."""


Owner = TypeVar("Owner", bound=HasMemory)
Further = ParamSpec("Further")
Value = TypeVar("Value")


def cached_per_subject(
    function: Callable[Concatenate[Owner, Further], Value],
) -> Callable[Concatenate[Owner, Further], Value]:
    """`function` with a cache: it is called once for each subject and each tuple of further (hashable) arguments.

    An `Unreached` is kept and raised again; another exception is not.

    >>> class Counting:
    ...     memory: dict = {}
    ...     related: dict = {}
    >>> @cached_per_subject
    ... def longer(owner, by):
    ...     print("computed")
    ...     return by + 1
    >>> longer(Counting(), 1), longer(Counting(), 1)
    computed
    (2, 2)
    """

    @wraps(function)
    def once(owner: Owner, /, *further: Further.args, **named: Further.kwargs) -> Value:
        key = (function, *further, *sorted(named.items()))
        if key not in owner.memory:
            try:
                owner.memory[key] = function(owner, *further, **named)
            except Unreached as why:
                owner.memory[key] = why
        value: Value = owner.memory[key]
        if isinstance(value, Unreached):
            raise value.with_traceback(None)
        return value

    return once


def cached_by(
    *parts: Callable[[Any], Any],
) -> Callable[[Callable[[Owner], Value]], Callable[[Owner], Value]]:
    """A decorator for a function of a subject that depends on these parts of it alone: subjects with equal parts share its value.

    Subjects are related if `dataclasses.replace` makes one of the other, as those of one scheme under two gradients are. Parts are
    hashable. A call that raises is not cached.
    """

    def decorated(function: Callable[[Owner], Value]) -> Callable[[Owner], Value]:
        @wraps(function)
        def once(owner: Owner) -> Value:
            key = (function, *(part(owner) for part in parts))
            if key not in owner.related:
                owner.related[key] = function(owner)
            value: Value = owner.related[key]
            return value

        return once

    return decorated


UNIT = 2.0**-53
"""The unit roundoff of float64; sums are kept in float64 for every dtype of the states."""

CYCLE = 12
"""A bound of the error of a cyclical step, in roundings of the cycle's first step: the angle has three roundings, which change
its cosine by at most pi times as much; the sums and products add less."""

DECAY = 0.984
"""The default factor of annealed steps, that of vr-resgld section 5.2."""

POWER = 4
"""A bound of the error of h_l = scale l^-alpha, in roundings: one of the product, and a power within one unit in the last
place."""


def step_of(schedule: Schedule, l: int, period: int) -> tuple[Fraction, Fraction]:
    """The exact h_l and a bound of its error in float64; `period` is the number of steps in a cycle."""
    if isinstance(schedule, Fixed):
        return Fraction(schedule.step), Fraction(0)
    if isinstance(schedule, Cyclical):
        return _cyclical_step(schedule, l, period)
    if isinstance(schedule, Annealed):
        raise ConfigurationError(
            f"schedule {schedule}: expected steps that are fixed, a power of l, or cyclical"
        )
    scale, alpha = (fmpq(*value.as_integer_ratio()) for value in (schedule.scale, schedule.alpha))
    with flint.ctx.workprec(128):
        middle = (arb(scale) * arb(l) ** arb(-alpha)).mid().fmpq()
    expected = Fraction(int(middle.p), int(middle.q))
    return expected, POWER * Fraction(UNIT) * expected


def averaged(l: int, period: int, threshold: float) -> bool:
    """Does step l lie in the sampling stage of its cycle? `threshold` is read as its decimal: 0.7 is 7/10."""
    return Fraction((l - 1) % period, period) >= Fraction(str(threshold))


def row_of(subject: Subject, length: int) -> Row:
    """One row of `length` steps: the configured cycles or epochs, else the fixed step: other schedules only define rates in L."""
    schedule = subject.configuration.schedule
    if schedule.kind == "annealed":
        return annealed(
            [subject.scale],
            [length],
            epoch=epoch_of(subject.configuration, subject.target),
            decay=DECAY if schedule.decay is None else schedule.decay,
            after=schedule.after or 0,
        )[0]
    if schedule.kind != "cyclical":
        return fixed([subject.step], [length])[0]
    return cyclical(
        [subject.scale],
        [length],
        cycles=schedule.cycles,
        low=schedule.low,
        threshold=schedule.threshold,
        shape=schedule.shape,
    )[0]


def _cyclical_step(schedule: Cyclical, l: int, period: int) -> tuple[Fraction, Fraction]:
    share = Fraction((l - 1) % period, period)
    high, low = Fraction(schedule.scale), Fraction(schedule.low)
    allowed = CYCLE * Fraction(UNIT) * high
    if schedule.shape == "linear":
        return high - (high - low) * share, allowed
    with flint.ctx.workprec(128):
        middle = arb.cos_pi(arb(fmpq(share.numerator, share.denominator))).mid().fmpq()
    return low + (high - low) / 2 * (Fraction(int(middle.p), int(middle.q)) + 1), allowed
