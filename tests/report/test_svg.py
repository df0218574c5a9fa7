"""The SVG of a drawing shows what matplotlib draws: every mark, line and word at its place, in fewer bytes."""

from __future__ import annotations

import io
import re
from collections import Counter
from xml.etree import ElementTree

import matplotlib as mpl
import numpy as np
import pytest
from matplotlib.backends.backend_svg import FigureCanvasSVG
from matplotlib.figure import Figure

from sgverify.evidence import Panel, Series
from sgverify.report.drawing import STYLE, draw
from sgverify.report.figures import figures
from sgverify.report.studies import draw_panel
from sgverify.report.svg import embedded, file_svg, inline_svg, with_shared_parts

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
    if name in ("defs", "marker", "metadata"):
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
        elif "marker:" in item.attrib.get("style", ""):
            found.update(vertices(item))
    return found


def lines(root: ElementTree.Element) -> list[Place]:
    """The vertices of all lines, in the order of painting; what is neither filled nor stroked is not seen."""
    seen = [item for item in painted(root) if item.tag.endswith("path")]
    seen = [
        item for item in seen if "stroke" in item.attrib["style"] and "marker:" not in item.attrib["style"]
    ]
    return [place for item in seen for place in vertices(item)]


def words(root: ElementTree.Element) -> list[str]:
    return [" ".join("".join(item.itertext()).split()) for item in painted(root) if item.tag.endswith("text")]


def test_marks_lines_and_words_are_those_of_matplotlib(drawing: Figure) -> None:
    whole, small = drawn_by_matplotlib(drawing), ElementTree.fromstring(embedded(drawing, "s", "", ""))
    assert sum(marks(whole).values()) > 3 * MANY
    assert marks(small) == marks(whole)
    assert len(lines(whole)) > 2 * MANY and lines(small) == lines(whole)
    assert "noisy & sampled" in words(whole) and words(small) == words(whole)


def test_a_sampled_point_costs_few_bytes(drawing: Figure) -> None:
    text = embedded(drawing, "p", "a title", "a description")
    assert len(text) < 100 * MANY


def test_every_reference_leads_to_an_id_and_every_id_is_referred_to(drawing: Figure) -> None:
    text = embedded(drawing, "p", "a title", "a description")
    ids = set(re.findall(r' id="([^"]+)"', text))
    asked = set(re.findall(r'(?:url\(|href=")#([^)"]+)', text))
    assert asked == ids - {"p-title", "p-desc"} and len(asked) > 3


def test_lines_that_are_seen_through_stay_apart() -> None:
    """Where two transparent lines cross they are darker; the parts of one path are not."""
    with mpl.rc_context(STYLE):
        drawing = Figure()
        FigureCanvasSVG(drawing)
        axes = drawing.add_axes((0, 0, 1, 1))
        axes.hlines([1, 2, 3], 0, 1, alpha=0.5, colors="#0b6aa8")
        axes.vlines([0.2, 0.3, 0.4], 1, 3, colors="#0b6aa8")
    text = embedded(drawing, "s", "", "")
    assert len(re.findall("stroke-opacity:0.5", text)) == 3
    assert len([path for path in re.findall(r' d="([^"]+)"', text) if path.count("M") == 3]) == 1


def test_what_the_drawings_of_a_page_share_is_said_once_and_nothing_is_lost(evidence):
    drawn = [inline_svg(figure, f"f{place}") for place, figure in enumerate(figures(evidence)[:3])]
    page = f"<html><head></head><header></header>{''.join(drawn)}</html>"
    shared = with_shared_parts(page)
    assert len(shared) < 0.8 * len(page)
    ids = re.findall(r'\bid="([^"]+)"', shared)
    assert len(ids) == len(set(ids))
    assert set(re.findall(r'(?:href="#|url\(#)([^")]+)', shared)) <= set(ids)
    rules = dict(re.findall(r"\.(v\d+)\{([^}]*)\}", shared))
    whole = re.sub(r'class="(v\d+)"', lambda found: f'style="{rules[found[1]]}"', shared)
    for tag in ("text", "use", "path"):
        assert counted(whole, tag) == counted(page, tag)
    assert with_shared_parts("<html><head></head>none</html>").count("<svg") == 0


def counted(page: str, tag: str) -> Counter[str]:
    """The elements of one name outside of definitions, without the ids of what they refer to."""
    drawn = re.sub(r"(?s)<(defs|marker)\b.*?</\1>", "", page)
    return Counter(re.sub(r"#[\w-]+", "#", found) for found in re.findall(rf"<{tag}\b[^>]*>", drawn))


def test_exponents_in_a_figure_are_raised(evidence):
    drawn = inline_svg(figures(evidence)[0], "f")
    assert "h²" in drawn and "^" not in re.sub(r"(?s)<(title|desc)\b.*?</\1>", "", drawn)


def test_a_file_of_a_figure_is_for_light_and_dark_screens(evidence):
    root = ElementTree.fromstring(file_svg(draw(figures(evidence)[0]), "a title", "words"))
    assert float(root.attrib["width"]) > 0 and root[0].text == "a title"
    style = "".join(element.text or "" for element in root.iter() if element.tag.endswith("style"))
    light, dark = style.split("@media(prefers-color-scheme:dark)")
    for colours in (light, dark):
        assert all(f"{name}:#" in colours for name in ("--ink", "--paper", "--c0"))
