"""The page of the report on released samplers, in the style of the other reports: `index.html`, and `evidence.html` beside it."""

from __future__ import annotations

import ast
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from reports.making.in_the_wild.reading import READ, UNJUDGED, WITHOUT
from sgverify.evidence import Document, Evidence, Provenance
from sgverify.keeping.files import write_atomically
from sgverify.report.answer import Answer, answers_of
from sgverify.report.page import render_evidence
from sgverify.report.page.environment import environment

ROOT = Path(__file__).resolve().parents[3]

TITLE = "In the wild: released samplers, as they are installed"


def write(
    folder: Path,
    evidence: Mapping[str, Sequence[Evidence]],
    stored: Mapping[str, Any],
    provenance: Provenance,
) -> None:
    """Write both pages from evidence by distribution, and from the contents of finds.json."""
    document = Document(tuple(item for items in evidence.values() for item in items), provenance)
    libraries = [
        {
            "name": name,
            "release": stored["versions"][name],
            "answers": answers_of(items),
            "finds": [find for find in stored["finds"] if find["library"] == name],
        }
        for name, items in evidence.items()
    ]
    answers = [answer for library in libraries for answer in library["answers"]]
    page = (
        environment()
        .from_string(Path(__file__).with_name("page.html").read_text(encoding="utf-8"))
        .render(
            title=TITLE,
            document=document,
            libraries=libraries,
            versions=stored["versions"],
            finds=[find for find in stored["finds"] if find["verdict"] == "violates"],
            others=[find for find in stored["finds"] if find["verdict"] != "violates"],
            outcomes={
                name: sum(answer.outcome == name for answer in answers)
                for name in ("pass", "fail", "undecided")
            },
            samplers=len(answers),
            read=READ,
            without=WITHOUT,
            unjudged=UNJUDGED,
            issue=issue_text,
            slight=slight,
            called=called,
        )
    )
    write_atomically(folder / "index.html", page)
    write_atomically(folder / "evidence.html", render_evidence(document, title=TITLE))


def slight(answer: Answer, finds: Sequence[Mapping[str, Any]]) -> bool:
    """Does a sampler fail by nothing but what a find of its library is, that moves no average?"""
    failing = {item.check for item in answer.causes if item.outcome == "fail"}
    heavy = {item["check"] for find in finds if not find["slight"] for item in find["evidence"]}
    light = {item["check"] for find in finds if find["slight"] for item in find["evidence"]}
    return bool(failing) and not answer.more and failing <= light - heavy


def called(scheme: str) -> str:
    """How a sampler of the suite is called, from the docstring of its step; "" for one that an adapter calls.

    The source is read and not imported: most readers of the report have none of the libraries.
    """
    module, _, name = scheme.partition(":")
    path = ROOT.joinpath(*module.split(".")).with_suffix(".py")
    tree = ast.parse(path.read_text(encoding="utf-8"))
    functions = [node for node in tree.body if isinstance(node, ast.FunctionDef) and node.name == name]
    return " ".join((ast.get_docstring(functions[0]) or "").split()) if functions else ""


def issue_text(find: Mapping[str, Any]) -> str:
    """The text of an issue that one could file with the library."""
    lines = "\n".join(
        f"{line['place']}\n    {line['was']}\ncould be\n    {line['now']}" for line in find["lines"]
    )
    return (
        f"{find['title']} ({find['library']} {find['release']})\n\n"
        f"Expected: {find['expected']}.\n\n"
        f"To reproduce:\n\n{find['reproduction']}\n"
        f"found = {find['found']:.6g}, expected = {find['expected_number']:.6g}\n\n"
        f"Where it matters: {find['weight']}\n\n{lines}\n"
    )
