"""How often the decision procedures err: simulated truths, known noise, counted verdicts, and bars that they are held to.

`truths` are rates and noises that are known, `simulations` judge chains drawn from them, `grid` plans the tables,
`counting` counts verdicts on any number of processes, `bars` says what is promised and whether it is kept.
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
