"""How is evidence converted to JSON and back? Documents that do not follow the published schema are refused."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, replace
from typing import Annotated, Any

from sgverify.evidence.model import Evidence
from sgverify.evidence.provenance import Provenance
from sgverify.evidence.published import Published, Says, read_as
from sgverify.evidence.whole_answer import WholeAnswer
from sgverify.named_code import recorded_for

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
    code = dict(pair for item in evidence for pair in recorded_for(item.scheme, item.configuration).items())
    return Document(evidence, replace(provenance, code={**provenance.code, **code}), answer)


def encode_evidence(item: Evidence) -> dict[str, Any]:
    """One piece of evidence in the form of the published schema; notes that are None are left out."""
    told = asdict(item)
    for part in (told["found"], *told["points"]):
        if part["note"] is None:
            del part["note"]
    return {**told, "points": list(told["points"])}


def decode_evidence(item: Mapping[str, Any]) -> Evidence:
    """The inverse of `encode_evidence`."""
    return read_as(Evidence, item)


def schema() -> dict[str, Any]:
    """The JSON schema (draft 2020-12) of evidence documents."""
    return EVIDENCE.schema()


def validate(document: Any, *, where: str = "document") -> None:
    """Raise UserError, in one line, unless `document` follows the schema of evidence."""
    EVIDENCE.check(document, where)
