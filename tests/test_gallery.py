"""The gallery: its stored numbers are what the code gives, and what a closed form gives; its page and tables are theirs."""

from __future__ import annotations

import json
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from reports.making.gallery import ideas, making, settings, tables
from reports.making.gallery.frame import drawn
from reports.making.gallery.numbers import compared
from sgverify.advice.comparison.model import COMPARISON, MOST
from sgverify.report.colours import COLOURS, DARK_COLOURS, DARK_INK, INK
from sgverify.report.svg import file_svg, pdf

GALLERY = Path(__file__).resolve().parents[1] / "reports" / "gallery"
STORED: dict[str, Any] = json.loads((GALLERY / "gallery.json").read_text(encoding="utf-8"))
FOUND = tables.comparisons(STORED)


def row(name: str, scheme: str) -> Any:
    (found,) = [one for one in FOUND[name].schemes if one.scheme == scheme]
    return found


@pytest.mark.parametrize("name", ["gaussian-full", "gaussian-reshuffle", "gaussian-svrg"])
def test_stored_comparisons_are_what_the_code_gives(name: str) -> None:
    chapter = settings.CHAPTERS[name]
    first, other = chapter.schemes[0], "sghmc-ubu"
    again = COMPARISON.decode(json.loads(json.dumps(compared(chapter, (first, other)))))
    for one in again.schemes:
        kept = row(name, one.scheme)
        for key in (
            "order",
            "invariant_order",
            "leading_error",
            "stability_limit",
            "sd_bias",
            "cost_for_error",
        ):
            value = getattr(kept, key)
            wanted = pytest.approx(value, rel=1e-6, abs=1e-15) if isinstance(value, float) else value
            assert getattr(one, key) == wanted, key


def test_every_comparison_has_curves_that_can_be_told_apart() -> None:
    assert FOUND.keys() == settings.CHAPTERS.keys()
    for comparison in FOUND.values():
        assert comparison.panel is not None and len(comparison.panel.series) <= MOST
        # No marker of a curve lies on one of another: costs differ by 1 % at least.
        costs = sorted(x for series in comparison.panel.series for x in series.x)
        assert all(b / a > 1 + 1e-6 for a, b in pairwise(costs))


def test_sgld_has_the_bias_and_cost_of_its_closed_form() -> None:
    """x' = (1 - h r) x + sqrt(2 h) z: Var x = 1/(r (1 - h r/2)), and an independent draw costs (2 - h r)/(h r) steps."""
    r, found = 101.0, row("gaussian-beside-sgld", "sgld-euler")
    step = 2 / r * (1 - 1.01**-2)
    assert found.step_for_error == pytest.approx(step, rel=1e-3)
    assert found.cost_for_error == pytest.approx(100 * (2 - step * r) / (step * r), rel=1e-3)
    for point in found.curve:
        assert point.bias == pytest.approx((1 - point.step * r / 2) ** -0.5 - 1, rel=1e-10)


def test_snapshots_leave_the_bias_of_full_gradients_where_hessians_are_alike() -> None:
    for one in FOUND["gaussian-full"].schemes:
        assert row("gaussian-svrg", one.scheme).leading == one.leading
    assert row("gaussian-full", "sghmc-aboba").unlimited


def test_the_diffusion_of_the_pictures_is_that_of_the_ornstein_uhlenbeck_process() -> None:
    subject = settings.gaussian("sgld-euler", settings.FULL)
    t, r = 0.004, 101.0
    start = 2 / r**0.5
    assert ideas._flow(subject, t) == pytest.approx(
        start**2 * np.exp(-2 * r * t) + (1 - np.exp(-2 * r * t)) / r
    )


def test_page_and_tables_are_those_of_the_stored_numbers() -> None:
    assert tables.page(STORED, making.PICTURES) == (GALLERY / "schemes.md").read_text(encoding="utf-8")
    text = tables.latex(STORED)
    assert text == (GALLERY / "schemes.tex").read_text(encoding="utf-8")
    assert (
        text.count(r"\toprule") == text.count(r"\bottomrule") == 2 * len(FOUND) and text.count("$") % 2 == 0
    )


def test_a_picture_follows_the_reader_s_screen_and_is_drawn_alike_twice() -> None:
    (picture,) = [item for item in making.PICTURES if item.name == "palindrome"]
    one, two = (drawn(picture, STORED) for _ in range(2))
    text = file_svg(one, picture.title, picture.caption)
    assert text == file_svg(two, picture.title, picture.caption)
    assert pdf(one) == pdf(two) and pdf(one).startswith(b"%PDF")
    assert (
        "prefers-color-scheme" in text
        and INK in text
        and DARK_INK in text
        and COLOURS[0] in text
        and DARK_COLOURS[0] in text
    )
