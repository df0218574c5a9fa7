"""The step sizes of a schedule in exact numbers, and which of them are averaged."""

from __future__ import annotations

from fractions import Fraction

import flint
from flint import arb, fmpq

from sgverify.errors import ConfigurationError
from sgverify.samplers import Annealed, Cyclical, Fixed
from sgverify.samplers.run.schedules import Schedule

UNIT = 2.0**-53
"""The unit roundoff of float64; sums are kept in float64 for every dtype of the states."""

CYCLE = 12
"""A bound of the error of a cyclical step, in roundings of the cycle's first step: the angle has three roundings, which change
its cosine by at most pi times as much; the sums and products add less."""

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


def _cyclical_step(schedule: Cyclical, l: int, period: int) -> tuple[Fraction, Fraction]:
    share = Fraction((l - 1) % period, period)
    high, low = Fraction(schedule.scale), Fraction(schedule.low)
    allowed = CYCLE * Fraction(UNIT) * high
    if schedule.shape == "linear":
        return high - (high - low) * share, allowed
    with flint.ctx.workprec(128):
        middle = arb.cos_pi(arb(fmpq(share.numerator, share.denominator))).mid().fmpq()
    return low + (high - low) / 2 * (Fraction(int(middle.p), int(middle.q)) + 1), allowed
