"""Check: the coefficient of a control variate that leaves least, vr-resgld below equation (3)."""

from __future__ import annotations

from sgverify.checks.errata.control_variates import best_coefficient_of_3
from sgverify.checks.question import Question
from sgverify.evidence import Evidence
from sgverify.rates import Judgement


def check_best_coefficient(question: Question) -> Evidence:
    """Var L~ at c* = -Cov/Var is (1 - rho^2) Var L(B | theta) and the least over c, exactly, over all minibatches of small data."""
    found = best_coefficient_of_3()
    reason = (
        f"Var L~ is not (1 - rho^2) Var L(B | theta), or not the least: {found.printed}"
        if found.printed
        else "Var L~ at c* is (1 - rho^2) Var L(B | theta) and less than at c* - 1 and c* + 1, between which it is a parabola"
    )
    return question.answered(
        Judgement("violates" if found.printed else "conforms", not found.printed, reason),
        certificate=found.certificate,
    )
