"""The concrete metric of a sampled run: G^-1 = diag(b(theta_i)^2) with one polynomial b of a coordinate, or G^-1 = B B^T with a
matrix B of polynomials in all coordinates.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from itertools import product
from typing import Any

import numpy as np
from flint import Ordering, fmpq, fmpq_mat, fmpq_mpoly, fmpq_mpoly_ctx, fmpq_poly

from sgverify.errors import ConfigurationError
from sgverify.targets.form import as_fmpq, as_fraction, form_of
from sgverify.targets.observable import Observable, Terms, parse_polynomial

EXAMPLE = '[["1 + theta[0]**2/10", "theta[1]/5"], ["0", "1"]]'

LARGEST = 6
"""The largest side: there are d^3 derivatives of the entries."""

PLACES = (-3, -1, 0, 1, 3)
MOST_PLACES = 700


@dataclass(frozen=True)
class MatrixMetric:
    """B = (B_ij(theta)), `entries[i][j]` its polynomials as {exponents: coefficient}."""

    entries: tuple[tuple[Any, ...], ...]

    @property
    def dim(self) -> int:
        """The side of B."""
        return len(self.entries)

    @cached_property
    def _polynomials(self) -> list[list[fmpq_mpoly]]:
        context = fmpq_mpoly_ctx.get([f"z{i}" for i in range(self.dim)], Ordering.lex)
        return [
            [context.from_dict({e: as_fmpq(value) for e, value in terms.items()}) for terms in row]
            for row in self.entries
        ]

    def divergence(self) -> tuple[Terms, ...]:
        """sum_j d_j (B B^T)_ij for each i, as polynomials."""
        B, every = self._polynomials, range(self.dim)
        return tuple(
            _terms(sum((B[i][k] * B[j][k]).derivative(j) for j in every for k in every)) for i in every
        )

    def root_divergence(self) -> tuple[Terms, ...]:
        """sum_j d_j B_ji for each i, as polynomials."""
        B, every = self._polynomials, range(self.dim)
        return tuple(_terms(sum(B[j][i].derivative(j) for j in every)) for i in every)

    def determinant(self, place: Sequence[int]) -> fmpq:
        """det B at a place of whole numbers, exactly."""
        return fmpq_mat(
            self.dim, self.dim, [entry(*place) for row in self._polynomials for entry in row]
        ).det()

    def root(self, theta: np.ndarray) -> np.ndarray:
        """B at every place. Shapes (n, d) -> (n, d, d)."""
        return np.stack(
            [np.stack([_at(terms, theta) for terms in row], axis=-1) for row in self.entries], axis=-2
        )

    def derivatives(self, theta: np.ndarray) -> np.ndarray:
        """d_k B_ij at every place, as entry (n, i, j, k). Shapes (n, d) -> (n, d, d, d)."""
        rows = [
            [
                np.stack([_at(_terms(entry.derivative(k)), theta) for k in range(self.dim)], -1)
                for entry in row
            ]
            for row in self._polynomials
        ]
        return np.stack([np.stack(row, axis=-2) for row in rows], axis=-3)

    def largest(self, location: np.ndarray, spread: np.ndarray) -> float:
        """The largest eigenvalue of G^-1 seen within three standard deviations, on the axes and the diagonals."""
        lines = [*np.eye(self.dim), *(np.array(s) for s in product((-1.0, 1.0), repeat=min(self.dim, 4)))]
        padded = [np.resize(line, self.dim) for line in lines]
        nodes = np.concatenate(
            [location + spread * line * t for line in padded for t in np.linspace(-3, 3, 13)[:, None]]
        ).reshape(-1, self.dim)
        return float(np.linalg.norm(self.root(nodes), 2, axis=(-2, -1)).max() ** 2)


def parse_root(rows: Sequence[Sequence[str]]) -> MatrixMetric:
    """The metric of a matrix of polynomials in theta[0], theta[1], ...

    B is checked at some hundred places to be regular with a determinant of one sign; elsewhere nothing is proved.
    Raises `ConfigurationError` where it is not square, an entry is no polynomial, or B is singular between two of them.
    """
    dim = len(rows)
    if not 1 <= dim <= LARGEST or any(isinstance(row, str) or len(row) != dim for row in rows):
        raise ConfigurationError(
            f"metric={list(rows)!r}: expected a square matrix of polynomials, of side 1 to {LARGEST}, such as {EXAMPLE}"
        )
    try:
        entries = tuple(
            tuple(parse_polynomial(text, dim, ("theta",), ("theta",)) for text in row) for row in rows
        )
    except ConfigurationError as error:
        raise ConfigurationError(str(error).replace("test_function=", "metric=", 1)) from None
    metric = MatrixMetric(entries)
    signs = set()
    for place in list(product(PLACES, repeat=dim))[:: max(1, len(PLACES) ** dim // MOST_PLACES)]:
        determinant = metric.determinant(place)
        signs.add(determinant > 0)
        if not determinant or len(signs) > 1:
            shown = ", ".join(map(str, place))
            raise ConfigurationError(
                f"metric={list(rows)!r}: the determinant of B is {'0 at' if not determinant else 'of both signs, 0 before'} "
                f"theta=({shown}), where noise and drift stop; expected a matrix that is regular everywhere, such as {EXAMPLE}"
            )
    return metric


def _at(terms: Terms, theta: np.ndarray) -> np.ndarray:
    return np.asarray(Observable(theta.shape[-1], ("theta",), terms)(theta))


def _terms(polynomial: Any) -> Terms:
    return {exponents: as_fraction(value) for exponents, value in form_of(polynomial).items()}


DEFAULT_METRIC = "1 + theta**2/10"
"""The default of b: a smooth function without a zero."""

Coefficients = tuple[Fraction, ...]
MetricText = str | tuple[tuple[str, ...], ...]
"""The metric as a configuration writes it: b as one text, or the rows of B."""


@dataclass(frozen=True)
class CoordinateMetric:
    """B = diag(b(theta_1), ..., b(theta_d)), the root of G^-1; `coefficients` are b's, the constant first."""

    coefficients: Coefficients

    def value(self, theta: Any) -> Any:
        """b at every coordinate, on any carrier of vectors."""
        return _horner(self.coefficients, theta)

    def derivative(self, theta: Any) -> Any:
        """b' at every coordinate."""
        return _horner(_derivative_on_line(self.coefficients) or (Fraction(0),), theta)

    def root(self, theta: Any, vector: Any) -> Any:
        """B v; on the values of any carrier, so that a definition may use this metric as its ingredient."""
        return self.value(theta) * vector

    transposed = root

    def inverse(self, theta: Any, vector: Any) -> Any:
        """G^-1 v."""
        return self.root(theta, self.root(theta, vector))

    def divergence(self, theta: Any) -> Any:
        """d_i b(theta_i)^2."""
        return self.value(theta) * self.derivative(theta) * 2

    def root_divergence(self, theta: Any) -> Any:
        """d_i b(theta_i)."""
        return self.derivative(theta)

    def diffusion(self, theta: Any) -> Any:
        """Raises `ConfigurationError`: only a dynamics has a diffusion, a step is made of vectors."""
        raise ConfigurationError("metric.diffusion(theta) in a step; use metric.root(theta, noise())")

    def largest(self, location: np.ndarray, spread: np.ndarray) -> float:
        """The largest b^2 within three standard deviations: the factor by which the metric speeds the dynamics up."""
        nodes = location + spread * np.linspace(-3, 3, 61)[:, None]
        return float(np.max(self.value(nodes) ** 2))


