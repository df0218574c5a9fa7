"""Check: how the bias of the invariant law falls with the step size."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

from sgverify.checks.configured_steps import explained
from sgverify.checks.exact_rung import expansion_certificate, judge_far_below, why_no_expansion
from sgverify.checks.float_rounding import with_zeros
from sgverify.checks.memory_bias import bias_of_memory
from sgverify.checks.moment_closure import answers_with_closure, closure_certificate
from sgverify.checks.noise_certificate import noise_certificate
from sgverify.checks.period_evidence import period_certificate
from sgverify.checks.question import Question
from sgverify.checks.transfer_bias import transferred_stationary_bias
from sgverify.claims import claim_for
from sgverify.errors import NotExpandableError, OutOfReachError
from sgverify.evidence import Evidence, Point
from sgverify.exact.affine.model import fixed_step
from sgverify.exact.answers import ExactAnswers
from sgverify.exact.as_run import as_run
from sgverify.exact.posterior import posterior_formula
from sgverify.rates import Rate, judge_step_rate, leading_power


def check_stationary_bias(question: Question) -> Evidence:
    """d(rho_h, rho) = O(h^K) for the test function, chen2015 Theorem 4.

    The verdict comes from the expansion of phi_h - phi_bar at h = 0, and the points illustrate it; where there is no
    exact expansion of moments from transfer operators on grids, and from samples where neither reaches.
    """
    subject = question.subject
    if subject.escape is None:
        return _answered(question)
    evidence = _answered(question)
    told = (
        ""
        if "escape" in evidence.reason
        else f"; {subject.escape}, and this speaks of its quasi-stationary law"
    )
    ergodic = claim_for("stationary-bias", "fixed").id
    return replace(
        evidence,
        reason=f"{evidence.reason}{told}; {ergodic} asks for a geometrically ergodic chain, and does not speak of this one",
    )


def _answered(question: Question) -> Evidence:
    subject = question.subject
    if subject.method == "monte-carlo":
        return question.sampled()
    try:
        answers = answers_with_closure(subject, question.quantity)
    except OutOfReachError as reason:
        return _beyond_moments(question, str(reason))
    steps = subject.sweep_steps
    if subject.affine:
        subject.check_stable(steps, "sweep.steps" if subject.configuration.sweep.steps else "schedule.step")
    points = with_zeros(
        subject, [_point(answers, step) for step in steps], lambda: float(subject.reference_average.value)
    )
    prediction = question.prediction
    what = f"the stationary bias of {subject.observable}"
    try:
        found = stationary_rate(answers, points)
        certificate = expansion_certificate(answers)
    except NotExpandableError as error:
        return _from_vanishing_steps(question, answers, points, why_no_expansion(error))
    if found is None:
        return question.unanswered(
            f"{what} vanishes to the orders that were expanded, but not at the steps that were computed",
        )
    certificate.update(closure_certificate(answers))
    certificate.update(period_certificate(subject, answers, steps))
    certificate.update(noise_certificate(subject))
    if subject.target.dim == 1 and subject.target.quadratic:
        formula = posterior_formula(subject.target.name, subject.observable)
        certificate["posterior_average_formula"] = str(formula)
    return question.answered(
        explained(
            subject,
            judge_step_rate(found, prediction.exponent, what),
            steps,
            {point.step: _beside(point, found) for point in points if point.step},
        ),
        found=found,
        points=points,
        certificate=certificate,
    )


def _beside(point: Point, found: Rate) -> str:
    """A value beside the leading term of the expansion."""
    if found.exponent is None or found.coefficient is None or point.step is None:
        return f"it is {point.value:.6g}"
    leading = found.coefficient * point.step ** float(found.exponent)
    return f"it is {point.value:.6g}, where the expansion's leading term is {leading:.6g}"


def _beyond_moments(question: Question, why: str) -> Evidence:
    """Where moments do not close: the limit of a memory, transfer operators on grids, else samples."""
    found = bias_of_memory(question)
    if found is not None:
        return found
    try:
        return transferred_stationary_bias(question)
    except OutOfReachError as reason:
        return question.sampled(f"{why}; {reason}")


def stationary_rate(answers: ExactAnswers, points: list[Point]) -> Rate | None:
    """The leading power of the stationary bias; an exact zero needs the points to vanish too."""
    bias = answers.expansion
    q = leading_power(bias.values, [value == 0 for value in bias.values])
    if q is not None:
        return Rate(Fraction(q), bias.values[q])
    return Rate(None) if all(point.value == 0 for point in points) else None


def _point(answers: ExactAnswers, step: float) -> Point:
    bias = as_run(answers.stationary_bias, step)
    return Point(step=step, value=bias.value, error_bound=bias.error_bound)


def _from_vanishing_steps(
    question: Question, answers: ExactAnswers, points: list[Point], why: str
) -> Evidence:
    """A step without an expansion: exact values at steps far below the sweep show whether the bias goes to 0."""
    step = points[-1].step
    assert step is not None
    judgement, values = judge_far_below(
        question.subject,
        lambda h: answers.stationary_bias(fixed_step(h)),
        step,
        f"the stationary bias of {question.subject.observable}",
        why,
    )
    if judgement.verdict != "violates":
        return question.unanswered(why)
    return question.answered(
        judgement, found=Fraction(0), points=points, certificate={"bias_at": values, "no_expansion": why}
    )
