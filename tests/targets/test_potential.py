"""A potential has one definition; its carriers must agree on it."""

from fractions import Fraction

import numpy as np
import pytest

from sgverify.errors import DefinitionError
from sgverify.schemes import dot
from sgverify.targets import TARGETS, Matrix, Vector, constant, linear
from sgverify.targets.kind import MATRIX, NUMBER, POSITIVE, VECTOR

HALF = Fraction(1, 2)
POLYNOMIAL = ("gaussian-mean", "gaussian", "linear-regression", "double-well", "quartic")
PRECISION = Matrix([[2, HALF], [HALF, 3]])
MEAN = Vector([HALF, -1])


def test_vectors_do_arithmetic_entry_by_entry() -> None:
    left, right = Vector([1, 2]), Vector([3, HALF])
    assert (left + right).entries == (4, Fraction(5, 2))
    assert (left - right).entries == (-2, Fraction(3, 2))
    assert (-left * 3).entries == (-3, -6)
    assert (2 * left).entries == (2, 4)
    assert dot(left, right) == 4
    assert left[1:].entries == (2,)


def test_division_of_whole_numbers_stays_exact() -> None:
    assert (Vector([1]) / 3).entries == (Fraction(1, 3),)


def test_a_float_literal_in_a_potential_is_its_decimal() -> None:
    assert (0.1 * Vector([1])).entries == (Fraction(1, 10),)


def test_linear_is_the_matrix_times_the_vector_on_every_carrier() -> None:
    matrix = Matrix([[1, 2], [0, 5]])
    assert linear(matrix, Vector([3, 4])).entries == (11, 20)
    assert linear(matrix, Vector([0, 0])).entries == (0, 0)
    batch = np.array([[3.0, 4.0], [1.0, 0.0]])
    assert np.array_equal(linear(matrix, batch), [[11.0, 20.0], [1.0, 0.0]])
    # Rows of the identity are not the identity.
    assert linear(Matrix([[1, 0]]), Vector([3, 4])).entries == (3,)


def test_a_constant_takes_the_dtype_of_its_company() -> None:
    assert constant(np.zeros(2, dtype=np.float32), MEAN).dtype == np.float32
    assert constant(np.zeros(2, dtype=np.int64), MEAN).tolist() == [0.5, -1.0]


def test_the_float64_form_of_a_constant_cannot_be_written_to() -> None:
    with pytest.raises(ValueError, match="read-only"):
        MEAN.float64()[0] = 1.0


def test_an_unknown_carrier_is_named() -> None:
    with pytest.raises(DefinitionError, match="evaluated on a list.*register list"):
        constant([1.0, 2.0], MEAN)


def test_the_carriers_agree_on_every_potential() -> None:
    of_shape = {MATRIX: PRECISION, VECTOR: MEAN, NUMBER: Vector([-HALF]), POSITIVE: Vector([HALF])}
    # Dyadic numbers of few bits: float64 makes no rounding error on them, so the carriers agree to the bit.
    theta, x = [Fraction(3, 4), Fraction(-5, 8)], [Fraction(9, 4), Fraction(1, 8)]
    array = np.array([theta, x], dtype=float)
    for kind in (TARGETS[name] for name in POLYNOMIAL):
        prior, likelihood = kind.potential(
            **{key: of_shape[shape] for key, (shape, _) in kind.constants.items()}
        )
        assert prior(array).tolist() == [float(prior(Vector(theta))), float(prior(Vector(x)))]
        if kind.data is not None:
            first, second = ([*datum, *[Fraction(-7, 4)] * kind.data.labels] for datum in (x, theta))
            exact = [likelihood(Vector(theta), Vector(first)), likelihood(Vector(x), Vector(second))]
            data = np.array([first, second], dtype=float)
            assert likelihood(array, data).tolist() == [float(value) for value in exact]
