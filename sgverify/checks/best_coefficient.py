"""Check: the coefficient of a control variate that leaves least, vr-resgld below equation (3)."""

from __future__ import annotations

from sgverify.checks.question import Question
from sgverify.evidence import Evidence
from sgverify.exact.exchange.control_variates import least_variance
from sgverify.rates import Judgement


def check_best_coefficient(question: Question) -> Evidence:
    """Var L~ at c* = -Cov/Var is (1 - rho^2) Var L(B | theta) and the least over c, exactly, over all minibatches of small data."""
    found = least_variance()
    reason = (
        f"Var L~ is not (1 - rho^2) Var L(B | theta), or not the least: {'; '.join(found.defects)}"
        if found.defects
        else "Var L~ at c* is (1 - rho^2) Var L(B | theta) and less than at c* - 1 and c* + 1, between which it is a parabola"
    )
    return question.answered(
        Judgement("violates" if found.defects else "conforms", not found.defects, reason),
        certificate=found.certificate,
    )
