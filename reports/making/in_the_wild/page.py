"""The page of the report on released samplers, in the style of the other reports: `index.html`, and `evidence.html` beside it."""

from __future__ import annotations

import ast
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from reports.making.in_the_wild.finds import DTYPE
from reports.making.in_the_wild.issues import issue_text, options_said
from reports.making.in_the_wild.reading import READ, UNJUDGED, WITHOUT
from sgverify.evidence import Document, Evidence, Provenance
from sgverify.keeping.files import write_atomically
from sgverify.report.answer import Answer, answers_of
from sgverify.report.page.environment import environment
from sgverify.report.page.pages import render_evidence

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
    shown = [find for find in stored["finds"] if find["verdict"] == "violates"]
    page = (
        environment()
        .from_string(Path(__file__).with_name("page.html").read_text(encoding="utf-8"))
        .render(
            title=TITLE,
            document=document,
            libraries=libraries,
            versions=stored["versions"],
            finds=shown,
            roots=roots_of(document.evidence, shown),
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
            options_said=options_said,
            slight=slight,
            called=called,
        )
    )
    write_atomically(folder / "index.html", page)
    write_atomically(folder / "evidence.html", render_evidence(document, title=TITLE))


@dataclass(frozen=True)
class Root:
    """One mistake: its finds, the samplers that are refuted and have it, and those of them that have no other.

    `weighty` are those without another in which it moves an average.
    """

    name: str
    finds: tuple[Mapping[str, Any], ...]
    samplers: tuple[str, ...]
    alone: tuple[str, ...]
    weighty: tuple[str, ...]


def roots_of(evidence: Sequence[Evidence], finds: Sequence[Mapping[str, Any]]) -> list[Root]:
    """The roots of all failures, those of most samplers first; a sampler without a find and without a dtype is a root itself."""
    failing: dict[str, set[str]] = {}
    for item in evidence:
        if item.outcome == "fail":
            failing.setdefault(item.scheme, set()).add(item.check)
    names: dict[str, set[str]] = {
        scheme: {DTYPE} if "dtype" in checks else set() for scheme, checks in failing.items()
    }
    for find in finds:
        for scheme in {*(item["scheme"] for item in find["evidence"]), *find["shared_by"]} & failing.keys():
            names[scheme].add(find["root"])
    for scheme, checks in failing.items():
        if not names[scheme] or (checks != {"dtype"} and names[scheme] == {DTYPE}):
            names[scheme].add(scheme)
    found = []
    for root in {name: None for scheme in failing for name in sorted(names[scheme])}:
        own = tuple(find for find in finds if find["root"] == root)
        heavy = {item["scheme"] for find in own if not find["slight"] for item in find["evidence"]}
        having = tuple(scheme for scheme in failing if root in names[scheme])
        alone = tuple(scheme for scheme in having if names[scheme] == {root})
        found.append(Root(root, own, having, alone, tuple(scheme for scheme in alone if scheme in heavy)))
    return sorted(found, key=lambda root: -len(root.samplers))


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
