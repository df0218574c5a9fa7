"""The answers of a place: of a file of evidence or of errata, a folder of `sgverify report`, or the entries of a store."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

from sgverify.errors import UserError
from sgverify.evidence.differences.model import AskedQuestion, PlaceRead
from sgverify.evidence.erratum import ERRATA, Erratum, decode_errata
from sgverify.evidence.model import Evidence
from sgverify.evidence.provenance import Provenance
from sgverify.evidence.regression import changed, question_key
from sgverify.evidence.storage import EVIDENCE, Document, WholeAnswer, decode, decode_evidence, read_json

REPORT, FALLEN = "report.json", "errata.json"
STUDIES = "studies.json"

WRITTEN = "a file of `sgverify verify|rate|replay|errata --json`, a folder of `sgverify report`, or a store"

EVIDENCE_KEYS = frozenset(
    {"scheme", "claim", "check", "configuration", "method", "found", "points", "verdict", "reason"}
)
ERRATUM_KEYS = frozenset(field.name for field in fields(Erratum))

CLAUSE = "; "
"""The first clause of a reason, up to here, stands alone."""


@dataclass(frozen=True)
class StoredValue:
    """A value of a store that is neither evidence nor an erratum, such as counts of a calibration, with its kind and question."""

    kind: str
    question: Any
    value: Any


@dataclass(frozen=True)
class AskedAnswer:
    """An answer, and what was asked: by it two answers are matched."""

    asked: AskedQuestion
    value: Evidence | Erratum | WholeAnswer | StoredValue

    @property
    def key(self) -> tuple[str, ...]:
        """What was asked, as texts."""
        asked = self.asked
        return asked.kind, *question_key(asked.scheme, asked.claim, asked.check, asked.configuration)

    @property
    def outcome(self) -> str | None:
        """The outcome; of a printed statement whether it falls or stands; None for another value of a store."""
        if isinstance(self.value, Erratum):
            return "falls" if self.value.fails else "stands"
        return None if isinstance(self.value, StoredValue) else self.value.outcome

    @property
    def cause(self) -> str:
        """The reason, in one clause."""
        value = self.value
        if isinstance(value, Evidence):
            return value.reason.partition(CLAUSE)[0]
        if isinstance(value, Erratum):
            return value.because if value.fails else "the statement holds as printed"
        return (value.cause or "") if isinstance(value, WholeAnswer) else ""


@dataclass(frozen=True)
class AnswersAt:
    """The answers of one place; `scheme` is that of the whole answer. `not_compared` names what else lies there."""

    place: str
    evidence: tuple[Evidence, ...] = ()
    errata: tuple[Erratum, ...] = ()
    answer: WholeAnswer | None = None
    provenance: Provenance | None = None
    values: tuple[StoredValue, ...] = ()
    not_compared: tuple[str, ...] = ()

    def __len__(self) -> int:
        return len(self.evidence) + len(self.errata) + len(self.values) + (self.answer is not None)

    @property
    def read(self) -> PlaceRead:
        """Where the answers were read, and what wrote them."""
        made = self.provenance
        return PlaceRead(self.place, len(self), made.version if made else "", made.platform if made else "")

    def by_question(self, apart: tuple[str, ...] = ()) -> dict[tuple[str, ...], AskedAnswer]:
        """The answers by their questions, of whose settings the dotted keys `apart` are left out.

        Raises `UserError` where one question is answered twice.
        """
        found: dict[tuple[str, ...], AskedAnswer] = {}
        for answer in self._answers(apart):
            if answer.key in found:
                asked = answer.asked
                raise UserError(
                    f"{self.place!r} answers one question twice: {asked.scheme} {asked.claim} ({asked.check}); expected one answer "
                    "to each. Name fewer keys with --apart, or write the file again"
                )
            found[answer.key] = answer
        return found

    def _answers(self, apart: tuple[str, ...]) -> Iterator[AskedAnswer]:
        for item in self.evidence:
            settings = _settings(item.configuration, apart)
            yield AskedAnswer(AskedQuestion("evidence", item.scheme, item.claim, item.check, settings), item)
        for erratum in self.errata:
            yield AskedAnswer(AskedQuestion("erratum", "", erratum.id, "", {}), erratum)
        if self.answer is not None and self.evidence:
            # It is about the scheme of the evidence beside it, under the configuration of its first piece.
            first = self.evidence[0]
            settings = _settings(first.configuration, apart)
            yield AskedAnswer(AskedQuestion("answer", first.scheme, "", "", settings), self.answer)
        for value in self.values:
            question = value.question if isinstance(value.question, dict) else {"question": value.question}
            yield AskedAnswer(AskedQuestion("stored", "", value.kind, "", question), value)


def _settings(configuration: Mapping[str, Any], apart: tuple[str, ...]) -> dict[str, Any]:
    settings = _given(changed(configuration), configuration)
    for key in apart:
        *tables, name = key.split(".")
        table: Any = settings
        for part in tables:
            table = table.get(part, {}) if isinstance(table, dict) else {}
        if isinstance(table, dict):
            table.pop(name, None)
    return settings


def _given(settings: Mapping[str, Any], configuration: Mapping[str, Any]) -> dict[str, Any]:
    """The settings without the keys that the configuration lacks, which are at their defaults."""
    return {
        key: _given(value, configuration[key]) if isinstance(value, Mapping) else value
        for key, value in settings.items()
        if key in configuration
    }


def read_answers(place: str) -> AnswersAt:
    """Read a file or a folder.

    Raises `UserError` for a place that is missing or unreadable, and for documents of other kinds or versions, by name.
    """
    path = Path(place)
    if not os.path.isdir(path):
        return _file(place, path)
    if not os.path.isfile(path / REPORT):
        raise UserError(f"folder {place!r} has no {REPORT}; expected {WRITTEN}")
    found = _file(place, path / REPORT)
    fallen = _file(place, path / FALLEN).errata if os.path.isfile(path / FALLEN) else ()
    beside = (f"{STUDIES} (curves and tables without a verdict)",) if os.path.isfile(path / STUDIES) else ()
    return AnswersAt(place, found.evidence, fallen, found.answer, found.provenance, not_compared=beside)


def stored_answers(
    place: str, entries: Iterable[tuple[str, Any, Any]], not_compared: Iterable[str] = ()
) -> AnswersAt:
    """The answers among the entries of a store, each a kind, a question and a value; of several to one question the last one.

    Evidence and errata are found wherever they stand in a value; a value without any is compared as a whole.
    """
    evidence: dict[tuple[str, ...], Evidence] = {}
    errata: dict[str, Erratum] = {}
    values: dict[tuple[str, ...], StoredValue] = {}
    for kind, question, value in entries:
        found = list(_answers_in(value))
        for item in found:
            if isinstance(item, Evidence):
                evidence[question_key(item.scheme, item.claim, item.check, item.configuration)] = item
            else:
                errata[item.id] = item
        if not found:
            values[question_key("", kind, "", {"question": question})] = StoredValue(kind, question, value)
    return AnswersAt(
        place,
        tuple(evidence.values()),
        tuple(errata.values()),
        values=tuple(values.values()),
        not_compared=tuple(not_compared),
    )


def _answers_in(value: Any) -> Iterator[Evidence | Erratum]:
    if isinstance(value, Mapping):
        if value.keys() >= EVIDENCE_KEYS:
            yield decode_evidence(value)
            return
        if value.keys() == ERRATUM_KEYS:
            yield Erratum(**value)
            return
        value = list(value.values())
    if isinstance(value, list):
        for item in value:
            yield from _answers_in(item)


def _file(place: str, path: Path) -> AnswersAt:
    where = f"file {str(path)!r}"
    document = read_json(path, where, WRITTEN)
    name = document.get("schema") if isinstance(document, Mapping) else None
    if isinstance(name, str) and name.rpartition("/")[0] == ERRATA.name.rpartition("/")[0]:
        ERRATA.check(document, where)
        return AnswersAt(
            place, errata=decode_errata(document), provenance=Provenance(**document["provenance"])
        )
    EVIDENCE.check(document, where)
    read: Document = decode(document)
    return AnswersAt(place, read.evidence, (), read.answer, read.provenance)
