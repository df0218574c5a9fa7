"""Theorem 5, remark 7 and corollary 6: weighted averages along h_l = C l^-alpha."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import mpmath
import pytest
from hypothesis import event, given, settings
from hypothesis import strategies as st

from sgverify.exact.answers import answers_for
from sgverify.exact.chain.varying_steps import power_steps
from sgverify.rates.verdict import decreasing_bias
from sgverify.strategies import exponents, schedules
from sgverify.subject.subject import Subject
from sgverify.testing import examples, note_replay
from tests.enumeration import enumerate_runs, longest
from tests.zoo.pool import POOL, judged, subjects, with_sweep

DIMS = (1, 1, 1, 2)
"""Most in one dimension, where the same rules cost the least."""
MOST_PATHS = 4_000
BEST = (0.5, 0.25, 0.2, 1 / 3)


def decreasing(references: tuple[str, ...] = POOL, **options: Any) -> st.SearchStrategy[Subject]:
    alphas = st.one_of(st.sampled_from(BEST), exponents())
    schedule = schedules(kinds=["power"], alphas=alphas)
    return subjects(references, dims=DIMS, schedule=schedule, **options).map(
        lambda subject: with_sweep(subject, lengths=[10, 100])
    )


@pytest.mark.power  # 0.8 s
@settings(max_examples=examples(22))
@given(
    subjects(dims=DIMS, sizes=(3, 4), kinds=("full", "additive", "iid", "without-replacement")).filter(
        lambda subject: longest(subject, MOST_PATHS) >= 1
    ),
    st.integers(1, 4),
    exponents(),
)
def test_weighted_averages_are_those_of_all_paths(subject: Subject, steps: int, alpha: float) -> None:
    note_replay(subject.reference, subject.configuration, "chen2015/theorem-5")
    answers = answers_for(subject.model)
    steps, scale = min(steps, longest(subject, MOST_PATHS)), subject.scale
    sizes = [Fraction(float(h)) for h in power_steps(scale, alpha, steps)]
    due = enumerate_runs(subject, sizes, sizes)[-1]
    bias = answers.weighted_bias(power_steps(scale, alpha, steps))
    square = answers.weighted_mean_square_error(power_steps(scale, alpha, steps))
    assert abs(bias.value - due.bias) <= bias.error_bound + due.bias_error
    assert abs(square.value - due.mean_square) <= square.error_bound + due.mean_square_error


def out_of_reach(subject: Subject) -> bool:
    """Whether the mean square error has no exact value: epochs in more than one dimension."""
    return subject.noise.exchangeable and subject.target.dim > 1


@settings(max_examples=examples(5))
@given(decreasing(), st.sampled_from(["bias", "mse"]))
def test_the_corrected_theorem_5_and_remark_7_hold(subject: Subject, quantity: str) -> None:
    event(subject.configuration.gradient.kind)
    for claim in ("corrected/theorem-5", "corrected/remark-7"):
        evidence = judged(subject, claim, quantity)
        if quantity == "mse" and out_of_reach(subject):
            assert evidence.verdict == "inconclusive"
        else:
            assert evidence.verdict == "conforms", evidence.reason


@pytest.mark.power  # 1.1 s
@settings(max_examples=examples(12))
@given(decreasing())
def test_every_decreasing_schedule_is_consistent(subject: Subject) -> None:
    evidence = judged(subject, "chen2015/corollary-6", "consistency")
    assert evidence.verdict == ("inconclusive" if out_of_reach(subject) else "conforms"), evidence.reason


@settings(max_examples=examples(12))
@given(st.integers(1, 4), exponents(), st.sampled_from([None, 1, 2, 3, 4]))
def test_the_rate_of_the_weighted_bias_is_that_of_its_sum(
    leading: int, alpha: float, simple: int | None
) -> None:
    """(b_q sum l^(-(q+1) alpha) + c) / sum l^-alpha, by Euler's summation, between L = 10^1000 and 10^2000.

    Constants over a power of L that differs by at least .01 are 1e-10 there; where the powers meet the logarithms
    differ from their leading terms by 1/log L < 1e-3.
    """
    share = Fraction(1, simple + 1) if simple else Fraction(repr(alpha))
    bias = [0.0] * leading + [0.7]
    rate = decreasing_bias(bias, share)
    with mpmath.workdps(60):
        first, last = mpmath.mpf(10) ** 1000, mpmath.mpf(10) ** 2000

        def weighted(length: Any) -> Any:
            return (mpmath.mpf("0.7") * power_sum((leading + 1) * share, length) + 3) / power_sum(
                share, length
            )

        assert rate.exponent is not None
        growth = mpmath.log(weighted(last) / weighted(first))
        law = as_mpf(rate.exponent) * mpmath.log(last / first) + rate.logarithm * mpmath.log(2)
        assert abs(growth - law) < 2e-3


def power_sum(s: Fraction, length: Any) -> Any:
    """sum_{l<=L} l^-s up to O(L^(-s-1))."""
    if s == 1:
        return mpmath.log(length) + mpmath.euler
    power = as_mpf(s)
    return mpmath.zeta(power) + length ** (1 - power) / (1 - power) + length**-power / 2


def as_mpf(value: Fraction) -> Any:
    return mpmath.mpf(value.numerator) / value.denominator
