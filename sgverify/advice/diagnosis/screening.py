"""How far is a step from exp(hL), in floats, at one generic state of one generic potential?

The definition is run once at two small step sizes and at all nodes of a quadrature for its draws. With D the increment of the
state and xi a vector of numbers, E exp(xi . D) - sum_(k <= K) h^k m_k(xi) is O(h^(K+1)) for a step of local order K, where m_k
are the coefficients of the diffusion. An edit whose difference falls more slowly is dropped without a proof; what passes is
proved afterwards, so that nothing rests on this comparison.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np

from sgverify.exact.affine.field import Scalar
from sgverify.exact.numbers.ball import FLOATS
from sgverify.exact.numbers.entrywise import EntrywiseVector, coordinates_of, state_of
from sgverify.exact.numbers.quadrature import normal_quadrature
from sgverify.exact.rings.polynomials import to_fraction
from sgverify.exact.series.probe import (
    PolynomialPotential,
    generic_potential,
    generic_root,
    generic_state,
    increment_moments,
)
from sgverify.schemes import Scheme
from sgverify.schemes.definition.abstract_value import VECTOR
from sgverify.schemes.definition.binding import Carrier, FullGradientIngredient, bind
from sgverify.schemes.definition.mathematics import NoiseLaw

SETTINGS = (
    (Fraction(1), {"T": Fraction(73, 97), "D": Fraction(131, 103)}),
    (Fraction(-7, 8), {"T": Fraction(139, 107), "D": Fraction(61, 89)}),
)
"""The factor of the generic state, T and D of two settings on both sides of 0 and of 1.

At T = 1 whole classes of bugs are invisible, on one side of it or of 0 those with a sign. None is a number that an edit writes.
"""

LARGEST = 2.0**-8
"""The larger step size; the potential's time scale is 1. The smaller one is a quarter of it."""

SLOWER = 2.0**0.5
"""A difference of h^(K+1) falls by 4^(K+1), one of h^(K+1/2) by half of that; the limit lies between them."""

ROUNDED = 1e-13
"""A difference below this is rounding: E exp(xi . D) is a sum of numbers of size 1."""

MOST_AXES = 4
"""The most axes of a quadrature: with more draws a definition that asks for no dimension is run in dimension 1."""

VECTORS = 6
"""The number of vectors xi, more than there are ways in which a difference could vanish by chance."""

FUNCTIONS = VECTORS * len(SETTINGS)
"""The differences of one step: those of every vector in every setting."""

HIGHEST = 2
"""The highest order that floats resolve at these step sizes; proofs examine higher ones."""


@dataclass(frozen=True)
class Difference:
    """E exp(xi . D) less its series, at h and h/4, for each xi; `level` is the power of h at which it should vanish.

    `values` has the shape (2, FUNCTIONS), with as many functions for each of the `SETTINGS`.
    """

    values: np.ndarray
    level: int

    @property
    def size(self) -> float:
        """The largest difference at the larger step size."""
        return float(np.abs(self.values[0]).max())

    @property
    def passes(self) -> bool:
        """Whether the difference falls at least as h^level."""
        coarse, fine = np.abs(self.values).max(axis=1)
        return bool(fine <= max(ROUNDED, coarse * SLOWER * 0.25**self.level))

    @property
    def leading(self) -> np.ndarray:
        """The coefficient of h, extrapolated from both step sizes: changes of different terms of a step add up in it."""
        coarse, fine = self.values / (LARGEST * np.array([[1.0], [0.25]]))
        found: np.ndarray = (4 * fine - coarse) / 3
        return found

    @property
    def second(self) -> np.ndarray:
        """The coefficient of h^2 where that of h vanishes, extrapolated in the same way."""
        coarse, fine = self.values / (LARGEST * np.array([[1.0], [0.25]])) ** 2
        found: np.ndarray = (4 * fine - coarse) / 3
        return found

    @property
    def key(self) -> tuple[float, ...]:
        """The same for two definitions of one law, up to rounding."""
        return tuple(np.round(self.values[0] / (1e3 * ROUNDED)).tolist())


