"""Numbers of a configuration: exact, in three shapes, and refused where they make no precision."""

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sgverify.errors import ConfigurationError
from sgverify.targets.constants import read_number, read_precision, read_vector
from sgverify.targets.form import certainly_positive_definite, leading_minors
from tests.tables import each_row


def test_a_float_is_the_decimal_that_was_written() -> None:
    assert read_number("k", 0.1) == Fraction(1, 10)
    assert read_precision("k", [[0.1]], 1).rows == ((Fraction(1, 10),),)


def test_a_number_serves_every_coordinate() -> None:
    assert read_vector("k", 0.5, 2).entries == (Fraction(1, 2),) * 2
    assert read_precision("k", 2, 2).rows == ((2, 0), (0, 2))


def test_the_ends_of_the_range_are_inside() -> None:
    assert read_number("k", 1e100) == 10**100
    assert read_number("k", -1e-100) == Fraction(-1, 10**100)


def test_a_list_is_the_diagonal() -> None:
    assert read_precision("k", [2, 3], 2).rows == ((2, 0), (0, 3))


@each_row(
    ("value", "dim", "message"),
    [
        (0, 1, "k=0: expected a positive number"),
        (-1.0, 2, "k=-1.0: expected a positive"),
        ([1, -2], 2, "k\\[1\\]=-2: expected a positive"),
        (math.nan, 1, "k=nan: expected a finite"),
        (math.inf, 1, "k=inf: expected a finite"),
        (1e200, 1, "from 1e-100 to 1e100"),
        (1e-200, 1, "from 1e-100 to 1e100"),
        (True, 1, "k=True: expected a number"),
        ("1", 1, "k='1': expected a number"),
        ([1, 2, 3], 2, "has length 3; expected 2 numbers, as target.dim is 2"),
        ([[1, 0], [0, 1]], 3, "has length 2; expected 3 rows"),
        ([[1, 0], [0]], 2, "k\\[1\\]=\\[0\\] has length 1"),
        ([[1, 0], 1], 2, "k\\[1\\]=1: expected a row"),
        ([[1, 0.5], [0.25, 1]], 2, "is not symmetric: \\[1\\]\\[0\\] is 0.25 and \\[0\\]\\[1\\] is 0.5"),
        ([[1, 2], [2, 1]], 2, "not positive definite: the leading minor of order 2 is -3"),
        ([[-1, 0], [0, -1]], 2, "not positive definite: the leading minor of order 1 is -1"),
        ([[1, 1], [1, 1]], 2, "not positive definite: the leading minor of order 2 is 0"),
    ],
)
def test_what_is_no_precision_is_refused(value: object, dim: int, message: str) -> None:
    with pytest.raises(ConfigurationError, match=message):
        read_precision("k", value, dim)


def test_definiteness_is_tested_exactly() -> None:
    # In float64 0.1 * 0.3 - off**2 is a rounding error; exactly it has a sign.
    for off, sign in (("0.1732050807568877", 1), ("0.17320508075688773", -1)):
        exact = Fraction(3, 100) - Fraction(off) ** 2
        assert (exact > 0) == (sign > 0)
        matrix = [[0.1, float(off)], [float(off), 0.3]]
        if sign > 0:
            assert read_precision("k", matrix, 2).rows[0][1] == Fraction(off)
        else:
            with pytest.raises(ConfigurationError, match="not positive definite"):
                read_precision("k", matrix, 2)


@given(st.lists(st.lists(st.integers(-4, 4), min_size=3, max_size=3), min_size=3, max_size=3))
def test_definiteness_agrees_with_the_eigenvalues(matrix: list[list[int]]) -> None:
    symmetric = [[matrix[i][j] + matrix[j][i] for j in range(3)] for i in range(3)]
    smallest = np.linalg.eigvalsh(np.array(symmetric, dtype=float)).min()
    # Weyl: computed eigenvalues are off by at most a small multiple of 3 * 24 * 2^-53. A singular integer
    # matrix has the eigenvalue 0; else |det| >= 1 and |others| <= 24 put it beyond 1/24^2.
    if smallest > 1e-3:
        assert read_precision("k", symmetric, 3).rows == tuple(map(tuple, symmetric))
    else:
        with pytest.raises(ConfigurationError, match="not positive definite"):
            read_precision("k", symmetric, 3)


@pytest.mark.parametrize("dim", [1, 3, 8])
def test_a_factorisation_in_floats_proves_no_more_than_the_leading_minors(dim: int) -> None:
    """A matrix whose least eigenvalue is e: proved at 1e-9, never at 0 or below, where the minors decide."""
    for least, proved in ((Fraction(1, 10**9), True), (Fraction(0), False), (Fraction(-1, 10**18), False)):
        # The eigenvector (1, ..., 1) has the eigenvalue `least`, all others 1.
        rows = [[Fraction(int(i == j)) - (1 - least) / dim for j in range(dim)] for i in range(dim)]
        assert certainly_positive_definite(rows) == proved
        assert all(minor > 0 for minor in leading_minors(rows)) == (least > 0)
