"""The files of a comparison in a folder: figure, LaTeX, CSV, Markdown, JSON and one page that opens from disk."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable
from dataclasses import asdict
from pathlib import Path

from sgverify.advice.comparison.model import SchemeComparison
from sgverify.evidence import Document, Provenance
from sgverify.keeping.files import json_text, write_atomically
from sgverify.report.page.environment import page_of
from sgverify.report.writing import prepare_folder


def write(comparison: SchemeComparison, folder: str | Path, provenance: Provenance) -> list[str]:
    """All files of a comparison in a folder, which is made; their names. Raises `UserError` where it cannot be."""
    home = prepare_folder(folder)
    fields = [key for key in asdict(comparison.schemes[0]) if key not in ("curve", "reasons")]
    points = ((s.scheme, p.step, p.cost, p.bias) for s in comparison.schemes for p in s.curve)
    files = {
        "index.html": page(comparison, provenance),
        "table.tex": comparison.to_latex(),
        "table.md": comparison.to_markdown(),
        # A reason stands in the place of a value that there is not.
        "table.csv": _csv(
            fields,
            ([_or_reason(getattr(s, k), s.reasons.get(k, "")) for k in fields] for s in comparison.schemes),
        ),
        "curves.csv": _csv(("scheme", "step", "cost", "bias"), points),
        "comparison.json": json_text(comparison.document()),
    }
    for name, content in files.items():
        write_atomically(home / name, content)
    figures = ["figure.pdf", "figure.png", "figure.svg"] if comparison.panel else []
    for name in figures:
        comparison.plot(home / name)
    return sorted([*files, *figures])


def page(comparison: SchemeComparison, provenance: Provenance) -> str:
    """One page, with nothing from outside."""
    from markupsafe import Markup

    svg = "" if comparison.panel is None else Markup(comparison.picture().embedded("f"))
    document = Document((), provenance)
    return page_of("comparison.html", document=document, comparison=comparison, svg=svg)


def _or_reason(value: object, reason: str) -> object:
    return reason if value is None else value


def _csv(head: Iterable[str], rows: Iterable[Iterable[object]]) -> str:
    """Rows of values under their names."""
    stream = io.StringIO()
    csv.writer(stream, lineterminator="\n").writerows([head, *rows])
    return stream.getvalue()
