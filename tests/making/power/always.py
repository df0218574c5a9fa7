"""A check that speaks against everything."""

from __future__ import annotations

from sgverify.checks.question import Question
from sgverify.evidence import Evidence


def violated(question: Question) -> Evidence:
    return question.unanswered("it always says so", "violates", method="proof")
