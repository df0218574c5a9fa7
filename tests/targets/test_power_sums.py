"""Exact power sums of data: against fractions one by one, over all of float64's range, and of polynomials in the data."""

from __future__ import annotations

from fractions import Fraction
from itertools import product
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from sgverify.exact.minibatch import law
from sgverify.exact.minibatch.law import with_replacement, without_replacement
from sgverify.exact.minibatch.transition import block_moments
from sgverify.targets import build_target, power_sums
from sgverify.targets.power_sums import PolynomialVectors, PowerSums

DRAW = np.random.default_rng(5)
ARRAYS = {
    "usual": DRAW.standard_normal((300, 2)),
    "wide": DRAW.standard_normal((50, 2)) * 10.0 ** DRAW.integers(-90, 90, (50, 2)),
    "ends": np.array([[1e100, -1e100], [5e-324, 1e-3], [0.0, -0.1]]),
    "whole": np.array([[2.0**53 + 2, -(2.0**60)], [-3.0, 1.0]]),
    "zero": np.zeros((3, 2)),
}
MONOMIALS = [index for index in product(range(5), repeat=2) if sum(index) <= 4]


def added(data: np.ndarray, monomial: tuple[int, ...]) -> Fraction:
    rows = [[Fraction(entry) for entry in row] for row in data.tolist()]
    return sum((a ** monomial[0] * b ** monomial[1] for a, b in rows), Fraction(0))


@pytest.mark.by_default("zero", "whole", "usual", "ends")
@pytest.mark.parametrize("name", ARRAYS)
def test_sums_are_those_of_fractions(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Piece by piece too, asked for together or one after another."""
    data = ARRAYS[name]
    monkeypatch.setattr(power_sums, "PIECE", 7)
    together, apart = PowerSums(data), PowerSums(data)
    together.prepare(MONOMIALS)
    for monomial in MONOMIALS:
        assert together[monomial] == apart[monomial] == added(data, monomial)


@pytest.fixture(name="vectors")
def _vectors() -> PolynomialVectors:
    target = build_target(SimpleNamespace(name="linear-regression", dim=1, size=9))
    return target.data_vectors()


def rows_of(vectors: PolynomialVectors) -> list[tuple[Fraction, ...]]:
    return [vectors[i] for i in range(len(vectors))]


@pytest.mark.parametrize("draw", [with_replacement, without_replacement])
def test_cumulants_of_polynomials_are_those_of_their_list(draw: Any, vectors: PolynomialVectors) -> None:
    assert draw(vectors, 3).cumulants == draw(rows_of(vectors), 3).cumulants


def test_block_moments_and_combinations_of_polynomials_are_those_of_their_list(
    vectors: PolynomialVectors,
) -> None:
    values, rows = vectors.last(1), [[Fraction(2), Fraction(-1, 3)], [Fraction(0), Fraction(5)]]
    assert block_moments(values, 3) == block_moments([y for (y,) in rows_of(values)], 3)
    offset = [Fraction(1, 7), Fraction(0)]
    moved = law.combined(vectors, rows, offset)
    assert isinstance(moved, PolynomialVectors)
    assert [list(row) for row in rows_of(moved)] == law.combined(rows_of(vectors), rows, offset)
    assert law.means(moved) == law.means(rows_of(moved))
