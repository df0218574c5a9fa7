"""Exact numbers with square roots, against the field axioms and against high-precision arithmetic."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import mpmath
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from sgverify.schemes.numbers.algebraic import Algebraic, exact, sqrt_of_rational
from sgverify.schemes.numbers.roots import coprime, factors
from tests.tables import each_row

RATIONALS = st.fractions(min_value=-20, max_value=20, max_denominator=12)
RADICANDS = st.sampled_from([1, 2, 3, 5, 6, 7, 10, 12, 30, 42, 77])


def numbers() -> st.SearchStrategy[Any]:
    """Sums of up to three roots with rational factors; some of them rational."""
    term = st.builds(lambda r, q: r * sqrt_of_rational(q), RATIONALS, RADICANDS)
    return st.lists(term, min_size=1, max_size=3).map(lambda terms: sum(terms, Fraction(0)))


def high(value: Any) -> mpmath.mpf:
    """The value in 200 digits."""
    with mpmath.workdps(200):
        terms = value.radicands() if isinstance(value, Algebraic) else {1: Fraction(value)}
        assert terms is not None
        return mpmath.fsum(mpmath.sqrt(q) * r.numerator / r.denominator for q, r in terms.items())


def close(value: Any, reference: mpmath.mpf) -> bool:
    """Whether two values in 200 digits agree to 150; the numbers drawn here lose far fewer than 50 to cancelling."""
    with mpmath.workdps(200):
        return bool(abs(high(value) - reference) < mpmath.mpf(10) ** -150)


@given(numbers(), numbers(), numbers())
def test_field_axioms(a: Any, b: Any, c: Any) -> None:
    assert (a + b) + c == a + (b + c)
    assert (a * b) * c == a * (b * c)
    assert a + b == b + a
    assert a * b == b * a
    assert a * (b + c) == a * b + a * c
    assert a - a == 0
    assert -(-a) == a
    assert a - b == -(b - a)


@given(numbers(), numbers())
def test_operations_are_those_of_the_real_numbers(a: Any, b: Any) -> None:
    with mpmath.workdps(200):
        assert close(a + b, high(a) + high(b))
        assert close(a - b, high(a) - high(b))
        assert close(a * b, high(a) * high(b))


@given(numbers(), numbers())
@settings(max_examples=60)
def test_division_undoes_multiplication(a: Any, b: Any) -> None:
    assume(b != 0)
    assert (a / b) * b == a
    assert 1 / b * b == 1
    assert b**-2 * b * b == 1


@given(numbers())
def test_a_rational_result_is_a_fraction_and_equal_numbers_hash_alike(a: Any) -> None:
    assert isinstance(a - a, Fraction)
    assert isinstance(a, Fraction) or any(a.terms)
    assert hash(a) == hash(a + 1 - 1)
    assert a**3 == a * a * a


@given(numbers())
def test_float_is_the_nearest_or_its_neighbour(a: Any) -> None:
    # The exact value is at most 2^-64 of itself away from what is rounded: half a unit in the last place, and a hair.
    with mpmath.workdps(200):
        error = abs(high(a) - mpmath.mpf(float(a)))
        assert error <= mpmath.mpf(math.ulp(float(a))) * 0.501


def test_float_survives_cancelling() -> None:
    small = (sqrt_of_rational(2) - 1) ** 40
    with mpmath.workdps(200):
        reference = (mpmath.sqrt(2) - 1) ** 40
        assert abs(mpmath.mpf(float(small)) - reference) <= reference * mpmath.mpf(2) ** -52


@given(st.fractions(min_value=0, max_value=10**6, max_denominator=10**6))
def test_square_root_of_a_rational(value: Fraction) -> None:
    root = sqrt_of_rational(value)
    assert root * root == value
    assert float(root) >= 0


@given(st.floats(min_value=1e-6, max_value=1e6), st.floats(min_value=1e-6, max_value=1e6))
@settings(max_examples=20)
def test_quotients_of_roots_of_long_decimals_need_no_factoring(a: float, b: float) -> None:
    value = sqrt_of_rational(exact(a)) + sqrt_of_rational(exact(b))
    assert 1 / value * value == 1


def test_roots_are_reduced() -> None:
    assert sqrt_of_rational(Fraction(9, 4)) == Fraction(3, 2)
    assert sqrt_of_rational(72) == 6 * sqrt_of_rational(2)
    assert sqrt_of_rational(2 * 10007**2) == 10007 * sqrt_of_rational(2)
    assert sqrt_of_rational(6 * 100_003**2) == 100_003 * sqrt_of_rational(6)
    assert sqrt_of_rational(0) == 0
    assert repr(sqrt_of_rational(Fraction(1, 2))) == "1/2*2^(1/2)"


def test_a_float_is_the_decimal_it_prints_as() -> None:
    assert exact(0.1) == Fraction(1, 10)
    assert exact(1e-7) == Fraction(1, 10**7)
    assert sqrt_of_rational(2) + 0.1 == sqrt_of_rational(2) + Fraction(1, 10)


def test_what_has_no_value_is_refused() -> None:
    with pytest.raises(ValueError, match="negative"):
        sqrt_of_rational(-1)
    with pytest.raises(ZeroDivisionError):
        sqrt_of_rational(2) / 0
    with pytest.raises(TypeError):
        sqrt_of_rational(2) + "1"
    assert sqrt_of_rational(2) != "sqrt(2)"


@each_row("denominator", [3, 6, 7, 9, 11, 360, 997])
def test_a_float_that_a_simple_fraction_rounds_to_is_that_fraction(denominator: int) -> None:
    assert exact(1 / denominator) == Fraction(1, denominator)
    assert exact(2 / 3) == Fraction(2, 3)


def test_a_short_decimal_is_what_it_says() -> None:
    assert exact(0.333) == Fraction(333, 1000)
    assert exact(0.333333333333) == Fraction(333333333333, 10**12)
    assert exact(1e-300) == Fraction(1, 10**300)


FRICTION, TEMPERATURE = Fraction("2.3949436547772383"), Fraction("1.8027847239676371")


def test_long_decimals_under_a_root_are_exact_though_nothing_factors_them() -> None:
    D, T = FRICTION, TEMPERATURE
    both = sqrt_of_rational(2 * D * T)
    assert both == sqrt_of_rational(2) * sqrt_of_rational(D) * sqrt_of_rational(T)
    assert sqrt_of_rational(D * D * T) - D * sqrt_of_rational(T) == 0
    assert hash(sqrt_of_rational(D * D * T)) == hash(D * sqrt_of_rational(T))
    assert both * both == 2 * D * T and isinstance(both * both, Fraction)
    assert both * sqrt_of_rational(2 * T) == 2 * T * sqrt_of_rational(D)
    total = both + sqrt_of_rational(T) + sqrt_of_rational(2)
    assert 1 / total * total == 1


def test_bases_are_made_coprime_where_they_meet() -> None:
    p, q = 23949436547772383, 18027847239676371
    assert factors(8 * p * p) == ((2, 3), (p, 2))
    split = coprime(frozenset({p * q, q}))
    for number, parts in split.items():
        assert math.prod(base**power for base, power in parts) == number
    bases = {base for parts in split.values() for base, _ in parts}
    assert all(math.gcd(a, b) == 1 for a in bases for b in bases if a != b)
    assert coprime(frozenset({2, 3, 5})) == {}
