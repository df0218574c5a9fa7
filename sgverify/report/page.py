"""The report as one HTML page that opens offline."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from fractions import Fraction
from functools import cache
from html import escape
from typing import Any

from sgverify.claims import claims
from sgverify.evidence import Document, Erratum, Evidence, Study, json_text
from sgverify.report.answer import answers_of, assumed, untested
from sgverify.report.drawing import COLOURS
from sgverify.report.errata import HEADINGS, by_severity, certificate_lines, counted, standing, word
from sgverify.report.errata import MEANINGS as WEIGHTS
from sgverify.report.figures import figures
from sgverify.report.matrix import Group, groups, settings_in_common
from sgverify.report.panels import description_of, draw_panel, places_of
from sgverify.report.studies import cell_text, numeric, remarks, sections, study_anchor
from sgverify.report.svg import embedded, inline_svg
from sgverify.report.text import counts, limits_of_refutations, sampled_together
from sgverify.report.wording import (
    MEANINGS,
    ORDER,
    SYMBOLS,
    claim_order,
    compared_text,
    error_name,
    exponent_text,
    found_text,
    kind_text,
    logarithm_text,
    method_text,
    number_text,
    predicted_text,
    predicts_limit,
    predicts_rate,
    rate_text,
    symbol,
    vanishes,
    variable,
)

# The colours of the curves on a dark screen, in the order of drawing.COLOURS.
DARK_COLOURS = (
    "#5ab4ee", "#f08a5d", "#44c9a0", "#dd92d2", "#d9bb45", "#9a9ff0", "#f27a95", "#a3cf6a", "#c9b29a", "#5fd0de",
)  # fmt: skip
FORMULA_KEYS = ("formula", "update")


def render_page(document: Document, studies: Sequence[Study] = (), formulas: Sequence[Erratum] = ()) -> str:
    """The whole page as text; the same document and studies give the same bytes."""
    evidence = document.evidence
    parts = groups(evidence)
    titles = {item.id: part.title for part in parts for item in part.evidence}
    parts = [part for part in parts if part.judged]
    unspoken = [item for item in evidence if item.outcome == "not-applicable"]
    anchors = {part.title: f"group-{number}" for number, part in enumerate(parts, start=1)}
    return str(
        _template().render(
            document=document,
            counts=counts(evidence),
            sampled=sampled_together(evidence),
            schemes=_schemes(evidence),
            meanings=MEANINGS,
            symbols=SYMBOLS,
            refuted=_together((item for item in evidence if item.outcome == "refuted"), titles),
            limits=limits_of_refutations(evidence),
            violated=_together((item for item in evidence if item.outcome == "fail"), titles),
            unspoken=_together(unspoken, titles, by=lambda item: (item.claim, item.reason)),
            answers=answers_of(evidence),
            untested=untested(evidence),
            assumed=assumed(evidence),
            common=settings_in_common(evidence),
            groups=[_group(part, anchors[part.title]) for part in parts],
            anchors=anchors,
            figures=_drawn(evidence),
            claims=_claims(evidence),
            shown={item.claim for item in evidence},
            titles=titles,
            colours=list(enumerate(zip(COLOURS, DARK_COLOURS, strict=True))),
            cards=claims(),
            studies=_studies(studies),
            errata={
                "failing": by_severity(formulas),
                "headings": HEADINGS,
                "meanings": WEIGHTS,
                "standing": standing(formulas),
                "counted": counted(formulas),
            },
        )
    )


def rate_html(exponent: float | Fraction | None, name: str) -> Any:
    """A power with a superscript exponent, `h<sup>2</sup>`; an order as plain text, `order 2`."""
    from markupsafe import Markup

    if exponent is None or name == ORDER:
        return Markup("{}").format(rate_text(exponent, name))
    return Markup("{}<sup>{}</sup>").format(name, exponent_text(exponent).replace("-", "−"))  # noqa: RUF001


def found_html(evidence: Evidence) -> Any:
    """The rate found, as a formula; `zero` if the quantity vanishes."""
    if vanishes(evidence):
        return "zero"
    if evidence.found.exponent is None:
        return found_text(evidence)
    found = rate_html(evidence.found.exponent, variable(evidence)) + logarithm_text(evidence, "found")
    effective = evidence.method == "monte-carlo" and evidence.found.exponent is not None
    return "effective " + found if effective else found


def predicted_html(evidence: Evidence) -> Any:
    """The predicted rate, as a formula, with its kind (`exactly`, `or faster`)."""
    if not predicts_rate(evidence) or predicts_limit(evidence):
        return predicted_text(evidence)
    rate = rate_html(evidence.predicted.exponent, variable(evidence)) + logarithm_text(evidence, "predicted")
    return rate + f" {kind_text(evidence)}" if kind_text(evidence) else rate


@cache
def _template() -> Any:
    from jinja2 import Environment, PackageLoader, StrictUndefined

    environment = Environment(
        loader=PackageLoader("sgverify.report", "templates"),
        autoescape=True,
        trim_blocks=True,
        lstrip_blocks=True,
        undefined=StrictUndefined,
    )
    environment.filters.update(
        error_name=error_name,
        method=method_text,
        erratum_word=word,
        symbol=symbol,
        variable=variable,
        compared=compared_text,
        predicted_text=predicted_text,
        number=number_text,
        pretty=_pretty,
        short=_short,
        anchor=anchor,
        cell=cell_text,
        entries=certificate_lines,
    )
    environment.tests.update(
        numeric=numeric,
    )
    environment.globals.update(rate=rate_html, found=found_html, predicted=predicted_html)
    return environment.get_template("page.html")


def _group(part: Group, anchor: str) -> dict[str, Any]:
    return {
        "anchor": anchor,
        "part": part,
        "rows": [(claim, [part.answers(scheme, claim) for scheme in part.schemes]) for claim in part.judged],
    }


def _drawn(evidence: Sequence[Evidence]) -> dict[str, list[dict[str, Any]]]:
    """The figures of each group."""
    from markupsafe import Markup

    drawn: dict[str, list[dict[str, Any]]] = {}
    for number, figure in enumerate(figures(evidence), start=1):
        # The SVG is generated from evidence with escaped text, so that the template need not escape it.
        svg = Markup(inline_svg(figure, f"f{number}"))
        drawn.setdefault(figure.group, []).append({"figure": figure, "svg": svg})
    return drawn


def _studies(studies: Sequence[Study]) -> list[dict[str, Any]]:
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
                    "svg": Markup(
                        embedded(
                            draw_panel(panel, places), f"{name}-{number}", panel.title, description_of(panel)
                        )
                    ),
                    "remarks": remarks(panel),
                }
                for number, panel in enumerate(study.panels, start=1)
            ]
            drawn.append({"study": study, "anchor": name, "panels": panels})
        found.append(
            {"title": title, "anchor": "-".join(re.findall(r"[a-z]+", title.lower())), "studies": drawn}
        )
    return found


def _claims(evidence: Sequence[Evidence]) -> list[dict[str, Any]]:
    known = claims()
    sections = []
    for id in sorted({item.claim for item in evidence}, key=claim_order):
        items = [item for item in evidence if item.claim == id]
        sections.append({"id": id, "anchor": anchor(id), "card": known.get(id), "items": items})
    return sections


def anchor(claim: str) -> str:
    """The page's name for the section of a claim."""
    return "claim-" + claim.replace("/", "-")


