"""The configured schedule: the row that the running code is asked for, and the same steps exactly."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import flint
import numpy as np
from flint import arb, fmpq

from sgverify.checks.subject.subject import Subject
from sgverify.samplers import Cyclical, Fixed, Row, cyclical, fixed
from sgverify.samplers.run.schedules import CYCLES, Schedule

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


def row_of(subject: Subject, length: int) -> Row:
    """One row of `length` steps: the configured cycles, else a fixed step; other schedules only speak of rates in L."""
    schedule = subject.configuration.schedule
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


def steps_over_cycles(subject: Subject, length: int) -> tuple[np.ndarray, np.ndarray]:
    """h_l and the weights of the average, h_l in the sampling stages and 0 elsewhere; not by the code that runs."""
    schedule, item = subject.configuration.schedule, row_of(subject, length).schedule
    period = -(-length // (schedule.cycles or CYCLES))
    numbers = range(1, length + 1)
    steps = np.array([float(step_of(item, l, period)[0]) for l in numbers])
    return steps, steps * np.array([averaged(l, period, schedule.threshold or 0.0) for l in numbers])


def cycles_of(subject: Subject, length: int) -> dict[str, Any]:
    """What a certificate says of cyclical steps: that of another length has other cycles."""
    if subject.configuration.schedule.kind != "cyclical":
        return {}
    return {"schedule": str(row_of(subject, length).schedule)}


def _cyclical_step(schedule: Cyclical, l: int, period: int) -> tuple[Fraction, Fraction]:
    share = Fraction((l - 1) % period, period)
    high, low = Fraction(schedule.scale), Fraction(schedule.low)
    allowed = CYCLE * Fraction(UNIT) * high
    if schedule.shape == "linear":
        return high - (high - low) * share, allowed
    with flint.ctx.workprec(128):
        middle = arb.cos_pi(arb(fmpq(share.numerator, share.denominator))).mid().fmpq()
    return low + (high - low) / 2 * (Fraction(int(middle.p), int(middle.q)) + 1), allowed
