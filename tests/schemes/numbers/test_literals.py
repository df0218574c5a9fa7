"""Floats in definitions are read as the numbers that they were rounded from, where those are simple, and as intervals else."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from sgverify.exact.series.local_order import local_order
from sgverify.schemes import langevin, read_number, scheme, sqrt
from sgverify.schemes.numbers.rounded import (
    CANCELLED,
    FEW,
    LARGEST_LOSS,
    ROUNDINGS,
    Rounded,
    literal,
    rounding_of,
)
from tests.tables import each_row


@given(st.floats(1e-6, 1e6), st.booleans())
def test_no_number_is_read_as_one_that_a_run_tells_from_it(value: float, negative: bool) -> None:
    value = -value if negative else value
    # One rounding more is that of the float that is compared.
    assert abs(float(literal(value)) - value) <= rounding_of(value, CANCELLED) + 2.0**-53 * abs(value)
    assert FEW * abs(value) <= rounding_of(value) <= LARGEST_LOSS * abs(value)


@each_row(
    ("value", "exactly"),
    [
        (0.1 + 0.2, Fraction(3, 10)),
        (1 - 0.9, Fraction(1, 10)),
        (1 - 0.9999, Fraction(1, 10**4)),
        (1 - 0.999999, Fraction(1, 10**6)),
        (10.1 - 10, Fraction(1, 10)),
        (1.0001**2 - 1, Fraction(20001, 10**8)),
        (1 - 0.9 - 0.1, 0),
        (1 - sum([0.1] * 10), 0),
        (1 / 3 + 1 / 7, Fraction(10, 21)),
        (-math.sqrt(0.7), -sqrt(Fraction(7, 10))),
        (0.5 - 1 / math.sqrt(6), Fraction(1, 2) - sqrt(6) / 6),
        ((1 + math.sqrt(5)) / 2, (1 + sqrt(5)) / 2),
    ],
)
def test_what_python_rounded_is_found_again(value: float, exactly: Any) -> None:
    assert literal(value) == exactly


def test_a_float_of_no_simple_number_is_an_interval_around_it() -> None:
    for value in (math.cos(0.3), -math.exp(-0.3), math.pi * 1e-7, math.exp(10), math.cosh(20)):
        found = literal(value)
        assert isinstance(found, Rounded) and float(found) == value and found.low < found.middle < found.high
        assert found.radius == abs(Fraction(value)) * ROUNDINGS / 2**53


def test_what_a_difference_leaves_has_the_roundings_of_what_it_was_taken_of() -> None:
    assert literal(1 - math.exp(-1e-3)).low < -math.expm1(-1e-3) < literal(1 - math.exp(-1e-3)).high
    # A number of sixteen digits that no difference has left has its own.
    for value in (0.0001000000000001, 0.0001 * (1 + 1e-13), 1e-4 / 3, float(np.float32(0.1)), 3 * 2.0**-45):
        assert rounding_of(value) == FEW * value and literal(value) != Fraction(1, 10**4)


def test_an_exact_number_beside_such_a_float_is_a_float() -> None:
    for exact_one in (sqrt(2), sqrt(2) + 1, read_number("2^(1/3)")):
        assert exact_one * math.pi == math.pi * exact_one == float(exact_one) * math.pi
        assert exact_one - math.pi == -(math.pi - exact_one) == float(exact_one) - math.pi
        assert exact_one / math.pi == float(exact_one) / math.pi and math.pi / exact_one == math.pi / float(
            exact_one
        )
    assert sqrt(2) * 0.5 == sqrt(2) / 2 and not isinstance(sqrt(2) * 0.5, float)


def test_short_decimals_are_what_they_say() -> None:
    assert literal(1.0000000000001) != 1
    assert literal(0.333) == Fraction(333, 1000)
    assert literal(12345.678) == Fraction(12345678, 1000)
    assert literal(1e5 / 3) == Fraction(100000, 3)


@scheme(langevin)
def roots_of_math(theta, *, h, grad, noise, T):
    size, x, e = sqrt(2 * T * h), noise(), noise()
    one = theta + size * ((0.5 + 1 / math.sqrt(6)) * x + e / math.sqrt(12))
    two = theta - h * grad(theta) + size * ((0.5 - 1 / math.sqrt(6)) * x + e / math.sqrt(12))
    return theta - h * ((1 - 0.9 + 0.4) * grad(one) + 0.5 * grad(two)) + size * x


def test_a_right_definition_is_not_wrong_by_pythons_roundings() -> None:
    assert local_order(roots_of_math, 1).order == 2


def test_what_is_wrong_by_more_is_wrong() -> None:
    @scheme(langevin)
    def drifts(theta, *, h, grad, noise, T):
        return theta - h * (1 + math.sqrt(2) * 1e-13) * grad(theta) + sqrt(2 * T * h) * noise()

    assert local_order(drifts, 1).order == 0
