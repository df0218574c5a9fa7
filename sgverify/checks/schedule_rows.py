"""The configured schedule: the row that the running code is asked for, and the same steps exactly."""

from __future__ import annotations

from typing import Any

import numpy as np

from sgverify.checks.schedule_steps import averaged, step_of
from sgverify.checks.subject import Subject
from sgverify.samplers import Row, cyclical, fixed
from sgverify.samplers.schedules import CYCLES


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
