"""Questions, by which an answer is found again, and the answers of a place: a file, a folder of a report, a store.

A question is a scheme, a claim, a check and the keys of the configuration that differ from the defaults. By it two answers are
compared (`differences`), and a violation that is written down is known again (`recorded`). Evidence, errata, whole answers and
other values of a store are compared in one form, `AskedAnswer`: an outcome, a cause, and parts by their places.
"""

from __future__ import annotations

import json
import os
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import MISSING, asdict, dataclass, fields, replace
from functools import cache, reduce
from pathlib import Path
from typing import Any, Literal, NamedTuple

from sgverify.errors import UserError
from sgverify.evidence.erratum import ERRATA, WEIGHT, Erratum, decode_errata
from sgverify.evidence.model import Evidence, Point, canonical_numbers
from sgverify.evidence.numbers import held
from sgverify.evidence.published import Provenance, read_as
from sgverify.evidence.storage import EVIDENCE, Document, WholeAnswer, decode_evidence, read_json
from sgverify.keeping.files import opened

REPORT, FALLEN, STUDIES = "report.json", "errata.json", "studies.json"

WRITTEN = "a file of `sgverify verify|rate|replay|errata --json`, a folder of `sgverify report`, or a store"

DATABASE = b"SQLite format 3\0"
"""The first bytes of a store's file."""

EVIDENCE_KEYS = frozenset(
    {"scheme", "claim", "check", "configuration", "method", "found", "points", "verdict", "reason"}
)
ERRATUM_KEYS = frozenset(field.name for field in fields(Erratum) if field.default is MISSING)

CLAUSE = "; "
"""The first clause of a reason, up to here, stands alone."""

UNLIKE = "the outcomes are not the same"
STRENGTH = "the methods are not of one strength"

Key = tuple[str, ...]
_Settled = Literal["outcome", "verdict", "method", "exponent", "prediction", "sharpness", "constant"]
_Told = Literal["point", "reason", "scope", "certificate", "cause", "not tested", "severity"]
What = Literal[_Settled, _Told]


def question_key(scheme: str, claim: str, check: str, configuration: Mapping[str, Any]) -> Key:
    """The question as texts by which it is found again: 2 and 2.0 are one setting."""
    numbers = json.dumps(canonical_numbers(configuration), sort_keys=True, ensure_ascii=False)
    return scheme, claim, check, numbers


def changed(configuration: Mapping[str, Any], defaults: Mapping[str, Any] | None = None) -> dict[str, Any]:
    """The keys of a stored configuration that differ from the defaults: one that is left out, as by another version, does not."""
    found: dict[str, Any] = {}
    defaults = _defaults() if defaults is None else defaults
    for key, value in sorted(configuration.items()):
        default = defaults.get(key)
        if isinstance(value, Mapping) and isinstance(default, Mapping):
            if inside := changed(value, default):
                found[key] = inside
        elif canonical_numbers(value) != canonical_numbers(default):
            found[key] = value
    return found


@cache
def _defaults() -> dict[str, Any]:
    # Imported here: the configuration's model takes long to load, and a list of the schemas needs none of it.
    from sgverify.configuration import Configuration

    return Configuration().as_dict()


def reference_beside(reference: str, folder: Path) -> str:
    """A scheme's reference as rows of a file in `folder` name it.

    >>> reference_beside("/home/me/tests/mine.py:heun", Path("/home/me/tests"))
    'mine.py:heun'
    >>> reference_beside("sghmc-aboba", Path("/home/me/tests"))
    'sghmc-aboba'
    """
    return _moved(reference, Path(), folder)


def reference_from(reference: str, folder: Path) -> str:
    """The inverse of `reference_beside`: a row's scheme as a command line started here loads it."""
    return _moved(reference, folder, Path())


def _moved(reference: str, before: Path, after: Path) -> str:
    place, _, attribute = reference.rpartition(":")
    return f"{path_from(place, before, after)}:{attribute}" if place.endswith(".py") else reference


def path_from(place: str, before: Path, after: Path) -> str:
    """A path that is seen from one folder, as it is seen from another one."""
    return Path(os.path.relpath(os.path.abspath(before / place), os.path.abspath(after))).as_posix()


@dataclass(frozen=True)
class AskedQuestion:
    """A question, by which two answers are matched.

    `kind` is "evidence" for a claim held against a scheme, "erratum" for a printed statement (`claim` is its id), "answer" for what
    `verify` says of the whole scheme, "stored" for another value of a store (`claim` is its kind, `configuration` its question).
    `configuration` has the keys that differ from the defaults.
    """

    kind: Literal["evidence", "erratum", "answer", "stored"]
    scheme: str
    claim: str
    check: str
    configuration: dict[str, Any]

    @property
    def key(self) -> Key:
        """The question as texts."""
        return self.kind, *question_key(self.scheme, self.claim, self.check, self.configuration)

    def without(self, keys: Sequence[str]) -> AskedQuestion:
        """The question about a scheme without these dotted keys of its configuration."""
        if self.kind not in ("evidence", "answer"):
            return self
        return replace(self, configuration=reduce(_without, keys, self.configuration))


