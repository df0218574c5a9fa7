"""How do studies appear in a report: their sections, tables, and remarks on missing values?"""

from __future__ import annotations

from collections.abc import Sequence

from sgverify.evidence import Cell, Panel, Study

FIGURES = "The paper's figures"
COMPARISONS = "Comparisons"


def sections(studies: Sequence[Study]) -> dict[str, list[Study]]:
    """The studies under the headings of a report: a paper's figures first."""
    found: dict[str, list[Study]] = {}
    for title, figures in ((FIGURES, True), (COMPARISONS, False)):
        chosen = [study for study in studies if study.id.partition("/")[2].startswith("figure") == figures]
        if chosen:
            found[title] = chosen
    return found


def study_anchor(id: str) -> str:
    """The page's name for a study."""
    return "study-" + id.replace("/", "-")


def cell_text(value: Cell) -> str:
    """A cell of a study's table: numbers to four digits, whole ones in full."""
    if value is None:
        return "—"
    if isinstance(value, float):
        return f"{value:.4g}"
    return str(value)


def numeric(value: Cell) -> bool:
    """Is the cell a number?"""
    return isinstance(value, int | float) and not isinstance(value, bool)


def remarks(panel: Panel) -> list[str]:
    """The remarks on the panel's series, each once, with the labels of the series concerned."""
    found: dict[str, list[str]] = {}
    for series in panel.series:
        if series.note:
            found.setdefault(series.note, []).append(series.label)
    return [f"{'; '.join(dict.fromkeys(labels))}: {note}" for note, labels in found.items()]
