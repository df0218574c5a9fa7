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

    Cannot see: anything about a scheme: the claim speaks of exact flows, so that every scheme gets the same answer.
    Terms beyond h^2 of the logarithm.
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
            f"the formula holds for up to {max(truth)} minibatches; the induction to any number is not complete",
        )
    if not apart:
        return Judgement(
            "conforms",
            True,
            f"the formula is the logarithm of the product of {min(truth)} to {max(truth)} minibatch flows through h^2, and by "
            "induction of any number",
        )
    m = min(apart)
    return Judgement(
        "violates",
        False,
        f"the formula is not the logarithm of the product of minibatch flows at h^2: for {m} minibatches it is off by "
        f"{text_of(apart[m])}, and the logarithm has {text_of(truth[m])}; computed for {', '.join(map(str, apart))} minibatches",
    )
