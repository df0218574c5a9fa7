"""The words that evidence is stated in, and the exit code that a list of evidence amounts to."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Literal, get_args

if TYPE_CHECKING:
    from sgverify.evidence.model import Evidence

Verdict = Literal["conforms", "violates", "inconclusive", "not-applicable"]
Method = Literal["proof", "exact", "quadrature", "monte-carlo"]
Bound = Literal["upper", "sharp"]
PointKind = Literal["exact", "sampled"]

VERDICTS: tuple[str, ...] = get_args(Verdict)
METHODS: tuple[str, ...] = get_args(Method)
BOUNDS: tuple[str, ...] = get_args(Bound)
POINT_KINDS: tuple[str, ...] = get_args(PointKind)

CONFORMS, VIOLATES, INCONCLUSIVE = 0, 1, 3


def exit_code(evidence: Iterable[Evidence]) -> int:
    """1 if something violates, else 3 if something is inconclusive, else 0.

    A refuted claim as printed (`refuted`) speaks against the paper and not against the scheme, so it does not
    count; `not-applicable` is neutral.
    """
    counted = {item.verdict for item in evidence if not item.refuted}
    if "violates" in counted:
        return VIOLATES
    if "inconclusive" in counted:
        return INCONCLUSIVE
    return CONFORMS
