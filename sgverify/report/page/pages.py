"""The two pages of a report, each one file that needs nothing from outside."""

from __future__ import annotations

from collections.abc import Sequence

from sgverify.claims import claims
from sgverify.claims.publication import Publication
from sgverify.evidence import Document, Erratum, Study
from sgverify.report.answer import answers_of, assumed, untested
from sgverify.report.errata import HEADINGS, by_severity, counted, standing
from sgverify.report.errata import MEANINGS as WEIGHTS
from sgverify.report.matrix import groups, settings_in_common
from sgverify.report.page.environment import environment
from sgverify.report.page.sections import (
    choices,
    drawn_by_group,
    matrix_of,
    pictures,
    sections_of_claims,
    sections_of_studies,
    together,
)
from sgverify.report.page.story import pictures_of, story_of
from sgverify.report.svg import with_shared_parts
from sgverify.report.text import counts, sampled_together

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
    return with_shared_parts(
        environment()
        .get_template("index.html")
        .render(
            document=document,
            title=title or UNTITLED,
            evidence_page=EVIDENCE,
            story=story,
            pictures=pictures(pictures_of(story, evidence), studies),
            counts=counts(evidence),
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
    return str(
        environment()
        .get_template("evidence.html")
        .render(
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
    )


__all__ = ["EVIDENCE", "INDEX", "UNTITLED", "render_evidence", "render_page"]
