"""Schemes side by side: closed forms, a wrong share, schemes without a law, torch code, and what is written."""

from __future__ import annotations

import csv
import math
from pathlib import Path
from typing import Any

import pytest
import torch
from matplotlib.mathtext import MathTextParser

from sgverify import Alphabet, compare, exp, scheme, sqrt, torch_step
from sgverify.advice.comparison import ComparedScheme, SchemeComparison
from sgverify.advice.comparison.model import COMPARISON, DRAW, MOST
from sgverify.advice.comparison.rows import SchemeRow
from sgverify.advice.comparison.writing import write
from sgverify.configuration import load_configuration
from sgverify.errors import UserError
from sgverify.evidence import Provenance
from sgverify.report.figures import scheme_places
from sgverify.schemes import kinetic, langevin
from sgverify.subject.binding import make_subject
from tests.tables import each_row

STANDARD: dict[str, Any] = {"target": {"name": "gaussian"}}


def drift(theta, p, *, t):
    return theta + t * p, p


def kick(theta, p, *, t, grad):
    return theta, p - t * grad(theta)


def force_gradient(theta, p, *, t, grad):
    force = grad(theta)
    return theta, p - t * force + 3 * t**3 / 32 * grad.hessian(theta, force)


def friction(theta, p, *, t, noise, D, T):
    return theta, exp(-D * t) * p + sqrt(T * (1 - exp(-2 * D * t))) * noise()


LETTERS = Alphabet("mine", kinetic, A=drift, K=kick, G=force_gradient, O=friction)
FOURTH = LETTERS.word("OKAGAKO", coefficients="1/2,1/6,1/2,2/3,1/2,1/6,1/2", name="fourth")
WRONG = LETTERS.word("OKAGAKO", coefficients="1/2,1/4,1/2,1/2,1/2,1/4,1/2", name="wrong-shares")


@scheme(langevin)
def uphill(theta, *, h, grad, noise, T):
    return theta + h * grad(theta) + sqrt(2 * T * h) * noise()


@torch_step(langevin)
def by_hand(theta, *, h, grad, T):
    return theta - h * grad(theta) + (2 * h * T) ** 0.5 * torch.randn_like(theta)


@torch_step(langevin)
def up_by_hand(theta, *, h, grad, T):
    return theta + h * grad(theta) + (2 * h * T) ** 0.5 * torch.randn_like(theta)


def row(comparison: SchemeComparison, label: str) -> ComparedScheme:
    (found,) = [one for one in comparison.schemes if one.label == label]
    return found


@pytest.fixture(scope="module")
def splittings() -> SchemeComparison:
    return compare(FOURTH, WRONG, "sghmc-baoab", "sghmc-aboba", "sghmc-obabo", config=STANDARD)


def test_a_wrong_share_is_ranked_with_its_own_order_and_bias(splittings: SchemeComparison) -> None:
    right, wrong = row(splittings, "fourth"), row(splittings, "wrong-shares")
    assert (right.invariant_order, right.invariant_order_by) == (4, "proof")
    assert (wrong.invariant_order, wrong.invariant_order_by) == (2, "proof")
    assert right.leading == "0.00116 h^4" and wrong.leading == "0.0371 h^2"
    assert right.leading_error.startswith("h^5 ( -(1/2880) p^5 U^(5)") and "h^3" in wrong.leading_error
    costs = [one.cost_for_error for one in splittings.schemes]
    assert costs == sorted(costs) and splittings.schemes[-1] is wrong
    # Three kicks, one of which is the next step's first, and a Hessian-vector product that counts as two.
    assert right.gradients == wrong.gradients == 4 and "Hessian-vector" in right.counted
    # Equal costs are equal steps over the gradients of a step.
    assert all(one.gradients / one.step == pytest.approx(splittings.cost) for one in splittings.schemes)


def test_numbers_on_the_standard_normal_are_those_by_hand(splittings: SchemeComparison) -> None:
    """OBABO has Var theta = 1/(1 - h^2/4) on N(0, 1), BAOAB has 1 exactly; ABOBA contracts at every step at D = 2."""
    obabo, baoab, aboba = (row(splittings, name) for name in ("sghmc-obabo", "sghmc-baoab", "sghmc-aboba"))
    for one in obabo.curve:
        assert one.bias == pytest.approx((1 - one.step**2 / 4) ** -0.5 - 1, rel=1e-13)
    assert obabo.sd_bias == obabo.distance == pytest.approx((1 - obabo.step**2 / 4) ** -0.5 - 1, rel=1e-13)
    assert obabo.step_for_error == pytest.approx(2 * math.sqrt(1 - 1.01**-2), rel=1e-3)
    assert obabo.stability_limit == baoab.stability_limit == pytest.approx(2, rel=1e-9)
    assert baoab.sd_bias == 0 and baoab.leading == "0 to h^4" and baoab.cost_for_error == pytest.approx(0.5)
    assert aboba.unlimited and aboba.text("stability_limit") == "every h"
    # A bias far below the rounding of float64 keeps its digits: the curve of order 4 falls as the step's fourth power.
    two = sorted(row(splittings, "fourth").curve, key=lambda point: point.step)[:2]
    power = math.log(two[1].bias / two[0].bias) / math.log(two[1].step / two[0].step)
    assert abs(two[0].bias) < 1e-9 and power == pytest.approx(4, abs=1e-3)


