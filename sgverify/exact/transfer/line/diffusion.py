"""A diffusion on the line with the invariant density exp(-V), and its Poisson equation, in Taylor polynomials on a grid."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from sgverify.exact.numbers.jets import Jet
from sgverify.exact.numbers.quadrature import EXTENDED
from sgverify.schemes.definition.mathematics import exp
from sgverify.targets import Observable


@dataclass(frozen=True, eq=False)
class Diffusion:
    """G = a (-V' d + d^2) on a uniform grid: `points` (n,), `energy` the coefficients V^(k)/k! (K + 1, n), a a number.

    Functions are Taylor polynomials at every point, so their derivatives are exact; integrals over a cell take the
    polynomials of its two ends, each over its half.
    """

    points: np.ndarray
    energy: np.ndarray
    diffusion: Any

    @cached_property
    def weights(self) -> np.ndarray:
        """Quadrature weights of exp(-V), normalised: the trapezoid rule, which converges geometrically. Shape (n,)."""
        density = np.exp(self.energy[0].min() - self.energy[0])
        return np.asarray(density / density.sum())

    def mean(self, values: np.ndarray) -> Any:
        """The average of a grid function under exp(-V)."""
        return self.weights @ values

    def size(self, values: np.ndarray) -> float:
        """The average of a grid function's absolute value: the scale of its rounding."""
        return float(self.weights @ np.abs(values))

    def observed(self, observable: Observable, degree: int) -> Jet:
        """A test function of theta as Taylor polynomials."""
        c = np.zeros((degree + 1, len(self.points), 1), dtype=EXTENDED)
        c[0, :, 0] = self.points
        c[1] = 1
        return Jet(np.asarray(observable(Jet(c)).c))

    def centred(self, function: Jet) -> Jet:
        """The function less its average."""
        c = function.c.copy()
        c[0] -= self.mean(c[0])
        return Jet(c)

    def generate(self, function: Jet) -> Jet:
        """G f, of two degrees less."""
        first, second = differentiate(function), differentiate(function, 2)
        derivative = differentiate(Jet(self.energy))
        return plus(second, -times(derivative, first)) * self.diffusion

    def poisson_derivative(self, function: Jet) -> Jet:
        """psi' for G psi = -f, f of average 0: psi' = -(1/a) e^V int_(-inf)^x f e^-V.

        Integrated from either end to the middle of the mass, so that no large numbers cancel; higher
        coefficients follow from J' = f + V' J.
        """
        degree = len(function.c) - 1
        middle = int(np.searchsorted(np.cumsum(self.weights), 0.5))
        cells, ratios = self._cells(function)
        values = np.empty_like(self.points)
        derivative = self.energy[1]
        # Beyond the ends f varies slower than e^-V; the neglected integral is as small as the density there.
        values[0] = -function.c[0][0] / derivative[0] if derivative[0] < 0 else 0
        for i in range(middle):
            values[i + 1] = (values[i] + cells[i]) * ratios[i]
        after = function.c[0][-1] / derivative[-1] if derivative[-1] > 0 else EXTENDED(0)
        for i in range(len(values) - 2, middle, -1):
            values[i + 1] = -after
            after = cells[i] + after / ratios[i]
        values[middle + 1] = -after
        return self._continued(values, function, degree) * (-1 / self.diffusion)

    def primitive(self, derivative: Jet) -> np.ndarray:
        """A primitive on the grid, 0 at its first point. Shape (n,)."""
        half = (self.points[1] - self.points[0]) / 2
        steps = _half_integral(derivative.c[:, :-1], half, 1) + _half_integral(derivative.c[:, 1:], half, -1)
        return np.concatenate([np.zeros(1, dtype=EXTENDED), np.cumsum(steps)])

    def _cells(self, function: Jet) -> tuple[np.ndarray, np.ndarray]:
        """int f e^-(V - V_i) over the cell right of x_i, and e^(V_(i+1) - V_i). Shapes (n - 1,)."""
        half = (self.points[1] - self.points[0]) / 2
        relative = -self.energy[: len(function.c)]
        relative[0] = 0
        density = times(exp(Jet(relative)), function).c
        ratios = np.exp(np.diff(self.energy[0]))
        cells = _half_integral(density[:, :-1], half, 1) + _half_integral(density[:, 1:], half, -1) / ratios
        return cells, ratios

    def _continued(self, values: np.ndarray, function: Jet, degree: int) -> Jet:
        derivatives = differentiate(Jet(self.energy)).c
        rows = [values]
        for k in range(degree):
            rows.append((function.c[k] + sum(derivatives[j] * rows[k - j] for j in range(k + 1))) / (k + 1))
        return Jet(np.stack(rows))


def differentiate(function: Jet, times_over: int = 1) -> Jet:
    """The derivative, of one degree less each time."""
    c = function.c
    for _ in range(times_over):
        c = c[1:] * np.arange(1, len(c), dtype=EXTENDED)[:, None]
    return Jet(c)


def plus(left: Jet, right: Jet) -> Jet:
    """The sum, cut to the lower degree."""
    kept = min(len(left.c), len(right.c))
    return Jet(left.c[:kept] + right.c[:kept])


def times(left: Any, right: Any) -> Any:
    """The product, cut to the lower degree; a number is no polynomial and cuts nothing."""
    if isinstance(left, Jet) and isinstance(right, Jet):
        kept = min(len(left.c), len(right.c))
        return Jet(left.c[:kept]) * Jet(right.c[:kept])
    return left * right


def _half_integral(c: np.ndarray, half: Any, side: int) -> np.ndarray:
    """The integral over half a cell, to the right of its point or to the left: sum_k c_k (+-1)^k half^(k+1)/(k+1)."""
    weights = np.array([side**k * half ** (k + 1) / (k + 1) for k in range(len(c))], dtype=EXTENDED)
    return np.asarray(weights @ c)
