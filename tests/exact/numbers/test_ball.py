"""The working precision and the bound that comes with a float."""

from __future__ import annotations

import math
from fractions import Fraction

import flint
import pytest
from flint import arb, fmpq

from sgverify.exact.numbers.ball import (
    PrecisionLostError,
    column,
    frobenius,
    inner,
    matrix,
    number,
    refine,
    widened,
)


def exact(value: float) -> Fraction:
    return Fraction(value)


def test_a_fraction_a_float_and_an_integer_are_read_exactly() -> None:
    with flint.ctx.workprec(200):
        assert number(Fraction(3, 8)) == arb(0.375)
        assert number(Fraction(1, 3)).contains(fmpq(1, 3))
        assert number(0.1).contains(fmpq(*exact(0.1).as_integer_ratio()))
        assert not number(0.1).contains(fmpq(1, 10))


def test_refine_raises_the_precision_until_the_cancellation_is_paid_for() -> None:
    tiny = Fraction(1, 10**70)

    def evaluate(bits: int) -> arb:
        assert flint.ctx.prec == bits
        return number(Fraction(1, 3) + tiny) - number(Fraction(1, 3))

    found = refine(evaluate)
    assert found.bits == 384
    assert abs(exact(found.value) - tiny) <= exact(found.error_bound)
    assert found.relative_error <= 1e-11
    assert not found.vanishes


def test_the_bound_covers_the_rounding_to_float() -> None:
    found = refine(lambda bits: number(Fraction(1, 3)))
    assert found.value == 1 / 3
    gap = abs(exact(found.value) - Fraction(1, 3))
    assert 0 < gap <= exact(found.error_bound) <= 2 * gap


def test_zero_is_reported_as_zero() -> None:
    found = refine(lambda bits: arb(2).sqrt() ** 2 - 2)
    assert (
        found.vanishes
        and found.value == 0.0
        and 0 < found.error_bound < 1e-50
        and found.relative_error == 0.0
    )
    exactly = refine(lambda bits: arb(0))
    assert exactly.vanishes and exactly.error_bound == 0.0


def test_a_wide_ball_is_returned_with_its_honest_bound() -> None:
    found = refine(lambda bits: arb(1, 0.5), rounds=2)
    assert not found.vanishes and 0.5 <= found.error_bound < 0.5 * (1 + 1e-6)
    straddling = refine(lambda bits: arb(0, 1), rounds=2)
    assert not straddling.vanishes and straddling.relative_error == math.inf


def test_precision_that_never_suffices_is_an_error() -> None:
    def evaluate(bits: int) -> arb:
        raise PrecisionLostError("lost")

    with pytest.raises(PrecisionLostError, match="lost"):
        refine(evaluate)
    with pytest.raises(PrecisionLostError, match="without bounds"):
        refine(lambda bits: arb(1) / arb(0, 1))


def test_norms_and_products() -> None:
    a, b = matrix([[1, 2], [3, 4]]), matrix([[5, 6], [7, 8]])
    assert inner(a, b) == 70
    assert frobenius(column([3, 4])) >= 5 and frobenius(column([3, 4])) < 5 + 1e-12
    assert frobenius(column([arb(0, 1e-30)])) < 1e-29
    assert widened(a, arb(0.25))[0, 1].contains(2.25) and not widened(a, arb(0.25))[0, 1].contains(2.26)
