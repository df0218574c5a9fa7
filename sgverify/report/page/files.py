"""The figures of a report as SVG files, which a code host shows beside `report.md`."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from sgverify.evidence import Erratum, Evidence, Study
from sgverify.report.drawing import draw
from sgverify.report.formulas import in_a_line
from sgverify.report.page.story import pictures_of, story_of
from sgverify.report.panels import description_of, draw_panel, places_of
from sgverify.report.svg import file_svg

FOLDER = "figures"


def figure_files(
    evidence: Sequence[Evidence], studies: Sequence[Study], formulas: Sequence[Erratum]
) -> Iterator[tuple[str, str, str, str]]:
    """(study or "", title, path, SVG) of the figures at the head of the report and of the studies' panels."""
    for number, figure in enumerate(pictures_of(story_of(evidence, formulas), evidence), start=1):
        title = f"{figure.title}: {figure.group[:1].lower()}{figure.group[1:]}"
        svg = file_svg(draw(figure), in_a_line(title), in_a_line(figure.description))
        yield "", title, f"{FOLDER}/picture-{number}.svg", svg
    yield from study_files(studies)


def study_files(studies: Sequence[Study]) -> Iterator[tuple[str, str, str, str]]:
    """(study, title, path, SVG) of each panel of the studies."""
    for study in studies:
        for number, panel in enumerate(study.panels, start=1):
            path = f"{FOLDER}/{study.id.replace('/', '-')}-{number}.svg"
            drawing = draw_panel(panel, places_of(study))
            yield (
                study.id,
                panel.title,
                path,
                file_svg(drawing, in_a_line(panel.title), in_a_line(description_of(panel))),
            )


__all__ = ["FOLDER", "figure_files", "study_files"]
