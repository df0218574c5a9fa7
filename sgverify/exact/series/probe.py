"""A generic potential and state, at which orders of black boxes are measured, and exp(hL) there.

The moments of the diffusion's increment at one point of one potential are numbers, in powers of h.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import Any

from flint import fmpq

from sgverify.exact.numbers.entrywise import coordinate_keys
from sgverify.exact.rings.context import Index, multi_indices
from sgverify.exact.rings.evaluation import FRACTIONS, Values, by_key
from sgverify.exact.rings.polynomials import Key, evaluate, partial, polynomials_in, to_fmpq, to_fraction
from sgverify.exact.rings.ring import Ring
from sgverify.exact.series.operators import Operator, exponential, generator_of, ring_of
from sgverify.schemes import Dynamics

DEGREE = 6
"""The potential's degree: enough that no derivative that matters up to order 3 vanishes."""


@dataclass(frozen=True)
class PolynomialPotential:
    """U(theta) = sum_a c_a theta^a, its coefficients exact."""

    dim: int
    terms: Mapping[Index, Fraction]

    def derivative(self, index: Index, point: Sequence[Any]) -> Any:
        """d^index U at a point, in whatever numbers the point has."""
        return evaluate(self.terms_of(index), lambda k, n: point[k] ** n, to_fraction)

    def terms_of(self, index: Index) -> dict[Index, fmpq]:
        """The coefficients of d^index U, by powers."""
        whole = polynomials_in(f"x{i}" for i in range(self.dim)).from_dict(
            {powers: to_fmpq(c) for powers, c in self.terms.items()}
        )
        return {tuple(map(int, powers)): c for powers, c in partial(whole, index).to_dict().items()}

    def gradient_terms(self) -> tuple[list[Index], list[list[float]]]:
        """Powers a_k and numbers g_ki with d_i U = sum_k g_ki theta^a_k, each number rounded once."""
        units = [tuple(int(j == i) for j in range(self.dim)) for i in range(self.dim)]
        found = [self.terms_of(unit) for unit in units]
        powers = sorted({key for terms in found for key in terms}, key=lambda a: (sum(a), [-n for n in a]))
        return powers, [[float(to_fraction(terms.get(key, fmpq(0)))) for terms in found] for key in powers]


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


def generic_root(dim: int) -> list[PolynomialPotential]:
    """The entries B_11, B_12, ... of the root of a metric: quadratic polynomials near the identity, no two alike."""
    entries = []
    for member in range(dim * dim):
        terms: dict[Index, Fraction] = {}
        for size in range(3):
            for number, index in enumerate(multi_indices(dim, size)):
                terms[index] = Fraction((3 * number + 2 * size + 5 * member) % 7 - 3 or 2, 2 ** (size + 4))
        if member % (dim + 1) == 0:
            origin = (0,) * dim
            terms[origin] = 1 + terms.get(origin, Fraction(0))
        entries.append(PolynomialPotential(dim, terms))
    return entries


def generic_state(shapes: Mapping[str, str], dim: int) -> dict[tuple[str, int], Fraction]:
    """Coordinates between -1 and 1 that float64 holds, no two alike in size."""
    keys = coordinate_keys(shapes, dim)
    return {key: Fraction((-1) ** k * (2 * k + 5), 16) for k, key in enumerate(keys)}


def increment_moments(
    dynamics: Dynamics,
    dim: int,
    highest: int,
    *,
    state: Mapping[tuple[str, int], Any],
    parameters: Mapping[str, Any],
    derivative_of_potential: Callable[[Index], Any],
    derivative_of_root: Callable[[int, Index], Any] | None = None,
) -> dict[Index, list[Any]]:
    """{a: [m_0, ..., m_highest]} with E (X_h - x)^a = sum_k m_k h^k + O(h^(highest + 1)) for X the diffusion from x.

    m_k is L^k/k! applied to (y - x)^a at y = x, that is a! times the coefficient of d^a in it. `state` gives x by
    variable and coordinate, `derivative_of_potential(a)` is d^a U at x, and `derivative_of_root(i n + j, a)` is d^a B_ij of a
    metric's root there in n dimensions: exact numbers give exact moments. An index a that is not among the keys has the
    moment 0 to this order.
    """
    ring, powers = _powers(dynamics, dim, highest)
    known = values_at(ring, state, parameters, derivative_of_potential, derivative_of_root)
    found: dict[Index, list[Any]] = {}
    for k, operator in enumerate(powers):
        for index, coefficient in operator.items():
            factor = math.prod(map(math.factorial, index))
            row = found.setdefault(index, [0] * (highest + 1))
            row[k] = factor * known(coefficient)
    return found


@lru_cache(maxsize=16)
def _powers_of(key: int, dim: int, highest: int) -> tuple[Ring, list[Operator]]:
    dynamics = _DYNAMICS[key]
    ring = ring_of(dynamics, dim, depth=2 * highest + 1, cap=1)
    return ring, exponential(generator_of(dynamics, ring), ring, highest)


_DYNAMICS: dict[int, Dynamics] = {}


def _powers(dynamics: Dynamics, dim: int, highest: int) -> tuple[Ring, list[Operator]]:
    # A dynamics holds a dictionary and has no hash; it is kept, so that its id stays its own.
    _DYNAMICS.setdefault(id(dynamics), dynamics)
    return _powers_of(id(dynamics), dim, highest)


def values_at(
    ring: Ring,
    state: Mapping[tuple[str, int], Any],
    parameters: Mapping[str, Any],
    derivative_of_potential: Callable[[Index], Any],
    derivative_of_root: Callable[[int, Index], Any] | None = None,
) -> Values:
    """Values of a ring's elements at one state of one potential, at given parameters: exact numbers give exact values."""

    def number(key: Key) -> Any:
        if key[0] == "U":
            return derivative_of_potential(key[2])
        if key[0] == "B" and derivative_of_root is not None:
            return derivative_of_root(*key[1:])
        return state[key]

    return Values(ring, by_key(ring, number), FRACTIONS, parameters)
