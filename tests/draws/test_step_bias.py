"""What is told of a step before draws are made, against the law that is known by hand."""

from __future__ import annotations

import logging
import math

import numpy as np
import pytest

import sgverify
from sgverify.checks import make_subject
from sgverify.configuration import load_configuration
from sgverify.draws import Sampling
from sgverify.draws.step_bias import SMALL, step_bias
from sgverify.targets import build_target

IID = {"gradient.kind": "iid"}


def euler_spread(step: float, size: int = 1000, batch: int = 10) -> tuple[float, float]:
    """(found, true): theta' = theta - h (grad + noise) + sqrt(2 h) xi has the variance (2h + h^2 V)/(1 - (1 - h P)^2)."""
    data = build_target(load_configuration(target={"size": size}).target).data
    assert data is not None
    precision, variance = size + 1, size**2 / batch * float(data.var())
    found = (2 * step + step**2 * variance) / (1 - (1 - step * precision) ** 2)
    return math.sqrt(found), precision**-0.5


def test_minibatches_at_the_default_step_are_known_to_widen_the_draws() -> None:
    subject = make_subject("sgld-euler", load_configuration(**IID))
    bias = step_bias(subject, subject.step)
    assert bias is not None and bias.matters and bias.better is not None
    assert (bias.found, bias.true) == pytest.approx(euler_spread(subject.step), rel=1e-9)
    assert bias.share > 8
    # The step that is named does what is said of it, and is not needlessly small.
    found, true = euler_spread(bias.better)
    assert 1 + SMALL / 4 < found / true <= 1 + SMALL


def test_an_unbiased_step_is_passed_without_a_word() -> None:
    assert Sampling.of("sghmc-baoab", load_configuration()).warning is None


def test_noise_on_a_double_well_heats_the_step() -> None:
    given = {"target.name": "double-well", "gradient.kind": "additive", "gradient.covariance": 30.0}
    for scheme, rate in (("sgld-euler", 1), ("sghmc-baoab", 2)):
        subject = make_subject(scheme, load_configuration(**given))
        bias = step_bias(subject, 0.1)
        assert bias is not None
        assert (1 + bias.share) ** 2 == pytest.approx(1 + 0.1 * 30 / (2 * rate))


def test_the_rule_and_the_law_agree_where_the_step_is_small() -> None:
    settings = {"target.name": "linear-regression", "target.size": 20, "target.dim": 2, **IID}
    subject = make_subject("sgld-euler", load_configuration(**settings))
    from sgverify.draws.step_bias import _exact_widths, _ruled_widths

    exact, ruled = _exact_widths(subject), _ruled_widths(subject)
    assert exact is not None and ruled is not None
    step = subject.step / 1000
    np.testing.assert_allclose(exact.true, ruled.true)
    # The rule leaves out how coordinates share the heat.
    np.testing.assert_allclose(exact.at(step) / exact.true - 1, ruled.at(step) / ruled.true - 1, rtol=0.8)


def test_draws_hold_the_warning_that_was_given(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.WARNING, "sgverify"):
        draws = sgverify.sample("sgld-euler", IID, chains=2, steps=5)
    assert [record.getMessage() for record in caplog.records] == [draws.attrs["step_warning"]]
    assert "9.87 times as wide" in draws.attrs["step_warning"]
    assert draws.posterior.attrs["step_size"] == draws.attrs["step_size"] == pytest.approx(1 / 1001)
    assert draws.attrs["step_bias"] > 8