def _without(settings: dict[str, Any], key: str) -> dict[str, Any]:
    name, _, rest = key.partition(".")
    inside = settings.get(name)
    left = {other: value for other, value in settings.items() if other != name}
    if rest and inside is not None:
        inside = _without(inside, rest) if isinstance(inside, dict) else inside
        return left if inside == {} else {**settings, name: inside}
    return left


class AnswerPart(NamedTuple):
    """A part of an answer: what it is, its value, and what is said where two values of it are not the same."""

    what: What
    value: Any
    rule: str = ""


@dataclass(frozen=True)
class AskedAnswer:
    """An answer as it is compared: what was asked, the outcome, the reason in one clause, and its parts by their places.

    Of a printed statement the outcome is whether it falls or stands; it is None for another value of a store. `chains`: those
    behind each sampled point, None where that is not said.
    """

    asked: AskedQuestion
    outcome: str | None
    cause: str
    parts: dict[str, AnswerPart]
    chains: int | None = None

    @classmethod
    def of_evidence(cls, item: Evidence) -> AskedAnswer:
        """Evidence, but for its seconds and the command that replays it."""
        asked = AskedQuestion("evidence", item.scheme, item.claim, item.check, changed(item.configuration))
        rate = "the claim predicts another rate"
        cause = item.reason.partition(CLAUSE)[0]
        predicted = None if item.predicted.exponent is None else float(item.predicted.exponent)
        parts = {
            "outcome": AnswerPart("outcome", item.outcome, UNLIKE),
            "found/exponent": AnswerPart("exponent", item.found),
            "predicted/exponent": AnswerPart("prediction", predicted, rate),
            "predicted/kind": AnswerPart("prediction", item.predicted.kind, rate),
            "method": AnswerPart("method", item.method, STRENGTH),
            "sharp": AnswerPart(
                "sharpness", held(item.sharp), "equality with the prediction is shown on one side alone"
            ),
            "points": AnswerPart("point", _points(item), "a point of one side alone"),
            "certificate": AnswerPart("constant", item.certificate),
            "reason": AnswerPart("reason", cause, "not the same sentence, numbers aside"),
            "scope": AnswerPart("scope", str(item.scope), "not for the same"),
        }
        return cls(asked, item.outcome, cause, parts, item.configuration.get("chains"))

    @classmethod
    def of_erratum(cls, item: Erratum) -> AskedAnswer:
        """Whether a printed statement falls, what holds in its place, and what that weighs."""
        outcome = "falls" if item.fails else "stands"
        cause = item.because if item.fails else "the statement holds as printed"
        weight = {
            "holds": AnswerPart("constant", item.holds, "what holds in its place is not the same"),
            **{
                name: AnswerPart("severity", getattr(item, name), "the judgement is not the same")
                for name in WEIGHT
            },
        }
        parts = {
            "errata": AnswerPart("outcome", outcome, "the statement falls on one side alone"),
            "method": AnswerPart("method", item.method, STRENGTH),
            **(weight if item.fails else {}),
            "certificate": AnswerPart("constant", item.certificate),
            "family": AnswerPart("constant", None if item.family is None else asdict(item.family)),
            "finite": AnswerPart("constant", item.finite),
        }
        return cls(AskedQuestion("erratum", "", item.id, "", {}), outcome, cause, parts)

    @classmethod
    def of_whole(cls, item: WholeAnswer, first: Evidence) -> AskedAnswer:
        """The answer of `verify` about the scheme of its evidence; a mend is searched for a limited time, and not compared."""
        parts = {
            "answer/outcome": AnswerPart("outcome", item.outcome, UNLIKE),
            "answer/cause_name": AnswerPart("cause", item.cause_name, "the causes are not the same"),
            "answer/not_tested": AnswerPart(
                "not tested", frozenset(item.not_tested), "named as not tested on one side alone"
            ),
            "answer": AnswerPart("constant", {"how_large": list(item.how_large)}),
        }
        # It is about the scheme of the evidence beside it, under the configuration of its first piece.
        asked = AskedQuestion("answer", first.scheme, "", "", changed(first.configuration))
        return cls(asked, item.outcome, item.cause or "", parts)

    @classmethod
    def of_stored(cls, kind: str, question: Any, value: Any) -> AskedAnswer:
        """A value of a store that is neither evidence nor an erratum, such as counts of a calibration."""
        settings = question if isinstance(question, dict) else {"question": question}
        parts = {"": AnswerPart("constant", {"value": value})}
        return cls(AskedQuestion("stored", "", kind, "", settings), None, "", parts)


