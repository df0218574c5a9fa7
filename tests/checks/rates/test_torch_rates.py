"""Torch code at L steps, in all moments and under minibatches: the catalogue's schemes as torch code against the exact engines."""

from __future__ import annotations

import math

import pytest
import torch

from sgverify import rate, torch_step, verify
from sgverify.checks.readings import noise_enters_as_drift
from sgverify.configuration import load_configuration
from sgverify.schemes import find_scheme, kinetic, langevin, scheme, sqrt
from sgverify.subject.binding import make_subject
from tests.zoo.torch_code import as_torch

DATA = {"data": [[0.0, 1.0], [1.0, 0.0], [4.0, 1.5], [0.5, -2.0]], "prior_mean": [1.0, -0.5]}
GENERIC = {
    "temperature": 0.5,
    "friction": 3.0,
    "test_function": "theta[0]**2 + theta[0]*theta[1]",
    "target": DATA,
}
IID = {"kind": "iid", "batch": 2}
LENGTHS = {"lengths": [10, 1000, 10**7]}


def asked(step, quantity, **settings):
    return rate(step, quantity=quantity, config={**GENERIC, **settings})


@pytest.mark.by_default("sgld-euler-gradient0-mse")
@pytest.mark.parametrize("quantity", ["bias", "mse"])
@pytest.mark.parametrize(
    "name, gradient",
    [
        ("sgld-euler", {"kind": "full"}),
        ("sghmc-aboba", IID),
        ("sghmc-oabao", {"kind": "without-replacement", "batch": 2}),
        ("sghmc-euler", {"kind": "additive", "covariance": [[1.0, 0.3], [0.3, 2.0]]}),
    ],
)
def test_values_at_l_steps_are_those_of_the_exact_engines(name, gradient, quantity):
    settings = {
        "gradient": gradient,
        "schedule": {"kind": "horizon", "alpha": 0.25, "scale": 0.1},
        "sweep": LENGTHS,
    }
    found = asked(as_torch(find_scheme(name)), quantity, **settings)
    exact = asked(name, quantity, **settings)
    assert (found.method, exact.method) == ("quadrature", "exact")
    assert (found.verdict, found.found, found.predicted) == (exact.verdict, exact.found, exact.predicted)
    for one, other in zip(found.points, exact.points, strict=True):
        assert abs(one.value - other.value) <= one.error_bound + other.error_bound
        assert one.error_bound < 1e-8


@scheme(langevin, order=1)
def defined(theta, *, h, grad, noise, T):
    """A step with two-point noise."""
    return theta - h * grad(theta) + sqrt(2 * T * h) * noise.two_point()


def drawn(noise):
    def step(theta, *, h, grad, T):
        return theta - h * grad(theta) + math.sqrt(2 * T * h) * noise(theta)

    return torch_step(langevin)(step)


LINE = {"target": {"name": "gaussian", "precision": 2.0}, "test_function": "theta**2", "temperature": 0.5}


def test_cumulants_of_draws_that_are_not_normal_are_in_the_mean_square_error():
    step = drawn(lambda theta: 2.0 * torch.randint(0, 2, theta.shape).to(theta.dtype) - 1)
    settings = {"schedule": {"kind": "horizon", "alpha": 0.25, "scale": 0.1}, "sweep": LENGTHS}
    found = rate(step, quantity="mse", config={**LINE, **settings})
    exact = rate(defined, quantity="mse", config={**LINE, **settings})
    for one, other in zip(found.points, exact.points, strict=True):
        assert abs(one.value - other.value) <= one.error_bound + other.error_bound
        assert one.error_bound <= 1e-9 * abs(other.value)


@pytest.mark.by_default("gradient0-covariance")
@pytest.mark.parametrize("quantity", ["covariance", "wasserstein-2"])
@pytest.mark.parametrize("gradient", [{"kind": "full"}, IID])
def test_all_moments_of_the_law_are_those_of_the_exact_engine(quantity, gradient):
    steps = [0.1 / 2**k for k in range(7)]
    settings = {"gradient": gradient, "sweep": {"steps": steps}}
    found = asked(as_torch(find_scheme("sghmc-aboba")), quantity, **settings)
    exact = asked("sghmc-aboba", quantity, **settings)
    assert (found.verdict, found.found.exponent) == (exact.verdict, exact.found.exponent)
    for one, other in zip(found.points, exact.points, strict=True):
        assert abs(one.value - other.value) <= one.error_bound + other.error_bound < 1e-7


