"""A scheme with memory as h goes to 0: the memory follows theta, and what is left may be another equation and another law."""

from __future__ import annotations

from fractions import Fraction

import numpy as np

from sgverify.checks.question import Question
from sgverify.checks.subject import Subject
from sgverify.errors import OutOfReachError, UserError
from sgverify.evidence import Evidence
from sgverify.exact.memory_limit import equilibrated_step, memory_limit
from sgverify.rates import Judgement

SEEN = 100
"""The limit is another law where averages differ by this many of their error estimates, and by 1e-6 of their size."""

DIFFERS = 1e-4
"""A share of the coefficient's largest size: what an extrapolation from two small steps leaves is below 1e-8."""


def bias_of_memory(question: Question) -> Evidence | None:
    """A violation where the limit as h goes to 0 is not exp(-U/T); None where it is, or where it is not computed."""
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
    except (OutOfReachError, UserError):
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


def order_of_memory(question: Question) -> Evidence | None:
    """A violation where a step with its memory settled is not the dynamics' at h^1; None where it is, or is not computed."""
    subject = question.subject
    if not _asked(subject):
        return None
    try:
        step = equilibrated_step(subject.scheme, subject.target, float(subject.configuration.temperature))
    except (OutOfReachError, UserError):
        return None
    if step.share <= DIFFERS:
        return None
    dynamics = subject.scheme.dynamics.name
    reason = (
        f"local order 0: with the memory ({', '.join(subject.scheme.memory)}) settled at theta={step.theta:.6g}, a step of size h "
        f"has the {step.what} {step.found:.6g} h, and that of `{dynamics}` is {step.expected:.6g} h"
    )
    return question.answered(
        method="quadrature",
        judgement=Judgement("violates", False, reason),
        found=Fraction(0),
        certificate={
            "what": step.what,
            "theta": step.theta,
            "found": step.found,
            "expected": step.expected,
            "seen_from": DIFFERS,
        },
    )


def _asked(subject: Subject) -> bool:
    gradient = subject.configuration.gradient
    exact = not gradient.estimator.noisy and gradient.clip is None and gradient.scale == 1
    return bool(subject.scheme.memory) and exact