class Screen:
    """The comparison of edited steps of one scheme with exp(hL), through the local order `order`.

    A scheme that asks for its dimension is compared in dimension `wrong`, where it is known to fail.
    """

    def __init__(self, scheme: Scheme, order: int, wrong: int = 2) -> None:
        self._scheme = scheme
        self._order = min(order, HIGHEST)
        draws = scheme.draws * self._steps + scheme.starts.draws
        counted = scheme.asks_for_dimension or "scalar" in scheme.shapes.values()
        self.dim = max(2, wrong) if counted else 2 if 2 * draws <= MOST_AXES else 1
        riemannian = scheme.dynamics.riemannian
        self._root = generic_root(self.dim) if riemannian else []
        self._metric = _Metric(self._root, self.dim) if riemannian else None
        self._grids: dict[tuple[NoiseLaw, ...], _Grid] = {}
        self._laws: tuple[NoiseLaw, ...] = (*scheme.starts.laws, *scheme.laws * self._steps)
        self._potential = generic_potential(self.dim)
        self._point = generic_state(scheme.dynamics.shapes, self.dim)
        # Rows are the settings, each at both step sizes.
        self._h = np.tile(LARGEST * np.array([[1.0], [0.25]]), (len(SETTINGS), 1))
        generator = np.random.default_rng(1)
        self._xi = generator.uniform(-1.0, 1.0, (VECTORS, len(self._point)))
        self._parameters = {
            name: _scalar(_rows([float(setting[name]) for _, setting in SETTINGS])) for name in SETTINGS[0][1]
        }
        self._gradient = _gradient(self._potential)

    @property
    def _steps(self) -> int:
        """A value that is kept in memory reaches the state with the next step."""
        return 1 + len(self._scheme.memory)

    @property
    def level(self) -> int:
        """The power of h at which the difference has to vanish; the start of a memory may cost one."""
        return self._order + (0 if self._scheme.memory else 1)

    @cached_property
    def _series(self) -> np.ndarray:
        """sum_k (n h)^k m_k(xi) through h^K, shape (2 settings, VECTORS)."""
        return np.vstack([self._series_at(*setting) for setting in SETTINGS])

    def _series_at(self, side: Fraction, parameters: Mapping[str, Fraction]) -> np.ndarray:
        state = {key: side * value for key, value in self._point.items()}
        coordinates = [state["theta", i] for i in range(self.dim)]
        moments = increment_moments(
            self._scheme.dynamics,
            self.dim,
            self._order,
            state=state,
            parameters=parameters,
            derivative_of_potential=lambda index: self._potential.derivative(index, coordinates),
            derivative_of_root=lambda member, index: self._root[member].derivative(index, coordinates),
        )
        total = np.zeros((2, VECTORS))
        for index, row in moments.items():
            weight = np.prod(self._xi ** np.array(index), axis=1) / math.prod(map(math.factorial, index))
            for k, value in enumerate(row):
                total += float(value) * (self._steps * self._h[:2]) ** k * weight
        return total

    def difference(self, scheme: Scheme) -> Difference | None:
        """The difference of an edited scheme; None where it cannot be run in floats, or is not finite.

        `scheme` may be a sketch whose definition has not been checked.
        """
        laws = self._laws
        for _ in range(2):
            grid = self._grid(laws)
            run = _Run(grid)
            try:
                with np.errstate(all="ignore"):
                    moved = self._moved(scheme, run)
                    if moved is not None and tuple(run.asked) == laws:
                        values = self._transform(moved, grid) - self._series
                        by_step = np.hstack([values[2 * k : 2 * k + 2] for k in range(len(SETTINGS))])
                        return Difference(by_step, self.level) if np.isfinite(values).all() else None
            except Exception:
                # An edit may be any error of Python; it is no candidate then.
                return None
            laws = tuple(run.asked)
            if len(laws) * self.dim > 2 * MOST_AXES:
                return None
        return None

    def _moved(self, scheme: Scheme, run: _Run) -> list[Any] | None:
        shapes = scheme.dynamics.shapes
        state = state_of(
            shapes,
            self.dim,
            lambda name, i: _scalar(_rows([float(side * self._point[name, i]) for side, _ in SETTINGS])),
        )
        bound = bind(scheme, Carrier(), self._parameters, dim=self.dim, metric=self._metric)
        given: dict[str, Any] = {"h": _scalar(self._h), "grad": self._gradient, "draw": run.draw}
        before = bound.start(state, **given) if scheme.memory else state
        after = before
        for _ in range(self._steps):
            after = bound.step(after, **given)
            if len(after) != len(scheme.state):
                return None
        for value, shape in zip(after, scheme.shapes.values(), strict=True):
            if isinstance(value, EntrywiseVector) != (shape == VECTOR):
                return None
        ends = coordinates_of(after[: len(shapes)], shapes, self.dim)
        starts = coordinates_of(state, shapes, self.dim)
        return [(end - start).value for end, start in zip(ends, starts, strict=True)]

    def _transform(self, moved: list[Any], grid: _Grid) -> np.ndarray:
        shape = (len(self._h), len(grid.weights))
        increments = np.array([np.broadcast_to(value, shape) for value in moved])
        exponents = np.tensordot(self._xi, increments, 1)
        averages: np.ndarray = np.exp(exponents) @ grid.weights
        return averages.T

    def _grid(self, laws: tuple[NoiseLaw, ...]) -> _Grid:
        if laws not in self._grids:
            self._grids[laws] = _Grid(laws, self.dim, self._order + 1)
        return self._grids[laws]


