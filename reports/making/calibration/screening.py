"""Screen and confirm, simulated: how often examples pass and fail whose sampled mean is right, or off."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from reports.making.calibration import ERRORS, TablePlan, Verdict
from tests.screening import CONFIRM, FACTOR, SCREEN, screen_and_confirm

BUDGET = 256
SHIFTS = (0.0, 2.0, 6.0)
FOUND = 6.0
"""Standard errors at the screen from which on an example that passes is called a false verdict: one in 8000 does."""

ANSWERS = {"passes": "conforms", "fails": "violates", "inconclusive": "inconclusive"}


@dataclass(frozen=True)
class ScreenSetting:
    """A mean that should be 0 and is off by `shift` standard errors of the first sample, judged by its own spread."""

    shift: float
    errors: str

    def replicate(self, rng: np.random.Generator) -> Verdict:
        """One example; both stages draw afresh."""

        def z(_: int, budget: int) -> float:
            values = self.shift / math.sqrt(BUDGET) + ERRORS[self.errors](rng, (budget,))
            return float(values.mean() / values.std(ddof=1) * math.sqrt(budget))

        return Verdict(ANSWERS[screen_and_confirm(z, example=None, budget=BUDGET).verdict])

    def described(self) -> dict[str, Any]:
        """The fields of a tally that are not counts; the noise is the standard error at the screen."""
        kind = "keeps" if not self.shift else "breaks" if self.shift >= FOUND else "either"
        return {
            "name": f"the mean off by {self.shift:g} standard errors" if self.shift else "as it should be",
            "truth": kind,
            "claim": "mean 0",
            "sampling": "fresh at each stage",
            "errors": self.errors,
            "looks": 2,
            "noise": BUDGET**-0.5,
        }


def screening_plan() -> TablePlan:
    """The table of `python -m reports calibration` for the rule by which sampled properties fail."""
    return TablePlan(
        "screening",
        "Screen and confirm: sampled properties",
        f"z > {SCREEN} at {BUDGET} chains, then z > {CONFIRM} on a fresh sample {FACTOR} times as large; conforms: the property "
        "passes. For normal values the chance of a false failure is 1.0e-8, far below what can be counted, and an error of 4.66 "
        f"standard errors at the screen passes once in a hundred. One below {FOUND:g} may be called either way here.",
        tuple((ScreenSetting(shift, errors), 1.0) for errors in ERRORS for shift in SHIFTS),
        level=0.01,
    )
