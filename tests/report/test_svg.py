"""The SVG of a drawing shows what matplotlib draws: every mark, line and word at its place, in the page's colours."""

from __future__ import annotations

import io
import re
from collections import Counter
from xml.etree import ElementTree

import matplotlib as mpl
import numpy as np
import pytest
from matplotlib.figure import Figure

from sgverify.evidence import Panel, Series
from sgverify.report.colours import STYLE
from sgverify.report.drawing import draw
from sgverify.report.figures import figures
from sgverify.report.studies import draw_panel
from sgverify.report.svg import embedded, file_svg

MANY = 400
"""Sampled points; each has a mark, a bar and the two caps of the bar."""

Place = tuple[float, float]


@pytest.fixture(scope="module")
def drawing() -> Figure:
    x = np.linspace(1.0, 9.0, MANY)
    y = np.exp(-x) * (1 + 0.3 * np.sin(7 * x))
    sampled = Series(label="noisy & sampled", kind="sampled", x=tuple(x), y=tuple(y), error=tuple(0.2 * y))
    exact = Series(label="exact", kind="exact", x=tuple(x), y=tuple(np.cos(x) * np.exp(-x)))
    panel = Panel(
        title="a panel",
        x_label="t",
        y_label="error",
        x_scale="linear",
        y_scale="log",
        series=(exact, sampled),
    )
    return draw_panel(panel, {"noisy & sampled": 0, "exact": 1})


def drawn_by_matplotlib(drawing: Figure) -> ElementTree.Element:
    stream = io.StringIO()
    with mpl.rc_context(STYLE):
        drawing.savefig(stream, format="svg", metadata={"Date": None})
    return ElementTree.fromstring(stream.getvalue())


def painted(root: ElementTree.Element) -> list[ElementTree.Element]:
    """The elements outside definitions, in the order of painting."""
    name = root.tag.rpartition("}")[2]
    if name in ("defs", "metadata"):
        return []
    return [root, *(item for child in root for item in painted(child))]


def vertices(path: ElementTree.Element) -> list[Place]:
    numbers = [round(float(word), 2) + 0.0 for word in re.findall(r"-?\d+(?:\.\d+)?", path.attrib["d"])]
    return list(zip(numbers[::2], numbers[1::2], strict=True))


def marks(root: ElementTree.Element) -> Counter[Place]:
    found: Counter[Place] = Counter()
    for item in painted(root):
        if item.tag.endswith("use"):
            found[round(float(item.attrib["x"]), 2), round(float(item.attrib["y"]), 2)] += 1
    return found


def lines(root: ElementTree.Element) -> list[Place]:
    """The vertices of all lines, in the order of painting; what is neither filled nor stroked is not seen."""
    seen = [item for item in painted(root) if item.tag.endswith("path")]
    return [place for item in seen if "stroke" in item.attrib["style"] for place in vertices(item)]


def words(root: ElementTree.Element) -> list[str]:
    return [" ".join("".join(item.itertext()).split()) for item in painted(root) if item.tag.endswith("text")]


def test_marks_lines_and_words_are_those_of_matplotlib(drawing: Figure) -> None:
    whole, small = drawn_by_matplotlib(drawing), ElementTree.fromstring(embedded(drawing, "s", "", ""))
    assert sum(marks(whole).values()) > 3 * MANY
    assert marks(small) == marks(whole)
    assert len(lines(whole)) > 2 * MANY and lines(small) == lines(whole)
    assert "noisy & sampled" in words(whole) and words(small) == words(whole)


def test_every_reference_leads_to_an_id_and_each_id_is_there_once(drawing: Figure) -> None:
    text = embedded(drawing, "p", "a title", "a description")
    ids = re.findall(r' id="([^"]+)"', text)
    asked = set(re.findall(r'(?:url\(|href=")#([^)"]+)', text))
    assert len(ids) == len(set(ids)) and all(id.startswith("p-") for id in ids)
    assert asked <= set(ids) and len(asked) > 3


def test_exponents_in_a_figure_are_raised(evidence):
    drawn = draw(figures(evidence)[0]).embedded("f")
    assert "h²" in drawn and "^" not in re.sub(r"(?s)<(title|desc)\b.*?</\1>", "", drawn)


def test_a_file_of_a_figure_is_for_light_and_dark_screens(evidence):
    root = ElementTree.fromstring(file_svg(draw(figures(evidence)[0]), "a title", "words"))
    assert float(root.attrib["width"]) > 0 and root[0].text == "a title"
    style = "".join(element.text or "" for element in root.iter() if element.tag.endswith("style"))
    light, dark = style.split("@media(prefers-color-scheme:dark)")
    for colours in (light, dark):
        assert all(f"{name}:#" in colours for name in ("--ink", "--paper", "--c0"))
