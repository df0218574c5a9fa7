"""What is told of a step before draws are made, against the law that is known by hand."""

from __future__ import annotations

import logging
import math

import numpy as np
import pytest
import torch

import sgverify
from sgverify.advice.step_bias import SMALL, step_bias
from sgverify.checks import make_subject
from sgverify.configuration import load_configuration
from sgverify.draws import Sampling
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
    given = {"target.name": "double-well", "gradient.kind": "additive", "gradient.covariance": 300.0}
    x = np.linspace(-8, 8, 4001)
    energy = build_target(load_configuration(**given).target).energy_float64(x[:, None])

    def spread(temperature: float) -> float:
        weights = np.exp(-(energy - energy.min()) / temperature)
        return math.sqrt(float(weights @ x**2 / weights.sum() - (weights @ x / weights.sum()) ** 2))

    for scheme, rate in (("sgld-euler", 1), ("sghmc-baoab", 2)):
        bias = step_bias(make_subject(scheme, load_configuration(**given)), 0.01)
        assert bias is not None and bias.distrust is None
        # A chain in two wells is no Gaussian: the widths are those of exp(-U/T') with the heat of the noise in T'.
        assert bias.found / bias.true == pytest.approx(
            spread(1 + 0.01 * 300 / (2 * rate)) / spread(1.0), rel=1e-6
        )


def test_a_funnel_is_not_told_anything() -> None:
    @sgverify.log_density(dim=2)
    def funnel(theta):  # type: ignore[no-untyped-def]
        v, x = theta[..., 0], theta[..., 1]
        return -(v**2) / 18 - x**2 / 2 * torch.exp(-v) - v / 2

    noise = {"kind": "additive", "covariance": [[1.0, 0.0], [0.0, 2.0]]}
    sampling = Sampling.of(
        "sgld-euler", load_configuration(gradient=noise, schedule={"step": 0.01}, steps=50), target=funnel
    )
    assert sampling.warning is None
    assert sampling.note is not None and "not to be trusted here" in sampling.note
    draws = sampling.draw()
    assert "step_bias" not in draws.attrs and "Gaussian" in draws.attrs["step_bias_unknown"]


def test_draws_hold_the_warning_that_was_given(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.WARNING, "sgverify"):
        draws = sgverify.sample("sgld-euler", IID, chains=2, steps=5)
    assert [record.getMessage() for record in caplog.records] == [draws.attrs["step_warning"]]
    assert "9.87 times as wide" in draws.attrs["step_warning"]
    assert draws.posterior.attrs["step_size"] == draws.attrs["step_size"] == pytest.approx(1 / 1001)
    assert draws.attrs["step_bias"] > 8