class _Grid:
    """Nodes and weights of the product rule for the draws of a step, exact through degree 2 count - 1 in each."""

    def __init__(self, laws: tuple[NoiseLaw, ...], dim: int, count: int) -> None:
        self.laws = laws
        axes = [_rule(law, count) for law in laws for _ in range(dim)]
        self.weights = np.ones(1)
        columns: list[np.ndarray] = []
        for nodes, weights in axes:
            columns = [np.repeat(column, len(nodes)) for column in columns]
            columns.append(np.tile(nodes, len(self.weights)))
            self.weights = np.outer(self.weights, weights).ravel()
        self.draws = [columns[k * dim : (k + 1) * dim] for k in range(len(laws))]


def _rule(law: NoiseLaw, count: int) -> tuple[np.ndarray, np.ndarray]:
    if law.normal:
        nodes, weights = normal_quadrature(count)
        return nodes.astype(float), weights.astype(float)
    if law.atoms:
        return np.array([float(x) for x, _ in law.atoms]), np.array([float(w) for _, w in law.atoms])
    nodes, weights = np.polynomial.legendre.leggauss(count)
    return nodes * law.largest, weights / 2


class _Run:
    """The draws of one run: node arrays in the order in which they are asked for, and the laws that were asked for."""

    def __init__(self, grid: _Grid) -> None:
        self._grid = grid
        self.asked: list[NoiseLaw] = []

    def draw(self, law: NoiseLaw) -> EntrywiseVector:
        k = len(self.asked)
        self.asked.append(law)
        columns = self._grid.draws[k] if k < len(self._grid.draws) else self._grid.draws[-1]
        return EntrywiseVector([_scalar(column) for column in columns])


def _gradient(potential: PolynomialPotential) -> FullGradientIngredient:
    """The gradient of a polynomial potential on arrays of places; a cubic part of each coordinate is the prior's."""
    units = [tuple(int(j == i) for j in range(potential.dim)) for i in range(potential.dim)]
    first = [_coefficients(potential, unit) for unit in units]
    second = [
        [_coefficients(potential, tuple(map(sum, zip(a, b, strict=True)))) for b in units] for a in units
    ]

    def at(place: EntrywiseVector) -> EntrywiseVector:
        points = _arrays(place)
        return EntrywiseVector([_scalar(_value(c, points)) for c in first])

    def prior(place: EntrywiseVector) -> EntrywiseVector:
        return EntrywiseVector(
            [x * (Fraction(k + 1, 4)) + x**3 * Fraction(1, 8) for k, x in enumerate(place.entries)]
        )

    def hessian(place: EntrywiseVector, vector: EntrywiseVector) -> EntrywiseVector:
        points, entries = _arrays(place), vector.entries
        rows = [
            sum((v * _scalar(_value(c, points)) for v, c in zip(entries, row, strict=True)), 0)
            for row in second
        ]
        return EntrywiseVector(rows)

    return FullGradientIngredient(at, prior=prior, hessian=hessian)


