"""Which rows (name, summary, source) has each catalogue of `sgverify list`?

`sgverify schema`: which JSON does a command write? The JSON schema of each document, by its name.
"""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from typing import TYPE_CHECKING

import click

from sgverify.cli.shared import output
from sgverify.errors import UnknownNameError, UserError

if TYPE_CHECKING:
    from sgverify.claims import Claim
    from sgverify.evidence.published import Published

KINDS = (
    "schemes",
    "targets",
    "gradients",
    "schedules",
    "config",
    "claims",
    "checks",
    "papers",
    "adapters",
    "face",
)


def items_of(kind: str) -> list[dict[str, str]]:
    """The rows of one catalogue; raises `UnknownNameError` for another kind."""
    if kind == "schemes":
        return _schemes()
    if kind == "targets":
        from sgverify.targets import TARGETS

        return [
            _row(name, target.summary, TARGETS.source(name) or target.source)
            for name, target in TARGETS.items()
        ]
    if kind == "gradients":
        from sgverify.gradients import ESTIMATORS

        told = {
            name: "; ".join(filter(None, (estimator.summary, estimator.source)))
            for name, estimator in ESTIMATORS.items()
        }
        return _kinds("gradient", told)
    if kind == "schedules":
        from sgverify.configuration.model import SCHEDULES

        return _kinds("schedule", SCHEDULES)
    if kind == "config":
        return _config()
    if kind == "claims":
        from sgverify.claims import claims

        return [_row(claim.id, _title(claim), str(claim.source)) for claim in claims().values()]
    if kind == "checks":
        from sgverify.checks import CHECKS

        return [
            _row(name, check.description.text, CHECKS.source(name) or check.source)
            for name, check in CHECKS.items()
        ]
    if kind == "papers":
        from sgverify.papers.paper import INSTALLED, papers

        return [
            _row(
                paper.id,
                str(paper.publication),
                INSTALLED.source(paper.id) if paper.id in INSTALLED else f"suite={paper.id}",
            )
            for paper in papers()
        ]
    if kind == "adapters":
        from sgverify.schemes.adapting import INSTALLED as ADDED
        from sgverify.schemes.adapting import shipped_adapters

        return [
            *(_row(name, item.summary, ADDED.source(name)) for name, item in ADDED.items()),
            *(
                _row(
                    item.name,
                    item.summary,
                    ", ".join(f"{name} = {text}" for name, text in item.conventions.items()),
                )
                for item in shipped_adapters()
            ),
        ]
    if kind == "face":
        from sgverify.schemes.definition.limits import LIMITS

        return [
            _row(
                limit.name, f"No definition has {limit.what}. Instead: {limit.way_on}.", f"told: {limit.told}"
            )
            for limit in LIMITS.values()
        ]
    raise UnknownNameError("kind of list", kind, KINDS)


def _schemes() -> list[dict[str, str]]:
    from sgverify.schemes.catalogue import APART, NAMED, PATTERNS
    from sgverify.schemes.composites import COMPOSITES
    from sgverify.schemes.loading import INSTALLED

    named = [_row(item.name, item.summary, item.source) for item in (NAMED | APART).values()]
    named += [_row(name, summary, source) for name, (summary, source) in PATTERNS.items()]
    named += [_row(item.name, item.summary, item.source) for item in COMPOSITES.values()]
    return named + [_row(name, item.summary, INSTALLED.source(name)) for name, item in INSTALLED.items()]


def _kinds(table: str, what: Mapping[str, str]) -> list[dict[str, str]]:
    """The kinds of a table, each with the keys that this kind reads in addition to those of every kind."""
    from sgverify.configuration.keys import keys

    own = [key for key in keys() if key.table == table and key.kinds]
    return [
        _row(
            name,
            summary + "".join(f"; {key.name}, {key.type}" for key in own if name in key.kinds) + ".",
            f"{table}.kind={name}",
        )
        for name, summary in what.items()
    ]


def _config() -> list[dict[str, str]]:
    """Every configuration key with its meaning, type, default and, unless all kinds read it, the kinds that do."""
    from sgverify.configuration.keys import keys
    from sgverify.targets import TARGETS

    rows = []
    for key in keys():
        readers = [f"{key.table}.kind={kind}" for kind in key.kinds]
        if key.table == "target":
            name = key.name.rpartition(".")[2]
            readers = [
                f"target.name={target.name}" for target in TARGETS.values() if name in target.constants
            ]
        elif key.table == "adapter":
            readers = ["objects of `sgverify list adapters`"]
        elif key.table in ("exchange", "partition"):
            readers = [f"schemes with {key.table}"]
        meaning = f"{key.meaning}: " if key.meaning else ""
        summary = f"{meaning}{key.type}; by default {key.default}."
        rows.append(_row(key.name, summary, ", ".join(readers) or "all"))
    return rows


def _title(claim: Claim) -> str:
    """The title of a claim and, if no check judges the claim, the reason."""
    left_out = f" (left out: {claim.left_out})" if claim.left_out else ""
    return claim.title + left_out + (" (a bound that holds of everything)" if claim.vacuous else "")


def _row(name: str, summary: str, source: str) -> dict[str, str]:
    return {"name": name, "summary": summary, "source": source}


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
            line = f"{short:<{max(map(len, SCHEMAS))}}  {found.name:<23}  {_first_line(found)}"
            output.say_lines(output.wrapped(line))
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