def _finding(item: Evidence) -> tuple[str, ...]:
    return item.claim, item.check, predicted_text(item), found_text(item)


def _together(
    evidence: Iterable[Evidence],
    titles: dict[str, str],
    by: Callable[[Evidence], tuple[str, ...]] = _finding,
) -> list[dict[str, Any]]:
    """Evidence in rows, one row for each claim and finding, with each scheme once, so that no result is repeated."""
    rows: dict[tuple[str, ...], list[Evidence]] = {}
    for item in evidence:
        rows.setdefault(by(item), []).append(item)
    ordered = sorted(rows.values(), key=lambda items: claim_order(items[0].claim))
    return [
        {
            "first": items[0],
            "schemes": [next(item for item in items if item.scheme == scheme) for scheme in _schemes(items)],
            "titles": list(dict.fromkeys(titles[item.id] for item in items)),
        }
        for items in ordered
    ]


def _schemes(evidence: Iterable[Evidence]) -> list[str]:
    return list(dict.fromkeys(item.scheme for item in evidence))


def _pretty(value: Any) -> Any:
    """JSON as text of an element, where a quotation mark needs no escape; there are ten thousands of them."""
    from markupsafe import Markup

    return Markup(escape(json_text(value).rstrip(), quote=False))


def _short(claim: str) -> str:
    return claim.partition("/")[2] or claim
