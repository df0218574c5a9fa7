from __future__ import annotations

import dataclasses

import pytest

from sgverify.evidence import Point
from sgverify.report.colours import COLOURS, DARK_COLOURS, MARKERS, PAPER
from sgverify.report.drawing import ERROR_BARS, draw, frame_of, set_log_ticks
from sgverify.report.figures import MOST_CURVES, PLACES, figures


def find(evidence, quantity, group):
    return next(f for f in figures(evidence) if f.quantity == quantity and group in f.group)


def test_each_quantity_is_drawn_against_its_variable(evidence):
    drawn = figures(evidence)
    assert {(figure.quantity, figure.x) for figure in drawn} == {
        ("stationary-bias", "step"),
        ("bias", "length"),
        ("mse", "length"),
    }
    assert len({(figure.group, figure.title) for figure in drawn}) == len(drawn) == 10


def test_printed_and_corrected_claims_on_the_same_points_are_one_curve_with_two_guides(evidence):
    figure = find(evidence, "stationary-bias", "iid")
    curves = {curve.scheme: curve for curve in figure.curves}
    assert len(figure.curves) == len(curves) == 6
    guides = [(guide.exponent, guide.corrected) for guide in curves["second-a"].guides]
    assert guides == [(2.0, False), (1.0, True)]
    assert [guide.exponent for guide in curves["first-a"].guides] == [1.0]


def test_the_same_scheme_with_other_points_is_told_apart_by_its_alpha(evidence):
    item = next(item for item in evidence if item.check == "bias" and item.scheme == "second-a")
    other = dataclasses.replace(
        item, id="", points=item.points[:-1], configuration={**item.configuration, "schedule": {"kind": "horizon"}},
        certificate={"schedule": {"alpha": "1/2"}},
    )  # fmt: skip
    labels = [curve.label for curve in figures([item, other])[0].curves]
    assert labels == ["second-a, alpha = 1/3", "second-a, alpha = 1/2"]


def test_a_scheme_keeps_its_colour_and_no_curve_is_lost(evidence):
    for figure in figures(evidence):
        assert len(figure.curves) <= MOST_CURVES
    places = {(curve.scheme, curve.place) for figure in figures(evidence) for curve in figure.curves}
    assert len(places) == 6
    many = [
        dataclasses.replace(evidence[1], id="", scheme=f"s{number}") for number in range(2 * MOST_CURVES + 1)
    ]
    drawn = figures(many)
    assert [len(figure.curves) for figure in drawn] == [MOST_CURVES, MOST_CURVES, 1]
    assert len({figure.title for figure in drawn}) == 3


def test_the_corrected_claims_own_schedules_are_set_apart_where_there_are_many(evidence):
    printed = [dataclasses.replace(evidence[1], id="", scheme=f"s{number}") for number in range(5)]
    other = evidence[1].points[1:]
    corrected = [
        dataclasses.replace(item, id="", claim="corrected/theorem-4", points=other) for item in printed
    ]
    drawn = figures([*printed, *corrected])
    assert [[curve.corrected for curve in figure.curves] for figure in drawn] == [[False] * 5, [True] * 5]
    assert "corrected" in drawn[1].title and "corrected" not in drawn[0].title
    assert len(figures([*printed[:2], *corrected[:2]])) == 1


def test_points_without_a_place_on_the_axis_and_other_checks_are_left_out(evidence):
    item = dataclasses.replace(evidence[1], check="bias")
    assert figures([item]) == []
    both = next(item for item in evidence if item.check == "bias")
    assert len(figures([both])) == 1
    assert figures([dataclasses.replace(both, check="agreement")]) == []


def test_the_description_tells_what_was_found_and_predicted(evidence):
    text = find(evidence, "stationary-bias", "iid").description
    assert "second-a: found h^1, predicted h^2 or faster, h^1 or faster" in text


def lines(figure):
    return draw(figure).axes[0].get_lines()


