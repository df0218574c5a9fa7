"""A check that speaks against everything."""

from __future__ import annotations

from sgverify.checks.making import unsettled
from sgverify.checks.subject import Subject
from sgverify.claims import Claim
from sgverify.evidence import Evidence


def violated(subject: Subject, claim: Claim) -> Evidence:
    return unsettled(subject, claim, "local-order", "it always says so", "violates", method="proof")
