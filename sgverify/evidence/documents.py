"""Small published documents: the rows of a catalogue, a screen about draws, the order of a splitting, a campaign's sums."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Annotated, Any, Literal, get_args

from sgverify.evidence.model import Outcome
from sgverify.evidence.published import Count, Name, Number, Provenance, Published, Says, Size


@dataclass(frozen=True)
class CatalogueRow:
    """One entry, what it is, and where it comes from; `source` is empty where nothing is to be named."""

    name: Name
    summary: Name
    source: str


@dataclass(frozen=True)
class CatalogueListing:
    """The entries of one catalogue of `sgverify list`, in its order."""

    kind: Name
    items: tuple[CatalogueRow, ...]


LISTING = Published(
    "sgverify/list/1", CatalogueListing, "a listing", "Write it again with `sgverify list KIND --json FILE`."
)


Word = Literal["TRUST", "CHECK", "DO NOT TRUST"]


@dataclass(frozen=True)
class DrawsVerdict:
    """The verdict on a run, for the worst of its findings; null for what is not known, or of too many draws not computed."""

    word: Word
    reason: Name
    next: Annotated[str, Says("the command, or the settings, to go on with; empty for none")]
    r_hat: Annotated[Number | None, Says("the largest R-hat")]
    ess: Annotated[Size | None, Says("the least effective sample size, of bulk and tails")]
    width: Annotated[Size | None, Says("the largest predicted relative error of a standard deviation")]
    mean: Annotated[Size | None, Says("the largest predicted error of a mean, in standard deviations")]


@dataclass(frozen=True)
class DrawsSummary:
    """The run behind the draws, their number, and ArviZ's table of each coordinate."""

    scheme: Name
    target: Name
    configuration: dict[str, Any]
    seed: int
    command: Annotated[str, Says("the command line that draws them again; empty for a target made in Python")]
    complete: Annotated[bool, Says("whether all steps were made")]
    steps_done: Count
    diverged: Annotated[str, Says("the chains that diverged, and where; empty for none")]
    chains: Count
    draws: Annotated[Count, Says("draws of each chain")]
    file: Annotated[str | None, Says("the file or folder of the draws; null where none was asked for")]
    verdict: Annotated[DrawsVerdict | None, Says("null where nothing was drawn, or by an earlier version")]
    summary: Annotated[
        dict[str, dict[str, Number | None]],
        Says(
            "{coordinate: {column: value}}; null for what is not defined, or of too many draws not computed; empty where there are "
            "too few draws"
        ),
    ]


DRAWS = Published(
    "sgverify/draws/1",
    DrawsSummary,
    "a summary of draws",
    "Write it again with `sgverify sample ... --json FILE`.",
)


@dataclass(frozen=True)
class CommutatorTerm:
    """A commutator of the Lyndon basis; the coefficient as text: a fraction, a root, or a middle +/- a radius."""

    commutator: Name
    coefficient: Name


@dataclass(frozen=True)
class RoundedReading:
    """The reading of the printed decimals for the order, beyond `order_within_rounding`."""

    refuted: Annotated[
        int | None, Says("the lowest order that no numbers have which round to the decimals", minimum=1)
    ]
    relative_radius: Annotated[
        Size, Says("the widest enclosure of a condition that holds, in units of 1/d!", minimum=0)
    ]
    leading: Annotated[tuple[CommutatorTerm, ...], Says("the enclosed error of the refuted order")]
    reason: Name


@dataclass(frozen=True)
class GeneratorPart:
    """The part of one degree of the modified generator."""

    degree: Count
    terms: tuple[CommutatorTerm, ...]


@dataclass(frozen=True)
class StatedCondition:
    """An order condition: what the coefficients must satisfy at one Lyndon word."""

    degree: Count
    word: Name
    condition: Name


@dataclass(frozen=True)
class UpToConjugacy:
    """The order up to conjugacy, where it is higher than the order."""

    order: int | None
    cuts: tuple[Name, ...]
    averages_off_by: Annotated[dict[str, str], Says("the share of each letter in Y of h E[Y f]")]


@dataclass(frozen=True)
class ConjugateWord:
    """Whether word = u v and the other word = v u; u and v where they are."""

    word: Name
    conjugate: bool
    u: Annotated[str, Says(optional=True)] = ""
    v: Annotated[str, Says(optional=True)] = ""
    proved: Annotated[bool, Says(optional=True)] = True


@dataclass(frozen=True)
class SplittingAnswer:
    """The order of a splitting exp(c1 X1) exp(c2 X2) ... and its leading error.

    The last five keys are there where they were asked for, or apply.
    """

    word: Name
    coefficients: tuple[Name, ...]
    order: Annotated[
        int | None,
        Says(
            "with the decimals read exactly; null: no error at any degree; of marked decimals the highest not refuted"
        ),
    ]
    order_within_rounding: Annotated[
        int | None,
        Says(
            "the highest order that the printed decimals are consistent with, which is no proof; null where none were given, "
            "or where they are too short to tell"
        ),
    ]
    leading: tuple[CommutatorTerm, ...]
    symmetric: bool
    degree: Annotated[Count, Says("the last degree that was examined")]
    proved: bool
    reason: Name
    within_rounding: RoundedReading | None
    first_even_degree: Annotated[int | None, Says(optional=True)] = None
    up_to_conjugacy: Annotated[UpToConjugacy | None, Says(optional=True)] = None
    conjugate_to: Annotated[ConjugateWord | None, Says(optional=True)] = None
    modified: Annotated[tuple[GeneratorPart, ...], Says(optional=True)] = ()
    order_conditions: Annotated[tuple[StatedCondition, ...], Says(optional=True)] = ()


BCH = Published(
    "sgverify/bch/1",
    SplittingAnswer,
    "an answer of bch",
    "Write it again with `sgverify bch WORD --json FILE`.",
)


Status = Literal["answered", "does-not-fit", "refused", "lost", "not-run"]

STATUSES: Mapping[Status, str] = {
    "answered": "judged, with evidence",
    "does-not-fit": "not asked: what was combined does not go together, by what it declares",
    "refused": "no answer: scheme and settings are wrong together, as for an unstable step size",
    "lost": "no answer: an internal error, or the end of its process",
    "not-run": "not asked: the campaign ended before",
}
"""The ends of a combination."""

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
    """The findings of a campaign: a row for each combination, a cell for each scheme, claim and check."""

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