def test_guides_pass_through_the_end_that_the_claim_speaks_of_with_the_predicted_slope(evidence):
    import math

    for quantity, pick in (("stationary-bias", min), ("mse", max)):
        figure = find(evidence, quantity, "iid")
        (curve,) = [curve for curve in figure.curves if curve.scheme == "second-a"]
        exact = [point for point in curve.points if point.kind == "exact"]
        anchor = pick(exact, key=lambda point: getattr(point, figure.x))
        drawn = [
            line
            for line in lines(dataclasses.replace(figure, curves=(curve,)))
            if line.get_alpha() is not None
        ]
        assert len(drawn) == len(curve.guides) >= 1
        for line, guide in zip(drawn, curve.guides, strict=True):
            (x0, x1), (y0, y1) = line.get_data()
            assert math.log(y1 / y0) / math.log(x1 / x0) == pytest.approx(guide.exponent, abs=1e-9)
            on_line = y0 * (getattr(anchor, figure.x) / x0) ** guide.exponent
            assert on_line == pytest.approx(abs(anchor.value), rel=1e-9)
            assert (line.get_linestyle() == ":") == guide.corrected


def planted(*points):
    return [Point(step=0.1 * 2**n, **fields) for n, fields in enumerate(points)]


def curve_of(evidence, points):
    return dataclasses.replace(
        figures([dataclasses.replace(evidence[1], points=tuple(points))])[0]
    )  # fmt: skip


def marked(figure, marker):
    return [line for line in lines(figure) if line.get_marker() == marker and len(line.get_xdata())]


def test_signs_zeros_and_divergence_are_marked(evidence):
    points = planted(
        {"value": -1.0}, {"value": 2.0}, {"value": 0.0}, {"value": float("inf"), "diverged": True}
    )
    figure = curve_of(evidence, points)
    (change,) = marked(figure, "|")
    assert points[0].step < change.get_xdata()[0] < points[1].step
    (zero,) = marked(figure, "$0$")
    assert list(zero.get_xdata()) == [points[2].step]
    (gone,) = marked(figure, "x")
    assert list(gone.get_xdata()) == [points[3].step]
    hollow = [line for line in lines(figure) if line.get_markerfacecolor() == PAPER and len(line.get_xdata())]
    assert [list(line.get_xdata()) for line in hollow] == [[points[0].step]]


def test_no_mark_where_nothing_changes_sign(evidence):
    figure = curve_of(evidence, planted({"value": -1.0}, {"value": -2.0}))
    assert not marked(figure, "|") and not marked(figure, "$0$") and not marked(figure, "x")


def test_sampled_points_have_bars_and_no_line(evidence):
    figure = curve_of(evidence, planted({"value": 1.0, "standard_error": 0.25, "kind": "sampled"}))
    axes = draw(figure).axes[0]
    (container,) = axes.containers
    (bar,) = container.lines[2]
    (segment,) = bar.get_segments()
    assert [segment[0][1], segment[1][1]] == [1 - ERROR_BARS * 0.25, 1 + ERROR_BARS * 0.25]
    exact = draw(curve_of(evidence, planted({"value": 1.0}))).axes[0]
    assert not exact.containers


def test_values_at_the_edge_of_what_floats_hold_are_drawn(evidence):
    figure = curve_of(evidence, planted({"value": 5e-324}, {"value": 1e300}))
    assert draw(figure).embedded("f1").endswith("</svg>")


def test_a_figure_of_zeros_alone_is_drawn(evidence):
    figure = curve_of(evidence, planted({"value": 0.0}, {"value": 0.0}))
    assert len(marked(figure, "$0$")) == 2


