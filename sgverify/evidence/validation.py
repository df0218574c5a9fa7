"""The published schema, and the refusal of documents that do not follow it."""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import cache
from importlib import resources
from typing import Any

from sgverify.errors import UserError
from sgverify.evidence.codec import SCHEMA_NAME

SCHEMA_FILE = "evidence-1.json"


@cache
def schema() -> dict[str, Any]:
    """The JSON schema (draft 2020-12) of evidence documents, as shipped with the package."""
    text = resources.files("sgverify.evidence").joinpath("schema", SCHEMA_FILE).read_text(encoding="utf-8")
    content: dict[str, Any] = json.loads(text)
    return content


def validate(document: Any, *, where: str = "document") -> None:
    """Raise UserError, in one line, unless `document` follows the schema.

    Another version, another kind of document and a broken one are told apart by name.
    """
    name = document.get("schema") if isinstance(document, Mapping) else None
    if not isinstance(name, str):
        raise UserError(
            f'{where} is not an evidence file: it has no "schema"; expected {SCHEMA_NAME!r}. '
            "Write one with `sgverify verify SCHEME --json FILE`."
        )
    if name != SCHEMA_NAME:
        kind = "evidence of another version" if name.startswith("sgverify/evidence/") else "not evidence"
        raise UserError(
            f"{where} is {kind}: schema={name!r}; this version reads {SCHEMA_NAME!r}. "
            "Write it again with this version of sgverify."
        )
    problem = _first_problem(document)
    if problem is not None:
        raise UserError(
            f"{where} does not follow {SCHEMA_NAME!r}: {problem}. "
            "Write it again with `sgverify verify SCHEME --json FILE`."
        )


@cache
def _validator() -> Any:
    from jsonschema import Draft202012Validator

    return Draft202012Validator(schema())


def _first_problem(document: Any) -> str | None:
    from jsonschema.exceptions import best_match

    error = best_match(_validator().iter_errors(document))
    if error is None:
        return None
    message = " ".join(str(error.message).split())
    return f"at {error.json_path}: {message if len(message) <= 200 else message[:197] + '...'}"
