"""Biases and rates in the length from transfer operators on grids."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from typing import Any

from sgverify.checks.order.configured_steps import expansion_reach, limit_alone
from sgverify.checks.order.invariant_order import invariant_proof
from sgverify.checks.order.local_order import noise_certificate
from sgverify.checks.question import Question
from sgverify.checks.rates.engines import transfer_answers
from sgverify.checks.rates.leading_bias import LeadingBias, leading_bias
from sgverify.claims import claim_for
from sgverify.errors import ConfigurationError, InstabilityError, NotExpandableError, Unreached
from sgverify.evidence import Evidence, Point
from sgverify.exact.transfer.result import GridBias
from sgverify.rates.verdict import Judgement, Rate, judge_length_rate, judge_step_rate, length_rate
from sgverify.subject.caching import cached_per_subject
from sgverify.subject.subject import Subject

# The stationary bias beyond Gaussians: powers of h from what is proved of a step and from grids at small step sizes.


ERRORS = (
    "estimates, and no enclosures: changes under refinement of grid and quadrature, under widening of the domain, and rounding; "
    "all converge geometrically"
)

QUASI_STATIONARY = "quasi-stationary"
"""The law of a chain until it escapes."""


def transferred_stationary_bias(question: Question) -> Evidence:
    """d(rho_h, rho) = O(h^K) from a proof and transfer operators: the verdict from the first term of the bias in powers of h.

    Raises `Unreached` where no engine of grids reaches the subject.
    """
    subject = question.subject
    answers = transfer_answers(subject)
    # It raises before the grids, which take long where a step has features as narrow as h: no power of h shows these.
    leading = leading_bias(subject, answers, subject.sweep_steps)
    biases = answers.stationary_biases(subject.sweep_steps)
    _refuse_chosen_escapes(subject, biases)
    escaping = [bias for bias in biases if bias.escape is not None]
    prediction = question.prediction
    what = f"the {QUASI_STATIONARY if escaping else 'stationary'} bias of {subject.observable}"
    certificate = _certificate(subject, leading, biases)
    if leading.denied is not None:
        reason = (
            f"proof and grids disagree; {what} is proved to be O(h^{leading.proved_order}), and is {leading.denied.value:.10g} "
            f"h^{leading.denied.order} by grids"
        )
        judgement, found = Judgement("inconclusive", False, reason), None
    else:
        judgement, found = _judged(leading, prediction.exponent, what)
    steps = expansion_reach(subject, [])
    if not any(bias.value is not None for bias in biases):
        # No grid finds an invariant law at the requested steps, and the limit h -> 0 does not answer for those steps.
        why = next((bias.note for bias in biases if bias.note), "no grid has a value")
        steps = limit_alone(f"the configured steps, of which nothing is known: {why}")
    if escaping:
        judgement = _before_escape(question, judgement, escaping[0])
    evidence = question.answered(
        judgement,
        found=found,
        points=[point_of(bias) for bias in biases],
        certificate=certificate,
        scope=question.scope(steps=steps),
    )
    if not (leading.untold if found is not None else judgement.verdict == "conforms"):
        return evidence
    # Lower coefficients are 0 within their errors, which is no proof: the exponent is bounded below by `proved_order`.
    return replace(evidence, found=replace(evidence.found, low=leading.proved_order))


def _refuse_chosen_escapes(subject: Subject, biases: list[GridBias]) -> None:
    """Raise `InstabilityError` if chains escape, before a law has settled, at a step size that the user chose."""
    configuration = subject.configuration
    key = "sweep.steps" if configuration.sweep.steps else "schedule.step"
    if not configuration.sweep.steps and configuration.schedule.step is None:
        return
    for bias in biases:
        if bias.value is None and bias.escape is not None:
            raise InstabilityError(
                f"{key}: h={bias.step:.6g} is too large for this scheme on this target: {bias.note}; expected steps at which "
                "the chain reaches a (quasi-)stationary law; take smaller ones"
            )


def _before_escape(question: Question, judgement: Judgement, bias: GridBias) -> Judgement:
    """The judgement on a quasi-stationary law, with the escape at `bias.step` as its condition.

    A claim about ergodic chains does not conform by the law of a transient one: it is inconclusive.
    """
    assert bias.escape is not None
    edges = " or ".join(f"{edge:.3g}" for edge in bias.escape.edges if math.isfinite(edge))
    leak = f" ({bias.escape.leak:.1g} of the mass per step)" if bias.escape.leak else ""
    law = f"the law is that before escape: at h={bias.step:.3g} a state beyond {edges} goes to infinity{leak}"
    if judgement.verdict == "conforms" and not question.claim.escaping:
        assumed = f"but {question.claim.id} assumes an ergodic chain"
        reason = f"the chain escapes, and is not ergodic; {judgement.reason}, {assumed}; {law}"
        return Judgement("inconclusive", False, reason)
    return replace(judgement, reason=f"{judgement.reason}; {law}")


def _judged(leading: LeadingBias, predicted: Fraction, what: str) -> tuple[Judgement, Rate | None]:
    """The verdict and the rate from the terms of the bias.

    The verdict is inconclusive if a term below the predicted power is neither proved to be 0 nor shown to be nonzero.
    """
    term = leading.leading
    untold = [item for item in leading.untold if item.order < predicted]
    if untold and (term is None or term.order >= predicted):
        doubtful = untold[0]
        return Judgement(
            "inconclusive",
            False,
            f"the coefficient of h^{doubtful.order} is not told from 0; {what} has {doubtful.value:.3g} +- "
            f"{doubtful.error_bound:.1g}, which is not proved to be 0",
        ), None
    if term is None and leading.proved_order < predicted:
        return Judgement(
            "inconclusive",
            False,
            f"order h^{leading.proved_order} at least, required h^{predicted}; of {what} not all coefficients up to that power "
            "were computed",
        ), None
    if term is None:
        last = leading.terms[-1].order
        return Judgement(
            "conforms",
            False,
            f"order h^{leading.proved_order} at least, as predicted; of {what} no coefficient up to h^{last} is told from 0",
        ), None
    rate = Rate(term.order, term.value)
    judgement = judge_step_rate(rate, predicted, what)
    if leading.untold:
        passed = ", ".join(f"of h^{item.order} (error {item.error_bound:.1g})" for item in leading.untold)
        judgement = replace(
            judgement, reason=f"{judgement.reason}; not told from 0: its coefficient {passed}"
        )
    return judgement, rate


def point_of(bias: GridBias) -> Point:
    """The value at one step size, or why there is none."""
    if bias.value is None:
        return Point(step=bias.step, diverged=True, note=bias.note)
    return Point(step=bias.step, value=bias.value, error_bound=bias.error_bound, note=bias.note or None)


def _certificate(subject: Subject, leading: LeadingBias, biases: list[GridBias]) -> dict[str, Any]:
    escapes = {f"h={bias.step:.6g}": bias.escape for bias in biases if bias.escape is not None}
    certificate: dict[str, Any] = {
        "stationary_bias": {
            f"h^{term.order}": "0" if term.proved_zero else f"{term.value:.16g} +- {term.error_bound:.1g}"
            for term in leading.terms
        },
        "zeros_are": "proved for every smooth potential, in the dimension of the grid",
        "law": QUASI_STATIONARY if escapes else "stationary",
        "fitted_at_steps": [bias.step for bias in leading.values],
        "grids": {f"h={bias.step:.6g}": dict(bias.grid) for bias in biases if bias.grid},
        "error_bounds_are": ERRORS,
    }
    if escapes:
        certificate["escape"] = {
            step: {"edges": list(escape.edges), "leak_per_step": escape.leak}
            for step, escape in escapes.items()
        }
    try:
        average = subject.reference_average
        certificate["posterior_average"] = {
            "value": float(average),
            "error_bound": average.error_bound,
            "method": average.method,
        }
    except ConfigurationError:
        # The grids have an average under the target of their own; without another one the entry is left out.
        pass
    certificate.update(noise_certificate(subject))
    return certificate


# The rates in L beyond Gaussians that follow from the stationary bias, which transfer operators give, and 1/(L h).
#
# With pi_h(phi) - pi(phi) = b_q h^q + ... and transients that sum to O(1/h), the average over L steps has the bias
# O(h^q + 1/(L h)) and the mean square error O(h^(2q) + 1/(L h)); along a schedule the slower of the two is the rate. The
# term 1/(L h) is assumed and not computed: Theorem 2 derives it from bounded solutions of the Poisson equation, that is,
# for a chain that forgets its start within a time of the diffusion. The grids only show one stationary law at every step.


STATIONARY = "stationary-bias"

ASSUMED = (
    "from the power of h in the stationary bias; transients are assumed to sum to O(1/h), as the claim assumes of its Poisson "
    "equation"
)


def transferred_rate(question: Question, what: str) -> Evidence:
    """The rate of bias, mean square error or the slower of both along a schedule.

    Raises `Unreached` if no grid settles the stationary bias, or if what the step tends to as h -> 0 moves by less than h.
    """
    subject = question.subject
    # Where no grid reaches the subject, nothing need be proved of its limit.
    transfer_answers(subject)
    if _without_diffusion(subject):
        raise Unreached(
            "what the scheme tends to as h -> 0 is no diffusion that forgets its start in a time of 1/h steps"
        )
    schedule, alpha = question.schedule.kind, question.alpha
    stationary = _stationary(subject)
    power = stationary.found.exponent
    if power is not None and Fraction(power).denominator != 1:
        raise Unreached(f"the stationary bias has the power h^({power})")
    bias = [] if power is None else [*([0.0] * int(power)), 1.0]
    found = rate_of_powers(bias, question.quantity, schedule, alpha, subject.scale)
    prediction = question.prediction
    predicted = Rate(prediction.exponent, logarithm=prediction.logarithm)
    judgement = judge_length_rate(found, predicted, what, strict=prediction.strict)
    return question.answered(
        replace(judgement, reason=f"{judgement.reason}; {ASSUMED}"),
        found=found,
        certificate={
            "stationary_bias": stationary.certificate["stationary_bias"],
            "error_bounds_are": stationary.certificate["error_bounds_are"],
            "rests_on": ASSUMED,
            "schedule": {"kind": schedule, "alpha": alpha, "scale": subject.scale},
            "logarithm": {"found": found.logarithm, "predicted": prediction.logarithm},
        },
    )


def _without_diffusion(subject: Subject) -> bool:
    """Is a step of another law than the dynamics proved to have no noise of size sqrt(h) that reaches every coordinate?"""
    order, invariant = subject.order, invariant_proof(subject)
    if isinstance(order, NotExpandableError) or isinstance(invariant, NotExpandableError):
        return False
    return order.order < 1 and not invariant.found.mixes


@cached_per_subject
def _transferred(subject: Subject) -> Evidence:
    return transferred_stationary_bias(Question(subject, claim_for(STATIONARY, "fixed"), STATIONARY))


def _stationary(subject: Subject) -> Evidence:
    """The evidence about the stationary bias, from the grids."""
    try:
        found = _transferred(subject)
    except (Unreached, InstabilityError) as error:
        raise Unreached(str(error)) from None
    if found.verdict == "inconclusive":
        raise Unreached(found.reason)
    if found.certificate["law"] != "stationary":
        raise Unreached("the chain escapes, and its law is quasi-stationary")
    return found


def rate_of_powers(
    bias: Sequence[float], quantity: str, schedule: str, alpha: Fraction, scale: float
) -> Rate:
    """The rate in L from the powers of h in the stationary bias, `bias`, with transients that sum to O(1/h)."""
    if schedule != "fixed":
        return length_rate(quantity, schedule, alpha, scale, bias)
    if not bias:
        raise Unreached("a fixed step needs the bias itself, and only its expansion is known")
    return Rate(Fraction(0))