def parse_metric(
    text: str | Sequence[Sequence[str]] | None, dim: int | None = None
) -> CoordinateMetric | MatrixMetric:
    """The metric of `metric = "1 + theta**2/4"`, the polynomial b of one coordinate, or of the rows of B (`parse_root`).

    Raises `ConfigurationError` where b is no polynomial in theta, or has a real zero, and where B has not the side `dim`.
    """
    if text is not None and not isinstance(text, str):
        found = parse_root(text)
        if dim is not None and found.dim != dim:
            raise ConfigurationError(
                f"metric: B has {found.dim} rows, and the target has dim={dim}; expected a row and a column for each coordinate"
            )
        return found
    given = DEFAULT_METRIC if text is None else text
    try:
        terms = parse_polynomial(given, 1, ("theta",), ("theta",))
    except ConfigurationError as error:
        raise ConfigurationError(str(error).replace("test_function=", "metric=", 1)) from None
    degree = max((power for (power,) in terms), default=0)
    coefficients = tuple(terms.get((power,), Fraction(0)) for power in range(degree + 1))
    if _has_a_zero(coefficients):
        raise ConfigurationError(
            f"metric={given!r}: b(theta) has a real zero, where noise and drift stop; expected a polynomial that vanishes "
            f"nowhere, such as {DEFAULT_METRIC!r}"
        )
    return CoordinateMetric(coefficients)


def _horner(coefficients: Coefficients, theta: Any) -> Any:
    total = theta * 0 + float(coefficients[-1])
    for coefficient in reversed(coefficients[:-1]):
        total = total * theta + float(coefficient)
    return total


def _derivative_on_line(coefficients: Coefficients) -> Coefficients:
    return tuple(k * c for k, c in enumerate(coefficients))[1:]


def _has_a_zero(coefficients: Coefficients) -> bool:
    """Whether a polynomial has a real zero: of those that flint encloses the real ones have no imaginary part."""
    polynomial: Any = fmpq_poly([as_fmpq(c) for c in coefficients])
    return not polynomial or any(root.imag == 0 for root, _ in polynomial.complex_roots())
