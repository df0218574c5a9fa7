"""Rates of averages by what is proved of a step, for every smooth potential, where no exact law is read.

With A_j^* rho = 0 for j <= K the bias of the invariant law is O(h^K), for every smooth test function (Talay and Tubaro; Abdulle,
Vilmart and Zygalakis), and theorems 2, 3 and 5 of chen2015 hold with this K under their own assumptions. Averaged over minibatches
that are drawn anew for each step, a step is that of a Markov chain, whose power of h is the averaged local order.
"""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

from sgverify.checks.concluding import proof_scope
from sgverify.checks.order.configured_steps import expansion_reach
from sgverify.checks.order.invariant_order import invariant_proof
from sgverify.checks.question import Question
from sgverify.checks.rates.transfer import ASSUMED, rate_of_powers
from sgverify.checks.readings import escape_of, unbiased
from sgverify.errors import NotExpandableError, Unreached
from sgverify.evidence import Evidence, Extent, tried
from sgverify.exact.series import LocalOrder
from sgverify.rates import Judgement, Rate, judge_length_rate
from sgverify.subject.subject import Subject
from sgverify.targets.own.function import OwnPotential
from sgverify.targets.target import Target

BY = "the averages of every smooth function, whose Poisson equation is assumed to have a solution that is bounded as the claim says"


def carried_over(question: Question) -> Evidence:
    """The rate in h or in L that follows from what is proved of a step. Raises `Unreached` where that is less than is predicted."""
    subject, prediction = question.subject, question.prediction
    if not subject.whole or subject.affine:
        raise Unreached("a proof is carried over in a whole answer alone, for a step that is not affine")
    target = subject.target
    # Those of modules are of a type of their own: whether a network is smooth is not known.
    own = isinstance(target.prior, OwnPotential) or type(target) is not Target
    if own or target.rugged or escape_of(subject):
        raise Unreached(
            "a proof is carried over where the potential is known to be smooth, and no chain escapes"
        )
    if subject.scheme.memory and not subject.effective_target.quadratic:
        raise Unreached("a proof is carried over beyond Gaussians for a step without a memory")
    if prediction.exponent is None:
        raise Unreached("the claim predicts no exponent")
    power, dimensions = _power(subject)
    what = f"the error of {subject.observable}"
    if question.check.along_schedule:
        schedule, alpha = question.schedule.kind, question.alpha
        bias = [*([0.0] * int(power)), 1.0]
        rate = rate_of_powers(bias, question.quantity, schedule, alpha, subject.scale)
        found = replace(rate, coefficient=None, at_most=True)
        predicted = Rate(prediction.exponent, logarithm=prediction.logarithm)
        judgement = judge_length_rate(found, predicted, what, strict=prediction.strict)
        judgement = replace(judgement, reason=f"{judgement.reason}; {ASSUMED}")
    else:
        found = Rate(power)
        reach = "conforms" if power >= prediction.exponent else "inconclusive"
        reason = f"{what} is O(h^{power}) as h -> 0; predicted: h^{prediction.exponent}; {BY}"
        judgement = Judgement(reach, False, reason)
    logarithm_alone = found.exponent == prediction.exponent and found.logarithm > prediction.logarithm
    if judgement.verdict != "conforms" and not (logarithm_alone or _by_noise_alone(subject)):
        raise Unreached(f"no more than h^{power} is proved of the bias")
    evidence = question.answered(
        method="proof",
        judgement=judgement,
        found=found,
        certificate={
            "order_of_averages": str(power),
            "rests_on": BY,
            "logarithm": {"found": found.logarithm, "predicted": prediction.logarithm},
        },
        scope=proof_scope(
            dimensions, expansion_reach(subject, []), tried(subject.configuration.gradient.kind)
        ),
    )
    if question.check.along_schedule:
        return evidence
    return replace(evidence, found=replace(evidence.found, exponent=None, high=None))


def carried_or_sampled(question: Question, why: str) -> Evidence:
    """What is carried over, or samples where that does not decide; `why` says what no exact engine reads."""
    try:
        return carried_over(question)
    except Unreached as reason:
        return question.sampled(f"{why}; {reason}")


def _power(subject: Subject) -> tuple[Fraction, Extent]:
    """The power of h in the bias of the invariant law that is proved, and the dimensions of the proof."""
    order, estimator = subject.order, subject.configuration.gradient.estimator
    if isinstance(order, NotExpandableError):
        raise Unreached(order.told())
    if order.unseen:
        raise Unreached("the step has terms that no power of h shows")
    invariant = invariant_proof(subject)
    if isinstance(invariant, NotExpandableError):
        raise Unreached(invariant.told())
    found, dimensions = invariant.found, invariant.dimensions
    if not found.mixes or found.order < 1:
        raise Unreached(
            "the step is not proved to forget its start, or to leave the density invariant at order 1"
        )
    if not estimator.noisy and unbiased(subject):
        return max(found.order, order.order), dimensions
    if not (estimator.fresh and unbiased(subject)):
        raise Unreached(
            f"the average over {subject.configuration.gradient.kind} gradients is not that of one step"
        )
    return order.averaged_order, dimensions


def _by_noise_alone(subject: Subject) -> bool:
    """Whether the averaged step has a lower order than the step by terms that carry moments of the gradient noise alone."""
    order = subject.order
    return (
        subject.configuration.gradient.estimator.noisy
        and isinstance(order, LocalOrder)
        and order.averaged is not None
        and order.averaged.noise_alone
    )
