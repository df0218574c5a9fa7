"""Check: how large is the bias of the invariant law (Theorem 4), also with minibatches that depend on one another?

Dependent minibatches have a period: the epoch of `reshuffle`, the sweep forward and backward of `symmetric`, or the steps
between two snapshots of `svrg`, over which the bias is averaged.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction

from sgverify.checks.float_rounding import with_zeros
from sgverify.checks.order.configured_steps import expansion_reach
from sgverify.checks.order.local_order import noise_certificate
from sgverify.checks.question import Question
from sgverify.checks.rates.engines import (
    exact_answers,
    expansion_certificate,
    judge_far_below,
    why_no_expansion,
)
from sgverify.checks.readings import escape_of
from sgverify.claims import claim_for
from sgverify.errors import NotExpandableError, Unreached
from sgverify.evidence import Evidence, Point, PointsAtSight
from sgverify.exact.affine.model import as_run, fixed_step
from sgverify.exact.answers import ExactAnswers
from sgverify.exact.posterior.polynomials import posterior_formula
from sgverify.rates.verdict import Rate, judge_step_rate, leading_power
from sgverify.subject.caching import cached_per_subject
from sgverify.subject.subject import Subject


def check_stationary_bias(question: Question) -> Evidence:
    """d(rho_h, rho) = O(h^K) for the test function, chen2015 Theorem 4.

    The verdict comes from the expansion of phi_h - phi_bar at h = 0, and the points illustrate it; where there is no
    exact expansion of moments from what is proved of a step, or from transfer operators on grids.

    Cannot see: test functions and targets other than the configured ones, and how slowly the chain reaches its
    invariant law.
    """
    subject = question.subject
    evidence, escape = _answered(question), escape_of(subject)
    if escape is None:
        return evidence
    from sgverify.checks.rates.transfer import QUASI_STATIONARY

    # The grids name the law that they find, and where it ends.
    named = evidence.certificate.get("law") == QUASI_STATIONARY
    law = "" if named else f"; the law is that before escape: {escape}"
    ergodic = claim_for("stationary-bias", "fixed").id
    before = "the law before escape has the rate; " if evidence.verdict == "conforms" else ""
    return replace(evidence, reason=f"{before}{evidence.reason}{law}; {ergodic} assumes an ergodic chain")


def _answered(question: Question) -> Evidence:
    subject = question.subject
    if subject.method == "monte-carlo":
        return question.by_chains()
    try:
        answers = exact_answers(subject)
    except Unreached as reason:
        return _beyond_moments(question, str(reason))
    steps = subject.sweep_steps
    if subject.affine:
        subject.check_stable(steps, "sweep.steps" if subject.configuration.sweep.steps else "schedule.step")
    points = PointsAtSight(lambda: _points(subject))
    prediction = question.prediction
    what = f"the stationary bias of {subject.observable}"
    try:
        found = stationary_rate(answers, points)
        certificate = expansion_certificate(answers)
    except NotExpandableError as error:
        return _from_vanishing_steps(question, answers, steps[-1], points, why_no_expansion(error))
    if found is None:
        return question.unanswered(
            f"0 is not proved; {what} is 0 to the orders expanded, and not 0 at the computed steps",
        )
    certificate.update(noise_certificate(subject))
    if not subject.whole and subject.target.dim == 1 and subject.target.quadratic:
        formula = posterior_formula(subject.target.name, subject.observable)
        certificate["posterior_average_formula"] = str(formula)
    return question.answered(
        judge_step_rate(found, prediction.exponent, what),
        found=found,
        points=points,
        certificate=certificate,
        scope=question.scope(
            steps=expansion_reach(
                subject,
                steps,
                lambda step: _beside(next(point for point in points if point.step == step), found),
            )
        ),
    )


def _beside(point: Point, found: Rate) -> str:
    """The clause that compares a computed value with the leading term of the expansion."""
    if found.exponent is None or found.coefficient is None or point.step is None:
        return f"it is {point.value:.6g}"
    leading = found.coefficient * point.step ** float(found.exponent)
    return f"it is {point.value:.6g}, where the expansion's leading term is {leading:.6g}"


def _beyond_moments(question: Question, why: str) -> Evidence:
    """Evidence if the moments do not close: from the limit of a memory, a proof, or transfer operators on grids."""
    from sgverify.checks.rates.carried import beyond_moments
    from sgverify.checks.rates.gradient_bias import bias_of_memory
    from sgverify.checks.rates.transfer import transferred_stationary_bias

    return bias_of_memory(question) or beyond_moments(question, why, transferred_stationary_bias)


def stationary_rate(answers: ExactAnswers, points: Sequence[Point]) -> Rate | None:
    """The leading power of the stationary bias; an exact zero needs the points to vanish too."""
    bias = answers.expansion
    q = leading_power(bias.values, [value == 0 for value in bias.values])
    if q is not None:
        return Rate(Fraction(q), bias.values[q])
    return Rate(None) if all(point.value == 0 for point in points) else None


@cached_per_subject
def _points(subject: Subject) -> list[Point]:
    """The values at the steps of the sweep."""
    answers = exact_answers(subject)
    points = [_point(answers, step) for step in subject.sweep_steps]
    return with_zeros(subject, points, lambda: float(subject.reference_average.value))


def _point(answers: ExactAnswers, step: float) -> Point:
    bias = as_run(answers.stationary_bias, step)
    return Point(step=step, value=bias.value, error_bound=bias.error_bound)


def _from_vanishing_steps(
    question: Question, answers: ExactAnswers, step: float, points: Sequence[Point], why: str
) -> Evidence:
    """Evidence for a step without an expansion: exact values at steps far below the sweep show whether the bias goes to 0."""
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
