"""Rates read off expansion coefficients: cancellation, logarithms, and exponents away from the best one."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from sgverify.rates.verdict import (
    Rate,
    decreasing_bias,
    decreasing_mse,
    horizon_bias,
    horizon_mse,
    leading_power,
)
from tests.tables import each_row

F = Fraction
FIRST = [0.0, 0.7, -0.3, 0.1, 0.0]
SECOND = [0.0, 0.0, 0.9, 0.0, -0.2]
CONSTANT = [0.4, 0.1, 0.0, 0.0, 0.0]
NONE = [0.0] * 5
TRANSIENT = [1.5, -0.2, 0.3, 0.0, 0.0]
ALPHAS = [F(1, 10), F(1, 5), F(1, 3), F(2, 5), F(1, 2), F(7, 10), F(9, 10)]


def test_leading_power() -> None:
    assert leading_power(SECOND, [value == 0 for value in SECOND]) == 2
    assert leading_power(NONE, [True] * 5) is None
    # What is proved to vanish does, whatever float stands there.
    assert leading_power([1e-30, 1.0], [True, False]) == 1


@each_row("alpha", ALPHAS)
@each_row(("bias", "order"), [(FIRST, 1), (SECOND, 2)])
def test_bias_at_every_alpha(bias: list[float], order: int, alpha: Fraction) -> None:
    assert horizon_bias(bias, TRANSIENT, 0.5, alpha).exponent == -min(1 - alpha, order * alpha)


@each_row("alpha", ALPHAS)
@each_row(("bias", "order"), [(FIRST, 1), (SECOND, 2)])
def test_mse_at_every_alpha(bias: list[float], order: int, alpha: Fraction) -> None:
    found = horizon_mse(bias, 2.0, 0.5, alpha)
    assert found.exponent == -min(1 - alpha, 2 * order * alpha)
    assert horizon_mse(bias, None, 0.5, alpha).exponent == found.exponent


def test_coefficients_of_the_leading_terms() -> None:
    """At the best alpha both terms lead: b_2 C^2 + tau_0 / C, and b_2^2 C^4 + sigma^2 / C."""
    assert horizon_bias(SECOND, TRANSIENT, 0.5, F(1, 3)) == Rate(F(-2, 3), 0.9 * 0.25 + 1.5 / 0.5)
    assert horizon_bias(SECOND, TRANSIENT, 0.5, F(1, 4)) == Rate(F(-1, 2), 0.9 * 0.25)
    found = horizon_mse(SECOND, 2.0, 0.5, F(1, 5))
    assert found.exponent == F(-4, 5) and found.coefficient == pytest.approx(
        (0.9 * 0.25) ** 2 + 4.0, rel=1e-15
    )
    assert horizon_mse(SECOND, None, 0.5, F(1, 2)).coefficient is None


def test_leading_terms_cancel_at_one_special_scale() -> None:
    """b_2 C^2 + tau_0 / C = 0 at C^3 = -tau_0 / b_2; the next terms are b_4 C^4 L^(-4/3) and tau_1 L^-1."""
    bias, transient = [0.0, 0.0, 0.9, 0.0, -0.2], [-1.5, 0.25, 0.0, 0.0, 0.0]
    special = (1.5 / 0.9) ** (1 / 3)
    found = horizon_bias(bias, transient, special, F(1, 3))
    assert (found.exponent, found.coefficient) == (F(-1), 0.25)
    # A scale beside it does not cancel.
    assert horizon_bias(bias, transient, special * (1 + 1e-9), F(1, 3)).exponent == F(-2, 3)
    # Signs that agree never cancel, nor do terms of different exponents.
    assert horizon_bias(bias, [1.5, 0.25, 0, 0, 0], special, F(1, 3)).exponent == F(-2, 3)
    assert horizon_bias(bias, transient, special, F(2, 5)).exponent == F(-3, 5)


def test_a_bias_that_does_not_vanish() -> None:
    for alpha in ALPHAS:
        assert horizon_bias(CONSTANT, TRANSIENT, 0.5, alpha).exponent == 0
        assert horizon_mse(CONSTANT, 2.0, 0.5, alpha).exponent == 0
        assert decreasing_bias(CONSTANT, alpha) == Rate(F(0))
        assert decreasing_mse(CONSTANT, 2.0, alpha).exponent == 0


def test_an_unbiased_law_leaves_the_transient() -> None:
    assert horizon_bias(NONE, TRANSIENT, 0.5, F(1, 3)) == Rate(F(-2, 3), 3.0)
    assert horizon_bias(NONE, [0, -0.2, 0, 0, 0], 0.5, F(1, 3)) == Rate(F(-1), -0.2)
    assert horizon_bias(NONE, NONE, 0.5, F(1, 3)) == Rate(None)
    assert horizon_mse(NONE, 2.0, 0.5, F(1, 3)) == Rate(F(-2, 3), 4.0)


def test_a_coefficient_beyond_float64_is_not_zero() -> None:
    assert horizon_bias(SECOND, [float("inf"), 0, 0, 0, 0], 0.5, F(1, 3)) == Rate(F(-2, 3))


def test_a_time_average_that_telescopes_is_bounded_and_not_called_zero() -> None:
    """sigma_0^2 = 0: the variance is O(1/L + 1/(L h)^2)."""
    assert horizon_mse(NONE, 0.0, 0.5, F(1, 5)) == Rate(F(-1), at_most=True)
    assert horizon_mse(NONE, 0.0, 0.5, F(7, 10)) == Rate(F(-3, 5), at_most=True)
    # A bias that is slower than the bound is the rate itself.
    assert horizon_mse(SECOND, 0.0, 0.5, F(1, 5)) == Rate(F(-4, 5), pytest.approx((0.9 * 0.25) ** 2))
    assert horizon_mse(SECOND, 0.0, 0.5, F(1, 3)).at_most
    assert decreasing_mse(NONE, 0.0, F(1, 5)).at_most
    assert not decreasing_mse(NONE, None, F(1, 5)).at_most
    assert not decreasing_mse(FIRST, 0.0, F(1, 5)).at_most


@each_row(
    ("bias", "alpha", "exponent", "logarithm"),
    [
        (FIRST, F(1, 3), F(-1, 3), 0),
        (FIRST, F(1, 2), F(-1, 2), 1),
        (FIRST, F(3, 5), F(-2, 5), 0),
        (SECOND, F(1, 4), F(-1, 2), 0),
        (SECOND, F(1, 3), F(-2, 3), 1),
        (SECOND, F(2, 5), F(-3, 5), 0),
        (NONE, F(1, 3), F(-2, 3), 0),
    ],
)
def test_decreasing_steps_carry_a_logarithm_at_the_best_alpha_only(
    bias: list[float], alpha: Fraction, exponent: Fraction, logarithm: int
) -> None:
    found = decreasing_bias(bias, alpha)
    assert (found.exponent, found.logarithm) == (exponent, logarithm)


@each_row(
    ("bias", "alpha", "exponent"),
    [
        (FIRST, F(1, 5), F(-2, 5)),
        (FIRST, F(1, 3), F(-2, 3)),
        (FIRST, F(1, 2), F(-1, 2)),
        (SECOND, F(1, 10), F(-2, 5)),
        (SECOND, F(1, 5), F(-4, 5)),
        (SECOND, F(1, 3), F(-2, 3)),
    ],
)
def test_mse_of_decreasing_steps_has_no_logarithm(
    bias: list[float], alpha: Fraction, exponent: Fraction
) -> None:
    assert decreasing_mse(bias, 2.0, alpha) == Rate(exponent)


@pytest.mark.parametrize(("bias", "order"), [(FIRST, 1), (SECOND, 2)])
@pytest.mark.parametrize("alpha", [F(1, 4), F(1, 3), F(1, 2), F(3, 5)])
def test_decreasing_rates_against_the_sums_themselves(bias: list[float], order: int, alpha: Fraction) -> None:
    """sum h_l^(q+1) / S_L at L = 1e3, 1e6: the slope per factor 1000, less the logarithm's share."""

    def at(length: int) -> float:
        h = np.arange(1, length + 1, dtype=float) ** -float(alpha)
        return float((h ** (order + 1)).sum() / h.sum())

    found = decreasing_bias(bias, alpha)
    ratio = at(10**6) / at(10**3)
    expected = 1000.0 ** float(found.exponent) * (2.0 if found.logarithm else 1.0)
    # Corrections are of relative size L^-(gap to the next exponent), at worst 1e3^(-1/5) = 0.25.
    assert 0.6 < ratio / expected < 1.7
    other = 1000.0 ** float(found.exponent - F(1, 6))
    assert not 0.6 < ratio / other < 1.7