def test_a_scheme_without_a_law_is_said_with_its_reason_and_torch_code_has_that_of_its_definition() -> None:
    target = {"name": "gaussian", "precision": 4.0}
    found = compare(uphill, by_hand, up_by_hand, "sgld-euler", "psgld", config={"target": target})
    lost = row(found, "uphill")
    assert "contracts at no step size" in row(found, "up_by_hand").reasons["cost_for_error"]
    assert lost.curve == () and "contracts at no step size" in lost.reasons["stability_limit"]
    assert (lost.order, lost.invariant_order) == (0, 0) and found.schemes[-1].cost_for_error is None
    code, definition = row(found, "by_hand"), row(found, "sgld-euler")
    assert code.method == "quadrature" and code.order_by == "quadrature" and code.gradients == 1
    for name in ("sd_bias", "distance", "independent_draw", "order"):
        assert getattr(code, name) == pytest.approx(getattr(definition, name), rel=1e-6)
    assert code.stability_limit == pytest.approx(0.5, rel=2e-3)
    assert "not affine" in row(found, "psgld").reasons["mean_bias"]
    cells = {cell for table in found.tables for line in table.rows for cell in line}
    assert None not in cells and all(mark in str(found) for mark in found.marks.values())


def test_contractions_are_those_of_the_target_or_of_a_given_class() -> None:
    two = {"target": {"name": "gaussian", "precision": [1.0, 2.0], "dim": 2}}
    given = compare("sgld-euler", uphill, config=STANDARD, cost=20, m=1, L=2)
    own = compare("sgld-euler", uphill, config=two, cost=20)
    # The slowest of the class is the quadratic of curvature m: 1 - h m.
    for found in (given, own):
        assert row(found, "sgld-euler").contraction == pytest.approx(1 / 20, rel=1e-6)
    assert "1 <= U'' <= 2" in str(given) and "the target's curvatures" in own.conventions


def test_a_scheme_has_one_colour_whatever_stands_beside_it() -> None:
    alone, beside = scheme_places(["sghmc-ubu"]), scheme_places(["mine", "sghmc-baoab", "sghmc-ubu", "other"])
    assert alone["sghmc-ubu"] == beside["sghmc-ubu"] and len({*beside.values()}) == 4


def test_dynamics_that_differ_are_compared_by_independent_draws_and_equal_curves_are_one() -> None:
    found = compare("sgld-euler", "sghmc-euler", "sghmc-momentum", config=STANDARD)
    assert found.unit == "independent draw"
    assert all(one.independent_draw == pytest.approx(found.cost, rel=1e-9) for one in found.schemes)
    assert "nearly one curve: sghmc-euler, sghmc-momentum" in found.remarks
    assert found.panel is not None
    assert {series.label for series in found.panel.series} == {"sgld-euler", "sghmc-euler = sghmc-momentum"}


def test_a_draw_costs_a_step_or_more_and_its_cheapest_step_is_not_the_largest() -> None:
    # With little friction theta oscillates, and its mean is nearly free. At h = 1 each step of Euler is an independent draw; the
    # step with a bias of 1000 % is larger, and the square of theta there costs more.
    found = compare("sghmc-baoab", "sgld-euler", config={**STANDARD, "friction": 0.1}, error=10)
    kinetic, euler = row(found, "sghmc-baoab"), row(found, "sgld-euler")
    assert kinetic.cost_for_error > 1
    assert (euler.step_for_error, euler.cost_for_error) == pytest.approx((1, 1), rel=1e-4)


@scheme(langevin)
def two_stages(theta, *, h, grad, noise, T):
    half = theta - 3 * h / 10 * grad(theta)
    return half - 7 * h / 10 * grad(half) + sqrt(2 * T * h) * noise()


