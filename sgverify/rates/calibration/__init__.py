"""How often the decision procedures err: simulated truths, known noise, counted verdicts, and bars that they are held to."""

from sgverify.rates.calibration.bars import bars_of
from sgverify.rates.calibration.counting import (
    CHUNK,
    CalibrationSetting,
    Counts,
    Verdict,
    count,
    count_chunk,
    tally,
)
from sgverify.rates.calibration.grid import TablePlan, plans
from sgverify.rates.calibration.lengths import LengthSetting
from sgverify.rates.calibration.noise import ERRORS
from sgverify.rates.calibration.nulls import NullSetting
from sgverify.rates.calibration.steps import HABIT, StepSetting
from sgverify.rates.calibration.truths import Truth, truths_of

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
