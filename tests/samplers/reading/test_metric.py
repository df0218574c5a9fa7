"""Schemes in a metric on torch: one step by hand, and the posterior that they keep only with their correction."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
import torch

from sgverify.configuration import TargetTable
from sgverify.errors import ConfigurationError
from sgverify.exact.readings.formula import plant
from sgverify.samplers import Settings, fixed, sample
from sgverify.samplers.reading.carrier import Chains
from sgverify.schemes import find_scheme
from sgverify.targets import build_target, parse_observable
from sgverify.targets.metric import DEFAULT_METRIC, parse_metric
from tests.tables import each_row

SGRLD = find_scheme("sgrld-euler")


def test_what_a_definition_asks_of_the_metric_is_by_coordinate():
    metric = parse_metric("2 - theta + theta**2")
    assert metric.coefficients == (2, -1, 1)
    theta, v = (
        torch.tensor([[[0.5, -2.0]]], dtype=torch.float64),
        torch.tensor([[[3.0, 1.0]]], dtype=torch.float64),
    )
    root, slope = 2 - theta + theta**2, 2 * theta - 1
    for found, expected in (
        (metric.root(Chains(theta), Chains(v)), root * v),
        (metric.transposed(Chains(theta), Chains(v)), root * v),
        (metric.inverse(Chains(theta), Chains(v)), root * root * v),
        (metric.divergence(Chains(theta)), 2 * root * slope),
        (metric.root_divergence(Chains(theta)), slope),
    ):
        assert torch.allclose(found.tensor, expected, rtol=1e-15)


def test_a_constant_metric_has_no_divergence():
    metric = parse_metric("3")
    theta = Chains(torch.tensor([[[0.5, -2.0]]], dtype=torch.float64))
    assert not metric.divergence(theta).tensor.any() and not metric.root_divergence(theta).tensor.any()
    assert metric.root_divergence(theta).tensor.shape == theta.tensor.shape


@each_row(
    ("text", "message"),
    [
        ("theta", "has a real zero"),
        ("theta**2 - 2*theta + 1", "has a real zero"),
        ("theta**4 - 3*theta**2 + 1", "has a real zero"),
        ("0", "has a real zero"),
        ("exp(theta)", "metric='exp.*expected a polynomial in theta"),
        ("", "metric='' is empty"),
    ],
)
def test_a_metric_that_is_none_is_refused(text, message):
    with pytest.raises(ConfigurationError, match=message):
        parse_metric(text)


@each_row("text", ["1", "-2", "theta**2 + 1/100", "theta**4 - theta**2 + 1", "theta**2 - theta + 1"])
def test_polynomials_without_a_real_zero_are_metrics(text):
    found = parse_metric(text)
    roots = np.roots([float(c) for c in reversed(found.coefficients)])
    assert not any(abs(root.imag) < 1e-9 for root in roots)
    assert parse_metric(None) == parse_metric(DEFAULT_METRIC)


def second_moment(scheme):
    """Mean and standard error of the average of theta^2 over chains on N(0, 1), B = 1 + theta^2/2, h = 0.002."""
    target = build_target(TargetTable(name="gaussian", precision=1.0))
    settings = Settings(chains=512, metric="1 + theta**2/2", start=0.5, burn_in=500)
    averages = sample(
        scheme,
        target,
        fixed([0.002], [2500]),
        observables=[parse_observable("theta**2", 1)],
        settings=settings,
    )
    values = averages.values[0, 0, 0]
    return float(values.mean()), float(values.std(ddof=1)) / len(values) ** 0.5


@pytest.mark.power  # 0.6 s
def test_the_posterior_is_kept_with_the_correction_and_lost_without_it():
    mean, error = second_moment(SGRLD)
    # The Euler step is biased by a few h, which is below the noise of this run.
    assert abs(mean - 1) < 4 * error + 0.02
    mean, error = second_moment(plant(SGRLD, "T*metric.divergence(theta) - ", "-"))
    assert abs(mean - 1) > 8 * error + 0.02


def test_the_default_step_of_a_riemannian_scheme_falls_with_its_metric():
    from sgverify.configuration import load_configuration
    from sgverify.subject.binding import make_subject

    def step(text):
        return make_subject("sgrld-euler", load_configuration(metric=text)).step

    assert step("1") == pytest.approx(9 * step("3")) and Fraction(0) < step("1 + theta**2") < step("1")
