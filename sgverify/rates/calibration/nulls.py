"""Point nulls, simulated: mean and variance of single chains, held to exact values by growing fresh samples."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from sgverify.rates.calibration.counting import Verdict
from sgverify.rates.calibration.noise import ERRORS
from sgverify.rates.calibration.steps import FIRST_LOOK, LEVEL
from sgverify.rates.nulls import Nulls, mean_null, variance_null
from sgverify.rates.point_null import LOOKS, decide_point_null

MARGINS = {"mean": 0.5, "log variance": math.log(2)}
"""Deviations that an acceptance must have been able to find: in standard deviations of a chain, and as a log of a ratio."""


@dataclass(frozen=True)
class NullSetting:
    """Chains with mean `shift` and variance `ratio`, claimed to have mean 0 and variance 1."""

    name: str
    shift: float
    ratio: float
    errors: str = "Gaussian"
    level: float = LEVEL

    def replicate(self, rng: np.random.Generator) -> Verdict:
        """One verdict of the whole sequence of looks."""

        def draw(chains: int) -> Nulls:
            values = self.shift + math.sqrt(self.ratio) * ERRORS[self.errors](rng, (chains,))
            return Nulls.joined(mean_null("mean", values, 0.0), variance_null("log variance", values, 1.0))

        decision = decide_point_null(draw, first=FIRST_LOOK, level=self.level, margins=MARGINS)
        return Verdict(decision.verdict)

    def described(self) -> dict[str, Any]:
        """The fields of a tally that are not counts; the noise is the standard error of the mean at the first look."""
        off = {"mean": abs(self.shift), "log variance": abs(math.log(self.ratio))}
        if any(deviation >= MARGINS[label] for label, deviation in off.items()):
            kind = "breaks"
        else:
            kind = "either" if any(off.values()) else "keeps"
        return {
            "name": self.name,
            "truth": kind,
            "claim": "mean 0, variance 1",
            "sampling": "fresh at each look",
            "errors": self.errors,
            "looks": LOOKS,
            "noise": FIRST_LOOK**-0.5,
        }
