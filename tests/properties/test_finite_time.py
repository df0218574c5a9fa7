"""Theorems 2 and 3: bias and mean square error of the ergodic average, by brute force at small L, by law at large L."""

from __future__ import annotations

from fractions import Fraction

import flint
from flint import arb
from hypothesis import assume, event, given, settings
from hypothesis import strategies as st
from hypothesis.strategies import SearchStrategy

from sgverify.checks import Subject
from sgverify.exact.affine.model import fixed_step, horizon_step
from sgverify.exact.answers import QuadraticAnswers, answers_for
from sgverify.testing import note_replay
from tests.properties.brute_force import enumerate_paths, longest
from tests.properties.subjects import POOL, judged, subjects

MOST_PATHS = 6_000
FRESH = ("full", "additive", "iid", "without-replacement")


def short_runs(**options: object) -> SearchStrategy[Subject]:
    drawn = subjects(dims=[1, 1, 2], sizes=(3, 4), **options)
    return drawn.filter(lambda subject: longest(subject, MOST_PATHS) >= 1)


@settings(max_examples=200)
@given(short_runs(kinds=FRESH), st.integers(1, 4))
def test_bias_and_mean_square_error_are_those_of_all_paths(subject: Subject, steps: int) -> None:
    note_replay(subject.reference, subject.configuration, "chen2015/theorem-3")
    event(subject.configuration.gradient.kind)
    steps = min(steps, longest(subject, MOST_PATHS))
    event(f"L = {steps}")
    h = subject.step
    due = enumerate_paths(subject, [h] * steps)
    answers = answers_for(subject.model)
    bias, square = answers.bias(fixed_step(h), steps), answers.mean_square_error(fixed_step(h), steps)
    assert abs(bias.value - due.bias) <= bias.error_bound + due.bias_error
    assert abs(square.value - due.mean_square) <= square.error_bound + due.mean_square_error


@settings(max_examples=100)
@given(short_runs(kinds=["reshuffle"]), st.integers(1, 4))
def test_bias_under_reshuffling_is_that_of_all_permutations(subject: Subject, steps: int) -> None:
    table = subject.configuration.gradient
    assume(table.batch * 2 >= subject.target.size)  # six orders of an epoch at most, squared for two epochs
    h = subject.step
    answers = answers_for(subject.model)
    steps = min(steps, max(1, longest(subject, 300)), 2 * answers.steps)
    due = enumerate_paths(subject, [h] * steps)
    bias = answers.bias(fixed_step(h), steps)
    assert abs(bias.value - due.bias) <= bias.error_bound + due.bias_error


@settings(max_examples=60)
@given(short_runs(kinds=("full", "iid", "additive"), degree=4, lowest=3), st.integers(1, 3))
def test_bias_to_degree_four_is_that_of_all_paths(subject: Subject, steps: int) -> None:
    assume(subject.target.dim == 1)
    h = subject.step
    steps = min(steps, longest(subject, MOST_PATHS))
    due = enumerate_paths(subject, [h] * steps)
    bias = answers_for(subject.model).bias(fixed_step(h), steps)
    assert abs(bias.value - due.bias) <= bias.error_bound + due.bias_error


@settings(max_examples=200)
@given(subjects(dims=[1, 2]), st.sampled_from([Fraction(1, 2), Fraction(1, 3), Fraction(1, 5), Fraction(3, 4)]))
def test_bias_at_a_horizon_follows_its_law(subject: Subject, alpha: Fraction) -> None:
    """bias = sum_j b_j h^j + (1/L) sum_j tau_j h^(j-1) + O(h^5 + h^4/L), at h = C L^-alpha, tested at L = 10^40 and 10^60.

    Between the two h falls by 10^(20 alpha) and the remainder by its fifth power, or by that of h^4/L, at least.
    """
    note_replay(subject.reference, subject.configuration, "chen2015/theorem-2")
    answers = answers_for(subject.model)
    bias, transient = answers.expansion.values, answers.transient.values
    left = []
    for length in (10**40, 10**60):
        step = horizon_step(subject.scale, alpha, length)
        with flint.ctx.workprec(1024):
            h = step()
            total = answers.bias(step, length).ball
            for j, (b, tau) in enumerate(zip(bias, transient, strict=True)):
                # A float coefficient may be half a unit in its last place off what it stands for.
                total -= arb(b, abs(b) * 2.0**-50) * h**j + arb(tau, abs(tau) * 2.0**-50) * h**j / h / length
            left.append(total)
    fall = arb(10) ** (-20 * min(5 * alpha, 1 + 4 * alpha).numerator / arb(min(5 * alpha, 1 + 4 * alpha).denominator))
    assert left[1].abs_lower() <= 2 * fall * left[0].abs_upper()


@settings(max_examples=200)
@given(
    subjects(dims=[1, 2], kinds=FRESH),
    st.sampled_from([Fraction(1, 3), Fraction(1, 5), Fraction(1, 2)]),
)
def test_mean_square_error_at_a_horizon_follows_its_law(subject: Subject, alpha: Fraction) -> None:
    """MSE / (b_q^2 h^(2q) + sigma_0^2/(L h)) -> 1, the next terms smaller by h at least: below 1e-4 at L = 10^30."""
    note_replay(subject.reference, subject.configuration, "chen2015/theorem-3")
    answers = answers_for(subject.model)
    assert isinstance(answers, QuadraticAnswers) and answers.variance
    length, scale = 10**30, subject.scale
    h = scale * float(length) ** -float(alpha)
    bias = answers.expansion.values
    leading = next((b * h**j for j, b in enumerate(bias) if b), 0.0)
    law = leading**2 + answers.variance / (length * h)
    found = answers.mean_square_error(horizon_step(scale, alpha, length), length)
    # The corrections are h times ratios of neighbouring coefficients; a generated spectrum keeps these below 1e4.
    assert abs(found.value / law - 1) <= 1e4 * (h + 1 / (length * h)) + found.relative_error


@settings(max_examples=200)
@given(subjects(POOL, dims=[1, 2]), st.sampled_from(["bias", "mse"]))
def test_the_corrected_theorems_2_and_3_hold(subject: Subject, quantity: str) -> None:
    event(subject.configuration.gradient.kind)
    claim = "corrected/theorem-2" if quantity == "bias" else "corrected/theorem-3"
    evidence = judged(subject, claim, quantity)
    if quantity == "mse" and subject.noise.exchangeable:
        assert evidence.verdict == "inconclusive"
        return
    assert evidence.verdict == "conforms", evidence.reason
    if subject.configuration.gradient.kind == "full":
        printed = judged(subject, claim.replace("corrected", "chen2015"), quantity)
        assert printed.verdict == "conforms", printed.reason
