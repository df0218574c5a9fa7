"""How is the result of an application written: result.json, figures and pictures as SVG, and a summary in Markdown?"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from reports.applications.judging import family
from reports.applications.pictures import svg as picture_svg
from reports.applications.result import APPLICATION, ApplicationDocument, Picture
from sgverify.keeping.files import json_text, write_atomically
from sgverify.report.markdown import as_code, as_text, study_blocks, table_of
from sgverify.report.page.pages import study_files
from sgverify.report.writing import prepare_folder

RESULT, SUMMARY = "result.json", "summary.md"


def write_result(found: ApplicationDocument, folder: Path) -> Path:
    """Write result.json, its figures and summary.md to a folder that exists; returns the path of summary.md.

    Raises `UserError` where the folder cannot be written.
    """
    document = found.document()
    APPLICATION.check(document, "the result to be written")
    write_atomically(folder / RESULT, json_text(document))
    pictures: dict[str, list[tuple[str, str]]] = {}
    for study, named, path, svg in study_files(found.found.studies):
        prepare_folder((folder / path).parent)
        write_atomically(folder / path, svg)
        pictures.setdefault(study, []).append((named, path))
    for picture in found.found.pictures:
        place = folder / _picture_path(picture)
        prepare_folder(place.parent)
        write_atomically(place, picture_svg(picture))
    write_atomically(folder / SUMMARY, render_summary(found, pictures))
    return folder / SUMMARY


def render_summary(found: ApplicationDocument, pictures: dict[str, list[tuple[str, str]]]) -> str:
    """The document as Markdown, with figures as links to files; the same document gives the same bytes."""
    made, given = found.found, found.settings
    blocks = [
        f"# {as_text(found.title)}",
        f"> {as_text(found.source)}",
        as_text(made.summary),
        f"Seed {found.seed}, {found.seeds} independent {'chain' if found.seeds == 1 else 'chains'} of each setting; "
        f"{_named(given)}. Data: {_named(made.data)}.",
    ]
    if made.findings:
        rows = [["statement", "source", "printed", "found", "verdict"]]
        rows += [
            [
                as_text(item.statement),
                as_text(item.source),
                as_text(item.printed),
                as_text(item.found),
                f"**{item.verdict}**: {as_text(item.reason)}",
            ]
            for item in made.findings
        ]
        blocks += [
            "## What the paper says, and what this run finds",
            as_text(family(made.findings)),
            table_of(rows),
        ]
    for study in made.studies:
        blocks += study_blocks(study, pictures.get(study.id, ()))
    for picture in made.pictures:
        shown = f"![{as_text(picture.title)}]({_picture_path(picture)})"
        blocks += [f"## {as_text(picture.title)}", as_text(picture.summary), shown]
    blocks += [*_samplers(found), *_advice(found), *_diverged(found)]
    if made.not_tested:
        blocks += ["## Not tried", "\n".join(f"- {as_text(line)}" for line in made.not_tested)]
    return "\n\n".join(blocks) + "\n"


def _named(values: Mapping[str, Any]) -> str:
    """Names with their values, as code: no hash is read as a formula. Options that were left out are not told."""
    told = []
    for name, value in values.items():
        held = value if isinstance(value, list | tuple) else [value]
        if held and held[0] not in (None, ""):
            told.append(as_code(f"{name} = {', '.join(map(str, held))}"))
    return ", ".join(told)


def _picture_path(picture: Picture) -> str:
    return f"figures/{picture.id}.svg"


def _samplers(found: ApplicationDocument) -> list[str]:
    rows = [["scheme", "source", "outcome", "claims"]]
    for item in found.found.samplers:
        claims = "; ".join(f"{claim}: {outcome}" for claim, outcome in item.claims.items())
        rows.append([as_text(item.scheme), as_text(item.source), item.outcome, as_text(claims)])
    return ["## The samplers, and what the checks say of them", table_of(rows)] if len(rows) > 1 else []


def _advice(found: ApplicationDocument) -> list[str]:
    rows = [["sampler", "asked about", "advise answers", "best of the grid"]]
    for item in found.found.advice:
        answer = item.answer if item.applies else f"does not apply: {item.answer}"
        rows.append([as_text(text) for text in (item.sampler, item.approximation, answer, item.grid)])
    return ["## Advice beside the grid", table_of(rows)] if len(rows) > 1 else []


def _diverged(found: ApplicationDocument) -> list[str]:
    grouped: dict[tuple[str, str], list[str]] = {}
    for item in found.found.diverged:
        grouped.setdefault((item.sampler, item.setting), []).append(f"{item.chain} at {item.step}")
    rows = [["sampler", "setting", "chains and steps"]]
    rows += [
        [as_text(sampler), as_text(setting), ", ".join(chains)]
        for (sampler, setting), chains in grouped.items()
    ]
    return ["## Diverged", table_of(rows)] if len(rows) > 1 else []
