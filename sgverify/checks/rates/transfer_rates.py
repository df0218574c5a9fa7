"""Which rates in L follow beyond Gaussians from the stationary bias, which transfer operators give, and 1/(L h)?

With pi_h(phi) - pi(phi) = b_q h^q + ... and transients that sum to O(1/h), the average over L steps has the bias
O(h^q + 1/(L h)) and the mean square error O(h^(2q) + 1/(L h)); along a schedule the slower of the two is the rate. The
term 1/(L h) is assumed and not computed: Theorem 2 derives it from bounded solutions of the Poisson equation, that is,
for a chain that forgets its start within a time of the diffusion. The grids only show one stationary law at every step.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction

from sgverify.checks.question import Question
from sgverify.checks.rates.transfer_bias import transferred_stationary_bias
from sgverify.checks.subject.caching import cached_per_subject
from sgverify.checks.subject.subject import Subject
from sgverify.claims import claim_for
from sgverify.errors import InstabilityError, OutOfReachError
from sgverify.evidence import Evidence
from sgverify.rates import Rate, decreasing_bias, decreasing_mse, horizon_mse, judge_length_rate

STATIONARY = "stationary-bias"

ASSUMED = (
    "from the power of h in the stationary bias; transients are assumed to sum to O(1/h), as the claim assumes of its Poisson "
    "equation"
)


def transferred_rate(question: Question, what: str) -> Evidence:
    """The rate of bias, mean square error or the slower of both along a schedule.

    Raises `OutOfReachError` if no grid settles the stationary bias.
    """
    subject = question.subject
    schedule, alpha = question.schedule.kind, question.alpha
    stationary = _stationary(subject)
    power = stationary.found.exponent
    if power is not None and Fraction(power).denominator != 1:
        raise OutOfReachError(f"the stationary bias has the power h^({power})")
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
            "agreement_with_the_grids": stationary.certificate["agreement_with_the_grids"],
            "error_bounds_are": stationary.certificate["error_bounds_are"],
            "rests_on": ASSUMED,
            "schedule": {"kind": schedule, "alpha": alpha, "scale": subject.scale},
            "logarithm": {"found": found.logarithm, "predicted": prediction.logarithm},
        },
    )


@cached_per_subject
def _transferred(subject: Subject) -> Evidence:
    return transferred_stationary_bias(Question(subject, claim_for(STATIONARY, "fixed"), STATIONARY))


def _stationary(subject: Subject) -> Evidence:
    """The evidence about the stationary bias, from the grids and the prediction at h = 0."""
    try:
        found = _transferred(subject)
    except (OutOfReachError, InstabilityError) as error:
        raise OutOfReachError(str(error)) from None
    if found.verdict == "inconclusive":
        raise OutOfReachError(found.reason)
    if found.certificate["law"] != "stationary":
        raise OutOfReachError("the chain escapes, and its law is quasi-stationary")
    if found.found.exponent is not None and not found.certificate["agreement_with_the_grids"]:
        raise OutOfReachError("no grid confirms the predicted stationary bias")
    return found


def rate_of_powers(
    bias: Sequence[float], quantity: str, schedule: str, alpha: Fraction, scale: float
) -> Rate:
    """The rate in L from the powers of h in the stationary bias, `bias`, with transients that sum to O(1/h)."""
    if schedule == "fixed":
        if not bias:
            raise OutOfReachError("a fixed step needs the bias itself, and only its expansion is known")
        return Rate(Fraction(0))
    if schedule == "power":
        square, mean = decreasing_mse(bias, None, alpha), decreasing_bias(bias, alpha)
    else:
        square, mean = horizon_mse(bias, None, scale, alpha), _horizon_bias(bias, alpha)
    if quantity == "bias":
        return mean
    return square if quantity == "mse" else max(square, mean, key=lambda rate: rate.exponent or 0)


def _horizon_bias(bias: Sequence[float], alpha: Fraction) -> Rate:
    """The slower of h^q and 1/(L h) at h = C L^-alpha.

    The rate is only a bound if 1/(L h) is at least as slow, since the constant of that term is unknown.
    """
    power = len(bias) - 1
    transient = -(1 - alpha)
    if bias and -alpha * power > transient:
        return Rate(-alpha * power)
    return Rate(transient, at_most=True)


__all__ = ["ASSUMED", "rate_of_powers", "transferred_rate"]
