"""The finding of a self-check: a verdict on sgverify's own sampler, with its reason and the numbers behind it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from sgverify.evidence import Point
from sgverify.rates.verdict import Judgement


@dataclass(frozen=True)
class Finding:
    """`verdict` is "conforms", "violates", "inconclusive" or "not-applicable"; `method` the rung it was found on."""

    verdict: str
    reason: str
    method: str = "exact"
    certificate: dict[str, Any] = field(default_factory=dict)
    points: tuple[Point, ...] = ()


def finding(
    judgement: Judgement,
    *,
    method: str = "exact",
    points: Sequence[Point] = (),
    certificate: dict[str, Any] | None = None,
) -> Finding:
    """The finding of a judgement."""
    return Finding(judgement.verdict, judgement.reason, method, certificate or {}, tuple(points))


def unanswered(reason: str, verdict: str = "inconclusive", *, method: str = "exact") -> Finding:
    """A finding without a value; `reason` says why none was found."""
    return Finding(verdict, reason, method)
