"""How far is a step from exp(hL), in floats, at one generic state of one generic potential?

The definition is run once at two small step sizes and at all nodes of a quadrature for its draws. With D the increment of the
state and xi a vector of numbers, E exp(xi . D) - sum_(k <= K) h^k m_k(xi) is O(h^(K+1)) for a step of local order K, where m_k
are the coefficients of the diffusion. An edit whose difference falls more slowly is dropped without a proof; what passes is
proved afterwards, so that nothing rests on this comparison.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from itertools import product
from typing import Any

import numpy as np

from sgverify.exact.numbers.quadrature import EXTENDED
from sgverify.exact.readings.long_double import LongDouble, LongDoubleRootMatrix
from sgverify.exact.series.probe import (
    PolynomialPotential,
    generic_potential,
    generic_root,
    generic_state,
    increment_moments,
)
from sgverify.exact.transfer.line.operator import nodes_of
from sgverify.schemes import Scheme
from sgverify.schemes.definition.abstract_value import VECTOR
from sgverify.schemes.definition.binding import Carrier, FullGradientIngredient, bind
from sgverify.schemes.definition.mathematics import NoiseLaw
from sgverify.targets.metric import MatrixMetric

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

    def coefficient(self, power: int) -> np.ndarray:
        """The coefficient of h^power where no lower one is left, from both step sizes: changes of different terms add up in it."""
        coarse, fine = self.values / (LARGEST * np.array([[1.0], [0.25]])) ** power
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
        self._root = generic_root(self.dim) if scheme.dynamics.riemannian else []
        entries = [entry.terms for entry in self._root]
        rows = tuple(tuple(entries[k : k + self.dim]) for k in range(0, len(entries), self.dim))
        self._metric = LongDoubleRootMatrix(MatrixMetric(rows)) if rows else None
        self._grids: dict[tuple[NoiseLaw, ...], _Grid] = {}
        self._laws: tuple[NoiseLaw, ...] = (*scheme.starts.laws, *scheme.laws * self._steps)
        self._potential = generic_potential(self.dim)
        self._point = generic_state(scheme.dynamics.shapes, self.dim)
        # Rows are the settings, each at both step sizes, and in each the nodes of the quadrature.
        self._h = np.tile(LARGEST * np.array([1.0, 0.25]), len(SETTINGS))
        generator = np.random.default_rng(1)
        self._xi = generator.uniform(-1.0, 1.0, (VECTORS, len(self._point)))
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
                total += float(value) * (self._steps * self._h[:2, None]) ** k * weight
        return total

    def difference(self, scheme: Scheme) -> Difference | None:
        """The difference of an edited scheme; None where it cannot be run in floats, or is not finite.

        `scheme` may be a sketch whose definition has not been checked.
        """
        laws = self._laws
        for _ in range(2):
            grid, asked = self._grid(laws), list[NoiseLaw]()
            try:
                with np.errstate(all="ignore"):
                    moved = self._moved(scheme, grid, asked)
                    if moved is not None and tuple(asked) == laws:
                        averages = np.exp(moved @ self._xi.T).reshape(len(self._h), -1, VECTORS)
                        values = np.tensordot(grid.weights, averages, (0, 1)).astype(float) - self._series
                        by_step = np.hstack([values[2 * k : 2 * k + 2] for k in range(len(SETTINGS))])
                        return Difference(by_step, self.level) if np.isfinite(values).all() else None
            except Exception:
                # An edit may be any error of Python; it is no candidate then.
                return None
            laws = tuple(asked)
            if len(laws) * self.dim > 2 * MOST_AXES:
                return None
        return None

    def _moved(self, scheme: Scheme, grid: _Grid, asked: list[NoiseLaw]) -> np.ndarray | None:
        """The increments of the state, shape (rows, coordinates), with the laws of the draws that were asked for; None of other
        shapes than those of the state.
        """
        count, shapes = len(grid.weights), scheme.dynamics.shapes

        def many(values: Any) -> LongDouble:
            return LongDouble(
                np.repeat(np.asarray(values, dtype=float).reshape(len(self._h), -1), count, axis=0)
            )

        def draw(law: NoiseLaw) -> LongDouble:
            asked.append(law)
            return LongDouble(np.tile(grid.draws[min(len(asked), len(grid.draws)) - 1], (len(self._h), 1)))

        sides = [side for side, _ in SETTINGS for _ in range(2)]
        parameters = [given for _, given in SETTINGS for _ in range(2)]
        state = [
            many(
                [
                    [side * self._point[name, i] for i in range(self.dim if shape == VECTOR else 1)]
                    for side in sides
                ]
            )
            for name, shape in shapes.items()
        ]
        numbers = {name: many([given[name] for given in parameters]) for name in SETTINGS[0][1]}
        bound = bind(scheme, Carrier(), numbers, dim=self.dim, metric=self._metric)
        given: dict[str, Any] = {"h": many(self._h), "grad": self._gradient, "draw": draw}
        after: Any = bound.start(state, **given) if scheme.memory else state
        for _ in range(self._steps):
            after = bound.step(after, **given)
            if len(after) != len(scheme.state):
                return None
        arrays = [np.asarray(getattr(value, "value", value), dtype=EXTENDED) for value in after]
        for value, shape in zip(arrays, scheme.shapes.values(), strict=True):
            if value.shape[-1:] not in ([(self.dim,)] if shape == VECTOR else [(), (1,)]):
                return None
        return np.concatenate([end - start.value for end, start in zip(arrays, state, strict=False)], axis=1)

    def _grid(self, laws: tuple[NoiseLaw, ...]) -> _Grid:
        if laws not in self._grids:
            self._grids[laws] = _Grid(laws, self.dim, self._order + 1)
        return self._grids[laws]


class _Grid:
    """Nodes and weights of the product rule for the draws of a step, exact through degree 2 count - 1 in each."""

    def __init__(self, laws: tuple[NoiseLaw, ...], dim: int, count: int) -> None:
        rules = [nodes_of(law, count) for law in laws for _ in range(dim)]
        axes = [(nodes.astype(float), weights.astype(float)) for nodes, weights in rules]
        self.weights = np.array([np.prod(row) for row in product(*(weights for _, weights in axes))])
        nodes = np.array(list(product(*(nodes for nodes, _ in axes)))).reshape(len(self.weights), -1)
        self.draws = np.split(nodes, max(1, len(laws)), axis=1)


def _gradient(potential: PolynomialPotential) -> FullGradientIngredient:
    """The gradient of a polynomial potential on arrays of places; a cubic part of each coordinate is the prior's."""
    powers, numbers = potential.gradient_terms()
    exponents, factors = np.array(powers), np.array(numbers, dtype=EXTENDED)
    degree = int(exponents.max())

    def monomials(x: np.ndarray, along: int | None = None) -> np.ndarray:
        """The products of powers at every place, or their derivatives along one coordinate."""
        found = np.ones((len(x), len(exponents)), dtype=EXTENDED)
        for k in range(potential.dim):
            table: np.ndarray = np.ones((len(x), degree + 1), dtype=EXTENDED)
            for n in range(degree):
                table[:, n + 1] = table[:, n] * x[:, k]
            if k == along:
                table = np.concatenate([np.zeros((len(x), 1)), table[:, :-1]], axis=1) * np.arange(degree + 1)
            found *= table[:, exponents[:, k]]
        return found

    def prior(place: LongDouble) -> LongDouble:
        x = place.value
        return LongDouble(x * np.arange(1, x.shape[1] + 1) / 4 + x**3 / 8)

    def hessian(place: LongDouble, vector: LongDouble) -> LongDouble:
        x, v = place.value, vector.value
        return LongDouble(sum(monomials(x, k) * v[:, k, None] for k in range(potential.dim)) @ factors)

    def at(place: LongDouble) -> LongDouble:
        return LongDouble(monomials(place.value) @ factors)

    return FullGradientIngredient(at, prior=prior, hessian=hessian)
