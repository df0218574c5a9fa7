"""E|theta_k - theta*|^2 for two regions, computed: the weights follow a Markov chain of regions whose law is exact.

theta(2) = 1 stays, x = theta(1) moves. Given x the region J stays with the chance `memory` and is drawn anew from its
piecewise law otherwise, so that this law is invariant and the noise of the adaptation is Markovian, with autocorrelations
memory^t. Averages are carried back from step k to the start on a grid of x: no sampling.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from sgverify.exact.weights.fixed_point import AWSGLD, WeightRule, mean_field, random_field, region_chances

_STEP = 1e-6
_SMALLEST = 1e-9
_DIGITS = 250
"""x^-zeta stays below 10^250, within float64."""
_POINTS = (2001, 1001)


@dataclass(frozen=True)
class TwoRegions:
    """The chain for masses (p_1, p_2), zeta, and the rule by which theta follows."""

    masses: tuple[float, float]
    zeta: float
    star: float
    rule: WeightRule = AWSGLD
    memory: float = 0.5

    def squared_errors(
        self, omega: Callable[[int], float], lengths: Sequence[int], start: float
    ) -> tuple[np.ndarray, np.ndarray]:
        """E (x_k - x*)^2 at the lengths k from x_0 = start in region 1, and bounds of their errors. Shapes (n,), (n,).

        Two grids, extrapolated by the order 2 of linear interpolation; the bound is what the extrapolation changes.
        """
        fine, coarse = (
            np.array([self._carried_back(omega, length, start, points) for length in lengths])
            for points in _POINTS
        )
        change = (fine - coarse) / 3
        return fine + change, np.abs(change) + 1e-13

    def _carried_back(self, omega: Callable[[int], float], length: int, start: float, points: int) -> float:
        """E f(x_length) for f(x) = (x - x*)^2, by f <- P_k f for k = length, ..., 1 on a grid of [0, 1].

        Interpolation is linear, so that every step is an average: errors do not grow.
        """
        x = np.linspace(0.0, 1.0, points)
        first, second = self._chances_on(x)
        fields = [random_field((x, 1.0), region, self.rule)[0] for region in (1, 2)]
        values = [(x - self.star) ** 2] * 2
        for k in range(length, 0, -1):
            step = omega(k)
            moved = [
                np.interp(x + step * field, x, value) for field, value in zip(fields, values, strict=True)
            ]
            anew = (1 - self.memory) * (first * moved[0] + second * moved[1])
            values = [self.memory * value + anew for value in moved]
        return float(np.interp(start, x, values[0]))

    def _chances_on(self, x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        # At x = 0 the law is all in region 1, in the limit.
        inside = np.maximum(x, max(_SMALLEST, 10.0 ** (-_DIGITS / float(self.zeta))))
        first, second = region_chances((inside, np.ones_like(x)), self.masses, self.zeta)
        return first, second

    @property
    def decay(self) -> float:
        """-dh/dx at x*, by a central difference."""
        up, down = (
            mean_field((self.star + s, 1.0), self.masses, self.zeta, self.rule)[0] for s in (_STEP, -_STEP)
        )
        return float((down - up) / (2 * _STEP))

    @property
    def limit(self) -> float:
        """lim E (x_k - x*)^2/omega_k = S/(2 |h'|) for omega_k ~ k^-alpha, alpha < 1: the linearised equation (Lyapunov).

        S = Var H (1 + memory)/(1 - memory) sums the autocovariances of the field at theta*.
        """
        chances = np.array(region_chances((self.star, 1.0), self.masses, self.zeta))
        fields = np.array([random_field((self.star, 1.0), j, self.rule)[0] for j in (1, 2)])
        variance = chances @ fields**2 - (chances @ fields) ** 2
        return float(variance * (1 + self.memory) / (1 - self.memory) / (2 * self.decay))
