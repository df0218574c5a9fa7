"""The two pages of a report, each one file that needs nothing from outside, and its figures as SVG files beside `report.md`.

Below the first screen stand tables of findings, matrices, figures, studies, and claims with their evidence.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

from sgverify.claims import claims
from sgverify.claims.claim import Publication
from sgverify.evidence import OUTCOMES, Document, Erratum, Evidence, Study
from sgverify.report.answer import answers_of, assumed, untested
from sgverify.report.drawing import draw
from sgverify.report.errata import HEADINGS, by_severity, counted, refuted_by_weight, standing
from sgverify.report.errata import MEANINGS as WEIGHTS
from sgverify.report.figures import Figure, figures
from sgverify.report.formulas import in_a_line
from sgverify.report.matrix import Group, groups, settings_in_common
from sgverify.report.page.environment import anchor, page_of
from sgverify.report.page.story import pictures_of, story_of
from sgverify.report.studies import draw_panel, places_of, remarks, sections, study_anchor
from sgverify.report.svg import file_svg
from sgverify.report.text import counts, sampled_together
from sgverify.report.wording import claim_order, found_text, predicted_text


def choices(evidence: Sequence[Evidence]) -> dict[str, list[str]]:
    """What a reader may choose of: schemes, claims and outcomes that occur."""
    found = {item.outcome for item in evidence}
    return {
        "scheme": list(dict.fromkeys(item.scheme for item in evidence)),
        "claim": sorted({item.claim for item in evidence}, key=claim_order),
        "outcome": [name for name in OUTCOMES if name in found],
    }


def matrix_of(part: Group, anchor: str) -> dict[str, Any]:
    """A matrix scheme x claim with the page's name for it."""
    return {
        "anchor": anchor,
        "part": part,
        "rows": [(claim, [part.answers(scheme, claim) for scheme in part.schemes]) for claim in part.judged],
    }


def pictures(shown: Sequence[Figure], studies: Sequence[Study]) -> list[dict[str, Any]]:
    """The first screen's figures; the first panel of the first study where no evidence can be drawn."""
    from markupsafe import Markup

    if shown or not any(study.panels for study in studies):
        named = [f"{figure.title}: {figure.group[:1].lower()}{figure.group[1:]}" for figure in shown]
        drawn = [Markup(draw(figure).embedded(f"p{number}")) for number, figure in enumerate(shown, start=1)]
        return [{"title": title, "svg": svg, "study": ""} for title, svg in zip(named, drawn, strict=True)]
    study = next(study for study in studies if study.panels)
    panel = study.panels[0]
    svg = draw_panel(panel, places_of(study)).embedded("p1")
    return [{"title": f"{study.title}: {panel.title}", "svg": Markup(svg), "study": study_anchor(study.id)}]


def drawn_by_group(evidence: Sequence[Evidence]) -> dict[str, list[dict[str, Any]]]:
    """The figures of each group."""
    from markupsafe import Markup

    drawn: dict[str, list[dict[str, Any]]] = {}
    for number, figure in enumerate(figures(evidence), start=1):
        # The SVG is generated from evidence with escaped text, so that the template need not escape it.
        svg = Markup(draw(figure).embedded(f"f{number}"))
        drawn.setdefault(figure.group, []).append({"figure": figure, "svg": svg})
    return drawn


def sections_of_studies(studies: Sequence[Study]) -> list[dict[str, Any]]:
    """The sections of studies, each study with its panels drawn."""
    from markupsafe import Markup

    found = []
    for title, shown in sections(studies).items():
        drawn = []
        for study in shown:
            places, name = places_of(study), study_anchor(study.id)
            panels = [
                {
                    "panel": panel,
                    "svg": Markup(draw_panel(panel, places).embedded(f"{name}-{number}")),
                    "remarks": remarks(panel),
                }
                for number, panel in enumerate(study.panels, start=1)
            ]
            drawn.append({"study": study, "anchor": name, "panels": panels})
        found.append(
            {"title": title, "anchor": "-".join(re.findall(r"[a-z]+", title.lower())), "studies": drawn}
        )
    return found


