"""How often do the decision procedures err on simulated truths with known noise, and do they keep their promised bars?

`truths` are known rates and noises, `simulations` judge samples drawn from them, `grid` plans the tables, `counting` counts
verdicts on any number of processes, and `bars` states the promises and tests them.
"""

from sgverify.selftest.calibration.bars import bars_of
from sgverify.selftest.calibration.counting import (
    CHUNK,
    CalibrationSetting,
    Counts,
    Verdict,
    count,
    count_chunk,
    tally,
)
from sgverify.selftest.calibration.grid import TablePlan, plans
from sgverify.selftest.calibration.simulations import HABIT, LengthSetting, NullSetting, StepSetting
from sgverify.selftest.calibration.truths import ERRORS, Truth, truths_of

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
