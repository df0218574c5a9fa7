"""The step sizes of a schedule, exactly."""

from __future__ import annotations

from fractions import Fraction

import flint
from flint import arb, fmpq

from sgverify.samplers import Cyclical, Fixed
from sgverify.samplers.schedules import Schedule

UNIT = 2.0**-53
"""Half the relative distance between neighbours in float64, in which sums are kept whatever the dtype of the states."""

CYCLE = 12
"""Roundings of a step of a cycle, of at most the size of its first: the angle has three, which its cosine moves by at most pi
times as much, and the sums and products less."""

POWER = 4
"""Roundings of h_l = scale l^-alpha: one of the product, and a library's power within a unit in the last place."""


def step_of(schedule: Schedule, l: int, period: int) -> tuple[Fraction, Fraction]:
    """h_l, and how far float64 may be off it; `period` is that of cyclical steps."""
    if isinstance(schedule, Fixed):
        return Fraction(schedule.step), Fraction(0)
    if isinstance(schedule, Cyclical):
        return _cyclical_step(schedule, l, period)
    scale, alpha = (fmpq(*value.as_integer_ratio()) for value in (schedule.scale, schedule.alpha))
    with flint.ctx.workprec(128):
        middle = (arb(scale) * arb(l) ** arb(-alpha)).mid().fmpq()
    expected = Fraction(int(middle.p), int(middle.q))
    return expected, POWER * Fraction(UNIT) * expected


def averaged(l: int, period: int, threshold: float) -> bool:
    """Whether step l lies in the sampling stage of its cycle; 0.7 is seven tenths."""
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
