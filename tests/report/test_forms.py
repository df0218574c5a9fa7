"""Every answer in its forms: text, data frame, LaTeX, Markdown, picture, and the page of a notebook."""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path

import pytest
from matplotlib.figure import Figure

import sgverify
from sgverify.errors import UserError
from sgverify.evidence import Evidence, Panel, Series, Table
from sgverify.report.forms.bars import Bars
from sgverify.report.forms.result import Exhibit, Result
from sgverify.verdict.rate_result import RateResult

POWERS = {"h^2": "h$^{2}$", "L^(-1/2)": "L$^{(-1/2)}$", "h^2.000": "h$^{2.000}$", "rho^n": "rho$^{n}$"}


@cache
def answer(name: str) -> Result:
    """A cheap answer of a public function."""
    if name == "width":
        return sgverify.width("gaussian-mean", "sgld-euler", step=1e-4, batch=10)
    if name == "bound":
        return sgverify.bound("sgld-euler", m=1, L=10, schedule={"step": 0.05})
    if name == "rate":
        return sgverify.rate("sgld-euler", quantity="stationary-bias")
    return sgverify.verify("sgld-euler", checks=["local-order", "stationary-bias"])


BY_NAME = pytest.mark.parametrize("name", ["width", "bound", "rate", "verify"])


@BY_NAME
def test_a_table_for_an_article_has_its_settings_in_the_caption(name: str) -> None:
    text = answer(name).to_latex()
    caption = text.partition(r"\caption{")[2].partition(r"\begin{tabular}")[0]
    assert "sgld-euler" in caption and "h" in caption
    assert text.count(r"\toprule") == text.count(r"\bottomrule") == len(answer(name).exhibit.tables) > 0
    plain = re.sub(r"\$[^$]*\$|\\[\\&%$#_{}]", "", text.partition(r"\caption")[2])
    assert not set(plain) & set("<>|#^~") and text.count("{") == text.count("}")
    assert {line.count(" & ") for line in text.splitlines() if line.endswith(r"\\") and "&" in line}


@BY_NAME
def test_the_answer_itself_is_shown_and_its_numbers_are_data(name: str) -> None:
    found = answer(name)
    assert "object at" not in repr(found) and "(scheme=" not in repr(found)
    assert name == "verify" or repr(found) == str(found)
    table = found.to_dataframe()
    assert len(table) == len(found.records()) > 0
    assert len(re.findall("^\\| ---", found.to_markdown(), re.M)) == len(found.exhibit.tables)


@pytest.mark.power  # a second of figures; the picture of bars is drawn below
@BY_NAME
def test_a_notebook_shows_the_picture_with_the_text(name: str) -> None:
    page = answer(name)._repr_html_()
    assert page is not None and "<pre" in page and "sgld-euler" in page
    assert 'src="data:image/svg+xml;base64,' in page
    # A figure alone is shown as well, without pyplot.
    drawn = answer(name).picture()._repr_svg_()
    assert "prefers-color-scheme:dark" in drawn and re.search(r'width="[\d.]+pt"', drawn)


@pytest.mark.parametrize(("kind", "start"), [("pdf", b"%PDF"), ("png", b"\x89PNG"), ("svg", b"<svg")])
def test_a_picture_is_written_by_the_name_of_its_file(kind: str, start: bytes, tmp_path: Path) -> None:
    answer("bound").plot(tmp_path / f"a.{kind}")
    assert (tmp_path / f"a.{kind}").read_bytes().startswith(start)
    with pytest.raises(
        UserError, match=r"a\.gif'?: expected a file that ends in \.svg or \.png or \.pdf; name one"
    ):
        answer("bound").plot("a.gif")


def test_curves_of_several_answers_share_a_picture_or_axes_of_ones_own() -> None:
    one = answer("rate")
    other = sgverify.rate("sgld-euler", quantity="stationary-bias", gradient={"kind": "iid"})
    labels = [text.get_text() for text in one.plot(beside=[other]).axes[0].get_legend().get_texts()]
    assert labels == ["sgld-euler, full gradients", "sgld-euler, independent (iid) minibatches of 10"]
    axes = Figure().add_subplot()
    assert one.plot(axes=axes, beside=[other]) is axes
    assert axes.get_xlabel() == "step h" and "bias of theta**2" in axes.get_ylabel()
    assert len(axes.get_legend().get_texts()) == 2


def test_a_rate_with_its_forms_is_the_evidence() -> None:
    (plain,) = (item for item in sgverify.verify("sgld-euler", checks=["stationary-bias"]))
    same = RateResult.of(plain)
    assert plain == same and same == plain and type(plain) is Evidence
    assert same != answer("rate") or same.seconds == answer("rate").seconds  # type: ignore[attr-defined]
    assert not sgverify.rate("sgld-euler", quantity="local-order").drawable


@pytest.mark.parametrize("text", POWERS)
def test_powers_are_formulas(text: str) -> None:
    assert rf"\caption{{{POWERS[text]}}}" in Exhibit(settings=text).to_latex()


def test_numbers_stand_to_the_right_and_signs_are_escaped() -> None:
    rows = (("a_b", 1e-7, "two words", "1.5e+06"), ("x < y", 2.5, "50 %", "3"))
    text = Exhibit((Table("T & U", ("name", "n", "said", "m"), rows),)).to_latex()
    assert r"\begin{tabular}{lrlr}" in text and r"T \& U" in text
    assert r"\texttt{a\_b} & $1 \cdot 10^{-7}$ & two words & $1.5 \cdot 10^{6}$ \\" in text
    assert r"x $<$ y & $2.5$ & 50 \% & 3 \\" in text


def test_panels_stand_beside_one_another_and_what_has_none_says_so() -> None:
    panels = tuple(Panel(title, "x", "y", (Series("s", "exact", (1.0, 2.0), (3.0, 4.0)),)) for title in "abc")
    drawing = Exhibit(panels=panels, stars=((1.0, 3.0),), above="words").picture()
    assert [part.texts[0].get_text() for part in drawing.subfigs[:3]] == ["a", "b", "c"]
    assert drawing.get_size_inches()[0] > drawing.get_size_inches()[1] / 1.4
    assert sum(line.get_marker() == "*" for line in drawing.axes[0].lines) == 1
    with pytest.raises(UserError, match="nothing of this answer is a curve"):
        Exhibit().plot()
    with pytest.raises(UserError, match="nothing of this answer is a curve"):
        Exhibit().plot(axes=Figure().add_subplot())


def test_bars_far_apart_have_a_logarithmic_axis() -> None:
    near, far = (
        Bars("t", "amount", (("a", 1.0), ("b", 2.0)), due=1.0),
        Bars("t", "amount", (("a", 1.0), ("b", 500.0))),
    )
    assert [bars.drawn().axes[0].get_xscale() for bars in (near, far)] == ["linear", "log"]
    (axes,) = near.drawn().axes
    assert [text.get_text() for text in axes.get_yticklabels()] == ["a", "b"] and axes.yaxis_inverted()
    assert len(axes.lines) == 1