def sections_of_claims(evidence: Sequence[Evidence]) -> list[dict[str, Any]]:
    """Each claim with its card and its evidence."""
    known = claims()
    return [
        {
            "id": id,
            "anchor": anchor(id),
            "card": known.get(id),
            "items": [item for item in evidence if item.claim == id],
        }
        for id in sorted({item.claim for item in evidence}, key=claim_order)
    ]


def together(
    evidence: Iterable[Evidence],
    titles: Mapping[str, str],
    by: Callable[[Evidence], tuple[str, ...]] | None = None,
) -> list[dict[str, Any]]:
    """Evidence in rows, one row for each claim and finding, with each scheme once, so that no result is repeated."""
    rows: dict[tuple[str, ...], list[Evidence]] = {}
    for item in evidence:
        rows.setdefault((by or _finding)(item), []).append(item)
    ordered = sorted(rows.values(), key=lambda items: claim_order(items[0].claim))
    return [
        {
            "first": items[0],
            "schemes": list({item.scheme: item for item in items}.values()),
            "titles": list(dict.fromkeys(titles[item.id] for item in items)),
        }
        for items in ordered
    ]


def _finding(item: Evidence) -> tuple[str, ...]:
    return item.claim, item.check, predicted_text(item), found_text(item)


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
            yield study.id, panel.title, path, draw_panel(panel, places_of(study)).file_text("")


INDEX, EVIDENCE = "index.html", "evidence.html"

UNTITLED = "Rate conformance report"
"""The title of a report on claims of no one paper, where none is given."""


def render_page(
    document: Document,
    studies: Sequence[Study] = (),
    formulas: Sequence[Erratum] = (),
    publication: Publication | None = None,
    title: str = "",
) -> str:
    """`index.html`: the story, the matrices, figures, studies and errata; its links lead to `evidence.html` beside it.

    The same arguments give the same bytes.
    """
    evidence = document.evidence
    parts = [part for part in groups(evidence) if part.judged]
    titles = {item.id: part.title for part in groups(evidence) for item in part.evidence}
    story = story_of(evidence, formulas, publication)
    unspoken = [item for item in evidence if item.outcome == "not-applicable"]
    return page_of(
        "index.html",
        document=document,
        title=title or UNTITLED,
        evidence_page=EVIDENCE,
        story=story,
        pictures=pictures(pictures_of(story, evidence), studies),
        counts=counts(evidence),
        weighed=refuted_by_weight(evidence),
        sampled=sampled_together(evidence),
        choices=choices(evidence),
        violated=together((item for item in evidence if item.outcome == "fail"), titles),
        unspoken=together(unspoken, titles, by=lambda item: (item.claim, item.reason)),
        answers=answers_of(evidence),
        untested=untested(evidence),
        assumed=assumed(evidence),
        common=settings_in_common(evidence),
        groups=[matrix_of(part, f"group-{number}") for number, part in enumerate(parts, start=1)],
        anchors={part.title: f"group-{number}" for number, part in enumerate(parts, start=1)},
        figures=drawn_by_group(evidence),
        titles=titles,
        cards=claims(),
        studies=sections_of_studies(studies),
        errata={
            "failing": by_severity(formulas),
            "headings": HEADINGS,
            "meanings": WEIGHTS,
            "standing": standing(formulas),
            "counted": counted(formulas),
        },
    )


def render_evidence(
    document: Document,
    formulas: Sequence[Erratum] = (),
    publication: Publication | None = None,
    title: str = "",
) -> str:
    """`evidence.html`: every claim with its evidence (certificates, points, configurations, the commands that repeat them), and
    the certificates of the errata.
    """
    evidence = document.evidence
    return page_of(
        "evidence.html",
        document=document,
        title=title,
        evidence_page="",
        publication=publication,
        choices=choices(evidence),
        claims=sections_of_claims(evidence),
        errata=formulas,
        shown={item.claim for item in evidence},
        titles={item.id: part.title for part in groups(evidence) for item in part.evidence},
    )
