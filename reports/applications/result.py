"""What has a run of an application found? The document, its JSON, and the terms in which it answers."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Annotated, Any, Literal

from sgverify.evidence import Provenance, Study
from sgverify.evidence.published import Count, Name, Number, Published, Says, Size, read_as
from sgverify.evidence.storage import read_json

Reproduced = Literal["reproduced", "not reproduced", "undecided", "not tried"]


@dataclass(frozen=True, kw_only=True)
class SamplerChecked:
    """A scheme that moves the chains, and what the checks say of it. `order` is the local order that it claims."""

    scheme: Name
    source: str
    order: int | None
    outcome: Literal["pass", "fail", "undecided"]
    claims: Annotated[dict[str, str], Says("the outcome of each claim, with the check that settles it")]


@dataclass(frozen=True, kw_only=True)
class PaperFinding:
    """One statement of the paper beside what the run has found.

    `printed` is the statement with its numbers, `found` the numbers of the run with their standard errors. `undecided` says that
    the standard errors leave it open, `not tried` that the run has no numbers for it; `reason` is one sentence. `p` is the
    two-sided p-value of the statement alone, `corrected` as one of all statements of the result by Holm, and `degrees` are those of
    Student's t; None where there is no p-value, or no t.
    """

    statement: Name
    source: Name
    printed: str
    found: str
    verdict: Reproduced
    reason: str
    p: Annotated[Number | None, Says("the p-value alone", optional=True)] = None
    corrected: Annotated[Number | None, Says("as one of all, by Holm", optional=True)] = None
    degrees: Annotated[int | None, Says("degrees of freedom of t", optional=True)] = None


@dataclass(frozen=True, kw_only=True)
class AdviceBeside:
    """What `advise` answers for a sampler, beside the best step of the grid.

    `approximation` names the Gaussian that is asked about, or why none stands for the posterior.
    """

    sampler: Name
    applies: bool
    approximation: str
    answer: str
    grid: str


@dataclass(frozen=True, kw_only=True)
class DivergedChain:
    """A chain that left the numbers in which it can be computed: its sampler and setting, its number, and the step."""

    sampler: Name
    setting: Name
    chain: Count
    step: Count
    why: str


@dataclass(frozen=True, kw_only=True)
class Picture:
    """Grey images side by side, each of height x width levels from 0 (black) to 1 (white), row by row."""

    id: Annotated[str, Says("the name of the file", pattern="^[a-z0-9]+(-[a-z0-9]+)*$")]
    title: Name
    summary: Name
    height: Annotated[int, Says("pixels", minimum=1)]
    width: Annotated[int, Says("pixels", minimum=1)]
    tiles: Annotated[tuple[tuple[Size, ...], ...], Says("the levels of each image")]


@dataclass(frozen=True, kw_only=True)
class AppFindings:
    """What an application returns.

    `rows` are the settings that were run, each with its numbers by name; a number that has no value is null, and a key says why. Of
    `data`, where it comes from, its size, and its sha256.
    """

    summary: str
    data: dict[str, Any]
    samplers: tuple[SamplerChecked, ...]
    rows: tuple[dict[str, Any], ...]
    findings: tuple[PaperFinding, ...]
    advice: tuple[AdviceBeside, ...]
    diverged: tuple[DivergedChain, ...]
    not_tested: Annotated[tuple[str, ...], Says("what the run did not try, each in one sentence")]
    studies: Annotated[tuple[Study, ...], Says("figures and tables")]
    pictures: Annotated[tuple[Picture, ...], Says("images that a model has learnt")] = ()


@dataclass(frozen=True, kw_only=True)
class ApplicationDocument:
    """What a run of `python -m reports.applications NAME` has found about a model of a paper and the samplers on it."""

    application: Name
    title: Name
    source: Name
    provenance: Provenance
    seed: int
    seeds: Annotated[int, Says("independent chains of each setting", minimum=1)]
    settings: dict[str, Any]
    seconds: Size
    found: AppFindings

    def document(self) -> dict[str, Any]:
        """The contents in the form of the published schema."""
        told = {**asdict(self), "provenance": self.provenance.document()}
        return {"schema": APPLICATION.name, **_lists(told)}


APPLICATION = Published(
    "sgverify/app/1",
    ApplicationDocument,
    "a result of an application",
    "Write it again with `python -m reports.applications NAME --out DIR`.",
)


def decode_application(document: Any, where: str = "document") -> ApplicationDocument:
    """A document that has been read, as the dataclass. Raises `UserError`, in one line, unless it follows the schema."""
    APPLICATION.check(document, where)
    return read_as(ApplicationDocument, document)


def read_application(path: str | Path) -> ApplicationDocument:
    """A result that `python -m reports.applications NAME` has written. Raises `UserError`, in one line, for a file that is none."""
    where = f"result {str(path)!r}"
    return decode_application(
        read_json(path, where, "result.json as `python -m reports.applications NAME` writes it"), where
    )


def _lists(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _lists(item) for key, item in value.items()}
    return [_lists(item) for item in value] if isinstance(value, list | tuple) else value
