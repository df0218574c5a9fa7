"""The functions that definitions are made of: what they do to numbers, and how a carrier joins them."""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sgverify.errors import DefinitionError
from sgverify.schemes.definition.mathematics import dot, exp, expm1, sqrt
from sgverify.schemes.numbers.algebraic import Algebraic, sqrt_of_rational
from tests.tables import each_row


class Recorder:
    """A carrier that remembers what was asked of it."""

    def __init__(self, asked: str = "") -> None:
        self.asked = asked


@pytest.mark.parametrize("function", [exp, expm1, sqrt, dot])
def test_a_carrier_registers_its_type(function: Any) -> None:
    class Mine(Recorder):
        pass

    function.register(Mine, lambda value, *rest: Mine(function.__name__))
    given_ = (Mine(), Mine()) if function is dot else (Mine(),)
    assert function(*given_).asked == function.__name__


@each_row("function", [exp, expm1, sqrt])
@each_row("value", ["1", None, [1.0], Recorder()])
def test_an_unknown_value_is_refused_by_name(function: Callable[[Any], Any], value: Any) -> None:
    with pytest.raises(DefinitionError, match=rf"{function.__name__}\({type(value).__name__}\).*register"):
        function(value)


def test_dot_of_numbers_is_refused() -> None:
    with pytest.raises(DefinitionError, match=r"dot\(float\)"):
        dot(1.0, 2.0)


@given(st.floats(-20, 20))
def test_exponentials_of_floats_are_those_of_the_library(value: float) -> None:
    assert exp(value) == math.exp(value)
    assert expm1(value) == math.expm1(value)


@given(st.fractions(-5, 5, max_denominator=50))
def test_exponentials_of_fractions(value: Fraction) -> None:
    assert exp(value) == math.exp(float(value))
    assert expm1(value) == math.expm1(float(value))


def test_exponentials_at_zero_stay_exact() -> None:
    for zero in (0, Fraction(0), 0.0):
        assert type(exp(zero)) is int
        assert exp(zero) == 1
        assert type(expm1(zero)) is int
        assert expm1(zero) == 0


def test_square_roots_are_exact_where_numbers_are() -> None:
    assert sqrt(2) == sqrt_of_rational(2)
    assert sqrt(Fraction(1, 4)) == Fraction(1, 2)
    assert sqrt(0.25) == Fraction(1, 2)
    assert isinstance(sqrt(0.5), Algebraic)
    assert sqrt(sqrt(4)) == sqrt(2)
    nested = sqrt(1 + sqrt(2))
    assert type(nested) is float
    assert nested == math.sqrt(1 + math.sqrt(2))
    assert exp(sqrt(2)) == math.exp(math.sqrt(2))
