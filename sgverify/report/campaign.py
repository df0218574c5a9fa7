"""The report on a campaign as a page and as Markdown: sums first, then what fails, then each scheme and claim.

A page of ten thousand combinations is to open at once: tables are cut at `MOST_ROWS`, the worst first, and say what they leave out.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from sgverify.evidence.documents import (
    OUTCOMES,
    STATUSES,
    WORST,
    CampaignCell,
    CampaignDocument,
    CampaignRow,
    Status,
)
from sgverify.evidence.model import Outcome
from sgverify.report.markdown import as_code, as_text, table_of
from sgverify.report.page.environment import page_of
from sgverify.report.wording import MEANINGS, SYMBOLS

MOST_ROWS = 2000
"""The most rows of one table."""

MOST_FINDINGS = 200
"""The most findings that are spelled out."""

UNTITLED_CAMPAIGN = "Campaign"

Cut = tuple[Sequence[Any], int]
"""What a table shows, and how many rows it leaves out."""


@dataclass(frozen=True)
class SchemeSum:
    """The combinations of one scheme, by the outcome of the whole answer or by status."""

    scheme: str
    asked: int
    outcomes: dict[str, int]
    unanswered: int

    @property
    def worst(self) -> Outcome:
        """The worst outcome that there is."""
        return next((name for name in WORST if self.outcomes.get(name)), "not-applicable")


def schemes_of(document: CampaignDocument) -> list[SchemeSum]:
    """A row for each scheme, those with failures first, else in the order of the campaign."""
    rows: dict[str, list[CampaignRow]] = {}
    for row in document.rows:
        rows.setdefault(row.scheme, []).append(row)
    found = []
    for scheme, own in rows.items():
        outcomes: Counter[str] = Counter(row.outcome for row in own if row.outcome)
        found.append(SchemeSum(scheme, len(own), dict(outcomes), len(own) - outcomes.total()))
    return sorted(found, key=lambda item: WORST.index(item.worst))


def findings_of(document: CampaignDocument) -> list[CampaignCell]:
    """The cells with failures or open answers, failures first."""
    return [cell for worst in ("fail", "undecided") for cell in document.cells if cell.worst == worst]


def refusals_of(document: CampaignDocument) -> list[tuple[CampaignRow, int]]:
    """The combinations without an answer, one for each status and reason, with their number."""
    found: dict[tuple[Status, str], list[CampaignRow]] = {}
    for row in document.rows:
        if row.status != "answered":
            found.setdefault((row.status, row.reason), []).append(row)
    return [
        (rows[0], len(rows))
        for _, rows in sorted(found.items(), key=lambda item: list(STATUSES).index(item[0][0]))
    ]


def cells_of(document: CampaignDocument) -> list[CampaignCell]:
    """All cells, the worst first, else in the order of the campaign."""
    return sorted(document.cells, key=lambda cell: WORST.index(cell.worst))


def settings_text(row: CampaignRow) -> str:
    """The settings of a combination in one line, with dotted keys."""
    return " ".join(_flat(row.settings, ""))


def _flat(tree: Mapping[str, Any], prefix: str) -> Iterator[str]:
    for key, value in tree.items():
        if isinstance(value, Mapping):
            yield from _flat(value, f"{prefix}{key}.")
        else:
            yield f"{prefix}{key}={value if isinstance(value, str) else json.dumps(value)}"


def cut(rows: Sequence[Any], most: int | None = None) -> Cut:
    """The first rows, by default `MOST_ROWS`, and how many others there are."""
    most = MOST_ROWS if most is None else most
    return rows[:most], max(0, len(rows) - most)


def render_campaign(document: CampaignDocument) -> str:
    """`index.html` of a campaign; the same document gives the same bytes."""
    return page_of(
        "campaign.html",
        document=document,
        title=document.title,
        meanings_of_status=STATUSES,
        findings=cut(findings_of(document), MOST_FINDINGS),
        refusals=cut(refusals_of(document), MOST_FINDINGS),
        schemes=cut(schemes_of(document)),
        cells=cut(cells_of(document)),
        outcomes=OUTCOMES,
        settings_text=settings_text,
        rows=document.rows,
    )


def render_campaign_markdown(document: CampaignDocument) -> str:
    """`report.md` of a campaign; the same document gives the same bytes."""
    statuses, answers = document.statuses, document.answers
    blocks = [f"# {as_text(document.title)}", _counted(document)]
    rows = [["combinations", "count", "meaning"]]
    rows += [
        [f"{SYMBOLS[name]} {name}", str(count), _MEANINGS_OF_ANSWERS[name]]
        for name, count in answers.items()
        if count
    ]
    rows += [
        [status, str(count), STATUSES[status]] for status, count in statuses.items() if status != "answered"
    ]
    blocks.append(table_of(rows))
    blocks += _findings(document) + _refusals(document)
    schemes, left = cut(schemes_of(document))
    rows = [["scheme", "combinations", *answers, "without an answer"]]
    rows += [
        [
            as_text(item.scheme),
            str(item.asked),
            *(str(item.outcomes.get(name, 0)) for name in answers),
            str(item.unanswered),
        ]
        for item in schemes
    ]
    blocks += ["## Scheme by scheme", table_of(rows), *_left_out(left, "schemes")]
    cells, left = cut(cells_of(document))
    rows = [["scheme", "claim", "check", *OUTCOMES]]
    rows += [
        [
            as_text(cell.scheme),
            as_text(cell.claim),
            cell.check,
            *(str(cell.outcomes.get(name, 0)) for name in OUTCOMES),
        ]
        for cell in cells
    ]
    blocks += ["## Claim by claim", table_of(rows), *_left_out(left, "rows")]
    meanings = "; ".join(f"{SYMBOLS[name]} {name}: {MEANINGS[name]}" for name in OUTCOMES)
    blocks.append(f"Of a piece of evidence, {as_text(meanings)}.")
    blocks.append(
        "All evidence, with certificates and points, is in report.json; campaign.json has a row for each combination."
    )
    made = document.provenance
    blocks.append(
        f"Made by sgverify {made.version} (Python {made.python}, torch {made.torch}, {as_text(made.platform)}) with "
        f"{as_code(made.command)} in {made.seconds:.1f} s."
    )
    return "\n\n".join(blocks) + "\n"


_MEANINGS_OF_ANSWERS = {
    "pass": "every question that was answered passes, and none is open",
    "fail": "a question fails",
    "undecided": "no question fails, and one is open",
}


def _counted(document: CampaignDocument) -> str:
    return f"{len(document.rows)} combinations, {document.evidence} pieces of evidence."


def _findings(document: CampaignDocument) -> list[str]:
    shown, left = cut(findings_of(document), MOST_FINDINGS)
    lines = [
        f"- {SYMBOLS[cell.worst]} **{cell.worst}** in {cell.outcomes[cell.worst]} of {sum(cell.outcomes.values())}: "
        f"{as_text(cell.scheme)}, {as_text(cell.claim)} ({cell.check}). First in combination {cell.first}: "
        f"{as_text(cell.reason)}" + (f" Replay: {as_code(cell.replay)}" if cell.replay else "")
        for cell in shown
    ]
    return ["## What fails or stays open", "\n".join(lines), *_left_out(left, "findings")] if lines else []


def _refusals(document: CampaignDocument) -> list[str]:
    shown, left = cut(refusals_of(document), MOST_FINDINGS)
    lines = [
        f"- {count} {row.status}: {as_text(row.reason)}. First: combination {row.number}, {as_text(row.scheme)} "
        f"{as_text(settings_text(row))}"
        for row, count in shown
    ]
    return (
        ["## Combinations without an answer", "\n".join(lines), *_left_out(left, "reasons")] if lines else []
    )


def _left_out(count: int, noun: str) -> Iterable[str]:
    return [f"{count} more {noun} are in campaign.json."] if count else []
