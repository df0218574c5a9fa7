"""Expansion coefficients as balls, and how exact values must approach them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction

import flint
from flint import arb, fmpq

from sgverify.exact.answers import ExactAnswers, QuadraticAnswers
from tests.exact.series_chains import expand

BITS = 512


def rational(value: Fraction) -> fmpq:
    return fmpq(value.numerator, value.denominator)


def bias_coefficients(answers: ExactAnswers) -> list[arb]:
    """b_0, b_1, ..., in full precision where the engine gives fractions, else the floats with their rounding."""
    if type(answers) is QuadraticAnswers and answers.expansion.exact:
        with flint.ctx.workprec(BITS):
            found = expand(answers.series, answers.exact_observable, rational(answers.model.truth))
            return [arb(c) for c in found.coefficients]
    return [arb(value, abs(value) * 2.0**-52) for value in answers.expansion.values]


def exact_coefficients(answers: QuadraticAnswers) -> Sequence[fmpq | arb]:
    """b_0, b_1, ... as the expansion gives them: fractions wherever the numbers are rational."""
    with flint.ctx.workprec(BITS):
        return expand(answers.series, answers.exact_observable, rational(answers.model.truth)).coefficients


def remainder(value: arb, coefficients: Sequence[arb], step: arb) -> arb:
    """value - sum_j b_j h^j."""
    total = value
    for j, b in enumerate(coefficients):
        total -= b * step**j
    return total


def assert_expands(value_at: Callable[[arb], arb], coefficients: Sequence[arb], limit: float) -> None:
    """b(h) = sum_{j<5} b_j h^j + R with R = O(h^5): at two tiny steps, without a tolerance.

    With R = c h^5 (1 + e) and |e| at most 1/3 at 2^-20 of the stability limit and below (the next term of the
    tail is 2^-20 of the first, times a ratio of neighbouring coefficients that a spectrum of condition 100
    keeps below 1e4), |R(h/1024)| <= 2 * 1024^-5 |R(h)|. A coefficient of h^j that is off by anything leaves a remainder
    that shrinks by 1024^-j only. What balls do not resolve is given to the remainder.
    """
    with flint.ctx.workprec(BITS):
        large = arb(limit) * arb(2) ** -20
        small = large / 1024
        coarse = remainder(value_at(large), coefficients, large)
        fine = remainder(value_at(small), coefficients, small)
        order = len(coefficients)
        assert fine.abs_lower() <= 2 * coarse.abs_upper() / arb(1024) ** order, (coarse, fine)
