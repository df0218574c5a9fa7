"""The report in a folder: JSON, HTML, Markdown and JUnit from one document and the studies beside it."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

from sgverify.errors import UserError
from sgverify.evidence import (
    Document,
    Erratum,
    Study,
    write_atomically,
    write_errata,
    write_evidence,
    write_studies,
)
from sgverify.report.junit import render_junit
from sgverify.report.markdown import render_markdown
from sgverify.report.page import render_page
from sgverify.report.sampled_beside import sampled_beside_exact


def write_report(
    document: Document,
    folder: str | Path,
    studies: Sequence[Study] = (),
    formulas: Sequence[Erratum] = (),
) -> Path:
    """Write report.json, index.html, report.md and junit.xml into `folder` and return the path of index.html.

    Studies and errata are shown on the page and in report.md, and kept in studies.json and errata.json. The JSON comes
    first, so that nothing computed is lost should a later step fail. Raises UserError when the folder cannot be written.
    """
    folder = prepare_folder(folder)
    write_evidence(folder / "report.json", document.evidence, document.provenance)
    if studies:
        write_studies(folder / "studies.json", studies, document.provenance)
    if formulas:
        write_errata(folder / "errata.json", formulas, document.provenance)
    write_atomically(folder / "junit.xml", render_junit(document))
    shown = [*studies, *sampled_beside_exact(document.evidence)]
    write_atomically(folder / "report.md", render_markdown(document, shown, formulas))
    page = folder / "index.html"
    write_atomically(page, render_page(document, shown, formulas))
    return page


def prepare_folder(folder: str | Path) -> Path:
    """Make the folder where it is missing and make sure that it can be written, before anything is computed.

    Raises UserError naming the folder.
    """
    path = Path(folder)
    try:
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
            f"out={str(folder)!r}: {problem}; expected a folder to write to. Choose another with --out DIR."
        )
    return path
