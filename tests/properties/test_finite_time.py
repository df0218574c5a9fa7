"""Theorems 2 and 3: bias and mean square error of the ergodic average, by brute force at small L, by law at large L."""

from __future__ import annotations

from fractions import Fraction

import flint
import pytest
from flint import arb, fmpq
from hypothesis import HealthCheck, assume, event, given, settings
from hypothesis import strategies as st
from hypothesis.strategies import SearchStrategy

from sgverify.configuration import load_configuration
from sgverify.exact.affine.model import fixed_step, horizon_step
from sgverify.exact.answers import QuadraticAnswers, answers_for
from sgverify.subject.subject import Subject
from sgverify.testing import examples, note_replay
from tests.enumeration import enumerate_runs, longest
from tests.properties.expansions import bias_coefficients, remainder
from tests.zoo.pool import POOL, judged, subject_of, subjects, with_sweep

LONG = 10**18
MOST_PATHS = 6_000
DIMS = (1, 1, 1, 2)
"""Most in one dimension, where the same rules cost the least."""
FRESH = ("full", "additive", "iid", "without-replacement")


def sum_of(coefficients: list[arb], h: arb) -> arb:
    return -remainder(arb(0), coefficients, h)


def short_runs(**options: object) -> SearchStrategy[Subject]:
    drawn = subjects(dims=DIMS, sizes=(3, 4), **options)
    return drawn.filter(lambda subject: longest(subject, MOST_PATHS) >= 1)


@settings(max_examples=examples(8))
@given(short_runs(kinds=FRESH), st.integers(1, 4))
def test_bias_and_mean_square_error_are_those_of_all_paths(subject: Subject, steps: int) -> None:
    note_replay(subject.reference, subject.configuration, "chen2015/theorem-3")
    event(subject.configuration.gradient.kind)
    steps = min(steps, longest(subject, MOST_PATHS))
    event(f"L = {steps}")
    h = subject.step
    due = enumerate_runs(subject, [h] * steps)[-1]
    answers = answers_for(subject.model)
    bias, square = answers.bias(fixed_step(h), steps), answers.mean_square_error(fixed_step(h), steps)
    assert abs(bias.value - due.bias) <= bias.error_bound + due.bias_error
    assert abs(square.value - due.mean_square) <= square.error_bound + due.mean_square_error


# Most subjects have longer epochs than can be enumerated: that is known, and not slow.
@pytest.mark.power  # 1.5 s
@settings(
    max_examples=examples(20), suppress_health_check=[HealthCheck.filter_too_much, HealthCheck.too_slow]
)
@given(short_runs(kinds=["reshuffle", "symmetric"]), st.integers(1, 4))
def test_errors_under_reshuffling_are_those_of_all_permutations(subject: Subject, steps: int) -> None:
    table = subject.configuration.gradient
    assume(table.batch * 2 >= subject.target.size)  # six orders of an epoch at most, squared for two epochs
    h = subject.step
    answers = answers_for(subject.model)
    steps = min(steps, max(1, longest(subject, 100)), 2 * answers.steps)
    due = enumerate_runs(subject, [h] * steps)[-1]
    bias = answers.bias(fixed_step(h), steps)
    assert abs(bias.value - due.bias) <= bias.error_bound + due.bias_error
    if not answers.why_not("mean square error"):
        square = answers.mean_square_error(fixed_step(h), steps)
        assert abs(square.value - due.mean_square) <= square.error_bound + due.mean_square_error


@pytest.mark.power  # 1.2 s
@settings(max_examples=examples(20))
@given(short_runs(), st.sampled_from([0.5, 0.9, 1.25]), st.integers(1, 3))
def test_errors_under_a_scaled_likelihood_are_those_of_all_paths(
    subject: Subject, scale: float, steps: int
) -> None:
    """The chain starts around the posterior and is judged by it; its drift and its noise are the scaled ones."""
    assume(subject.target.data is not None)
    tree = subject.configuration.model_dump(exclude_unset=True)
    tree["gradient"] = {**tree.get("gradient", {}), "scale": scale}
    subject = subject_of(subject.reference, load_configuration(tree))
    table, h = subject.configuration.gradient, subject.step
    answers = answers_for(subject.model)
    steps = min(steps, longest(subject, MOST_PATHS))
    if table.kind in ("reshuffle", "symmetric"):
        assume(table.batch * 2 >= subject.target.size)
        steps = min(steps, max(1, longest(subject, 100)), 2 * answers.steps)
    due = enumerate_runs(subject, [h] * steps)[-1]
    bias = answers.bias(fixed_step(h), steps)
    assert abs(bias.value - due.bias) <= bias.error_bound + due.bias_error
    if not answers.why_not("mean square error"):
        square = answers.mean_square_error(fixed_step(h), steps)
        assert abs(square.value - due.mean_square) <= square.error_bound + due.mean_square_error


