"""The gallery: its stored numbers are what the code gives, and what a closed form gives; its page and tables are theirs."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from reports.making.gallery import gaussian, ideas, logistic, making, tables, well
from reports.making.gallery.frame import drawn
from reports.making.gallery.settings import DATA, DEPENDENT, DRAWN, GRADIENTS, LOGISTIC_GRADIENTS, MINIBATCH
from sgverify.report.drawing import COLOURS, DARK_COLOURS, DARK_INK, INK
from sgverify.report.svg import file_svg, pdf

GALLERY = Path(__file__).resolve().parents[1] / "reports" / "gallery"
STORED: dict[str, Any] = json.loads((GALLERY / "gallery.json").read_text(encoding="utf-8"))


def stored(rows: list[dict[str, Any]], scheme: str) -> dict[str, Any]:
    (found,) = [row for row in rows if row["scheme"] == scheme]
    return found


def hold(again: dict[str, Any], kept: dict[str, Any]) -> None:
    assert again.keys() == kept.keys()
    for name, value in kept.items():
        wanted = (
            value if value is None or isinstance(value, str) else pytest.approx(value, rel=1e-6, abs=1e-15)
        )
        assert again[name] == wanted, name


@pytest.mark.parametrize(
    ("scheme", "kind"), [("sgld-euler", "full"), ("sghmc-ubu", "minibatch"), ("psgld", "full")]
)
def test_rows_of_the_gaussian_posterior_are_what_the_code_gives(scheme: str, kind: str) -> None:
    hold(gaussian.measured(scheme, GRADIENTS[kind]), stored(STORED["gaussian"][kind], scheme))


@pytest.mark.parametrize("scheme", ["sgld-euler", "sgnht-aboba"])
def test_rows_of_the_double_well_are_what_the_code_gives(scheme: str) -> None:
    hold(well.measured(scheme), stored(STORED["well"], scheme))


@pytest.mark.parametrize("kind", ["full", "minibatch"])
def test_sgld_costs_what_its_closed_form_says(kind: str) -> None:
    """x' = (1 - h r) x + h V + sqrt(2 h) z: its variance is S, the long-run variance of x^2 2 S^2 (1 + a^2)/(1 - a^2)."""
    r = 1.0 + len(DATA)
    noise = 0.0 if kind == "full" else len(DATA) ** 2 * np.var(DATA) / MINIBATCH["batch"]
    h = np.geomspace(1e-7, 1e-2, 200001)
    a = 1 - h * r
    S = (2 * h + h**2 * noise) / (1 - a**2)
    row = stored(STORED["gaussian"][kind], "sgld-euler")
    assert row["bias_constant"] == pytest.approx((noise / r + 1) / 2, rel=1e-9)
    left = (0.01 / r) ** 2 - (S - 1 / r) ** 2
    costs = np.where(left > 0, 2 * S**2 * (1 + a**2) / (1 - a**2) / np.abs(left), np.inf)
    data = len(DATA) if kind == "full" else MINIBATCH["batch"]
    # The fourth cumulant of a minibatch is h^4 of what has size 1 here: far below.
    assert row["gradients"] == pytest.approx(data * costs.min(), rel=1e-4)
    assert row["step"] == pytest.approx(h[int(costs.argmin())], rel=2e-2)


def test_rows_of_dependent_minibatches_are_what_the_code_gives() -> None:
    for kind, gradient in DEPENDENT.items():
        hold(gaussian.biased("sghmc-baoab", gradient), stored(STORED["dependent"][kind], "sghmc-baoab"))
    # Snapshots take the noise away where each datum has the same Hessian, and nothing else.
    for full, reduced in zip(STORED["gaussian"]["full"], STORED["dependent"]["svrg"], strict=True):
        assert full.get("bias_constant") == reduced.get("bias_constant")


def test_plans_on_the_logistic_posterior_are_what_the_code_gives() -> None:
    found = STORED["logistic"]["full"]
    (again,) = logistic.measured(LOGISTIC_GRADIENTS["full"], ("sgld-euler",))["plans"]
    hold(again, stored(found["plans"], "sgld-euler"))
    assert found["distrust"] is None and found["left_out"] == []
    costs = [plan["gradients"] for plan in found["plans"]]
    assert costs == sorted(costs) and {plan["scheme"] for plan in found["plans"]} == set(DRAWN)


def test_the_diffusion_of_the_pictures_is_that_of_the_ornstein_uhlenbeck_process() -> None:
    subject = gaussian.gaussian("sgld-euler", GRADIENTS["full"])
    t, r = 0.004, 101.0
    start = 2 / r**0.5
    assert ideas._flow(subject, t) == pytest.approx(
        start**2 * np.exp(-2 * r * t) + (1 - np.exp(-2 * r * t)) / r
    )


def test_page_and_tables_are_those_of_the_stored_numbers() -> None:
    assert tables.page(STORED, making.PICTURES) == (GALLERY / "schemes.md").read_text(encoding="utf-8")
    text = tables.latex(STORED)
    assert text == (GALLERY / "schemes.tex").read_text(encoding="utf-8")
    assert text.count(r"\toprule") == text.count(r"\bottomrule") == 6 and text.count("$") % 2 == 0


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