class _Metric:
    """The metric ingredient G^-1 = B B^T with polynomial entries of B, on arrays of places."""

    def __init__(self, root: Sequence[PolynomialPotential], dim: int) -> None:
        self._dim = dim
        units = [tuple(int(j == i) for j in range(dim)) for i in range(dim)]
        self._entries = [
            [_coefficients(root[i * dim + j], (0,) * dim) for j in range(dim)] for i in range(dim)
        ]
        self._derivatives = [
            [[_coefficients(root[i * dim + j], unit) for unit in units] for j in range(dim)]
            for i in range(dim)
        ]

    def _at(self, place: EntrywiseVector) -> list[list[Scalar]]:
        points = _arrays(place)
        return [[_scalar(_value(entry, points)) for entry in row] for row in self._entries]

    def root(self, place: EntrywiseVector, vector: EntrywiseVector) -> EntrywiseVector:
        return EntrywiseVector(
            [_sum(b * v for b, v in zip(row, vector.entries, strict=True)) for row in self._at(place)]
        )

    def transposed(self, place: EntrywiseVector, vector: EntrywiseVector) -> EntrywiseVector:
        columns = zip(*self._at(place), strict=True)
        return EntrywiseVector(
            [_sum(b * v for b, v in zip(column, vector.entries, strict=True)) for column in columns]
        )

    def inverse(self, place: EntrywiseVector, vector: EntrywiseVector) -> EntrywiseVector:
        return self.root(place, self.transposed(place, vector))

    def _derivative(self, place: EntrywiseVector) -> list[list[list[Scalar]]]:
        """[i][j][k] = d_k B_ij."""
        points = _arrays(place)
        return [[[_scalar(_value(c, points)) for c in entry] for entry in row] for row in self._derivatives]

    def root_divergence(self, place: EntrywiseVector) -> EntrywiseVector:
        """sum_j d_j B_ji."""
        n, d = range(self._dim), self._derivative(place)
        return EntrywiseVector([_sum(d[j][i][j] for j in n) for i in n])

    def divergence(self, place: EntrywiseVector) -> EntrywiseVector:
        """sum_j d_j (B B^T)_ij."""
        n, b, d = range(self._dim), self._at(place), self._derivative(place)
        return EntrywiseVector(
            [_sum(d[i][k][j] * b[j][k] + b[i][k] * d[j][k][j] for j in n for k in n) for i in n]
        )


def _sum(values: Iterable[Scalar]) -> Any:
    total: Any = 0
    for value in values:
        total = total + value
    return total


def _rows(values: Sequence[float]) -> np.ndarray:
    """One number for each setting as a column, at both of its step sizes."""
    return np.repeat(np.array(values), 2)[:, None]


def _scalar(value: Any) -> Scalar:
    return Scalar(FLOATS, value)


def _arrays(place: EntrywiseVector) -> list[np.ndarray]:
    return [np.asarray(entry.value if isinstance(entry, Scalar) else float(entry)) for entry in place.entries]


def _coefficients(potential: PolynomialPotential, index: tuple[int, ...]) -> Mapping[tuple[int, ...], float]:
    """The coefficients of d^index U, by powers."""
    return {powers: float(to_fraction(c)) for powers, c in potential.terms_of(index).items()}


def _value(coefficients: Mapping[tuple[int, ...], float], points: list[np.ndarray]) -> Any:
    """sum_a c_a x^a by Horner's rule in the last coordinate, and by the same rule for its coefficients."""
    if not points:
        return coefficients.get((), 0.0)
    *others, x = points
    parts: dict[int, dict[tuple[int, ...], float]] = {}
    for powers, c in coefficients.items():
        parts.setdefault(powers[-1], {})[powers[:-1]] = c
    total: Any = 0.0
    for power in range(max(parts, default=0), -1, -1):
        total = total * x + (_value(parts[power], others) if power in parts else 0.0)
    return total
