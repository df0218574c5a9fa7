"""Rates in the step size, simulated: chains at halving steps, judged as `sgverify` judges them.

Rates in the length, simulated: chains along h = C L^-alpha, judged as `sgverify` judges them.

Point nulls, simulated: mean and variance of single chains, held to exact values by growing fresh samples.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import pairwise
from typing import Any

import numpy as np

from reports.making.calibration.counting import Verdict
from reports.making.calibration.truths import ERRORS, Truth, draw_chains
from sgverify.errors import UserError
from sgverify.rates.decision import Decision, decide_order
from sgverify.rates.length import decide_length, decide_length_mse
from sgverify.rates.sample import Floats, Sample
from tests.self_checks.nulls import Nulls, mean_null, variance_null
from tests.self_checks.point_null import LOOKS, decide_point_null

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
    step. With several looks the chains grow `growth` times from look to look and old chains stay. The `steps` are 1, 1/ratio,
    1/ratio^2, ...
    """

    truth: Truth
    order: int
    noise: float
    coupled: bool = False
    errors: str = "Gaussian"
    growing: bool = False
    looks: int = 1
    level: float = LEVEL
    growth: int = GROWTH
    steps: int = STEPS
    ratio: float = HALVING

    def replicate(self, rng: np.random.Generator) -> Verdict:
        """One simulated verdict; the habit (a fitted slope) uses the points of the last look."""
        h = self.ratio ** -np.arange(float(self.steps))
        truth = self.truth.at(h)
        sizes = [FIRST_LOOK * self.growth**look for look in range(self.looks)]
        spread = self.noise * sizes[-1] ** 0.5 * (h**-0.5 if self.growing else np.ones_like(h))
        chains = draw_chains(rng, self.errors, len(h), sizes[-1], self.coupled)
        values = truth[:, None] + spread[:, None] * chains

        def draw(chains: int) -> Sample:
            return Sample.of_chains(values[:, :chains], coupled=self.coupled, looks=self.looks)

        def decide(sample: Sample, level: float) -> Decision:
            return decide_order(h, sample, order=self.order, level=level)

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


def decide_in_looks(
    draw: Callable[[int], Sample],
    looks: Sequence[int],
    decide: Callable[[Sample, float], Decision],
    *,
    level: float,
) -> Decision:
    """Draw looks[0] chains, then looks[1], ... until the verdict is not `inconclusive`.

    `draw(chains)` returns a sample of that many chains in all, old ones kept or not; `decide(sample, level)` judges
    it. Each look gets level / len(looks): by Bonferroni's inequality the chance of a false verdict at any of them is
    below `level`, however the looks depend on one another.

    Raises `UserError` unless the looks are growing numbers of chains.
    """
    if not looks or any(later <= earlier for earlier, later in pairwise(looks)):
        raise UserError(f"looks={list(looks)}: expected growing numbers of chains, e.g. [256, 1024, 4096]")
    for chains in looks:
        decision = decide(draw(chains), level / len(looks))
        if decision.verdict != "inconclusive":
            break
    return replace(
        decision,
        certificate={
            **decision.certificate,
            "looks": list(looks),
            "last_look": chains,
            "level_of_all_looks": level,
        },
    )


def slope_of(x: np.ndarray, y: np.ndarray) -> float:
    """The least-squares slope of y on x."""
    away = x - x.mean()
    return float(away @ y / (away @ away))


def spread_of(steps: int, ratio: float) -> str:
    """The steps in words, where they are not the usual ones."""
    return "" if (steps, ratio) == (STEPS, HALVING) else f", {steps} steps of ratio {ratio:g}"


def holds(decision: Decision, truth: Floats) -> bool | None:
    """Does the fitted interval contain the slope of the same regression on the values without noise?

    None if the points have no exponent. `truth`, shape (J,), is in the order of the points; a truth of 0 has no slope.
    """
    line = decision.regression
    if line is None or line.exponent is None or line.low is None or line.high is None:
        return None
    sizes = np.abs(truth[list(line.used)])
    return bool(np.all(sizes > 0) and line.low <= np.asarray(line.entering) @ np.log(sizes) <= line.high)


LENGTHS = tuple(100 * 2**k for k in range(8))


@dataclass(frozen=True)
class LengthSetting:
    """b(L) at fixed horizons, claimed O(L^-slowest), with slowest = min(alpha K, 1 - alpha), twice alpha K for the `mse`.

    The truth is in powers of L_min / L. `noise` is the standard error of the mean over the chains at the shortest length, as
    a part of the bias there; it falls like L^-(1-alpha)/2, as the spread of a time average does.
    """

    truth: Truth
    quantity: str
    order: int
    alpha: Fraction
    noise: float
    level: float = LEVEL

    @property
    def slowest(self) -> float:
        """The slowest exponent that a bias may have and keep the claim."""
        if self.quantity == "mse":
            return float(min(2 * self.order * self.alpha, 1 - self.alpha) / 2)
        return float(min(self.order * self.alpha, 1 - self.alpha))

    def replicate(self, rng: np.random.Generator) -> Verdict:
        """One simulated verdict, without a habit: exponents of L lie too close together for a fitted slope."""
        L = np.asarray(LENGTHS, dtype=np.float64)
        x = L[0] / L
        truth = self.truth.at(x)
        spread = self.noise * x ** (float(1 - self.alpha) / 2)
        single = spread * FIRST_LOOK**0.5
        chains = draw_chains(rng, "Gaussian", len(L), FIRST_LOOK, coupled=False)
        sample = Sample.of_chains(truth[:, None] + single[:, None] * chains, coupled=False)
        decide = decide_length_mse if self.quantity == "mse" else decide_length
        decision = decide(L, sample, order=self.order, alpha=self.alpha, level=self.level)
        described = truth**2 + single**2 if self.quantity == "mse" else truth
        fitted = decision.exponent is not None
        return Verdict(decision.verdict, None, fitted, holds(decision, described))

    def described(self) -> dict[str, Any]:
        """The fields of a tally that are not counts."""
        exponent = Fraction(self.slowest).limit_denominator(100) * (2 if self.quantity == "mse" else 1)
        return {
            "name": self.truth.name,
            "truth": self.truth.kind(self.slowest - 1e-9),
            "claim": f"{self.quantity} of order L^-{exponent}",
            "sampling": "independent",
            "errors": "Gaussian",
            "looks": 1,
            "noise": self.noise,
        }


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
        """One simulated verdict of the whole sequence of looks."""

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
