"""The page and the LaTeX tables of the gallery, written from the numbers."""

from __future__ import annotations

from collections.abc import Sequence

from reports.making.gallery.frame import Numbers, Picture
from reports.making.gallery.settings import CHAPTERS
from sgverify.advice.comparison.model import COMPARISON, SchemeComparison
from sgverify.report.forms.result import Exhibit
from sgverify.report.markdown import as_text


def comparisons(numbers: Numbers) -> dict[str, SchemeComparison]:
    """The comparisons of the gallery, by name."""
    return {name: COMPARISON.decode(document) for name, document in numbers["comparisons"].items()}


def page(numbers: Numbers, pictures: Sequence[Picture]) -> str:
    """schemes.md: each comparison with its tables and its picture, and every picture of the theory with its caption."""
    found = comparisons(numbers)
    lines = [
        "# Which scheme for what",
        "",
        "Written by `python -m reports gallery`, every chapter by `sgverify compare`: orders are proved, numbers on Gaussian "
        "posteriors are exact, and a cell that cannot be computed says why. The cheapest scheme for a bias of 1 % comes first.",
        "",
        *(f"- {CHAPTERS[name].title}: {_first(comparison)}." for name, comparison in found.items()),
        "",
    ]
    for name, comparison in found.items():
        chapter = CHAPTERS[name]
        lines += [f"## {chapter.title}", "", chapter.text, ""]
        if comparison.panel is not None:
            lines += [f"![{comparison.panel.title}](figures/{name}.svg)", ""]
        exhibit = Exhibit(comparison.tables, notes=tuple(comparison.remarks), settings=comparison.settings)
        lines += [exhibit.to_markdown()]
    errors = dict.fromkeys(error for comparison in found.values() for error in comparison.leading_errors)
    lines += [
        "## Leading errors",
        "",
        *(f"- {as_text(error)}" for error in errors),
        "",
        "## What the columns are",
        "",
    ]
    lines += [as_text(found["gaussian-full"].conventions), ""]
    lines += ["## Pictures", "", "`python -m reports gallery --stored` draws each as PDF as well.", ""]
    for picture in pictures:
        shown = f"![{picture.title}](figures/{picture.name}.svg)"
        lines += [f"### {picture.title}", "", shown, "", picture.caption, ""]
    return "\n".join(lines).rstrip() + "\n"


def _first(comparison: SchemeComparison) -> str:
    told = [row for row in comparison.schemes if row.cost_for_error is not None]
    if not told:
        return "no cost is known"
    first, last = told[0], told[-1]
    per = f"gradients per {comparison.unit}"
    return f"{first.label} costs {first.cost_for_error:.3g} {per}, {last.label} {last.cost_for_error:.3g}"


def latex(numbers: Numbers) -> str:
    """schemes.tex: the same tables with booktabs, to be read by `input` in a paper."""
    return "% Written by python -m reports gallery.\n" + "\n".join(
        comparison.to_latex() for comparison in comparisons(numbers).values()
    )
