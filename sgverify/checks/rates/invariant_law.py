"""Checks: at which order in h do the invariant law's covariance and Wasserstein-2 distance approach the posterior?"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import partial
from typing import Any

from sgverify.checks.float_rounding import with_zeros
from sgverify.checks.order.configured_steps import expansion_reach
from sgverify.checks.order.local_order import noise_certificate
from sgverify.checks.question import Question
from sgverify.checks.rates.engines import judge_far_below, why_no_expansion
from sgverify.checks.readings import why_no_law
from sgverify.errors import NotExpandableError
from sgverify.evidence import Evidence, Point, PointsAtSight
from sgverify.exact.affine.model import as_run
from sgverify.exact.answers.invariant import InvariantLaw, LeadingError
from sgverify.exact.chain.ergodic import COVARIANCE, WASSERSTEIN, Distance
from sgverify.exact.numbers.ball import Certified, PrecisionLostError
from sgverify.rates.verdict import Rate, judge_step_rate
from sgverify.subject.caching import cached_per_subject
from sgverify.subject.subject import Subject

COVARIANCE_NAME = "the relative error of the invariant covariance"

DISTANCE_NAME = "the Wasserstein-2 distance of the invariant law"
BOUND_NAME = "the Gelbrich bound of the Wasserstein-2 distance (that of Gaussians with the two laws' moments)"


@dataclass(frozen=True)
class MomentComparison:
    """A distance between two laws that is computed from their means and covariances, with its name in a sentence.

    `name_of_moments` is the name to use if the invariant law is not Gaussian: mean and covariance then do not determine
    the law.
    """

    name: str
    name_of_moments: str
    distance: Distance


def compare(question: Question, comparison: MomentComparison) -> Evidence:
    """How the distance between the invariant law and the posterior falls with h, for all variables together.

    The verdict comes from the expansion of every entry of mean and covariance at h = 0; the points illustrate it.
    """
    subject = question.subject
    why = why_no_law(subject)
    if why:
        return question.unanswered(f"no exact law: {why}")
    law = _law(subject)
    steps = subject.sweep_steps
    subject.check_stable(steps, "sweep.steps" if subject.configuration.sweep.steps else "schedule.step")
    points = PointsAtSight(lambda: with_zeros(subject, [_point(law, comparison, step) for step in steps]))
    prediction = question.prediction
    what = _name(law, comparison)
    certificate: dict[str, Any] = {"law": _law_text(law)}
    scope = question.scope()
    try:
        leading = _leading(subject, comparison)
    except NotExpandableError as error:
        at = partial(_distance, law, comparison)
        judgement, _ = judge_far_below(subject, at, steps[-1], what, why_no_expansion(error))
        found = Rate(Fraction(0)) if judgement.verdict == "violates" else None
    else:
        whole = leading[law.whole]
        certificate["leading"] = {
            part: {"order": item.order, "coefficient": item.coefficient} for part, item in leading.items()
        }
        certificate["zeros_are"] = "proved in rational arithmetic" if whole.exact else "balls that contain 0"
        certificate.update(noise_certificate(subject))
        if whole.order is not None:
            found = Rate(Fraction(whole.order), whole.coefficient)
        elif all(point.value == 0 for point in points):
            found = Rate(None)
        else:
            reason = f"0 is not proved; {what} is 0 to the orders expanded, and not 0 at the computed steps"
            return question.unanswered(reason)
        judgement = judge_step_rate(found, prediction.exponent, what)
        scope = question.scope(steps=expansion_reach(subject, steps))
    return question.answered(
        judgement,
        found=found,
        points=points,
        certificate=certificate,
        scope=scope,
    )


def check_covariance(question: Question) -> Evidence:
    """|S^(-1/2) (S_h - S) S^(-1/2)|_F = O(h^K) on a Gaussian target: the quadratic test functions of Theorem 4.

    Cannot see: an error of the mean, moments beyond the second, and targets that are not Gaussian.
    """
    return compare(question, MomentComparison(COVARIANCE_NAME, COVARIANCE_NAME, COVARIANCE))


def check_wasserstein(question: Question) -> Evidence:
    """W2(rho_h, rho) = O(h^K) on a Gaussian target: mean and covariance of all variables in one number.

    Cannot see: targets that are not Gaussian and, where the invariant law is not Gaussian itself, errors beyond mean
    and covariance.
    """
    return compare(question, MomentComparison(DISTANCE_NAME, BOUND_NAME, WASSERSTEIN))


@cached_per_subject
def _law(subject: Subject) -> InvariantLaw:
    return InvariantLaw(subject.model)


@cached_per_subject
def _leading(subject: Subject, comparison: MomentComparison) -> dict[str, LeadingError]:
    """The leading power of h in the distance, for each variable and for all together."""
    law = _law(subject)
    return {part: law.leading(comparison.distance, part) for part in law.coordinates}


def _point(law: InvariantLaw, comparison: MomentComparison, step: float) -> Point:
    try:
        found = _distance(law, comparison, step)
    except PrecisionLostError:
        return Point(step=step, note="the invariant covariance is singular to the precision that was tried")
    return Point(step=step, value=found.value, error_bound=found.error_bound)


def _distance(law: InvariantLaw, comparison: MomentComparison, step: float) -> Certified:
    return as_run(lambda size: law.distance(comparison.distance, size, law.whole), step)


def _name(law: InvariantLaw, comparison: MomentComparison) -> str:
    names = law.model.scheme.dynamics.state
    variables = names[0] if len(names) == 1 else f"({', '.join(names)})"
    return f"{comparison.name if law.gaussian else comparison.name_of_moments} of {variables}"


def _law_text(law: InvariantLaw) -> str:
    if law.gaussian:
        return "Gaussian, so that its mean and covariance are all of it"
    whose = [f"noise.{drawn}()" for drawn in law.model.scheme.laws if not drawn.normal] or [
        "the minibatches' noise"
    ]
    return (
        f"not Gaussian, for {whose[0]} is not: what is compared are mean and covariance, and the distance of "
        "the Gaussians that have them is a lower bound of the laws' own (Gelbrich 1990)"
    )
