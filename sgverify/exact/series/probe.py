"""A potential and a state with nothing special about them, where orders of black boxes are measured."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from sgverify.exact.entrywise import coordinate_keys
from sgverify.exact.series.ring import Index, multi_indices

DEGREE = 6
"""The potential's degree: enough that no derivative that matters up to order 3 vanishes."""


@dataclass(frozen=True)
class PolynomialPotential:
    """U(theta) = sum_a c_a theta^a, its coefficients exact."""

    dim: int
    terms: Mapping[Index, Fraction]

    def derivative(self, index: Index, point: Sequence[Any]) -> Any:
        """d^index U at a point, in whatever numbers the point has."""
        total: Any = 0
        for powers, c in self.terms.items():
            if all(n >= k for n, k in zip(powers, index, strict=True)):
                term: Any = c * math.prod(math.perm(n, k) for n, k in zip(powers, index, strict=True))
                for x, n, k in zip(point, powers, index, strict=True):
                    if n > k:
                        term = term * x ** (n - k)
                total = total + term
        return total

    def gradient_terms(self) -> tuple[list[Index], list[list[float]]]:
        """Powers a_k and numbers g_ki with d_i U = sum_k g_ki theta^a_k, each number rounded once."""
        units = [tuple(int(j == i) for j in range(self.dim)) for i in range(self.dim)]
        found: dict[Index, list[Fraction]] = {}
        for powers, c in self.terms.items():
            for i, unit in enumerate(units):
                if powers[i]:
                    lower = tuple(n - k for n, k in zip(powers, unit, strict=True))
                    found.setdefault(lower, [Fraction(0)] * self.dim)[i] += c * powers[i]
        return list(found), [[float(value) for value in row] for row in found.values()]


def generic_potential(dim: int) -> PolynomialPotential:
    """A sextic that couples all coordinates, without symmetry, of curvature about 1."""
    terms: dict[Index, Fraction] = {}
    for size in range(1, DEGREE + 1):
        for number, index in enumerate(multi_indices(dim, size)):
            # 2, -1, 3, -2, 1, ... over a factor that keeps every degree's share moderate.
            terms[index] = Fraction((3 * number + 2 * size) % 7 - 3 or 2, 2 ** (size + 2))
    for i in range(dim):
        terms[tuple(2 * (j == i) for j in range(dim))] = Fraction(1, 2) + Fraction(i, 8)
    return PolynomialPotential(dim, terms)


def generic_state(shapes: Mapping[str, str], dim: int) -> dict[tuple[str, int], Fraction]:
    """Coordinates between -1 and 1 that float64 holds, no two alike in size."""
    keys = coordinate_keys(shapes, dim)
    return {key: Fraction((-1) ** k * (2 * k + 5), 16) for k, key in enumerate(keys)}