SHEAR = 0.25


@torch_step(kinetic, order=2)
def sheared(theta, p, *, h, grad, D, T):
    """A right step in (theta, p - SHEAR theta): the law of theta is right, and p is correlated with theta."""
    p = p - SHEAR * theta
    keep = math.exp(-D * h / 2)
    p = keep * p + math.sqrt(T * (1 - keep**2)) * torch.randn_like(p)
    theta = theta + h / 2 * p
    p = p - h * grad(theta)
    theta = theta + h / 2 * p
    p = keep * p + math.sqrt(T * (1 - keep**2)) * torch.randn_like(p)
    return theta, p + SHEAR * theta


def test_a_wrong_cross_moment_is_seen_where_the_test_function_is_right():
    settings = {"target": {"name": "gaussian"}, "friction": 1.0}
    assert rate(sheared, quantity="stationary-bias", config=settings).verdict == "conforms"
    found = rate(sheared, quantity="covariance", config=settings)
    assert found.verdict == "violates" and found.found.exponent == 0
    assert "covariance of theta and p" in found.reason or "variance of p" in found.reason


def heated(theta, *, h, grad, T):
    """With full gradients SGLD; the noise of minibatches enters with sqrt(h)."""
    other = grad.fresh()(theta) - grad(theta)
    return theta - h * grad(theta) + math.sqrt(h) * other + math.sqrt(2 * T * h) * torch.randn_like(theta)


def test_noise_of_gradients_that_enters_at_another_power_of_h_is_seen_and_not_excused():
    data = {"target": {"data": [0.0, 1.0, 4.0, 0.5]}, "gradient": IID}
    assert (
        rate(
            torch_step(langevin)(heated), quantity="stationary-bias", **{**data, "gradient": {"kind": "full"}}
        ).verdict
        == "conforms"
    )
    found = rate(torch_step(langevin)(heated), quantity="stationary-bias", **data)
    assert (found.verdict, found.found.exponent) == ("violates", 0)
    for step, enters in ((heated, False), (as_torch(find_scheme("sgld-euler")).function, True)):
        subject = make_subject(
            torch_step(langevin)(step) if step is heated else as_torch(find_scheme("sgld-euler")),
            load_configuration(None, **data),
        )
        assert noise_enters_as_drift(subject) is enters


@pytest.mark.power  # 1.0 s
def test_a_second_order_step_under_minibatches_is_held_to_the_corrected_claim():
    data = {"target": {"data": [0.0, 1.0, 4.0, 0.5]}, "gradient": IID}
    found = verify(as_torch(find_scheme("sghmc-aboba")), checks=["covariance", "mse"], **data)
    told = {(item.claim, item.check, item.outcome) for item in found}
    assert ("chen2015/theorem-4", "covariance", "refuted") in told
    assert ("corrected/theorem-4", "covariance", "pass") in told, told
    assert not any(outcome == "fail" for *_, outcome in told)


def clamped(theta, *, h, grad, T):
    """The clamp is beyond the full gradient at 6 spreads, and within the noise of minibatches."""
    return theta - h * grad(theta).clamp(-2000, 2000) + math.sqrt(2 * T * h) * torch.randn_like(theta)


def test_a_step_that_is_not_affine_in_noisy_gradients_is_never_passed_under_them():
    step = torch_step(langevin)(clamped)
    found = rate(step, quantity="stationary-bias", config={"gradient": {"kind": "iid", "batch": 1}})
    assert found.verdict == "inconclusive" and "not affine in its gradients" in found.reason


def thermostat(theta, p, xi, *, h, grad, D, T, dim):
    p = p - h * grad(theta) - h * xi * p + math.sqrt(2 * D * T * h) * torch.randn_like(p)
    theta = theta + h * p
    return theta, p, xi + h * ((p * p).sum(-1, keepdim=xi.ndim > 1).reshape(xi.shape) / dim - T)


@pytest.mark.power  # 1.1 s
def test_rates_of_a_step_that_is_not_affine_follow_from_its_stationary_law():
    from sgverify.schemes import thermostat as dynamics

    found = rate(torch_step(dynamics)(thermostat), quantity="mse", target={"name": "gaussian"})
    assert found.verdict == "conforms" and "transients are assumed" in found.reason
