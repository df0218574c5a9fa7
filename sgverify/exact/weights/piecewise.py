"""The invariant law of a sampler with the multiplier (19), and the piecewise law of the proofs, on exact energies.

The gradient multiplied by (19) is -tau times that of log varpi_Psi, varpi_Psi ~ exp(-U/tau)/Psi_theta(U)^zeta; varpi_Psi~ has
theta(J) in place of Psi (awsgld (23)). With U = |x|^2/2 in the plane the energies are exponential, and every integral over a
region is in closed form:

    int_a^b exp(-u/tau)/tau Psi^-zeta du = below^-zeta exp(-a/tau) (1 - exp(-M (b - a)/tau))/M,   M the multiplier of the region.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import flint
import numpy as np
from flint import arb

import sgverify.exact.posterior.panels  # noqa: F401  balls learn exp and log
from sgverify.exact.numbers.ball import PrecisionLostError, number
from sgverify.exact.weights.fixed_point import BITS
from sgverify.schemes.composites import composite as weighting

_ROUNDS, _STILL = 2000, 1e-12


def one_jump(bins: int, at: Fraction) -> list[Fraction]:
    """1/2 up to the share `at` of the regions, 1 from there on: monotone, and of no slow change."""
    return [Fraction(1, 2) if i <= bins * at else Fraction(1) for i in range(1, bins + 1)]


@dataclass(frozen=True)
class PlaneEnergies:
    """U = |x|^2/2 in the plane under exp(-U/tau), with m regions: (0, first], and equal ones on (first, top].

    Lemma 3 keeps u_1 = `first` fixed as m grows. `beyond`: whether there are energies above `top`, in the last region then;
    else the plane ends at the disc U <= top.
    """

    bins: int
    first: Fraction = Fraction(1, 2)
    top: Fraction = Fraction(4)
    tau: Fraction = Fraction(1)
    beyond: bool = False

    @property
    def width(self) -> Fraction:
        """du, of the regions 2, ..., m; in region 1 the multiplier is 1 whatever the width."""
        return (self.top - self.first) / (self.bins - 1)

    def start(self, i: int) -> Fraction:
        """The lower end of region i: 0 for the first, else u_(i-1)."""
        return Fraction(0) if i == 1 else self.first + (i - 2) * self.width

    def length(self, i: int) -> Fraction:
        """The width of region i."""
        return self.first if i == 1 else self.width

    def cumulated(self, energy: Any) -> arb:
        """P(U <= energy)."""
        height = number(energy)
        if not height > 0:
            return arb(0)
        share = (1 - (-height / number(self.tau)).exp()) / self._inside
        return share if self.beyond or height < number(self.top) else arb(1)

    def masses(self) -> list[arb]:
        """p_1, ..., p_m."""
        ends = [self.cumulated(self.start(i)) for i in range(1, self.bins + 1)] + [arb(1)]
        return [b - a for a, b in itertools.pairwise(ends)]

    def smooth_parts(self, weights: Sequence[Any], zeta: Any) -> list[arb]:
        """int over region i of pi_tau Psi^-zeta, i = 1, ..., m."""
        return [self._part(weights, zeta, i, None) / self._inside for i in range(1, self.bins + 1)]

    def rest(self, start: np.ndarray, zeta: Any) -> np.ndarray:
        """The limit of AWSGLD's weights under varpi_Psi: theta(i) = sum_(J <= i) q_J theta(J)/sum_J q_J theta(J). Shape (m,).

        Iterated in floats from `start`, with steps of 1/zeta at most. Raises `PrecisionLostError` without convergence.
        """
        theta, share = start, min(1.0, 1 / float(zeta))
        for _ in range(_ROUNDS):
            parts = self._float_parts(theta, float(zeta)) * theta
            moved = theta + share * (np.cumsum(parts) / parts.sum() - theta)
            if np.abs(moved - theta).max() < _STILL:
                return np.asarray(moved)
            theta = moved
        raise PrecisionLostError(f"the weights of {self.bins} regions did not come to rest")

    def _float_parts(self, theta: np.ndarray, zeta: float) -> np.ndarray:
        """`smooth_parts`, rounded, up to a common factor."""
        below = np.append(theta[:1], theta[:-1])
        m = np.asarray(
            weighting.multiplier(theta, below, zeta=zeta, tau=float(self.tau), width=float(self.width))
        )
        starts = np.array([float(self.start(i)) for i in range(1, self.bins + 1)])
        lengths = np.array([float(self.length(i)) for i in range(1, self.bins + 1)])
        rises = -np.expm1(-m * lengths / float(self.tau)) / m
        return np.asarray(np.exp(-starts / float(self.tau)) * below**-zeta * rises)

    def distance(self, weights: Sequence[Any], zeta: Any) -> arb:
        """int |varpi_Psi - varpi_Psi~| dx: the supremum over |f| <= 1 of what lemma 3 bounds."""
        with flint.ctx.workprec(BITS):
            smooth, flat = self.smooth_parts(weights, zeta), self.flat_parts(weights, zeta)
            all_smooth, all_flat = sum(smooth, arb(0)), sum(flat, arb(0))
            total = arb(0)
            for i, (s, f) in enumerate(zip(smooth, flat, strict=True), start=1):
                total += self._apart(weights, zeta, i, (s / all_smooth, f / all_flat), (all_smooth, all_flat))
            return total

    def flat_parts(self, weights: Sequence[Any], zeta: Any) -> list[arb]:
        """p_i/theta(i)^zeta, i = 1, ..., m."""
        return [
            p / weighting.importance(number(w), zeta=zeta)
            for p, w in zip(self.masses(), weights, strict=True)
        ]

    def increments(self, weights: Sequence[Any], zeta: Any) -> arb:
        """(2/Z) sum_i p_i |theta(i-1)^-zeta - theta(i)^-zeta|: the distance is at most this where no energy is beyond."""
        inverse = [1 / weighting.importance(number(w), zeta=zeta) for w in weights]
        steps = (
            abs(a - b) * p for (a, b), p in zip(itertools.pairwise(inverse), self.masses()[1:], strict=True)
        )
        return 2 * sum(steps, arb(0)) / sum(self.flat_parts(weights, zeta), arb(0))

    def monotone_bound(self, weights: Sequence[Any], zeta: Any) -> arb:
        """(2/Z) max_(i > 1) p_i |theta(1)^-zeta - theta(m)^-zeta|: no less than `increments` where theta is monotone."""
        first, last = (weighting.importance(number(w), zeta=zeta) for w in (weights[0], weights[-1]))
        largest = number(0)
        for mass in self.masses()[1:]:
            largest = arb.max(largest, mass)
        return 2 * largest * abs(1 / first - 1 / last) / sum(self.flat_parts(weights, zeta), arb(0))

    def _ends(self, weights: Sequence[Any], i: int) -> tuple[arb, arb]:
        below = weighting.region_below(i)
        return number(weights[i - 1]), number(weights[below - 1])

    def _part(self, weights: Sequence[Any], zeta: Any, i: int, until: arb | None) -> arb:
        here, below = self._ends(weights, i)
        m = weighting.multiplier(
            here, below, zeta=number(zeta), tau=number(self.tau), width=number(self.width)
        )
        start = number(self.start(i) / self.tau)
        size = (-start).exp() / weighting.importance(below, zeta=zeta) / m
        if until is None and i == self.bins and self.beyond:
            return size if m > 0 else arb.nan()
        length = number(self.length(i)) if until is None else until
        return size * (1 - (-m * length / number(self.tau)).exp())

    def _apart(
        self, weights: Sequence[Any], zeta: Any, i: int, shares: tuple[arb, arb], totals: tuple[arb, arb]
    ) -> arb:
        """int over region i of the distance; Psi is monotone there, so that the two laws cross at most once."""
        here, below = self._ends(weights, i)
        whole = abs(shares[0] - shares[1])
        slope = (here.log() - below.log()) / number(self.width)
        if not (slope > 0 or slope < 0):
            return whole
        # Psi^-zeta/Z_Psi = theta^-zeta/Z where log Psi = log theta - log(Z_Psi/Z)/zeta.
        crossing = (here.log() - (totals[0] / totals[1]).log() / number(zeta) - below.log()) / slope
        endless = i == self.bins and self.beyond
        if not crossing > 0 or (not endless and not crossing < number(self.length(i))):
            return whole
        # Left of the crossing one law is above, right of it the other.
        smooth = self._part(weights, zeta, i, crossing) / self._inside / totals[0]
        start = number(self.start(i))
        reached = self.cumulated_from(start, start + crossing)
        flat = reached / weighting.importance(here, zeta=zeta) / totals[1]
        return abs(smooth - flat) + abs((shares[0] - smooth) - (shares[1] - flat))

    def cumulated_from(self, low: arb, high: arb) -> arb:
        """P(low < U <= high), for ends inside the range."""
        tau = number(self.tau)
        return ((-low / tau).exp() - (-high / tau).exp()) / self._inside

    @property
    def _inside(self) -> arb:
        return arb(1) if self.beyond else 1 - (-number(self.top / self.tau)).exp()
