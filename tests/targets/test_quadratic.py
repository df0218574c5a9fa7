"""Exact coefficients from exact values."""

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sgverify.errors import DefinitionError
from sgverify.schemes import dot
from sgverify.targets import Matrix, Vector, constant, linear
from sgverify.targets.form import inverse, leading_minors, quadratic_of, read_form

fractions = st.fractions(-5, 5, max_denominator=12)


@st.composite
def quadratics(draw: st.DrawFn) -> tuple[Fraction, list[Fraction], list[list[Fraction]]]:
    dim = draw(st.integers(1, 4))
    matrix = draw(st.lists(st.lists(fractions, min_size=dim, max_size=dim), min_size=dim, max_size=dim))
    symmetric = [[matrix[i][j] + matrix[j][i] for j in range(dim)] for i in range(dim)]
    return draw(fractions), draw(st.lists(fractions, min_size=dim, max_size=dim)), symmetric


@pytest.mark.power  # 0.7 s
@given(quadratics())
def test_the_coefficients_come_back(written: tuple[Fraction, list[Fraction], list[list[Fraction]]]) -> None:
    value, slope, curve = written
    matrix, vector = Matrix(curve), Vector(slope)

    def function(z: Vector) -> object:
        half = dot(z, linear(matrix, z)) / 2 + dot(z, constant(z, vector))
        return half + constant(z, Vector([value])).entries[0]

    found = quadratic_of(read_form(function, len(slope)), len(slope))
    assert (found.value, list(found.gradient), [list(row) for row in found.hessian]) == (value, slope, curve)


@pytest.mark.parametrize("function", [lambda z: dot(z, z) * dot(z, z), lambda z: dot(z, z) * z.entries[0]])
def test_what_is_not_quadratic_is_refused(function: object) -> None:
    with pytest.raises(DefinitionError, match="not quadratic"):
        quadratic_of(read_form(function, 2), 2)  # type: ignore[arg-type]


def test_inverse_and_leading_minors() -> None:
    rows = [[Fraction(2), Fraction(1)], [Fraction(1), Fraction(3)]]
    assert inverse(rows) == ((Fraction(3, 5), Fraction(-1, 5)), (Fraction(-1, 5), Fraction(2, 5)))
    assert leading_minors(rows) == [2, 5]
