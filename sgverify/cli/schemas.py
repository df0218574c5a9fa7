"""`sgverify schema`: which JSON does a command write? The JSON schema of each document, by its name."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

import click

from sgverify.cli.shared import output
from sgverify.errors import UnknownNameError, UserError

if TYPE_CHECKING:
    from sgverify.evidence.published import Published

SCHEMAS = {
    "evidence": "sgverify.evidence.storage:EVIDENCE",
    "bch": "sgverify.evidence.documents:BCH",
    "list": "sgverify.evidence.documents:LISTING",
    "errata": "sgverify.evidence.erratum:ERRATA",
    "studies": "sgverify.evidence.study:STUDIES",
    "draws": "sgverify.evidence.documents:DRAWS",
    "regression": "sgverify.evidence.recorded:REGRESSION",
    "width": "sgverify.advice.widths:WIDTHS",
    "bound": "sgverify.advice.certified.model:BOUND",
    "advice": "sgverify.advice.plans.model:ADVICE",
    "comparison": "sgverify.advice.comparison.model:COMPARISON",
    "design": "sgverify.advice.design.model:DESIGN",
    "identify": "sgverify.advice.identification.model:IDENTIFICATION",
    "doctor": "sgverify.cli.installation:INSTALLATION",
    "baseline": "sgverify.evidence.recorded:BASELINE",
    "diff": "sgverify.evidence.differences:DIFFERENCE",
    "campaign": "sgverify.evidence.documents:CAMPAIGN",
}
"""Every kind of JSON document that is written: NAME of `sgverify/NAME/VERSION`, and the `Published` that describes it."""

PREFIX = "sgverify/"


@click.command()
@click.argument("name", required=False)
def schema(name: str | None) -> int:
    """Print the JSON schema (draft 2020-12) of the documents of NAME; without NAME, list the names.

    NAME is that of a document's key "schema", as a whole (sgverify/evidence/1) or in short (evidence).

    \b
    Examples:
      # the kinds of documents
      sgverify schema
      # the schema of the answers of verify, rate, replay and report
      sgverify schema evidence
    """
    with output.quiet_pipe():
        if name is not None:
            output.show_json(find_schema(name).schema(), "-")
            return 0
        for short in SCHEMAS:
            found = published(short)
            output.say(f"{short:<{max(map(len, SCHEMAS))}}  {found.name:<23}  {_first_line(found)}")
    return 0


def find_schema(name: str) -> Published:
    """The kind of document of that name, whole or in short.

    Raises `UnknownNameError` with the nearest name, `UserError` for another version.
    """
    short, _, version = name.removeprefix(PREFIX).partition("/")
    if short not in SCHEMAS:
        raise UnknownNameError("schema", short, SCHEMAS)
    found = published(short)
    if version and found.name != f"{PREFIX}{short}/{version}":
        raise UserError(
            f"schema {name!r}: this version of sgverify writes {found.name!r}; ask for {short!r}, or install the version "
            "that wrote the document"
        )
    return found


def published(short: str) -> Published:
    """The kind of document of one name of `SCHEMAS`."""
    module, _, attribute = SCHEMAS[short].partition(":")
    found: Published = getattr(import_module(module), attribute)
    return found


def _first_line(found: Published) -> str:
    return (found.kind.__doc__ or "").strip().splitlines()[0]
