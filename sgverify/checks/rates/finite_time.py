"""Checks: at which rate do bias and mean square error of the ergodic average fall with its length L?"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from functools import partial
from typing import Any

from sgverify.checks.order.configured_steps import expansion_reach
from sgverify.checks.order.local_order import noise_certificate
from sgverify.checks.question import Question
from sgverify.checks.rates.engines import (
    exact_answers,
    expansion_certificate,
    why_no_expansion,
)
from sgverify.checks.readings import mean_error, term_of_theorem_2, unbiased
from sgverify.claims import Prediction
from sgverify.errors import ConfigurationError, MomentsDivergeError, NotExpandableError, Unreached
from sgverify.evidence import Evidence, Point, PointsAtSight
from sgverify.exact.affine.model import as_run, fixed_step, horizon_step
from sgverify.exact.answers import ExactAnswers
from sgverify.exact.chain.varying_steps import power_steps
from sgverify.rates.verdict import Rate, judge_length_rate, length_rate
from sgverify.subject.caching import cached_per_subject
from sgverify.subject.subject import Subject

LENGTHS = [10**k for k in range(2, 11)]

DECREASING_LENGTHS = [10**k for k in range(2, 7)]

BRIEF_LENGTHS = DECREASING_LENGTHS[:2]
"""The lengths of a brief answer: enough to see that a bias is not zero."""

LONGEST = 10**6
"""The longest schedule: every step has its own size, so the work grows with L."""


def check_bias(question: Question) -> Evidence:
    """|E phi_hat - phi_bar| in L, chen2015 Theorems 2 and 5 and the remarks that specialise them.

    Cannot see: the spread of the average about its expectation, test functions and targets other than the configured
    ones, and lengths at which the rate is not reached yet.
    """
    return _check(question)


def check_mse(question: Question) -> Evidence:
    """E (phi_hat - phi_bar)^2 in L, chen2015 Theorems 3 and 5 and the remarks that specialise them.

    Cannot see: whether bias or variance makes the error, test functions and targets other than the configured ones, and
    lengths at which the rate is not reached yet.
    """
    return _check(question)


def check_consistency(question: Question) -> Evidence:
    """Bias and mean square error both go to 0 with decreasing steps, chen2015 Corollary 6.

    Cannot see: how fast the errors fall, and test functions and targets other than the configured ones.
    """
    return _check(question)


def _check(question: Question) -> Evidence:
    subject = question.subject
    if question.why_no_rate:
        return question.unanswered(question.why_no_rate, "not-applicable")
    if subject.method == "monte-carlo":
        return question.by_chains()
    quantity, schedule, alpha = question.quantity, question.schedule.kind, question.alpha
    prediction = question.prediction
    try:
        answers = exact_answers(subject)
        why = None if quantity == "bias" else answers.why_not("mean square error")
        if why:
            raise Unreached(f"no exact mean square error: {why}")
        lengths = _lengths(subject, answers, schedule, alpha)
        point = partial(_point, subject, "mse" if quantity == "mse" else "bias", schedule, alpha)
        found = _rate(subject, answers, quantity, schedule, alpha)
    except Unreached as reason:
        return _beyond_moments(question, str(reason))
    except NotExpandableError as error:
        return question.unanswered(why_no_expansion(error))
    except MomentsDivergeError as error:
        return question.unanswered(str(error))
    if found.at_most and lengths and not any(point(length).value for length in lengths):
        found = Rate(None)
    if found.exponent is None and any(point(length).value for length in lengths):
        # A series that vanishes to the computed orders proves no zero, and the points show a nonzero value.
        why = f"0 is not proved; the {quantity} is 0 to the orders expanded, and not 0 at L = {lengths[-1]}"
        return question.unanswered(why)
    what = told_of(question)
    predicted = Rate(prediction.exponent, logarithm=prediction.logarithm)
    judgement = judge_length_rate(found, predicted, what, strict=prediction.strict)
    scope = question.scope()
    if schedule != "fixed":
        # The rate comes from the expansion at h = 0, and the schedule's largest step is the farthest from h = 0.
        used = [_step(subject, schedule, alpha, length) for length in lengths] or [subject.scale]
        scope = question.scope(steps=expansion_reach(subject, [max(used)]))
    if not unbiased(subject):
        judgement = replace(judgement, reason=f"{judgement.reason}; {term_of_theorem_2(subject)}")
    return question.answered(
        judgement,
        found=found,
        points=PointsAtSight(lambda: map(point, lengths)),
        certificate=_certificate(subject, answers, schedule, alpha, found, prediction),
        scope=scope,
    )


def told_of(question: Question) -> str:
    """The quantity and the schedule of a question, as a reason names them."""
    names = {"bias": "the bias", "mse": "the mean square error", "consistency": "the slower of bias and MSE"}
    schedule = schedule_text(question.schedule.kind, question.alpha)
    return f"{names[question.quantity]} of {question.subject.observable} at {schedule}"


def _beyond_moments(question: Question, why: str) -> Evidence:
    """Evidence if the moments do not close: the rate from a proof, or from transfer operators on grids."""
    from sgverify.checks.rates.carried import beyond_moments
    from sgverify.checks.rates.transfer import transferred_rate

    return beyond_moments(question, why, partial(transferred_rate, what=told_of(question)))


def _rate(subject: Subject, answers: ExactAnswers, quantity: str, schedule: str, alpha: Fraction) -> Rate:
    if subject.observable.degree == 0:
        return Rate(None)
    bias = answers.expansion.values
    if schedule == "fixed":
        constant = answers.stationary_bias(fixed_step(subject.step))
        biased = not constant.vanishes and abs(constant.value) > constant.error_bound
        return Rate(Fraction(0)) if biased else Rate(Fraction(-1), at_most=True)
    transient = None if schedule == "power" else answers.transient.values
    variance = None if quantity == "bias" else answers.variance
    return length_rate(quantity, schedule, alpha, subject.scale, bias, variance, transient)


def _lengths(subject: Subject, answers: ExactAnswers, schedule: str, alpha: Fraction) -> Sequence[int]:
    """The lengths of the values beside the rate; none along a power schedule of which no engine computes averages.

    Raises `ConfigurationError` for a power schedule that is too long, and where a step is not stable.
    """
    lengths = subject.configuration.sweep.lengths
    if schedule == "power":
        if answers.why_not("weighted average"):
            return []
        longest = min(LONGEST, answers.longest_schedule())
        if lengths and max(lengths) > longest:
            raise ConfigurationError(
                f"sweep.lengths={max(lengths)}: a power schedule is computed up to L = {longest} here, step by step; give shorter "
                "lengths, or schedule.kind=horizon, which reaches 1e12"
            )
        return lengths or [length for length in DECREASING_LENGTHS if length <= longest]
    lengths = lengths or LENGTHS
    if subject.affine:
        subject.check_stable(
            sorted({_step(subject, schedule, alpha, length) for length in lengths}, reverse=True),
            "schedule.step" if schedule == "fixed" else "schedule.scale*L^-alpha",
        )
    return lengths


def _step(subject: Subject, schedule: str, alpha: Fraction, length: int) -> float:
    """The step size at which an average of this length ends."""
    return subject.step if schedule == "fixed" else subject.scale * float(length) ** -float(alpha)


@cached_per_subject
def _point(subject: Subject, quantity: str, schedule: str, alpha: Fraction, length: int) -> Point:
    """The value at one length."""
    answers, step = exact_answers(subject), _step(subject, schedule, alpha, length)
    squared = quantity == "mse"
    if schedule == "power":
        weighted = answers.weighted_mean_square_error if squared else answers.weighted_bias
        found = weighted(power_steps(subject.scale, float(alpha), length))
    else:
        values = answers.mean_square_error if squared else answers.bias
        size = None if schedule == "fixed" else horizon_step(subject.scale, alpha, length)
        found = as_run(lambda size: values(size, length), step, size)
    return Point(step=step, length=length, value=found.value, error_bound=found.error_bound)


def _certificate(
    subject: Subject,
    answers: ExactAnswers,
    schedule: str,
    alpha: Fraction,
    found: Rate,
    prediction: Prediction,
) -> dict[str, Any]:
    certificate = expansion_certificate(answers)
    certificate.update(noise_certificate(subject))
    certificate["schedule"] = {
        "kind": schedule,
        "alpha": alpha,
        "scale": subject.step if schedule == "fixed" else subject.scale,
    }
    why_no_points = answers.why_not("weighted average")
    if schedule == "power" and why_no_points:
        certificate["no_points"] = why_no_points
    certificate["transient"] = {f"h^{j - 1}/L": text for j, text in enumerate(answers.transient.texts)}
    if not unbiased(subject):
        certificate["gradient_bias"] = mean_error(subject)
    certificate["asymptotic_variance"] = answers.variance
    certificate["logarithm"] = {"found": found.logarithm, "predicted": prediction.logarithm}
    return certificate


def schedule_text(schedule: str, alpha: Fraction) -> str:
    """The schedule as a reason names it."""
    return {"fixed": "a fixed step", "horizon": f"h = C L^(-{alpha})", "power": f"h_l = C l^(-{alpha})"}[
        schedule
    ]
