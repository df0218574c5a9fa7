"""Evidence made from a subject, a claim and a judgement, with the command that replays it."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import Any

from sgverify.checks.facts import facts_of
from sgverify.checks.subject import Subject
from sgverify.claims import Claim, Prediction
from sgverify.evidence import Evidence, Found, Point, Predicted
from sgverify.rates import Decision, Judgement, Rate
from sgverify.schemes.torch_step import TorchStep


def make_evidence(
    subject: Subject,
    claim: Claim,
    check: str,
    *,
    method: str,
    judgement: Judgement,
    prediction: Prediction | None = None,
    found: Rate | Decision | Fraction | None = None,
    points: Sequence[Point] = (),
    certificate: dict[str, Any] | None = None,
) -> Evidence:
    """One piece of evidence; an exponent of an exact rung has no width, one from samples has an interval."""
    predicted = Predicted(prediction.exponent, prediction.kind) if prediction else Predicted(None)
    return Evidence(
        scheme=subject.reference,
        claim=claim.id,
        check=check,
        configuration=subject.configuration.as_dict(),
        method=method,  # type: ignore[arg-type]
        predicted=predicted,
        found=_found(found),
        points=tuple(points),
        verdict=judgement.verdict,  # type: ignore[arg-type]
        sharp=judgement.sharp,
        reason=judgement.reason,
        certificate=certificate or {},
        replay=subject.command("verify", "--checks", _selecting(subject, claim, check)),
    )


def settled(
    subject: Subject,
    claim: Claim,
    check: str,
    judgement: Judgement,
    *,
    method: str = "exact",
    found: Rate | Decision | Fraction | None = None,
    certificate: dict[str, Any] | None = None,
) -> Evidence:
    """Evidence on what the claim predicts of fixed step sizes."""
    return make_evidence(
        subject,
        claim,
        check,
        method=method,
        judgement=judgement,
        prediction=claim.predict(check, facts_of(subject, "fixed", None)),
        found=found,
        certificate=certificate,
    )


def unsettled(
    subject: Subject,
    claim: Claim,
    check: str,
    reason: str,
    verdict: str = "inconclusive",
    *,
    method: str = "exact",
) -> Evidence:
    """Evidence that says why nothing was settled."""
    return make_evidence(subject, claim, check, method=method, judgement=Judgement(verdict, False, reason))


def _selecting(subject: Subject, claim: Claim, check: str) -> str:
    """What selects this evidence on a command line: the claim; of torch code, which has few checks, the check itself.

    Unless the claim has this one alone, or is the scheme's own, which is held to only where no printed one is.
    """
    own = claim.id == "sgverify/stated-order"
    if isinstance(subject.scheme, TorchStep) and len(claim.quantities) > 1 and not own:
        return check
    return claim.id


def _found(found: Rate | Decision | Fraction | None) -> Found:
    if isinstance(found, Decision):
        return Found(found.exponent, found.low, found.high)
    if isinstance(found, Rate):
        return Found(found.exponent, None if found.at_most else found.exponent, found.exponent)
    return Found(found, found, found)


def whole(order: Fraction) -> int | float:
    """An order as a number of JSON: whole wherever it is."""
    return int(order) if order.denominator == 1 else float(order)
