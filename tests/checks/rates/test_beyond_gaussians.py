"""The invariant law of torch code beyond Gaussians: the values of the exact grids, and steps that are wrong only there."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch

from sgverify import rate, torch_step
from sgverify.exact.numbers.quadrature import OrthonormalPolynomials
from sgverify.schemes import find_scheme, langevin
from tests.zoo.torch_code import as_torch

WELL = {"target": {"name": "double-well"}}


@pytest.mark.by_default("sgld-euler")
@pytest.mark.parametrize("name", ["sgld-euler", "sghmc-aboba"])
def test_biases_are_those_of_the_grids(name):
    exact = rate(name, quantity="stationary-bias", config=WELL)
    steps = [point.step for point in exact.points]
    found = rate(
        as_torch(find_scheme(name)), quantity="stationary-bias", config={**WELL, "sweep": {"steps": steps}}
    )
    assert (found.method, exact.method) == ("quadrature", "exact")
    assert (found.verdict, found.found.exponent) == (exact.verdict, exact.found.exponent)
    known = {point.step: point.value for point in exact.points}
    for point in found.points:
        assert abs(point.value - known[point.step]) <= point.error_bound < 0.02 * abs(point.value)


def made(step):
    return torch_step(langevin, order=1)(step)


def differenced(theta, *, h, grad, T):
    """The second difference of the gradient, 0 on every Gaussian, is part of the drift."""
    more = 0.02 * (grad(theta + 0.5) - 2 * grad(theta) + grad(theta - 0.5))
    return theta - h * (grad(theta) + more) + math.sqrt(2 * T * h) * torch.randn_like(theta)


def louder_outside(theta, *, h, grad, T):
    """Noise 2 % larger beyond 1."""
    wide = 1 + 0.02 * (theta.abs() > 1).to(theta.dtype)
    return theta - h * grad(theta) + math.sqrt(2 * T * h) * wide * torch.randn_like(theta)


def test_an_error_that_gaussians_do_not_show_is_seen():
    assert (
        rate(made(differenced), quantity="stationary-bias", target={"name": "gaussian"}).verdict == "conforms"
    )
    found = rate(made(differenced), quantity="stationary-bias", config=WELL)
    assert (found.verdict, found.found.exponent) == ("violates", 0)


@pytest.mark.power  # 0.6 s
def test_a_law_that_polynomials_do_not_resolve_is_never_called_right():
    assert rate(made(louder_outside), quantity="stationary-bias", config=WELL).verdict != "conforms"


@pytest.mark.power  # 1.0 s
def test_rates_in_l_follow_from_the_power_of_h():
    found = rate(as_torch(find_scheme("sghmc-aboba")), quantity="mse", config=WELL)
    assert found.verdict == "conforms" and found.found.exponent == found.predicted.exponent
    assert "transients are assumed" in found.reason and "ergodicity is assumed" in found.reason


def test_gradient_noise_beyond_gaussians_is_left_open():
    noisy = {**WELL, "gradient": {"kind": "additive"}}
    found = rate(as_torch(find_scheme("sgld-euler")), quantity="stationary-bias", config=noisy)
    assert found.verdict == "inconclusive" and "full gradients alone" in found.reason


def test_orthonormal_polynomials_of_the_normal_law_are_hermite_s():
    x = np.linspace(-13, 13, 4001)
    found = OrthonormalPolynomials.of(x, -(x**2) / 2, 12)
    assert (
        np.abs(found.alpha).max() < 1e-12 and np.abs(found.beta[1:] - np.sqrt(np.arange(1, 12))).max() < 1e-12
    )
    nodes, weights = found.gauss(8)
    assert abs(weights @ nodes**6 - 15) < 1e-11
    at = found.at(nodes, 8)
    assert np.abs((at * weights[:, None]).T @ at - np.eye(8)).max() < 1e-11
