"""The badge: a small SVG that says its text to readers who do not see it, and stays the same."""

from __future__ import annotations

from xml.etree import ElementTree

import pytest

from sgverify.report.answer import COLOURS, GROUND, badge

SVG = "{http://www.w3.org/2000/svg}"


def luminance(colour: str) -> float:
    """The relative luminance of WCAG 2."""
    parts = [int(colour[start : start + 2], 16) / 255 for start in (1, 3, 5)]
    linear = [p / 12.92 if p <= 0.04045 else ((p + 0.055) / 1.055) ** 2.4 for p in parts]
    return sum(weight * value for weight, value in zip((0.2126, 0.7152, 0.0722), linear, strict=True))


@pytest.mark.parametrize(("outcome", "order"), [("pass", "2"), ("fail", "0"), ("undecided", None)])
def test_it_is_a_small_picture_of_text_with_a_title(outcome: str, order: str | None) -> None:
    text = badge("a<b>.py:step", outcome, order)
    root = ElementTree.fromstring(text)
    said = f"{outcome}, order {order}" if order else outcome
    assert root.findtext(f"{SVG}title") == root.get("aria-label") == f"a<b>.py:step: {said} (sgverify)"
    assert [item.text for item in root.iter(f"{SVG}text")] == ["sgverify", said]
    assert len(text) < 1200 and text == badge("a<b>.py:step", outcome, order)
    # No word leaves the picture.
    for item in root.iter(f"{SVG}text"):
        assert float(item.get("x")) + float(item.get("textLength")) < float(root.get("width"))


@pytest.mark.parametrize("colour", [*COLOURS.values(), GROUND])
def test_white_words_can_be_read_on_it(colour: str) -> None:
    assert 1.05 / (luminance(colour) + 0.05) >= 4.5
