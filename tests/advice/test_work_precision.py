"""Curves of error against cost: their points are those of the exact engines, and equal schemes share one."""

from __future__ import annotations

import pytest

from sgverify.advice.work_precision import ALIKE, CostCurve, WorkPrecision, work_precision
from sgverify.checks.rates.engines import exact_answers
from sgverify.configuration import load_configuration
from sgverify.errors import Unreached
from sgverify.exact.affine.model import fixed_step
from sgverify.subject.binding import make_subject


def compared(scheme: str, **settings: object) -> WorkPrecision:
    return work_precision(make_subject(scheme, load_configuration(None, **settings)))


def local_slope(curve: CostCurve) -> float:
    """The power of the cost by which the error falls between the two smallest steps."""
    from math import log

    one, two = curve.costs[-2:]
    return log(abs(two.bias / one.bias)) / log(two.gradients / one.gradients)


def test_points_are_exact_biases_and_slopes_the_orders_of_the_schemes() -> None:
    found = compared("sghmc-aboba")
    own = found.curves[0]
    subject = make_subject("sghmc-aboba", load_configuration(None))
    for cost in own.costs:
        exact = exact_answers(subject).stationary_bias(fixed_step(cost.step))
        assert cost.bias == float(exact.value) and cost.gradients == 1000 / cost.step
    slopes = {curve.scheme: local_slope(curve) for curve in found.curves if any(c.bias for c in curve.costs)}
    assert slopes["sghmc-aboba"] == pytest.approx(-2, abs=0.02)
    assert slopes["sghmc-euler-explicit"] == pytest.approx(-1, abs=0.05)
    # With full gradients BAOAB has no bias of theta**2 on a Gaussian: the engine says exactly zero.
    (none,) = (curve for curve in found.curves if curve.scheme == "sghmc-baoab")
    assert all(cost.bias == 0 for cost in none.costs)


def test_minibatches_make_every_scheme_of_first_order_and_change_the_count_of_gradients() -> None:
    found = compared("sghmc-aboba", **{"gradient.kind": "iid"})
    assert found.curves[0].gradients_per_step == 10
    assert local_slope(found.curves[0]) == pytest.approx(-1, abs=0.02)


def test_equal_schemes_share_a_curve() -> None:
    found = compared("sghmc-euler")
    own = found.curves[0]
    assert "sghmc-momentum" in own.alike and own.label == "sghmc-euler = sghmc-momentum"
    names = [name for curve in found.curves for name in (curve.scheme, *curve.alike)]
    assert len(names) == len(set(names)) and 0 < ALIKE < 1e-6


def test_the_picture_has_the_judged_scheme_first_and_the_table_every_scheme() -> None:
    found = compared("sghmc-ubu")
    assert found.panel.series[0].label == "sghmc-ubu" and len(found.panel.series) <= 8
    assert len(found.table.rows) == len(found.curves)
    # At its own cost the judged scheme takes its own step.
    assert found.table.rows[0][3] == pytest.approx(found.step)


def test_what_has_no_curve_is_named_with_the_reason() -> None:
    assert any(name == "sgrhmc-euler" and "metric" in why for name, why in compared("sghmc-ubu").left_out)
    with pytest.raises(Unreached, match="on the line"):
        compared("sghmc-aboba", **{"target.name": "double-well"})