def _points(evidence: Evidence) -> dict[str, Point]:
    """The points by their kinds, steps and lengths."""
    seen: Counter[str] = Counter()
    found = {}
    for point in evidence.points:
        sizes = (("h", point.step), ("L", point.length))
        at = ", ".join(f"{name} = {value:.6g}" for name, value in sizes if value is not None)
        place = f"points/{point.kind} at {at}"
        seen[place] += 1
        found[place if seen[place] == 1 else f"{place}, {seen[place]}"] = point
    return found


@dataclass(frozen=True)
class AnswersAt:
    """The answers of one place, and what wrote them. `not_compared` names what else lies there."""

    place: str
    answers: tuple[AskedAnswer, ...] = ()
    provenance: Provenance | None = None
    not_compared: tuple[str, ...] = ()

    @classmethod
    def of(cls, place: str, document: Document) -> AnswersAt:
        """The answers of a document of evidence."""
        answers = [AskedAnswer.of_evidence(item) for item in document.evidence]
        if document.answer is not None and document.evidence:
            answers.append(AskedAnswer.of_whole(document.answer, document.evidence[0]))
        return cls(place, tuple(answers), document.provenance)

    def by_question(self, apart: Sequence[str] = ()) -> dict[Key, AskedAnswer]:
        """The answers by their questions, of whose settings the dotted keys `apart` are left out.

        Raises `UserError` where one question is answered twice.
        """
        found: dict[Key, AskedAnswer] = {}
        for answer in self.answers:
            asked = answer.asked.without(apart)
            if asked.key in found:
                raise UserError(
                    f"{self.place!r} answers one question twice: {asked.scheme} {asked.claim} ({asked.check}); expected one answer "
                    "to each. Name fewer keys with --apart, or write the file again"
                )
            found[asked.key] = replace(answer, asked=asked)
        return found


def read_answers(place: str) -> AnswersAt:
    """Read a file, a folder or a store.

    Raises `UserError` for a place that is missing or unreadable, and for documents of other kinds or versions, by name.
    """
    path = Path(place)
    if not os.path.isdir(path):
        start = b""
        with suppress(OSError), opened(path, None) as file:
            start = file.read(len(DATABASE))
        return _stored(place) if start == DATABASE else _file(place, path)
    if not os.path.isfile(path / REPORT):
        raise UserError(f"folder {place!r} has no {REPORT}; expected {WRITTEN}")
    found = _file(place, path / REPORT)
    fallen = _file(place, path / FALLEN).answers if os.path.isfile(path / FALLEN) else ()
    beside = (f"{STUDIES} (curves and tables without a verdict)",) if os.path.isfile(path / STUDIES) else ()
    return AnswersAt(place, (*found.answers, *fallen), found.provenance, beside)


def _file(place: str, path: Path) -> AnswersAt:
    where = f"file {str(path)!r}"
    document = read_json(path, where, WRITTEN)
    name = document.get("schema") if isinstance(document, Mapping) else None
    if isinstance(name, str) and name.rpartition("/")[0] == ERRATA.name.rpartition("/")[0]:
        ERRATA.check(document, where)
        errata = tuple(AskedAnswer.of_erratum(item) for item in decode_errata(document))
        return AnswersAt(place, errata, Provenance(**document["provenance"]))
    return AnswersAt.of(place, EVIDENCE.decode(document, where))


def _stored(place: str) -> AnswersAt:
    """The answers of a store, of several to one question the last one.

    Evidence and errata are found wherever they stand in a value; a value without any is compared as a whole.
    """
    from sgverify.keeping.store import Store

    found: dict[Key, AskedAnswer] = {}
    with Store(place) as store:
        for row in store.answers():
            value = row.answer
            for answer in list(_answers_in(value)) or [AskedAnswer.of_stored(row.kind, row.question, value)]:
                found[answer.asked.key] = answer
        return AnswersAt(place, tuple(found.values()), not_compared=tuple(store.problems))


def _answers_in(value: Any) -> Iterator[AskedAnswer]:
    if isinstance(value, Mapping) and value.keys() >= EVIDENCE_KEYS:
        yield AskedAnswer.of_evidence(decode_evidence(value))
    elif isinstance(value, Mapping) and value.keys() >= ERRATUM_KEYS:
        yield AskedAnswer.of_erratum(read_as(Erratum, value))
    elif isinstance(value, Mapping | list):
        for item in value.values() if isinstance(value, Mapping) else value:
            yield from _answers_in(item)
