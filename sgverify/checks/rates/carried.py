"""Rates of averages by what is proved of a step, for every smooth potential, where no exact law is read.

With A_j^* rho = 0 for j <= K the bias of the invariant law is O(h^K), for every smooth test function (Talay and Tubaro; Abdulle,
Vilmart and Zygalakis), and theorems 2, 3 and 5 of chen2015 hold with this K under their own assumptions. Averaged over minibatches
that are drawn anew for each step, a step is that of a Markov chain, whose power of h is the averaged local order.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction

from sgverify.checks.concluding import proof_scope
from sgverify.checks.order.configured_steps import expansion_reach
from sgverify.checks.order.invariant_order import invariant_proof
from sgverify.checks.order.stationarity import examine_stated
from sgverify.checks.question import Question
from sgverify.checks.rates.engines import transfer_answers
from sgverify.checks.rates.transfer import ASSUMED, point_of, rate_of_powers
from sgverify.checks.readings import escape_of, unbiased
from sgverify.errors import NotExpandableError, SgverifyError, Unreached
from sgverify.evidence import Evidence, Extent, Point, PointsAtSight, tried
from sgverify.exact.series.dimensions import dimensions_text
from sgverify.exact.series.orders import LocalOrder
from sgverify.exact.series.stated_density import absorbs_noise, why_not_posterior
from sgverify.rates.verdict import Judgement, Rate, judge_length_rate
from sgverify.subject.caching import cached_per_subject
from sgverify.subject.subject import Subject

BY = "the averages of every smooth function, whose Poisson equation is assumed to have a solution that is bounded as the claim says"


def carried_over(question: Question) -> Evidence:
    """The rate in h or in L that follows from what is proved of a step. Raises `Unreached` where that is less than is predicted."""
    subject, prediction = question.subject, question.prediction
    if subject.method == "exact" or subject.affine:
        raise Unreached("a proof is carried over where no number is asked for, for a step that is not affine")
    target = subject.target
    escape = escape_of(subject)
    # A step that the user chose may lose its mass before a law has settled, which grids find.
    chosen = subject.configuration.schedule.step or subject.configuration.sweep.steps
    before = question.claim.escaping and not chosen and not subject.configuration.gradient.estimator.noisy
    if not target.smooth or target.rugged or (escape and not before):
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
        points=() if question.check.along_schedule else PointsAtSight(lambda: _points(subject)),
        certificate={
            "order_of_averages": str(power),
            "not_tried": ("assumed: its Poisson equation has a solution that is bounded as the claims say",),
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


def _points(subject: Subject) -> list[Point]:
    """The biases at the configured steps, where grids reach the subject."""
    try:
        return [point_of(bias) for bias in transfer_answers(subject).stationary_biases(subject.sweep_steps)]
    except Unreached:
        return []


def beyond_moments(question: Question, why: str, by_grids: Callable[[Question], Evidence]) -> Evidence:
    """The rate where moments do not close: by a proof and by grids, by these first where they are quick or a number is asked for.

    Grids are quick on the line. `why` says what no exact engine reads.
    """
    engines = [carried_over, by_grids]
    if question.samples or question.subject.scheme.dynamics.state == ("theta",):
        engines.reverse()
    for engine in engines:
        try:
            return engine(question)
        except Unreached as reason:
            why = f"{why}; {reason}"
    return question.by_chains(why)


@cached_per_subject
def _power(subject: Subject) -> tuple[Fraction, Extent]:
    """The power of h in the bias of the invariant law that is proved, and the dimensions of the proof."""
    proved, estimator = subject.proved_order, subject.configuration.gradient.estimator
    if isinstance(proved, NotExpandableError):
        raise Unreached(proved.told())
    order = proved.order
    if order.unseen:
        raise Unreached("the step has terms that no power of h shows")
    full, dimensions = order.order, proved.dimensions
    try:
        by_law = _of_law(subject) if full < max(1, subject.scheme.invariant_order or 0) else None
    except Unreached:
        if full < 1:
            raise
        by_law = None
    if by_law is None:
        # With L* rho = 0 every power of L leaves rho invariant, and so do the first powers of h in a step of this local order.
        dimensions = dimensions.meet(_invariant(subject))
    else:
        full, dimensions = by_law
    if not estimator.noisy and unbiased(subject):
        return full, dimensions
    # Noise of each evaluation is that of one minibatch where a step takes one gradient.
    fresh = estimator.fresh or (estimator.each_evaluation and subject.scheme.gradients == 1)
    if not (fresh and unbiased(subject)):
        raise Unreached(
            f"the average over {subject.configuration.gradient.kind} gradients is not that of one step"
        )
    if full > order.averaged_order == 1 and _absorbed(subject):
        dim = subject.target.dim
        return min(full, Fraction(2)), dimensions.meet(tried(dimensions_text([dim]), (dim,)))
    return order.averaged_order, dimensions


MOST_ABSORBED = 4
"""The largest dimension in which the noise that a thermostat absorbs is followed, in less than a second."""


@cached_per_subject
def _absorbed(subject: Subject) -> bool:
    """Whether the gradient noise has a constant covariance, and moves variables besides theta and p alone to first order."""
    if subject.target.dim > MOST_ABSORBED:
        return False
    try:
        noise = subject.noise
    except SgverifyError:
        return False
    if noise.covariance is None or noise.multiplicative or not noise.known:
        return False
    rows = noise.covariance.tolist()
    places = range(len(rows))
    if any(rows[i][j] for i in places for j in places if i != j):
        return False
    isotropic = all(rows[i][i] == rows[0][0] for i in places)
    try:
        return absorbs_noise(subject.scheme, subject.target.dim, isotropic=isotropic)
    except NotExpandableError:
        return False


def _invariant(subject: Subject) -> Extent:
    """The dimensions in which the diffusion is proved to leave the posterior invariant, and to forget its start."""
    dynamics = subject.scheme.dynamics
    if dynamics.density is None:
        raise Unreached(f"`{dynamics.name}` states no density")
    if "T" not in dynamics.parameters and subject.configuration.temperature != 1:
        raise Unreached(f"`{dynamics.name}` knows no temperature but 1")
    try:
        why = why_not_posterior(dynamics, momentum=subject.observable.uses_momentum)
        _, examined = examine_stated(subject)
    except NotExpandableError as error:
        raise Unreached(error.told()) from None
    if why is not None or examined.wrong is not None:
        raise Unreached(why or f"`{dynamics.name}` is not proved to leave its density invariant")
    return examined.extent


def _of_law(subject: Subject) -> tuple[Fraction, Extent]:
    """The order of the invariant law, of a step whose own order is lower."""
    invariant = invariant_proof(subject)
    if isinstance(invariant, NotExpandableError):
        raise Unreached(invariant.told())
    if not invariant.found.mixes or invariant.found.order < 1:
        raise Unreached(
            "the step is not proved to forget its start, or to leave the density invariant at order 1"
        )
    return invariant.found.order, invariant.dimensions


def _by_noise_alone(subject: Subject) -> bool:
    """Whether the averaged step has a lower order than the step by terms that carry moments of the gradient noise alone."""
    order = subject.order
    return (
        subject.configuration.gradient.estimator.noisy
        and isinstance(order, LocalOrder)
        and order.averaged is not None
        and order.averaged.noise_alone
    )
