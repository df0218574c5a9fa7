"""Rates in the step size, simulated: chains at halving steps, judged as `sgverify` judges them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from sgverify.rates.calibration.counting import Verdict
from sgverify.rates.calibration.noise import draw_chains
from sgverify.rates.calibration.truths import Truth
from sgverify.rates.decision import Decision, decide_in_looks, decide_order
from sgverify.rates.sample import Floats, Sample

STEPS = 5
HALVING = 2.0
FIRST_LOOK = 256
GROWTH = 4
LEVEL = 0.01
HABIT = 0.3
"""The field's habit: conforms if the log-log slope is within this of the order."""


@dataclass(frozen=True)
class StepSetting:
    """b(h) under chains whose mean has standard error `noise` (at the largest step, and at the last look), claimed O(h^K).

    `growing`: the standard error grows like 1/sqrt(h), as it does for a fixed number of steps; else it is the same at every
    step. With several looks the chains grow `growth` times from look to look and old chains stay. `control` is the error of an
    Euler control at the largest step, in the units of the noise. The `steps` are 1, 1/ratio, 1/ratio^2, ...
    """

    truth: Truth
    order: int
    noise: float
    coupled: bool = False
    errors: str = "Gaussian"
    growing: bool = False
    looks: int = 1
    level: float = LEVEL
    control: float | None = None
    growth: int = GROWTH
    steps: int = STEPS
    ratio: float = HALVING

    def replicate(self, rng: np.random.Generator) -> Verdict:
        """One verdict; the habit sees the last look's points."""
        h = self.ratio ** -np.arange(float(self.steps))
        truth = self.truth.at(h)
        sizes = [FIRST_LOOK * self.growth**look for look in range(self.looks)]
        spread = self.noise * sizes[-1] ** 0.5 * (h**-0.5 if self.growing else np.ones_like(h))
        chains = draw_chains(rng, self.errors, len(h), sizes[-1], self.coupled)
        values = truth[:, None] + spread[:, None] * chains

        def draw(chains: int) -> Sample:
            return Sample.of_chains(values[:, :chains], coupled=self.coupled)

        def decide(sample: Sample, level: float) -> Decision:
            return decide_order(
                h,
                sample.values,
                covariance=sample.covariance,
                order=self.order,
                level=level,
                chains=sample.chains,
                control=self.control,
                looks=self.looks,
            )

        decision = decide_in_looks(draw, sizes, decide, level=self.level)
        slope = slope_of(np.log(h), np.log(np.abs(values.mean(axis=1))))
        habit = bool(abs(slope - self.order) < HABIT)
        return Verdict(decision.verdict, habit, decision.exponent is not None, holds(decision, truth))

    def described(self) -> dict[str, Any]:
        """The fields of a tally that are not counts."""
        kind = self.truth.kind(self.order)
        return {
            "name": self.truth.name,
            "truth": kind,
            "claim": f"order {self.order}",
            "sampling": ("coupled" if self.coupled else "independent") + spread_of(self.steps, self.ratio),
            "errors": self.errors + (" growing like h^-1/2" if self.growing else ""),
            "looks": self.looks,
            "noise": self.noise,
        }


def slope_of(x: np.ndarray, y: np.ndarray) -> float:
    """The least-squares slope of y on x."""
    away = x - x.mean()
    return float(away @ y / (away @ away))


def spread_of(steps: int, ratio: float) -> str:
    """The steps in words, where they are not the usual ones."""
    return "" if (steps, ratio) == (STEPS, HALVING) else f", {steps} steps of ratio {ratio:g}"


def holds(decision: Decision, truth: Floats) -> bool | None:
    """Whether the interval that describes the points holds the slope that the same regression has without noise.

    None where the points have no exponent. `truth` (J,) is in the order of the points; where it is 0 it has no slope.
    """
    line = decision.regression
    if line is None or line.exponent is None or line.low is None or line.high is None:
        return None
    sizes = np.abs(truth[list(line.used)])
    return bool(np.all(sizes > 0) and line.low <= np.asarray(line.entering) @ np.log(sizes) <= line.high)
