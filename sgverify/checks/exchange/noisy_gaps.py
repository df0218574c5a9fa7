"""How much do noisy energies reduce the gain by swaps? The spectral gap at E min(1, S~) against m, eta, n; vr-resgld Theorem 1.

log S~ has normal noise with the standard deviation s and the correction F = 2. With this correction swaps are still in detailed
balance with the joint Gibbs law, at the smaller probability E min(1, S~) <= min(1, S). With control variates that are refreshed
every m steps, and data that enter the energies linearly about their control,

    s^2 = (1/tau1 - 1/tau2)^2 (V/n) (E D_1^2 + E D_2^2),    D_h = beta^(h)_(m eta) - beta^(h)_0 from the Gibbs law.

V/n is the variance of the gradient's noise. D_h is the displacement of the diffusion on the grid at the end of a period.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any, Protocol

from flint import arb

from sgverify.checks.facts import facts_of
from sgverify.exact.exchange.generator import Replicas
from sgverify.rates.verdict import Judgement
from sgverify.schemes.composites.composite import inverse_gap
from sgverify.subject.composite import Ladder
from sgverify.subject.subject import Subject

DEVIATIONS = (0.0, 0.5, 1.0, 2.0, 4.0, 8.0)
"""The tested standard deviations s of log S~."""

CELLS, INTENSITY = 48, 1.0
"""The cells of a line, and the intensity r in units of the curvature.

A larger r compensates for noise: the motion between swaps then determines the gap.
"""

TIMES_MORE = 16.0
"""The factor by which m, eta and n, one at a time, exceed their configured values."""

ROUNDING = 1e-9
"""The relative rounding of a gap, an eigenvalue of a matrix with 2304 rows in float64."""


class Lined(Protocol):
    """Two replicas on the line, as this file uses them."""

    @property
    def ladder(self) -> Ladder:
        """The ladder of the two replicas."""

    @property
    def temperatures(self) -> tuple[float, float]:
        """The temperatures of the two replicas."""

    def replicas(self, count: int, r: float, deviation: float = 0.0) -> Replicas:
        """The two replicas on grids of `count` cells, at the intensity r and the standard deviation of log S~."""


@dataclass(frozen=True)
class NoisyGaps:
    """Spectral gaps with noisy energies, in units of the gap with exact energies.

    The gaps are given by the standard deviation of log S~, and by the setting (m, eta or n) that exceeds its configured value.
    """

    alone: float
    by_deviation: dict[float, float]
    by_setting: dict[str, tuple[float, float]]
    scale: str
    unbalanced: float
    """The largest violation of detailed balance by noisy swaps, relative to the largest flow, over all deviations."""

    @property
    def certificate(self) -> dict[str, Any]:
        """The gaps as a table for the certificate."""
        return {
            f"spectral gap at r = {INTENSITY:g} over that of exact energies, by the deviation of log S": {
                f"s = {s:g}": gap for s, gap in self.by_deviation.items()
            },
            "without swaps": self.alone,
            "detailed balance left with noisy energies": self.unbalanced,
            f"against m, eta and n ({self.scale}): the deviation of log S, and the gap": {
                name: list(pair) for name, pair in self.by_setting.items()
            },
        }

    def judged(self, judgement: Judgement) -> Judgement:
        """The verdict for exact energies, extended to noisy ones: violated if noise breaks the balance or raises the gap."""
        if self.unbalanced > ROUNDING:
            reason = f"noisy swaps do not balance the joint Gibbs law: flows differ by {self.unbalanced:.3g} of the largest"
            return Judgement("violates", False, reason)
        gaps = list(self.by_deviation.values())
        if any(later > earlier * (1 + ROUNDING) for earlier, later in pairwise(gaps)):
            reason = f"noise of the energies raises the spectral gap: {self.by_deviation}"
            return Judgement("violates", False, reason)
        told = ", ".join(f"{gap:.3g} at s = {s:g}" for s, gap in self.by_deviation.items() if s)
        rows = {name: f"{gap:.3g} (s = {s:.2g})" for name, (s, gap) in self.by_setting.items()}
        table = ", ".join(f"{name}: {text}" for name, text in rows.items())
        return replace(
            judgement,
            reason=f"{judgement.reason}; with noisy energies the gap is {told} of that with exact ones, s the deviation of log S, "
            f"and {self.alone:.3g} without swaps; {self.scale}, {table}",
        )


def noisy_gaps(subject: Subject, line: Lined) -> NoisyGaps:
    """The gaps of two replicas on the line, for a list of deviations and for the subject's m, eta and n."""
    exact = line.replicas(CELLS, INTENSITY).gap()

    def gap(deviation: float) -> float:
        return line.replicas(CELLS, INTENSITY, deviation).gap() / exact

    m, n = line.ladder.period, subject.configuration.gradient.batch
    known, eta = _noise(subject), subject.step

    def spread(period: float, step: float) -> float:
        """E D_1^2 + E D_2^2."""
        cells = line.replicas(CELLS, INTENSITY).cells
        return sum(
            cells.displacement(tau, period * step * float(factor))
            for tau, factor in zip(line.temperatures, line.ladder.factors, strict=False)
        )

    if known is None:
        unit, scale = 1 / spread(m, eta) ** 0.5, f"in units where s = 1 at m = {m}, eta = {eta:.3g}, any n"
    else:
        unit = abs(inverse_gap(*line.temperatures)) * known**0.5
        scale = f"from the data, m = {m}, eta = {eta:.3g}, n = {n}"
    more = TIMES_MORE
    noisy = {s: line.replicas(CELLS, INTENSITY, s) for s in DEVIATIONS}
    settings = {
        "as configured": unit * spread(m, eta) ** 0.5,
        f"{more:g} m": unit * spread(more * m, eta) ** 0.5,
        f"eta/{more:g}": unit * spread(m, eta / more) ** 0.5,
        f"{more:g} eta": unit * spread(m, eta * more) ** 0.5,
        f"n/{more:g}": unit * (more * spread(m, eta)) ** 0.5,
        f"{more:g} n": unit * (spread(m, eta) / more) ** 0.5,
    }
    return NoisyGaps(
        line.replicas(CELLS, 0.0).gap() / exact,
        {s: gap(s) for s in DEVIATIONS},
        {name: (s, gap(s)) for name, s in settings.items()},
        scale,
        max(replicas.unbalanced for replicas in noisy.values()),
    )


def _noise(subject: Subject) -> float | None:
    """V/n; None unless data enter the energies linearly about their control."""
    covariance = subject.noise.covariance
    if facts_of(subject)["energies.noise"] != "linear" or covariance is None:
        return None
    return float(arb(covariance[0, 0]).mid())
