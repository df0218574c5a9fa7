"""The answers of a campaign wait on disk as they come in, and are reported in the order of the file."""

from __future__ import annotations

import hashlib
import json
import tempfile
import zlib
from array import array
from collections import Counter
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType
from typing import IO, Any

from sgverify.campaigns.combinations import CampaignQuestion
from sgverify.campaigns.engines import WRONG_CALL, Lost
from sgverify.errors import UserError
from sgverify.evidence.documents import WORST, CampaignCell, CampaignDocument, CampaignRow, Status
from sgverify.evidence.model import Outcome, whole_outcome
from sgverify.evidence.published import Provenance
from sgverify.evidence.storage import SCHEMA_NAME
from sgverify.keeping.files import json_text, writable, write_atomically, written_in_parts
from sgverify.report.campaign import render_campaign, render_campaign_markdown

PACKING = 1
"""The level of compression; a higher one costs more than the disk does."""

PAGE, SUMMARY, REPORT, MARKDOWN = "index.html", "campaign.json", "report.json", "report.md"


class SpooledAnswers:
    """The answers to the questions of a campaign, in a file without a name that ends with the process.

    A campaign may have more evidence than memory. What is lost, and what was not run, is known by its number.
    """

    def __init__(self, folder: Path, count: int) -> None:
        with writable(folder):
            self._file: IO[bytes] = tempfile.TemporaryFile(dir=folder)  # noqa: SIM115 (closed by `__exit__`)
        # The place of each answer in the file and its length, which is 0 where there is none.
        self._places, self._lengths = array("q", [0]) * count, array("q", [0]) * count
        self.lost: dict[int, Lost] = {}

    def put(self, number: int, answer: dict[str, Any] | Lost) -> None:
        """Take the answer to a question. Raises `UserError` where the disk is full."""
        if isinstance(answer, Lost):
            self.lost[number] = answer
            return
        packed = zlib.compress(json.dumps(answer, allow_nan=False).encode(), PACKING)
        try:
            self._places[number], self._lengths[number] = self._file.seek(0, 2), self._file.write(packed)
            self._file.flush()
        except OSError as error:
            raise UserError(
                f"the answers could not be written beside the report: {error.strerror}; what the store has kept is not lost: make "
                "room, and run the campaign again"
            ) from None

    def of(self, number: int) -> dict[str, Any] | None:
        """The answer to a question; None where there is none."""
        if not self._lengths[number]:
            return None
        self._file.seek(self._places[number])
        found: dict[str, Any] = json.loads(zlib.decompress(self._file.read(self._lengths[number])))
        return found

    def __enter__(self) -> SpooledAnswers:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        # It goes with the process; what it has not taken was said.
        with suppress(OSError):
            self._file.close()


@dataclass
class _Cell:
    """A cell of the report while it is counted."""

    worst: Outcome
    first: int
    reason: str
    replay: str
    outcomes: Counter[str] = field(default_factory=Counter)


class CollectedAnswers:
    """Rows and cells of a report, from the answers in the order of the campaign."""

    def __init__(self) -> None:
        self.rows: list[CampaignRow] = []
        self._cells: dict[tuple[str, str, str], _Cell] = {}

    def add(
        self, number: int, asked: CampaignQuestion, answer: dict[str, Any] | None, lost: Lost | None
    ) -> None:
        """Count one question and its answer."""
        status, reason = _status(asked, answer, lost)
        evidence = [] if answer is None else answer["evidence"]
        outcomes = Counter(item["outcome"] for item in evidence)
        self.rows.append(
            CampaignRow(
                number=number,
                scheme=asked.scheme,
                settings=asked.settings,
                asked=asked.selected,
                status=status,
                outcome=whole_outcome(outcomes) if status == "answered" else "",
                outcomes=dict(outcomes),
                reason=reason,
            )
        )
        for item in evidence:
            self._count(number, item)

    def cells(self) -> tuple[CampaignCell, ...]:
        """A cell for each scheme, claim and check, in the order in which they occur."""
        return tuple(
            CampaignCell(
                scheme=scheme,
                claim=claim,
                check=check,
                outcomes=dict(cell.outcomes),
                worst=cell.worst,
                first=cell.first,
                reason=cell.reason,
                replay=cell.replay,
            )
            for (scheme, claim, check), cell in self._cells.items()
        )

    def _count(self, number: int, item: dict[str, Any]) -> None:
        key = item["scheme"], item["claim"], item["check"]
        told = item["outcome"], number, item["reason"], item["replay"]
        cell = self._cells.get(key)
        if cell is None:
            cell = self._cells[key] = _Cell(*told)
        elif WORST.index(item["outcome"]) < WORST.index(cell.worst):
            cell.worst, cell.first, cell.reason, cell.replay = told
        cell.outcomes[item["outcome"]] += 1


def write_campaign_report(
    folder: str | Path,
    title: str,
    questions: Sequence[CampaignQuestion],
    answers: SpooledAnswers,
    provenance: Provenance,
) -> CampaignDocument:
    """Write report.json with all evidence, campaign.json, index.html and report.md, and return what campaign.json says.

    The evidence is written piece by piece. Of equal evidence, which two combinations have whose settings say the same in different
    words, one piece is written; different evidence whose short ids happen to be equal gets a number behind them.
    """
    folder = Path(folder)
    collected = CollectedAnswers()
    written = _Ids()
    with written_in_parts(folder / REPORT) as stream:
        head = json_text({"schema": SCHEMA_NAME, "provenance": provenance.document()})
        stream.write(head.rstrip().removesuffix("}").rstrip() + ',\n "evidence": [')
        separator = "\n"
        for number, asked in enumerate(questions):
            answer = answers.of(number)
            collected.add(number, asked, answer, answers.lost.get(number))
            for item in [] if answer is None else answer["evidence"]:
                id = written.of(item)
                if id is not None:
                    stream.write(separator + json_text({**item, "id": id}).rstrip("\n"))
                    separator = ",\n"
        stream.write("\n ]\n}\n")
    document = CampaignDocument(title, provenance, tuple(collected.rows), collected.cells())
    write_atomically(folder / SUMMARY, json_text(document.document()))
    write_atomically(folder / MARKDOWN, render_campaign_markdown(document))
    write_atomically(folder / PAGE, render_campaign(document))
    return document


class _Ids:
    """The ids of a document, each with a hash of what it names."""

    def __init__(self) -> None:
        self._named: dict[str, bytes] = {}

    def of(self, item: dict[str, Any]) -> str | None:
        """The id under which a piece of evidence is written; None where it is written already."""
        asked = [item["scheme"], item["claim"], item["check"], item["configuration"]]
        digest = hashlib.sha256(json.dumps(asked, sort_keys=True).encode()).digest()[:12]
        number, id = 1, item["id"]
        while id in self._named:
            if self._named[id] == digest:
                return None
            number += 1
            id = f"{item['id']}-{number}"
        self._named[id] = digest
        return str(id)


def _status(asked: CampaignQuestion, answer: dict[str, Any] | None, lost: Lost | None) -> tuple[Status, str]:
    """What became of a combination, and why it has no answer."""
    if asked.misfit:
        return "does-not-fit", asked.misfit
    if asked.refused:
        return "refused", asked.refused
    if lost is not None:
        return ("refused" if lost.code == WRONG_CALL else "lost"), lost.reason
    if answer is None:
        return "not-run", ""
    return ("refused", answer["refused"]) if answer["refused"] else ("answered", "")
