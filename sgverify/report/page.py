"""The report as one HTML page that opens offline."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from functools import cache
from typing import Any

from sgverify.claims import Claim, claims
from sgverify.evidence import Document, Evidence
from sgverify.report.drawing import COLOURS
from sgverify.report.figures import figures
from sgverify.report.matrix import Group, groups
from sgverify.report.svg import inline_svg
from sgverify.report.text import counts
from sgverify.report.wording import (
    MEANINGS,
    ORDER,
    REFUTED,
    SYMBOLS,
    claim_order,
    exponent_text,
    number_text,
    outcome,
    predicted_text,
    rate_text,
    symbol,
    variable,
)

# The colours of the curves on a dark screen, in the order of drawing.COLOURS.
DARK_COLOURS = (
    "#5ab4ee", "#f08a5d", "#44c9a0", "#dd92d2", "#d9bb45", "#9a9ff0", "#f27a95", "#a3cf6a", "#c9b29a", "#5fd0de",
)  # fmt: skip
FORMULA_KEYS = ("formula", "update")


def render_page(document: Document) -> str:
    """The whole page as text; the same document gives the same bytes."""
    evidence = document.evidence
    parts = groups(evidence)
    titles = {item.id: part.title for part in parts for item in part.evidence}
    return str(
        _template().render(
            document=document,
            counts=counts(evidence),
            schemes=list(dict.fromkeys(item.scheme for item in evidence)),
            meanings=MEANINGS,
            symbols=SYMBOLS,
            refuted=_together(item for item in evidence if outcome(item) == REFUTED),
            violated=_together(item for item in evidence if outcome(item) == "violates"),
            groups=[_group(part, number) for number, part in enumerate(parts, start=1)],
            figures=_drawn(evidence),
            claims=_claims(evidence),
            shown={item.claim for item in evidence},
            titles=titles,
            colours=list(enumerate(zip(COLOURS, DARK_COLOURS, strict=True))),
            cards=claims(),
        )
    )


def rate_html(exponent: float | None, name: str) -> Any:
    """A power with its exponent raised: `h<sup>2</sup>`; an order as it is: `order 2`."""
    from markupsafe import Markup

    if exponent is None:
        return Markup("—")
    if name == ORDER:
        return rate_text(exponent, name)
    return Markup("{}<sup>{}</sup>").format(name, exponent_text(exponent).replace("-", "−"))  # noqa: RUF001


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
        outcome=outcome,
        symbol=symbol,
        variable=variable,
        predicted=predicted_text,
        number=number_text,
        pretty=_pretty,
        short=_short,
    )
    environment.globals.update(rate=rate_html)
    return environment.get_template("page.html")


def _group(part: Group, number: int) -> dict[str, Any]:
    return {
        "anchor": f"group-{number}",
        "part": part,
        "rows": [(claim, [part.answers(scheme, claim) for scheme in part.schemes]) for claim in part.claims],
    }


def _drawn(evidence: Sequence[Evidence]) -> dict[str, list[dict[str, Any]]]:
    """The figures of each group."""
    from markupsafe import Markup

    drawn: dict[str, list[dict[str, Any]]] = {}
    for number, figure in enumerate(figures(evidence), start=1):
        # The SVG is made here from evidence with its text escaped, so the template may trust it.
        svg = Markup(inline_svg(figure, f"f{number}"))
        drawn.setdefault(figure.group, []).append({"figure": figure, "svg": svg})
    return drawn


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


def _together(evidence: Iterable[Evidence]) -> list[dict[str, Any]]:
    """Evidence of one claim with one finding, in one row: the same result on many schemes is said once."""
    rows: dict[tuple[str, str, Any, Any], list[Evidence]] = {}
    for item in evidence:
        key = (item.claim, item.check, item.predicted.exponent, item.found.exponent)
        rows.setdefault(key, []).append(item)
    ordered = sorted(rows.values(), key=lambda items: claim_order(items[0].claim))
    return [{"first": items[0], "items": items, "card": _card(items[0])} for items in ordered]


def _card(item: Evidence) -> Claim | None:
    return claims().get(item.claim)


def _pretty(value: Any) -> str:
    return json.dumps(value, indent=1, ensure_ascii=False)


def _short(claim: str) -> str:
    return claim.partition("/")[2] or claim
