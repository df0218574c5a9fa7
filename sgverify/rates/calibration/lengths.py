"""Rates in the length, simulated: chains along h = C L^-alpha, judged as `sgverify` judges them."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from sgverify.rates.calibration.counting import Verdict
from sgverify.rates.calibration.noise import draw_chains
from sgverify.rates.calibration.steps import FIRST_LOOK, LEVEL, holds
from sgverify.rates.calibration.truths import Truth
from sgverify.rates.length import decide_length_bias, decide_length_mse
from sgverify.rates.sample import Sample

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
        """One verdict; the field has no habit here, as exponents in L lie too close for one."""
        L = np.asarray(LENGTHS, dtype=np.float64)
        x = L[0] / L
        truth = self.truth.at(x)
        spread = self.noise * x ** (float(1 - self.alpha) / 2)
        single = spread * FIRST_LOOK**0.5
        chains = draw_chains(rng, "Gaussian", len(L), FIRST_LOOK, coupled=False)
        sample = Sample.of_chains(truth[:, None] + single[:, None] * chains, coupled=False)
        decide = decide_length_mse if self.quantity == "mse" else decide_length_bias
        decision = decide(
            L,
            sample.values,
            covariance=sample.covariance,
            order=self.order,
            alpha=self.alpha,
            level=self.level,
            chains=FIRST_LOOK,
        )
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
