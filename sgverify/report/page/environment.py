"""The environment in which the pages' templates are rendered: their filters, and the colours of their figures."""

from __future__ import annotations

from fractions import Fraction
from functools import cache
from html import escape
from typing import TYPE_CHECKING, Any

from sgverify.errors import escaped
from sgverify.evidence import Evidence
from sgverify.keeping.files import json_text
from sgverify.report.colours import COLOURS, DARK_COLOURS
from sgverify.report.errata import certificate_lines, word
from sgverify.report.forms.lines import cell_text
from sgverify.report.formulas import equations, in_a_line, with_formulas
from sgverify.report.studies import numeric
from sgverify.report.wording import (
    MEANINGS,
    SYMBOLS,
    compared_text,
    error_name,
    found_text,
    method_text,
    number_text,
    predicted_text,
    rate_text,
    symbol,
    variable,
)

if TYPE_CHECKING:
    from jinja2 import Environment
    from markupsafe import Markup


@cache
def environment() -> Environment:
    """The templates of `sgverify.report.templates`, with the filters that all pages share.

    `formulas` shows prose with its formulas as MathML, `plain` in one line; `symbol`, `method`, `found`, `predicted` and the
    others put a piece of evidence into words. A page extends `base.html` and imports the macros of `macros.html`.
    """
    from jinja2 import Environment, PackageLoader, StrictUndefined

    made = Environment(
        loader=PackageLoader("sgverify.report", "templates"),
        autoescape=True,
        trim_blocks=True,
        lstrip_blocks=True,
        undefined=StrictUndefined,
    )
    made.filters.update(
        formulas=with_formulas,
        plain=in_a_line,
        equations=equations,
        error_name=error_name,
        method=method_text,
        erratum_word=word,
        symbol=symbol,
        variable=variable,
        compared=compared_text,
        number=number_text,
        pretty=pretty,
        short=short,
        anchor=anchor,
        cell=cell_text,
        entries=certificate_lines,
    )
    made.tests.update(numeric=numeric)
    made.globals.update(
        rate=rate_html,
        found=found_html,
        predicted=predicted_html,
        symbols=SYMBOLS,
        meanings=MEANINGS,
        colours=list(enumerate(zip(COLOURS, DARK_COLOURS, strict=True))),
    )
    return made


def page_of(template: str, **values: Any) -> str:
    """The page that a template makes of values, with escapes for what steers a terminal or turns text around."""
    return escaped(environment().get_template(template).render(**values))


def rate_html(exponent: float | Fraction | None, name: str) -> Markup:
    """A power as a formula; an order as text with a number, `order 2`."""
    return with_formulas(rate_text(exponent, name))


def found_html(evidence: Evidence) -> Markup:
    """The rate found, as a formula; `zero` if the quantity vanishes."""
    return with_formulas(found_text(evidence))


def predicted_html(evidence: Evidence) -> Markup:
    """The predicted rate, as a formula, with its kind (`exactly`, `or faster`)."""
    return with_formulas(predicted_text(evidence))


def anchor(claim: str) -> str:
    """The page's name for the section of a claim."""
    return "claim-" + claim.replace("/", "-")


def short(claim: str) -> str:
    """The claim's name without that of its paper."""
    return claim.partition("/")[2] or claim


def pretty(value: Any) -> Markup:
    """JSON as text of an element, where a quotation mark needs no escape; there are ten thousands of them."""
    from markupsafe import Markup

    return Markup(escape(json_text(value).rstrip(), quote=False))
