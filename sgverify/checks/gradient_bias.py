"""Check: what a biased gradient leaves of the bias vanishes with the gradient's bias."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from typing import Any

from sgverify.checks.biased_gradient import gradient_error, mean_error, unit_change
from sgverify.checks.exact_rung import exact_answers, why_no_expansion
from sgverify.checks.question import Question
from sgverify.checks.subject import Subject
from sgverify.errors import NotExpandableError, OutOfReachError
from sgverify.evidence import Evidence
from sgverify.exact.affine.drift_change import limit_bias
from sgverify.exact.answers import Coefficients
from sgverify.rates import Judgement, Rate, leading_power

ORDERS = 3
"""Powers of delta to which the limit of the bias is expanded."""


def check_gradient_bias(question: Question) -> Evidence:
    """b_0 = lim of the bias as L -> inf and h -> 0 is O(|E dV|), chen2015 Theorem 2.

    b_0 is computed at the configured gradient and as a series c_0 + c_1 delta + ... in delta = gradient.scale - 1, to
    which E dV is proportional; the verdict is about its first power.
    """
    subject = question.subject
    prediction = question.prediction
    if not subject.affine:
        return _without_limit(question)
    delta, change = gradient_error(subject), unit_change(subject)
    try:
        series = Coefficients.of(limit_bias(replace(subject.model, target=subject.target), change, ORDERS))
        limit = Coefficients.of(limit_bias(subject.model, change, 0))
    except NotExpandableError as error:
        return question.unanswered(why_no_expansion(error))
    certificate = {
        "delta": f"gradient.scale - 1 = {delta}",
        "limit_of_bias": limit.texts[0],
        "limit_in_delta": {f"delta^{k}": text for k, text in enumerate(series.texts)},
        "zeros_are": "proved in rational arithmetic" if series.exact else "balls that contain 0",
        **mean_error(subject),
    }
    power = leading_power(series.values, [value == 0 for value in series.values])
    found = Rate(None if power is None else Fraction(power))
    return question.answered(
        _judge(subject, delta, series, limit.values[0], power, prediction.exponent),
        found=found,
        certificate=certificate,
    )


def _judge(
    subject: Subject,
    delta: Fraction,
    series: Coefficients,
    limit: float,
    power: int | None,
    predicted: Fraction,
) -> Judgement:
    what = (
        f"as L -> inf and h -> 0 the bias of {subject.observable} tends to {limit:.6g} at delta = {float(delta):g} "
        "(gradient.scale - 1)"
    )
    if power is None:
        if limit:
            return Judgement(
                "inconclusive", False, f"{what}, but vanishes to the powers of delta that were expanded"
            )
        return Judgement(
            "conforms",
            False,
            f"{what} and to order delta^{ORDERS}: the test function does not feel the gradient's bias",
        )
    leading = f"{series.values[power]:.6g}" + (
        "" if power == 0 else f" delta^{power}" if power > 1 else " delta"
    )
    if power < predicted:
        return Judgement(
            "violates",
            False,
            f"{what}, and to {leading} as delta -> 0: it does not vanish with E dV, so Theorem 2's term does not account "
            "for it",
        )
    relation = (
        "exactly as predicted" if power == predicted else f"faster than the predicted delta^{predicted}"
    )
    return Judgement(
        "conforms", power == predicted, f"{what}; it is {leading} + O(delta^{power + 1}), {relation}"
    )


def _without_limit(question: Question) -> Evidence:
    """Evidence where the limit is not computed: E dV at three states, and why there is no more."""
    subject = question.subject
    try:
        exact_answers(subject)
    except OutOfReachError as reason:
        why = str(reason)
    certificate: dict[str, Any] = mean_error(subject)
    at = ", ".join(f"{value:.6g}" for value in certificate["at"]["mean"])
    return question.answered(
        Judgement(
            "inconclusive",
            False,
            f"the limit of the bias is not computed ({why}); E g - grad U is {at} at the posterior mean",
        ),
        certificate=certificate,
    )
