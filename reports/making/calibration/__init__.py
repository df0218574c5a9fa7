"""Errors of the decision procedures, counted on simulated truths with known noise, and the bars that are promised of them.

`truths` are known rates and noises, `simulations` judge samples drawn from them, `grid` plans the tables and `screening` one more,
`counting` counts verdicts on any number of processes, and `bars` states the promises and tests them. `document` is the result with
its JSON, `page` shows it, and `command` is `python -m reports calibration`.
"""

from reports.making.calibration.bars import bars_of
from reports.making.calibration.counting import (
    CHUNK,
    CalibrationSetting,
    Counts,
    Verdict,
    count,
    count_chunk,
    tally,
)
from reports.making.calibration.grid import TablePlan, plans
from reports.making.calibration.simulations import HABIT, LengthSetting, NullSetting, StepSetting
from reports.making.calibration.truths import ERRORS, Truth, truths_of

__all__ = [
    "CHUNK",
    "ERRORS",
    "HABIT",
    "CalibrationSetting",
    "Counts",
    "LengthSetting",
    "NullSetting",
    "StepSetting",
    "TablePlan",
    "Truth",
    "Verdict",
    "bars_of",
    "count",
    "count_chunk",
    "plans",
    "tally",
    "truths_of",
]
