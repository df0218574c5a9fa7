"""Where are answers read from? Files of evidence or of errata, folders of `sgverify report`, and what a store holds."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

from sgverify.errors import UserError
from sgverify.evidence.codec import EVIDENCE, Document, decode, decode_evidence
from sgverify.evidence.erratum import ERRATA, Erratum, decode_errata
from sgverify.evidence.model import Evidence, canonical_numbers
from sgverify.evidence.provenance import Provenance
from sgverify.evidence.storage import read_json
from sgverify.evidence.whole_answer import WholeAnswer

REPORT, FALLEN = "report.json", "errata.json"
STUDIES = "studies.json"

WRITTEN = "a file of `sgverify verify|rate|replay|errata --json`, a folder of `sgverify report`, or a store"

EVIDENCE_KEYS = frozenset(
    {"scheme", "claim", "check", "configuration", "method", "found", "points", "verdict", "reason"}
)
ERRATUM_KEYS = frozenset(field.name for field in fields(Erratum))


@dataclass(frozen=True)
class StoredValue:
    """A value of a store that is neither evidence nor an erratum, such as counts of a calibration, with its kind and question."""

    kind: str
    question: Any
    value: Any


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
    evidence: dict[str, Evidence] = {}
    errata: dict[str, Erratum] = {}
    values: dict[str, StoredValue] = {}
    for kind, question, value in entries:
        found = list(_answers_in(value))
        for item in found:
            if isinstance(item, Evidence):
                asked = [item.scheme, item.claim, item.check, canonical_numbers(item.configuration)]
                evidence[json.dumps(asked, sort_keys=True)] = item
            else:
                errata[item.id] = item
        if not found:
            values[json.dumps([kind, canonical_numbers(question)], sort_keys=True)] = StoredValue(
                kind, question, value
            )
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
    if isinstance(name, str) and name.startswith(_family(ERRATA.name)):
        ERRATA.check(document, where)
        return AnswersAt(
            place, errata=decode_errata(document), provenance=Provenance(**document["provenance"])
        )
    EVIDENCE.check(document, where)
    read: Document = decode(document)
    return AnswersAt(place, read.evidence, (), read.answer, read.provenance)


def _family(name: str) -> str:
    return name.rpartition("/")[0] + "/"
