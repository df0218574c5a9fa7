"""What has a campaign found? A row for each combination, and how often each claim about each scheme came out how."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Annotated, Any, Literal, get_args

from sgverify.evidence.model import Outcome
from sgverify.evidence.provenance import Provenance
from sgverify.evidence.published import Count, Name, Published, Says

Status = Literal["answered", "does-not-fit", "refused", "lost", "not-run"]

STATUSES: Mapping[Status, str] = {
    "answered": "judged, with evidence",
    "does-not-fit": "not asked: what was combined does not go together, by what it declares",
    "refused": "no answer: scheme and settings are wrong together, as for an unstable step size",
    "lost": "no answer: an internal error, or the end of its process",
    "not-run": "not asked: the campaign ended before",
}
"""What becomes of a combination."""

OUTCOMES: tuple[Outcome, ...] = get_args(Outcome)

WORST: tuple[Outcome, ...] = ("fail", "undecided", "refuted", "pass", "not-applicable")
"""The outcomes, the worst first."""

Outcomes = Annotated[
    dict[str, int],
    Says("pieces of evidence by outcome", propertyNames={"enum": list(OUTCOMES)}),
]


@dataclass(frozen=True, kw_only=True)
class CampaignRow:
    """One combination: a scheme, the settings that were given, and what was asked, [] for all that applies.

    `outcome` is that of the whole answer, "" where there is none, and `reason` says why there is none.
    """

    number: Count
    scheme: Name
    settings: dict[str, Any]
    asked: tuple[str, ...]
    status: Status
    outcome: Literal["pass", "fail", "undecided", ""]
    outcomes: Outcomes
    reason: str


@dataclass(frozen=True, kw_only=True)
class CampaignCell:
    """One claim about one scheme, as one check judges it, over all combinations.

    `first` is the number of the first combination with the worst outcome (fail before undecided before others), `reason` and
    `replay` are those of its evidence.
    """

    scheme: Name
    claim: Name
    check: Name
    outcomes: Outcomes
    worst: Outcome
    first: Count
    reason: str
    replay: str


@dataclass(frozen=True)
class CampaignDocument:
    """What a campaign has found: a row for each combination, a cell for each scheme, claim and check."""

    title: Name
    provenance: Provenance
    rows: tuple[CampaignRow, ...]
    cells: tuple[CampaignCell, ...]

    def document(self) -> dict[str, Any]:
        """The contents in the form of the published schema."""
        return {
            "schema": CAMPAIGN.name,
            "title": self.title,
            "provenance": self.provenance.document(),
            "rows": [asdict(row) for row in self.rows],
            "cells": [asdict(cell) for cell in self.cells],
        }

    @property
    def statuses(self) -> dict[Status, int]:
        """How many combinations have each status, those that none has left out."""
        found = Counter(row.status for row in self.rows)
        return {status: found[status] for status in STATUSES if found[status]}

    @property
    def answers(self) -> dict[str, int]:
        """How many whole answers have each outcome."""
        found = Counter(row.outcome for row in self.rows if row.outcome)
        return {outcome: found[outcome] for outcome in ("pass", "fail", "undecided")}

    @property
    def evidence(self) -> int:
        """How many pieces of evidence there are."""
        return sum(sum(row.outcomes.values()) for row in self.rows)


CAMPAIGN = Published(
    "sgverify/campaign/1",
    CampaignDocument,
    "a campaign",
    "Write it again with `sgverify campaign FILE --out DIR`.",
)


__all__ = [
    "CAMPAIGN",
    "OUTCOMES",
    "STATUSES",
    "WORST",
    "CampaignCell",
    "CampaignDocument",
    "CampaignRow",
    "Status",
]
