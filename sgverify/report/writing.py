"""How is a report written to a folder: JSON, HTML, Markdown, and JUnit XML for continuous integration?"""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from xml.etree import ElementTree

from sgverify.claims.claim import Publication
from sgverify.errors import UserError, escaped
from sgverify.evidence import (
    Document,
    Erratum,
    Evidence,
    Study,
    write_errata,
    write_evidence,
    write_studies,
)
from sgverify.keeping.files import possible_name, write_atomically
from sgverify.report.markdown import render_markdown
from sgverify.report.matrix import groups
from sgverify.report.page.pages import EVIDENCE, INDEX, figure_files, render_evidence, render_page
from sgverify.report.text import explain
from sgverify.report.wording import claim_order, sampled_beside_exact

SKIPPED = ("undecided", "not-applicable")


def render_junit(document: Document) -> str:
    """One suite for each claim, one case for each piece of evidence.

    A violation is a failure; inconclusive and not-applicable are skipped; a claim refuted as printed passes and says
    so, since it is a result about the paper.
    """
    evidence = document.evidence
    titles = {item.id: group.title for group in groups(evidence) for item in group.evidence}
    root = ElementTree.Element("testsuites", {"name": "sgverify", **_totals(evidence)})
    for claim in sorted({item.claim for item in evidence}, key=claim_order):
        items = [item for item in evidence if item.claim == claim]
        suite = ElementTree.SubElement(root, "testsuite", {"name": escaped(claim), **_totals(items)})
        for item in items:
            _case(suite, item, titles[item.id])
    ElementTree.indent(root)
    return '<?xml version="1.0" encoding="utf-8"?>\n' + ElementTree.tostring(root, encoding="unicode") + "\n"


def _case(suite: ElementTree.Element, item: Evidence, title: str) -> None:
    name = escaped(f"{item.scheme} {item.check} ({title}) {item.id}")
    case = ElementTree.SubElement(
        suite, "testcase", classname=escaped(item.claim), name=name, time=_time(item.seconds)
    )
    message = escaped(f"{item.reason} Replay: {item.replay}" if item.replay else item.reason)
    if _fails(item):
        ElementTree.SubElement(case, "failure", type=item.outcome, message=message).text = escaped(
            explain(item)
        )
    elif item.outcome in SKIPPED:
        ElementTree.SubElement(case, "skipped", message=escaped(f"{item.outcome}: {item.reason}"))
    elif item.refuted:
        ElementTree.SubElement(case, "system-out").text = escaped(f"{item.outcome} as printed: {item.reason}")


def _totals(items: Sequence[Evidence]) -> dict[str, str]:
    return {
        "tests": str(len(items)),
        "failures": str(sum(map(_fails, items))),
        "errors": "0",
        "skipped": str(sum(item.outcome in SKIPPED for item in items)),
        "time": _time(sum(item.seconds for item in items)),
    }


def _fails(item: Evidence) -> bool:
    return item.outcome == "fail"


def _time(seconds: float) -> str:
    return f"{seconds:.3f}"


def write_report(
    document: Document,
    folder: str | Path,
    studies: Sequence[Study] = (),
    formulas: Sequence[Erratum] = (),
    publication: Publication | None = None,
    title: str = "",
) -> Path:
    """Write report.json, index.html, evidence.html, report.md with its figures, and junit.xml; return the path of index.html.

    The pages and report.md name the `publication` that the claims are taken from, or have a `title`. Studies and errata are
    shown in them, and kept in studies.json and errata.json. The JSON comes first, so that nothing computed is lost should a later
    step fail.
    Raises UserError when the folder cannot be written.
    """
    folder = prepare_folder(folder)
    write_evidence(folder / "report.json", document.evidence, document.provenance)
    if studies:
        write_studies(folder / "studies.json", studies, document.provenance)
    if formulas:
        write_errata(folder / "errata.json", formulas, document.provenance)
    write_atomically(folder / "junit.xml", render_junit(document))
    shown = [*studies, *sampled_beside_exact(document.evidence)]
    pictures: dict[str, list[tuple[str, str]]] = {}
    for study, named, path, svg in figure_files(document.evidence, shown, formulas):
        prepare_folder((folder / path).parent)
        write_atomically(folder / path, svg)
        pictures.setdefault(study, []).append((named, path))
    text = render_markdown(document, shown, formulas, publication, pictures, title)
    write_atomically(folder / "report.md", text)
    write_atomically(folder / EVIDENCE, render_evidence(document, formulas, publication, title))
    page = folder / INDEX
    write_atomically(page, render_page(document, shown, formulas, publication, title))
    return page


def prepare_folder(folder: str | Path, option: str = "--out") -> Path:
    """Make the folder where it is missing and make sure that it can be written, before anything is computed.

    Raises UserError naming the folder, and the `option` that chooses it.
    """
    path = Path(folder)
    try:
        with possible_name(folder):
            path.mkdir(parents=True, exist_ok=True)
        problem = None if os.access(path, os.W_OK | os.X_OK) else "it cannot be written"
    except FileExistsError:
        problem = "it is a file"
    except NotADirectoryError:
        problem = "a part of its path is a file"
    except OSError as error:
        problem = (error.strerror or str(error)).lower()
    if problem is not None:
        raise UserError(
            f"{option.lstrip('-')}={str(folder)!r}: {problem}; expected a folder to write to. Choose another with {option} DIR."
        )
    return path