def test_of_several_minima_the_least_cost_is_taken() -> None:
    """At curvature r the mean shrinks by (1 - 0.3 h r)(1 - 0.7 h r), which is 0 at two step sizes: the cost has three minima."""
    c = load_configuration(target={"name": "gaussian", "dim": 2, "precision": [1.0, 0.9]})
    row = SchemeRow(make_subject(two_stages, c), brief=True, unit=DRAW)
    for largest in (3.746, 4.491):
        assert row.cheapest(largest) == pytest.approx(1.579, abs=1e-3), largest


@scheme(langevin)
def of_bounded_steps(theta, *, h, grad, noise, T):
    return theta - (1 - exp(-h)) / 2000 * grad(theta) + sqrt((1 - exp(-h)) / 1000 * T) * noise()


def test_a_limit_of_second_moments_that_is_not_found_is_said_to_be_searched_for() -> None:
    """The mean contracts at every step; the curvatures of minibatches are random, and no limit is known to be none."""
    given = {"target": {"name": "linear-regression"}, "gradient": {"kind": "iid", "batch": 300}}
    row = SchemeRow(make_subject(of_bounded_steps, load_configuration(given)), brief=True)
    found = row.compared(None, 0.01)
    assert found.stability_limit is None and not found.unlimited
    assert found.reasons["stability_limit"].endswith(f"up to h = {row.subject.step_sizes.searched:.4g}")


@pytest.mark.parametrize("kind", ["reshuffle", "control-variate"])
def test_gradients_that_depend_on_one_another_have_their_curves(kind: str) -> None:
    given = {"target": {"data": [-1.0, 0.5, 1.0, 1.5]}, "gradient": {"kind": kind, "batch": 2}}
    found = compare("sghmc-aboba", "sghmc-ubu", config=given)
    per_step = {"reshuffle": 2, "control-variate": 4}[kind]
    assert {one.gradients for one in found.schemes} == {per_step} and all(one.curve for one in found.schemes)


def test_all_files_are_written_and_the_answer_is_read_again(
    splittings: SchemeComparison, tmp_path: Path
) -> None:
    made = Provenance("", "", "", "", "sgverify compare", 0.0)
    names = write(splittings, tmp_path / "out", made)
    assert {"figure.pdf", "figure.svg", "figure.png", "table.tex", "table.csv", "index.html"} <= set(names)
    tex = (tmp_path / "out" / "table.tex").read_text()
    assert [tex.count(rule) for rule in (r"\toprule", r"\midrule", r"\bottomrule")] == [2, 2, 2]
    caption = tex[tex.index(r"\caption") : tex.index(r"\begin{tabular}")]
    assert "T = 1, friction D = 2" in caption and len(caption) < 130 and "theorem" not in tex
    assert r"- \tfrac{1}{24} [A,\,[A,\,O]]" in tex and "U^{(5)}" in tex and "(1/" not in tex
    formulas = tex.replace("tfrac", "frac").split("$")
    assert len(formulas) % 2
    for formula in formulas[1::2]:
        MathTextParser("path").parse(f"${formula}$")
    rows = list(csv.DictReader((tmp_path / "out" / "table.csv").read_text().splitlines()))
    assert [line["scheme"] for line in rows] == [one.scheme for one in splittings.schemes]
    assert rows[0]["contraction"].startswith("the target has one curvature")
    assert COMPARISON.decode(_plain(splittings)).schemes == splittings.schemes
    assert list(splittings.to_dataframe()["scheme"]) == [one.scheme for one in splittings.schemes]
    assert (
        "prefers-color-scheme" in (tmp_path / "out" / "figure.svg").read_text()
        and splittings.to_latex() == tex
    )
    assert len(splittings.panel.series) <= MOST and "data:image/svg+xml" in splittings._repr_html_()


def _plain(comparison: SchemeComparison) -> Any:
    import json

    return json.loads(json.dumps(comparison.document()))


@each_row(
    ("schemes", "given", "message"),
    [
        ((), {}, "no scheme to compare"),
        (("sghmc-baoab",), {"error": 0}, "error=0: expected a number above 0"),
        (("sghmc-baoab",), {"cost": -1.0}, "cost=-1.0: expected a number above 0"),
        (("sghmc-baoab", "sghmc-baba"), {}, "sghmc-baba"),
        (("sghmc-baoab",), {"schedule": {"kind": "power"}}, "expected 'fixed'"),
        (("sghmc-baoab",), {"target": "no-such-target"}, "no-such-target"),
        (("sghmc-baoab",), {"m": 1.0}, "--m is given alone"),
        (("sghmc-baoab",), {"m": 2.0, "L": 1.0}, "expected m <= L"),
    ],
)
def test_a_wrong_call_is_refused(schemes: Any, given: Any, message: str) -> None:
    with pytest.raises(UserError, match=message):
        compare(*schemes, **given)