def test_the_same_figure_gives_the_same_bytes_and_ids_of_its_own(evidence):
    figure = figures(evidence)[0]
    first, second = draw(figure).embedded("f1"), draw(figure).embedded("f1")
    assert first == second
    import re

    ids = re.findall(r'\bid="([^"]+)"', first)
    assert ids and len(ids) == len(set(ids)) and all(id.startswith("f1-") for id in ids)
    targets = re.findall(r'(?:href="|url\()#([^")]+)', first)
    assert targets and set(targets) <= set(ids)
    assert "http" not in first and "<metadata" not in first


def test_names_in_a_figure_are_text_and_never_markup(evidence):
    (figure,) = figures([dataclasses.replace(evidence[1], scheme="one<b>&two")])
    text = draw(figure).embedded("f1")
    assert "<b>" not in text and text.count("one&lt;b&gt;&amp;two") >= 2
    import xml.etree.ElementTree as ElementTree

    ElementTree.fromstring(text)


def test_there_is_a_colour_and_a_marker_for_each_place_on_light_and_dark():
    assert (
        PLACES
        == len(COLOURS)
        == len(set(COLOURS))
        == len(DARK_COLOURS)
        == len(set(DARK_COLOURS))
        == len(set(MARKERS))
    )


@pytest.mark.parametrize("paper, colours", [("#fdfdfc", COLOURS), ("#16181a", DARK_COLOURS)])
def test_curves_stand_out_from_the_page(paper, colours):
    """Contrast of at least 3 to 1, as WCAG 2.1 (1.4.11) asks of graphics."""

    def luminance(colour):
        parts = [int(colour[place : place + 2], 16) / 255 for place in (1, 3, 5)]
        linear = [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]
        return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]

    for colour in colours:
        dark, light = sorted((luminance(colour), luminance(paper)))
        assert (light + 0.05) / (dark + 0.05) >= 3, colour


def test_the_ticks_of_an_axis_of_less_than_half_a_decade_are_told_apart():
    from matplotlib.figure import Figure

    axis = Figure().add_subplot().yaxis
    axis.axes.set_yscale("log")
    for low, high in ((0.21, 0.3), (1.9e-7, 4.4e-7), (2e-4, 5e-4), (1e-9, 1e3), (4.99e-4, 5.01e-4)):
        axis.axes.set_ylim(low, high)
        set_log_ticks(axis, low, high)
        texts = axis.get_major_formatter().format_ticks(axis.get_major_locator()())
        assert len(set(texts)) == len(texts) > 1


def test_a_constant_looks_flat_beside_the_slope_that_is_claimed(evidence):
    """Its axis has a decade at least, and a third of the other axis; a curve that is as high keeps its own limits."""
    figure = find(evidence, "stationary-bias", "Full")
    flat = [Point(step=step, value=5e-4 * (1 + step)) for step in (0.002, 0.03)]
    curve = dataclasses.replace(figure.curves[0], points=tuple(flat))
    _, _, low, high = frame_of(dataclasses.replace(figure, curves=(curve,)))
    assert low < 5e-4 / 3 < 5e-4 * 3 < high
    lengths = [Point(length=length, value=5e-4 + 1e-6 / length) for length in (1e2, 1e8)]
    curve = dataclasses.replace(curve, points=tuple(lengths))
    _, _, low, high = frame_of(dataclasses.replace(figure, x="length", curves=(curve,)))
    assert high / low >= 100
    steep = [Point(step=step, value=step**2) for step in (0.001, 0.1)]
    curve = dataclasses.replace(curve, points=tuple(steep))
    _, _, low, high = frame_of(dataclasses.replace(figure, curves=(curve,)))
    assert 1e-6 / 2 < low < 1e-6 < 1e-2 < high < 2e-2


@pytest.mark.parametrize("quantity, name", [("mse", "mean square error"), ("covariance", "relative error")])
def test_the_upper_axis_is_named_after_the_quantity(evidence, quantity, name):
    figure = dataclasses.replace(find(evidence, "stationary-bias", "Full"), quantity=quantity)
    (axes,) = draw(figure).axes
    assert axes.get_ylabel() == name
