"""The concrete metric that a sampled run uses: G^-1 = diag(b(theta_i)^2) with one polynomial b, or B B^T with a matrix."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise
from typing import Any

import numpy as np

from sgverify.errors import ConfigurationError
from sgverify.targets.polynomial import parse_polynomial
from sgverify.targets.root_matrix import MatrixMetric, parse_root

DEFAULT_METRIC = "1 + theta**2/10"
"""What b is where the configuration leaves it open: a smooth function that is nowhere 0 and nowhere flat."""

Coefficients = tuple[Fraction, ...]
MetricText = str | tuple[tuple[str, ...], ...]
"""What a configuration says of the metric: b as one text, or the rows of B."""


@dataclass(frozen=True)
class CoordinateMetric:
    """B = diag(b(theta_1), ..., b(theta_d)), the root of G^-1; `coefficients` are b's, the constant first."""

    coefficients: Coefficients

    def value(self, theta: Any) -> Any:
        """b at every coordinate, on any carrier of vectors."""
        return _horner(self.coefficients, theta)

    def derivative(self, theta: Any) -> Any:
        """b' at every coordinate."""
        return _horner(_derivative(self.coefficients) or (Fraction(0),), theta)

    def root(self, theta: Any, vector: Any) -> Any:
        """B v; a definition may ask this metric itself, on any carrier."""
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
        """Refused: a step is made of vectors."""
        raise ConfigurationError("metric.diffusion(theta) in a step; use metric.root(theta, noise())")

    def largest(self, location: np.ndarray, spread: np.ndarray) -> float:
        """The largest b^2 within three standard deviations: how much faster than without a metric things move."""
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


def _derivative(coefficients: Coefficients) -> Coefficients:
    return tuple(k * c for k, c in enumerate(coefficients))[1:]


def _has_a_zero(coefficients: Coefficients) -> bool:
    """By Sturm's theorem, exactly: the sign changes of the chain at -infinity less those at +infinity."""
    if not any(coefficients):
        return True
    chain = [_trimmed(coefficients)]
    following = _trimmed(_derivative(chain[0]))
    while following:
        chain.append(following)
        following = tuple(-c for c in _remainder(chain[-2], chain[-1]))
    ends = [[(p[-1] > 0) == (side > 0 or (len(p) - 1) % 2 == 0) for p in chain] for side in (-1, 1)]
    low, high = (sum(a != b for a, b in pairwise(signs)) for signs in ends)
    return low != high


def _remainder(left: Coefficients, right: Coefficients) -> Coefficients:
    rest = list(left)
    while len(rest) >= len(right):
        factor = rest[-1] / right[-1]
        for k in range(len(right)):
            rest[len(rest) - len(right) + k] -= factor * right[k]
        rest.pop()
    return _trimmed(tuple(rest))


def _trimmed(coefficients: Coefficients) -> Coefficients:
    kept = list(coefficients)
    while kept and not kept[-1]:
        kept.pop()
    return tuple(kept)