@pytest.mark.power  # 0.7 s
@settings(max_examples=examples(20))
@given(short_runs(kinds=("full", "iid", "additive"), degree=4, lowest=3), st.integers(1, 3))
def test_bias_to_degree_four_is_that_of_all_paths(subject: Subject, steps: int) -> None:
    assume(subject.target.dim == 1)
    h = subject.step
    steps = min(steps, longest(subject, MOST_PATHS))
    due = enumerate_runs(subject, [h] * steps)[-1]
    bias = answers_for(subject.model).bias(fixed_step(h), steps)
    assert abs(bias.value - due.bias) <= bias.error_bound + due.bias_error


@pytest.mark.power  # 1.2 s
@settings(max_examples=examples(22))
@given(subjects(dims=DIMS), st.sampled_from([Fraction(1, 2), Fraction(1, 3)]))
def test_bias_at_a_horizon_follows_its_law(subject: Subject, alpha: Fraction) -> None:
    """bias = sum_j b_j h^j + (1/L) sum_j tau_j h^(j-1) + O(h^5) at h = C L^-alpha, at L = 10^15 and 10^18.

    From one to the other h falls by 10^(3 alpha) and the remainder by its fifth power: the next term of the tail is
    h/C <= 1e-5 of the first, times a ratio of coefficients that generated spectra keep below 1e4.
    """
    note_replay(subject.reference, subject.configuration, "chen2015/theorem-2")
    answers = answers_for(subject.model)
    bias = bias_coefficients(answers)
    # A float may be half a unit in its last place off what it stands for.
    transient = [arb(tau, abs(tau) * 2.0**-50) for tau in answers.transient.values]
    left = []
    for length in (LONG // 1000, LONG):
        step = horizon_step(subject.scale, alpha, length)
        found = answers.bias(step, length).ball
        with flint.ctx.workprec(512):
            left.append(remainder(found, bias, step()) - sum_of(transient, step()) / step() / length)
    fall = arb(10) ** arb(fmpq(-15 * alpha.numerator, alpha.denominator))
    assert left[1].abs_lower() <= 2 * fall * left[0].abs_upper(), left


@pytest.mark.power  # 1.0 s
@settings(max_examples=examples(22))
@given(subjects(dims=[1], kinds=FRESH))
def test_the_variance_of_a_long_average_follows_its_law(subject: Subject) -> None:
    """L h Var(phi^) = sigma_0^2 + O(h) + O(1/(L h)): from h to h/256 the gap falls by 256 or more.

    The second order term is 2^-14 of the first times a ratio of coefficients, below 1/3 here; relaxation times are
    below 1e3, which bounds what a length of 1e18 leaves.
    """
    note_replay(subject.reference, subject.configuration, "chen2015/theorem-3")
    answers = answers_for(subject.model)
    assert isinstance(answers, QuadraticAnswers)
    assume(answers.variance)  # 0 for p = L theta and what is like it
    gaps = []
    for fraction in (2.0**-14, 2.0**-22):
        h = 2 * subject.step_sizes.default * fraction
        square = answers.mean_square_error(fixed_step(h), LONG)
        bias = answers.bias(fixed_step(h), LONG)
        with flint.ctx.workprec(512):
            gaps.append((square.ball - bias.ball * bias.ball) * LONG * arb(str(h)) / answers.variance - 1)
    left = 1e3 / (LONG * 2 * subject.step_sizes.default * 2.0**-22)
    assert gaps[1].abs_lower() <= gaps[0].abs_upper() * 2 / 256 + left + 2.0**-50, gaps


@settings(max_examples=examples(5))
@given(subjects(POOL, dims=DIMS), st.sampled_from(["bias", "mse"]))
def test_the_corrected_theorems_2_and_3_hold(subject: Subject, quantity: str) -> None:
    event(subject.configuration.gradient.kind)
    claim = "corrected/theorem-2" if quantity == "bias" else "corrected/theorem-3"
    subject = with_sweep(subject, lengths=[100, 10**8])
    evidence = judged(subject, claim, quantity)
    if quantity == "mse" and subject.noise.exchangeable and subject.target.dim > 1:
        assert evidence.verdict == "inconclusive"
        return
    assert evidence.verdict == "conforms", evidence.reason
    if subject.configuration.gradient.kind == "full":
        printed = judged(subject, claim.replace("corrected", "chen2015"), quantity)
        assert printed.verdict == "conforms", printed.reason
