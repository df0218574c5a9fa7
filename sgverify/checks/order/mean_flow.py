"""Check: which single flow equals the product of the flows of several minibatches, chen2015 Theorem 14?"""

from __future__ import annotations

from fractions import Fraction

from sgverify.checks.question import Question
from sgverify.checks.subject.subject import PROOF_DIMENSION
from sgverify.evidence import Evidence
from sgverify.exact.splittings.mean_flow import (
    FormulaComparison,
    compare,
    corrected,
    induction_defect,
    printed,
    text_of,
)
from sgverify.rates import Judgement

FORMULAS = {"first-and-last": printed, "every-minibatch": corrected}
"""The term of order h by the `form` of a claim: commutators of the first and the last minibatch, or of every one."""


def check_mean_flow(question: Question) -> Evidence:
    """The logarithm of a product of minibatch flows, over its time T, through order h, in the claim's order of the steps.

    The remainder is O(h^2) at a fixed number of minibatches, and O(T^2) uniformly in that number.
    """
    subject = question.subject
    formula = FORMULAS[question.claim.form]
    compared = compare(formula, subject.scheme.dynamics, PROOF_DIMENSION)
    induction = induction_defect() if formula is corrected else {}
    found = Fraction(1) if compared.apart or induction else Fraction(2)
    certificate = {
        "h^2 of the logarithm": {str(m): text_of(found) for m, found in compared.truth.items()},
        "[dV_i, dV_j] = 0": compared.commuting,
        "formula minus logarithm": {str(m): text_of(left) for m, left in compared.apart.items()},
        "proved_in_dimension": PROOF_DIMENSION,
    }
    if formula is corrected:
        certificate["induction over the number of minibatches"] = induction or "complete"
    return question.answered(
        method="proof",
        judgement=_judgement(compared, bool(induction)),
        found=found,
        certificate=certificate,
    )


def _judgement(compared: FormulaComparison, gap: bool) -> Judgement:
    truth, apart = compared.truth, compared.apart
    if not apart and gap:
        return Judgement(
            "inconclusive",
            False,
            f"shown for {max(truth)} minibatches at most: the induction is not complete",
        )
    if not apart:
        return Judgement(
            "conforms",
            True,
            f"the logarithm of the product of {min(truth)} to {max(truth)} minibatch flows is the formula's through h^2, and "
            "by induction that of any number",
        )
    m = min(apart)
    return Judgement(
        "violates",
        False,
        f"for {', '.join(map(str, apart))} minibatches the formula differs from the logarithm at h^2: with {m} by "
        f"{text_of(apart[m])}, where the logarithm has {text_of(truth[m])}",
    )
