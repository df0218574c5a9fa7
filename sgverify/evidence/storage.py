"""The document of evidence: its JSON, what an answer says beyond its pieces, and its files, written whole or not at all."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Annotated, Any, Literal, TextIO

from sgverify.errors import UnknownNameError, UserError
from sgverify.evidence.model import Evidence, plain
from sgverify.evidence.published import Name, Provenance, Published, Says, read_as
from sgverify.keeping.files import each_once, json_text, read_text, write_atomically
from sgverify.named_code import recorded_for


@dataclass(frozen=True)
class StoredEdit:
    """An edit of a definition under which proof and exact checks pass: `was` becomes `now` in a line of a file.

    `achieves` says what then holds, such as "order 2 and everything conform". File and line are null where the printed formula of
    a scheme without a file is edited.
    """

    file: str | None
    line: int | None
    was: str
    now: str
    achieves: str


@dataclass(frozen=True)
class WholeAnswer:
    """The whole answer about one scheme.

    `cause` is null where nothing fails or no cause was found, `cause_name` its kind. `how_large` has one entry for each gradient
    estimator: the errors of means and standard deviations at the step size, relative to the standard deviations of the target,
    the largest steps for given errors, and the asymptotic variance.
    """

    outcome: Literal["pass", "fail", "undecided"]
    not_tested: tuple[str, ...] = ()
    cause: Annotated[str | None, Says("one sentence")] = None
    cause_name: Name | None = None
    mend: StoredEdit | None = None
    how_large: tuple[dict[str, Any], ...] = ()

    def document(self) -> dict[str, Any]:
        """The answer as JSON values; numbers that are not finite are null."""
        written: dict[str, Any] = plain(asdict(self))[0]
        return written


SCHEMA_NAME = "sgverify/evidence/1"


@dataclass(frozen=True)
class Document:
    """The answer of `verify`, `rate`, `replay` or `report`."""

    evidence: tuple[Evidence, ...]
    provenance: Provenance
    answer: Annotated[WholeAnswer | None, Says("of `verify` alone", optional=True)] = None


EVIDENCE = Published(
    SCHEMA_NAME, Document, "evidence", "Write it again with `sgverify verify SCHEME --json FILE`."
)


def encode(document: Document) -> dict[str, Any]:
    """The document in the form of the published schema, keys in the schema's order."""
    return {
        "schema": SCHEMA_NAME,
        "provenance": document.provenance.document(),
        **({"answer": document.answer.document()} if document.answer is not None else {}),
        "evidence": [encode_evidence(item) for item in document.evidence],
    }


def decode(document: Mapping[str, Any]) -> Document:
    """The inverse of `encode`, for a document that has been validated."""
    return read_as(Document, document)


def documented(
    evidence: Iterable[Evidence], provenance: Provenance, answer: WholeAnswer | None = None
) -> Document:
    """A document of the evidence, with the sha256 of the user's code that it names.

    Raises for two pieces under one id, which a replay could not distinguish.
    """
    evidence = tuple(evidence)
    seen: set[str] = set()
    for item in evidence:
        if item.id in seen:
            raise ValueError(
                f"evidence id {item.id!r} occurs twice; ids name one scheme, claim, check, configuration"
            )
        seen.add(item.id)
    named = {(item.scheme, repr(item.configuration)): item for item in evidence}.values()
    code = dict(pair for item in named for pair in recorded_for(item.scheme, item.configuration).items())
    return Document(evidence, replace(provenance, code={**provenance.code, **code}), answer)


def canonical(document: Mapping[str, Any]) -> dict[str, Any]:
    """The part that configuration and seed determine completely: no `provenance`, no `seconds`, and no `answer`, whose mend is
    searched for a limited time.
    """
    return {
        **{key: value for key, value in document.items() if key not in ("provenance", "answer", "evidence")},
        "evidence": [
            {key: value for key, value in item.items() if key != "seconds"}
            for item in document.get("evidence", [])
        ],
    }


def encode_evidence(item: Evidence) -> dict[str, Any]:
    """One piece of evidence in the form of the published schema; notes that are None are left out."""
    told = asdict(item)
    for part in (told["found"], *told["points"]):
        if part["note"] is None:
            del part["note"]
    scope = {axis: str(extent) for axis, extent in item.scope.extents.items()}
    return {**told, "scope": scope, "points": list(told["points"])}


def decode_evidence(item: Mapping[str, Any]) -> Evidence:
    """The inverse of `encode_evidence`."""
    return read_as(Evidence, item)


def schema() -> dict[str, Any]:
    """The JSON schema (draft 2020-12) of evidence documents."""
    return EVIDENCE.schema()


def validate(document: Any, *, where: str = "document") -> None:
    """Raise UserError, in one line, unless `document` follows the schema of evidence."""
    EVIDENCE.check(document, where)


STDOUT = "-"


def write_evidence(
    target: str | Path | TextIO,
    evidence: Iterable[Evidence],
    provenance: Provenance,
    answer: WholeAnswer | None = None,
) -> dict[str, Any]:
    """Write a document to a file, to stdout (`-`) or to an open text stream, and return it.

    What is written has been validated against the schema; a file is replaced in one step, so that an interrupted
    run leaves either the old document or the new one. Raises UserError when the place cannot be written.
    """
    document = encode(documented(evidence, provenance, answer))
    validate(document, where="the evidence to be written")
    text = json_text(document)
    if isinstance(target, str) and target == STDOUT:
        target = sys.stdout
    if isinstance(target, str | Path):
        write_atomically(target, text)
    else:
        target.write(text)
    return document


def read_evidence(path: str | Path) -> Document:
    """Read and validate an evidence file.

    Raises UserError for a file that is missing, unreadable, not JSON, not evidence or of another schema version.
    """
    where = f"evidence file {str(path)!r}"
    document = read_json(path, where, "a file written by `sgverify ... --json FILE`")
    validate(document, where=where)
    return decode(document)


def read_json(path: str | Path, where: str, written: str) -> Any:
    """The JSON of a file; raises UserError, in one line, for a file that is missing, unreadable or not JSON.

    `where` names the file in the message, `written` says which file is expected.
    """
    try:
        text = read_text(path)
    except FileNotFoundError:
        raise UserError(f"{where} does not exist; expected {written}.") from None
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is not UTF-8 text"
        raise UserError(f"{where} cannot be read: {reason}; expected a readable JSON file.") from None
    try:
        return json.loads(text, parse_constant=_refuse_constant, object_pairs_hook=each_once)
    except (ValueError, RecursionError) as error:
        raise UserError(
            f"{where} is not JSON ({' '.join(str(error).split())}); expected {written}."
        ) from None


def find_evidence(document: Document, id: str) -> Evidence:
    """The piece of evidence named `id`; raises UnknownNameError with the nearest id of the document."""
    for item in document.evidence:
        if item.id == id:
            return item
    raise UnknownNameError("evidence id", id, (item.id for item in document.evidence))


def _refuse_constant(name: str) -> None:
    raise ValueError(f"{name} is no JSON number")
