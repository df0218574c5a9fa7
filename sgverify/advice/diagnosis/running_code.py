"""The cause of failures of somebody's own code and of composites, from the check that saw it and the numbers that it measured."""

from __future__ import annotations

from collections.abc import Sequence

from sgverify.advice.diagnosis.model import Cause, CauseName
from sgverify.evidence import Evidence
from sgverify.subject.subject import Subject

CAUSES_SEEN: dict[str, CauseName] = {
    "independent-chains": "chains-coupled",
    "dtype": "precision",
    "swap-bound": "swap-rule",
    "energy-variance": "swap-rule",
    "best-coefficient": "swap-rule",
    "fixed-point": "weights-wrong",
    "swap-balance": "swap-rule",
    "swap-rate": "swap-rule",
    "pure-step": "state-kept",
    "own-gradient": "gradient-biased",
}
"""The cause of a failure of each check; where several fail, the first in this order."""


def cause_in_running_code(subject: Subject, evidence: Sequence[Evidence]) -> Cause | None:
    """The cause of what fails in the code; None where no check of it fails."""
    failed = {item.check: item for item in reversed(evidence) if item.outcome == "fail"}
    for check, cause in CAUSES_SEEN.items():
        if check in failed:
            # The first clause of the reason: what was compared, with the number found and the number required.
            return Cause(cause, failed[check].reason.partition("; ")[0])
    return None


__all__ = ["cause_in_running_code"]
