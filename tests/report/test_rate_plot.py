"""One rate as a picture: signed values, errors, the slope claimed and the slope found, the same bytes every time."""

from __future__ import annotations

import math
import re
from dataclasses import replace
from pathlib import Path

import pytest

from sgverify.errors import ConfigurationError
from sgverify.evidence import Evidence, Found, Point, Predicted
from sgverify.report.rate_plot import draw_rate, has_rate

STEPS = (0.16, 0.08, 0.04, 0.02, 0.01)


def evidence(check: str = "stationary-bias", **changes: object) -> Evidence:
    points = tuple(Point(step=h, value=-(0.5 + h), error_bound=1e-15) for h in STEPS)
    made = Evidence(
        scheme="mine.py:wrong", claim="chen2015/theorem-4", check=check, configuration={}, method="exact",
        predicted=Predicted(2), found=Found(0, 0, 0), points=points, verdict="violates", reason="of order h^0",
    )  # fmt: skip
    return replace(made, **changes)  # type: ignore[arg-type]


def lines_of(item: Evidence) -> dict[str, tuple[list[float], list[float]]]:
    """The ends of the slopes by their names in the legend."""
    (axes,) = draw_rate(item).axes
    legend = axes.get_legend()
    assert legend is not None
    points, *names = [text.get_text() for text in legend.get_texts()]
    assert points == "points"
    drawn = axes.lines[-len(names) :]
    return {
        name: (list(line.get_xdata()), list(line.get_ydata()))
        for name, line in zip(names, drawn, strict=True)
    }  # type: ignore[arg-type]


def slope(line: tuple[list[float], list[float]]) -> float:
    (a, b), (c, d) = line
    return math.log(d / c) / math.log(b / a)


def test_the_slopes_are_those_claimed_and_found_and_the_points_lie_on_the_wrong_side_of_the_claim() -> None:
    item = evidence()
    lines = lines_of(item)
    assert list(lines) == ["claimed: h^2 or faster", "found: h^0"]
    assert [slope(line) for line in lines.values()] == [pytest.approx(2), pytest.approx(0)]
    (left, _), (low, _) = lines["claimed: h^2 or faster"]
    heights = [low * (h / left) ** 2 for h in STEPS]
    values = [abs(point.value or 0) for point in item.points]
    # Above the coarser half, and below where h is small.
    assert all(height >= 0.999 * value for height, value in zip(heights[:3], values[:3], strict=True))
    assert heights[-1] < values[-1] / 10


def test_points_that_fall_as_claimed_stay_along_the_line_or_below() -> None:
    points = tuple(Point(step=h, value=h**2 * (1 - h)) for h in STEPS)
    item = evidence(points=points, found=Found(2, 2, 2), verdict="conforms")
    (left, _), (low, _) = lines_of(item)["claimed: h^2 or faster"]
    assert all((p.value or 0) <= 1.17 * low * ((p.step or 0) / left) ** 2 for p in points)


def text_of(item: Evidence, folder: Path) -> str:
    draw_rate(item).save(folder / "a.svg")
    return re.sub("<[^>]+>", "", (folder / "a.svg").read_text())


def test_signs_errors_and_points_that_are_not_there_are_told(tmp_path: Path) -> None:
    assert "hollow: negative; exact, relative error at most 2e-15" in text_of(evidence(), tmp_path)
    values = (0.4, -0.2, 0.1, 0.0, None)
    points = tuple(
        Point(step=h, value=v, standard_error=0.01, kind="sampled", diverged=v is None, note=None if v is not None else "gone")
        for h, v in zip(STEPS, values, strict=True)
    )  # fmt: skip
    text = text_of(evidence(points=points, method="monte-carlo", found=Found(1.371, 1, 1.622)), tmp_path)
    for said in (
        "hollow: negative", "|: changes sign", "0: exactly zero", "x: diverged or unknown", "two standard errors",
        "found: effective h1.37 [1, 1.62]", "the verdict is that of the test",
    ):  # fmt: skip
        assert said in text, said


def test_a_value_beside_a_change_of_sign_does_not_press_the_others_flat(tmp_path: Path) -> None:
    points = (replace(evidence().points[0], value=-2e-21), *evidence().points[1:])
    item = evidence(points=points)
    (axes,) = draw_rate(item).axes
    assert axes.get_ylim()[0] > 1e-4
    assert "0: too small to show (2e-21)" in text_of(item, tmp_path)
    # A rate of the eighth power is a rate and no dip.
    steep = evidence(points=tuple(Point(step=h, value=h**8) for h in STEPS), found=Found(8, 8, 8))
    assert "too small" not in text_of(steep, tmp_path)


def test_the_same_evidence_gives_the_same_bytes(tmp_path: Path) -> None:
    for suffix in ("svg", "png"):
        for name in ("a", "b"):
            draw_rate(evidence()).save(tmp_path / f"{name}.{suffix}")
        first, second = ((tmp_path / f"{name}.{suffix}").read_bytes() for name in ("a", "b"))
        assert first == second
    assert (tmp_path / "a.png").read_bytes()[:4] == b"\x89PNG"
    assert b"http" not in (tmp_path / "a.svg").read_bytes().partition(b"<defs>")[2].replace(
        b"http://www.w3.org", b""
    )


def test_what_is_no_rate_is_not_drawn(tmp_path: Path) -> None:
    assert has_rate(evidence())
    for item in (
        evidence(points=()),
        evidence(points=evidence().points[:1]),
        evidence(points=tuple(Point(step=h, value=0.0) for h in STEPS)),
        evidence(check="local-order"),
        evidence(check="agreement"),
        evidence(predicted=Predicted(None)),
        evidence(check="mse"),
    ):
        assert not has_rate(item), item.check
        with pytest.raises(ValueError, match="has no rate to draw"):
            draw_rate(item)
    with pytest.raises(ConfigurationError, match=r"\.svg or \.png"):
        draw_rate(evidence()).save(tmp_path / "a.gif")


def test_residuals_are_drawn_below_the_points_where_there_is_a_regression(tmp_path: Path) -> None:
    assert len(draw_rate(evidence()).axes) == 1
    line = {
        "exponent": 1.4, "low": 1.2, "high": 1.6, "interval": "95 % confidence", "h": list(STEPS[:3]), "left_out": {},
        "residuals": [0.5, -1.2, 0.4], "residuals_are": "standard errors", "lack_of_fit": 0.4,
    }  # fmt: skip
    item = evidence(method="monte-carlo", found=Found(1.4, 1.2, 1.6), certificate={"regression": line})
    _, below = draw_rate(item).axes
    assert list(below.lines[1].get_ydata()) == line["residuals"]
    assert list(below.lines[1].get_xdata()) == line["h"]
    text = text_of(item, tmp_path)
    assert "[s. e.]" in text and "an effective exponent there and no limit" in text.replace("\n", " ")
    none = evidence(certificate={"regression": {"why_none": "no", "left_out": {}}})
    assert len(draw_rate(none).axes) == 1
