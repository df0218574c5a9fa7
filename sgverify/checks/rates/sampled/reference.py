"""Which average under exp(-U/T) are samples compared with, how far does its own error reach, and at which level do they decide?"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from scipy import stats

from sgverify.errors import ConfigurationError
from sgverify.exact.posterior.reference import Reference, reference_average
from sgverify.rates.decision import Decision
from sgverify.rates.sample import CALL, LevelShare
from sgverify.schemes import exact
from sgverify.subject.caching import cached_per_subject
from sgverify.subject.subject import Subject
from sgverify.targets.observable import Exponents

if TYPE_CHECKING:
    from sgverify.samplers.importance.averages import WeightedDraws

DECISIONS = 100
"""At least the number of decisions, and of their sides, among which one piece of evidence divides its level."""

LEADS = 0.5
"""The part of the variance of a point from which the error of the reference is named as a cause that nothing is decided."""


def share_of(subject: Subject) -> LevelShare:
    """The part of the call's `level` that one piece of sampled evidence may use for a false `conforms` or `violates`.

    All forbidden orders, and all looks at the growing sample, share this part (Bonferroni).
    """
    return LevelShare(subject.configuration.level or CALL)


def reference_of(subject: Subject) -> Reference:
    """The average of the test function: exact, certified, by quadrature or stated, else by importance sampling.

    Raises `ConfigurationError`, with the reason, where there is none.
    """
    return _reference(subject)[0]


def truth_of(subject: Subject) -> tuple[float, float]:
    """The average under exp(-U/T), and the size of its error as a test counts it.

    That is the bound of an error that has one. The standard error of an estimate from R scrambles is enlarged until a normal law
    has the tail of Student's t with R - 1 degrees of freedom at the smallest level of a decision.
    """
    average = reference_of(subject)
    return float(average), float(average.error_bound) + _enlarged(subject, average.standard_error)


def reference_certificate(subject: Subject) -> dict[str, Any]:
    """The reference average, its error and its method, as a certificate names them."""
    average, draws = _reference(subject)
    found = {"value": float(average), "error_bound": average.error_bound, "method": average.method}
    if draws is None:
        return found
    errors = {"standard_error": average.standard_error, "error_in_tests": truth_of(subject)[1]}
    return {**found, **errors, **draws.provenance}


def with_resolution(subject: Subject, decision: Decision, variance: float) -> Decision:
    """An inconclusive decision says what the reference average resolves, where its error is much of a point's `variance`."""
    error = truth_of(subject)[1]
    if decision.verdict != "inconclusive" or not error**2 > LEADS * variance:
        return decision
    reason = f"{decision.reason}; the reference average is known within {error:.2g} only, which more chains do not resolve"
    return replace(decision, reason=reason)


def _enlarged(subject: Subject, error: float) -> float:
    if not error:
        return 0.0
    from sgverify.samplers.importance.averages import SCRAMBLES

    tail = share_of(subject).rate / DECISIONS
    return error * float(stats.t.isf(tail, SCRAMBLES - 1) / stats.norm.isf(tail))


@cached_per_subject
def _reference(subject: Subject) -> tuple[Reference, WeightedDraws | None]:
    """The reference average, and the draws of an estimated one."""
    try:
        return subject.reference_average, None
    except ConfigurationError:
        if subject.target.dim == 1:
            raise
    # It brings torch, which the chains need anyway.
    from sgverify.samplers.importance.averages import draw_weighted

    temperature = subject.configuration.temperature
    used: list[WeightedDraws] = []

    def estimate(terms: Mapping[Exponents, Fraction]) -> tuple[float, float]:
        used[:] = used or [draw_weighted(subject.target, float(temperature))]
        found = used[0].average(terms)
        return found.value, found.standard_error

    average = reference_average(subject.target, subject.observable, exact(temperature), estimate)
    return average, used[0]
