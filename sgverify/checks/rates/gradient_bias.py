"""Does a scheme keep the target as h -> 0 if it has a memory, and if its gradient is biased?

As h -> 0 a fast memory follows theta. The remaining equation for theta alone may then be another diffusion, with another
invariant law than the target. A biased gradient has a limit of its own: `check_gradient_bias` computes that limit.
"""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np

from sgverify.checks.question import Question
from sgverify.checks.rates.engines import exact_answers, why_no_expansion
from sgverify.checks.readings import gradient_error, mean_error, unit_change
from sgverify.errors import NotExpandableError, Unreached, UserError
from sgverify.evidence import Evidence
from sgverify.exact.affine.expanded_step import limit_bias
from sgverify.exact.answers import Coefficients
from sgverify.exact.readings.memory_limit import equilibrated_step, memory_limit
from sgverify.rates.verdict import Judgement, Rate, leading_power
from sgverify.subject.subject import Subject

SEEN = 100
"""The limit is another law where averages differ by this many of their error estimates, and by 1e-6 of their size."""

DIFFERS = 1e-4
"""A share of the coefficient's largest size: what an extrapolation from two small steps leaves is below 1e-8."""


def bias_of_memory(question: Question) -> Evidence | None:
    """A violation if the invariant law for h -> 0 is not exp(-U/T); None if it is, or if the limit is not computed."""
    subject = question.subject
    scheme, configuration = subject.scheme, subject.configuration
    if not _asked(subject):
        return None
    terms = subject.observable.terms
    try:
        truth = subject.reference_average
        limit = memory_limit(
            scheme,
            subject.target,
            lambda theta: np.asarray(sum(float(c) * theta**k for (k,), c in terms.items())),
            float(configuration.temperature),
        )
    except (Unreached, UserError):
        return None
    difference = limit.average - float(truth)
    if abs(difference) <= SEEN * (limit.error_bound + truth.error_bound) + 1e-6 * abs(float(truth)):
        return None
    kept = "sharply" if limit.keeps == 0 else f"keeps {limit.keeps:.4g} of a displacement a step"
    reason = (
        f"the stationary bias of {subject.observable} does not vanish with h: as h goes to 0 the memory "
        f"({', '.join(scheme.memory)}) follows theta, and the law that is left gives {limit.average:.6g}, not {float(truth):.6g}"
    )
    return question.answered(
        method="quadrature",
        judgement=Judgement("violates", False, reason),
        found=Fraction(0),
        certificate={
            "average_in_the_limit": limit.average,
            "error_estimate": limit.error_bound,
            "reference_average": {
                "value": float(truth),
                "error_bound": truth.error_bound,
                "method": truth.method,
            },
            "memory": f"{kept}, theta held",
            "rests_on": "the diffusion approximation: the memory forgets at a fixed rate, theta moves by O(sqrt(h))",
        },
    )


def order_of_memory(question: Question) -> Evidence | str | None:
    """A violation if the step with an equilibrated memory differs from the dynamics at order h; None if it agrees.

    The reason if the equilibrated step is not computed.
    """
    subject = question.subject
    if not _asked(subject):
        return None
    try:
        settings = subject.configuration
        step = equilibrated_step(
            subject.scheme, subject.target, float(settings.temperature), float(settings.friction)
        )
    except (Unreached, UserError) as why:
        return str(why)
    if step.share <= DIFFERS:
        return None
    dynamics, at = (
        subject.scheme.dynamics.name,
        ", ".join(f"{name}={value:.6g}" for name, value in step.at.items()),
    )
    reason = (
        f"local order 0: the {step.what} of one step is {step.found:.6g} h, and that of `{dynamics}` is {step.expected:.6g} h; "
        f"with the memory ({', '.join(subject.scheme.memory)}) equilibrated at {at}"
    )
    return question.answered(
        method="quadrature",
        judgement=Judgement("violates", False, reason),
        found=Fraction(0),
        certificate={
            "what": step.what,
            **step.at,
            "found": step.found,
            "expected": step.expected,
            "seen_from": DIFFERS,
        },
    )


def _asked(subject: Subject) -> bool:
    gradient = subject.configuration.gradient
    exact = not gradient.estimator.noisy and gradient.clip is None and gradient.scale == 1
    return bool(subject.scheme.memory) and exact


ORDERS = 3
"""Powers of delta to which the limit of the bias is expanded."""


def check_gradient_bias(question: Question) -> Evidence:
    """b_0 = lim of the bias as L -> inf and h -> 0 is O(|E dV|), chen2015 Theorem 2.

    b_0 is computed at the configured gradient and as a series c_0 + c_1 delta + ... in delta = gradient.scale - 1, to
    which E dV is proportional; the verdict is about its first power.

    Cannot see: biases of a gradient other than a wrong scale of the likelihood, test functions and targets other than
    the configured ones, and step sizes away from 0.
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
                "inconclusive", False, f"{what}, but every computed coefficient of a power of delta is 0"
            )
        return Judgement(
            "conforms",
            False,
            f"{what} and is 0 to order delta^{ORDERS}: the gradient's bias does not move this average",
        )
    leading = f"{series.values[power]:.6g}" + (
        "" if power == 0 else f" delta^{power}" if power > 1 else " delta"
    )
    if power < predicted:
        return Judgement(
            "violates",
            False,
            f"{what}, and to {leading} as delta -> 0: the bias does not vanish with E dV, as Theorem 2's term does",
        )
    relation = (
        "exactly as predicted" if power == predicted else f"faster than the predicted delta^{predicted}"
    )
    return Judgement(
        "conforms", power == predicted, f"{what}; the limit is {leading} + O(delta^{power + 1}), {relation}"
    )


def _without_limit(question: Question) -> Evidence:
    """Evidence if the limit of the bias is not computed: E dV at three states, and the reason."""
    subject = question.subject
    try:
        exact_answers(subject)
    except Unreached as reason:
        why = str(reason)
    certificate: dict[str, Any] = mean_error(subject)
    at = ", ".join(f"{value:.6g}" for value in certificate["at"]["mean"])
    return question.answered(
        Judgement(
            "inconclusive",
            False,
            f"the limit of the bias is not computed; {why}; E g - grad U is {at} at the posterior mean",
        ),
        certificate=certificate,
    )
