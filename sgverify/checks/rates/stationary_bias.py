"""Check: how large is the bias of the invariant law (Theorem 4), also with minibatches that depend on one another?

Dependent minibatches have a period: the epoch of `reshuffle`, the sweep forward and backward of `symmetric`, or the steps
between two snapshots of `svrg`. The evidence then shows the bias at each position of the period. Dependent minibatches
add to the bias of full gradients a term in h^q, q >= 2, whose constant grows with the length of the period; fresh
minibatches add a term in h. The two terms are equal at the crossover step size, which the evidence also shows.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from itertools import pairwise
from typing import Any

from sgverify.checks.float_rounding import with_zeros
from sgverify.checks.order.configured_steps import expansion_reach
from sgverify.checks.order.local_order import noise_certificate
from sgverify.checks.question import Question
from sgverify.checks.rates.engines import (
    answers_with_closure,
    closure_certificate,
    expansion_certificate,
    judge_far_below,
    why_no_expansion,
)
from sgverify.checks.readings import escape_of
from sgverify.claims import claim_for
from sgverify.errors import InstabilityError, NotExpandableError, Unreached
from sgverify.evidence import Evidence, Point
from sgverify.exact.affine.model import as_run, fixed_step
from sgverify.exact.affine.noise import GradientNoise, gradient_noise
from sgverify.exact.answers import ExactAnswers, answers_for
from sgverify.exact.numbers.ball import PrecisionLostError
from sgverify.exact.posterior.polynomials import posterior_formula
from sgverify.rates import Rate, judge_step_rate, leading_power
from sgverify.subject.subject import Subject

FEW = 8
"""Positions that are all shown; of more, the first one and those at the quarters."""

AROUND = range(-3, 4)
"""Powers of 4 times the crossover at which the noise's share is followed."""


def shown_positions(steps: int) -> list[int]:
    """The positions of a period that evidence shows."""
    if steps <= FEW:
        return list(range(1, steps + 1))
    return sorted({1, *(-(-steps * k // 4) for k in range(1, 5))})


def period_certificate(subject: Subject, answers: ExactAnswers, steps: Sequence[float]) -> dict[str, Any]:
    """The bias by position, as expansions and at the largest and smallest of `steps`, and the crossover."""
    if answers.steps is None:
        return {}
    positions = shown_positions(answers.steps)
    certificate: dict[str, Any] = {
        "stationary_bias_by_position": {
            str(k): {f"h^{j}": text for j, text in enumerate(answers.expansion_at(k).texts)}
            for k in positions
        },
        "stationary_bias_at_positions": {
            f"h={step:.6g}": {str(k): _value(answers, step, k) for k in positions}
            for step in sorted({min(steps), max(steps)})
        },
    }
    crossover = _crossover(subject, answers)
    return certificate if crossover is None else {**certificate, "crossover": crossover}


def _value(answers: ExactAnswers, step: float, position: int) -> dict[str, float]:
    bias = answers.stationary_bias(fixed_step(step), position)
    return {"value": bias.value, "error_bound": bias.error_bound}


def _crossover(subject: Subject, answers: ExactAnswers) -> dict[str, Any] | None:
    """The step size at which the noise's part of the bias passes from h to h^q; None if fresh minibatches add no term in h."""
    quiet = answers_for(replace(subject.model, noise=GradientNoise("full")))
    fresh = _first_order_of_fresh(subject, answers)
    if fresh is None:
        return None
    first = fresh - quiet.expansion.values[1]
    pairs = zip(answers.expansion.values, quiet.expansion.values, strict=True)
    shares = [0.0 if both == one else both - one for both, one in pairs]
    order = leading_power(shares, [share == 0 for share in shares])
    if not first or order is None or order < 2:
        return None
    step = abs(first / shares[order]) ** (1 / (order - 1))
    if step >= subject.step_sizes.limit:
        return {
            "step": None,
            "why": f"{first:.6g} h and {shares[order]:.6g} h^{order} meet at h = {step:.3g}, beyond the stability limit "
            f"{subject.step_sizes.limit:.3g}: these leading terms tell of no crossover",
        }
    return {
        "step": step,
        "steps_per_period_times_step": (answers.steps or 1) * step,
        "share_of_the_noise_above": f"{first:.6g} h",
        "share_of_the_noise_below": f"{shares[order]:.6g} h^{order}",
        "local_exponents": _exponents(answers, quiet, [step * 4.0**k for k in AROUND]),
    }


def _first_order_of_fresh(subject: Subject, answers: ExactAnswers) -> float | None:
    """b_1, the coefficient of h in the bias with fresh minibatches; None if no engine computes it.

    For a gradient with a snapshot, b_1 is computed at an old snapshot.
    """
    from sgverify.exact.answers.moments import MomentAnswers

    if subject.noise.refresh is not None:
        assert isinstance(answers, MomentAnswers)
        return answers.first_order_of_old_snapshots
    table = subject.configuration.gradient.model_copy(update={"kind": "without-replacement"})
    model = replace(subject.model, noise=gradient_noise(table, subject.effective_target))
    try:
        return answers_for(model).expansion.values[1]
    except Unreached:
        return None


def _exponents(answers: ExactAnswers, quiet: ExactAnswers, steps: Sequence[float]) -> dict[str, float]:
    """The slopes of the noise's part of the bias between neighbouring stable step sizes."""
    shares: list[tuple[float, float]] = []
    for step in steps:
        try:
            share = (
                answers.stationary_bias(fixed_step(step)).value
                - quiet.stationary_bias(fixed_step(step)).value
            )
        except (InstabilityError, PrecisionLostError):
            break
        shares.append((step, share))
    return {
        f"h={low:.3g} to {high:.3g}": math.log(b / a) / math.log(high / low)
        for (low, a), (high, b) in pairwise(shares)
        if a * b > 0
    }


def check_stationary_bias(question: Question) -> Evidence:
    """d(rho_h, rho) = O(h^K) for the test function, chen2015 Theorem 4.

    The verdict comes from the expansion of phi_h - phi_bar at h = 0, and the points illustrate it; where there is no
    exact expansion of moments from transfer operators on grids, and from samples where neither reaches.

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
        return question.sampled()
    try:
        answers = answers_with_closure(subject, question.quantity)
    except Unreached as reason:
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
            f"0 is not proved; {what} is 0 to the orders expanded, and not 0 at the computed steps",
        )
    certificate.update(closure_certificate(answers))
    certificate.update(period_certificate(subject, answers, steps))
    certificate.update(noise_certificate(subject))
    if subject.target.dim == 1 and subject.target.quadratic:
        formula = posterior_formula(subject.target.name, subject.observable)
        certificate["posterior_average_formula"] = str(formula)
    return question.answered(
        judge_step_rate(found, prediction.exponent, what),
        found=found,
        points=points,
        certificate=certificate,
        scope=question.scope(
            steps=expansion_reach(
                subject, steps, {point.step: _beside(point, found) for point in points if point.step}
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
    """Evidence if the moments do not close: from the limit of a memory, transfer operators on grids, a proof, or else samples."""
    from sgverify.checks.rates.carried import carried_or_sampled
    from sgverify.checks.rates.gradient_bias import bias_of_memory
    from sgverify.checks.rates.transfer import transferred_stationary_bias

    found = bias_of_memory(question)
    if found is not None:
        return found
    try:
        return transferred_stationary_bias(question)
    except Unreached as reason:
        return carried_or_sampled(question, f"{why}; {reason}")


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
    """Evidence for a step without an expansion: exact values at steps far below the sweep show whether the bias goes to 0."""
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
