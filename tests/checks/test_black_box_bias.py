"""The invariant law of torch code: that of the exact rung for the catalogue's own schemes, point by point."""

from __future__ import annotations

import math

import pytest
import torch

from sgverify import rate, torch_step, verify
from sgverify.checks.questions import make_subject
from sgverify.configuration import load_configuration
from sgverify.errors import InstabilityError
from sgverify.schemes import find_scheme, kinetic, langevin, thermostat
from tests.checks.torch_code import as_torch

DATA = {"data": [[0.0, 1.0], [1.0, 0.0], [4.0, 1.5], [0.5, -2.0]], "prior_mean": [1.0, -0.5]}
GENERIC = {
    "temperature": 0.5,
    "friction": 3.0,
    "schedule": {"step": 0.1},
    "test_function": "theta[0]**2 + theta[0]*theta[1]",
    "target": DATA,
}


def biased(step, **settings):
    return rate(step, quantity="stationary-bias", config={**GENERIC, **settings})


@pytest.mark.parametrize(
    "name, function",
    [
        ("sgld-euler", "theta[0]**2 + theta[0]*theta[1]"),
        ("sghmc-euler", "theta[0]**2 + theta[0]*theta[1]"),
        ("sghmc-euler-explicit", "theta[0]*p[1]"),
        ("sghmc-aboba", "theta[0]**4"),
        ("sghmc-oabao", "p[0]**2"),
    ],
)
def test_the_bias_of_the_catalogue_run_as_torch_code_is_the_exact_one(name, function):
    found = biased(as_torch(find_scheme(name)), test_function=function)
    steps = [point.step for point in found.points]
    exact = biased(name, test_function=function, sweep={"steps": sorted(steps, reverse=True)})
    assert (found.method, exact.method) == ("quadrature", "exact")
    assert found.found.exponent == exact.found.exponent
    assert (found.verdict, found.predicted) == (exact.verdict, exact.predicted)
    known = {point.step: point.value for point in exact.points}
    for point in found.points:
        assert abs(point.value - known[point.step]) <= point.error_bound < 1e-8


def test_a_bias_that_vanishes_is_not_seen_and_one_of_order_zero_is():
    exact = biased(as_torch(find_scheme("sghmc-baoab")))
    assert exact.verdict == "conforms" and exact.found.exponent is None

    def hot(theta, *, h, grad, T):
        return theta - h * grad(theta) + math.sqrt(2 * h) * torch.randn_like(theta)

    found = biased(torch_step(langevin)(hot))
    assert (found.verdict, found.found.exponent) == ("violates", 0)


@pytest.mark.parametrize(
    "settings, named",
    [
        ({"target": {"name": "double-well"}, "test_function": "theta**2"}, "is not quadratic"),
        ({"gradient": {"kind": "iid", "batch": 2}}, "under full gradients alone"),
    ],
)
def test_what_is_not_read_is_said(settings, named):
    found = biased(as_torch(find_scheme("sgld-euler")), **settings)
    assert found.verdict == "inconclusive" and named in found.reason


def test_a_step_that_was_chosen_and_does_not_contract_is_refused():
    with pytest.raises(InstabilityError, match="schedule.step=3: .* does not contract .* radius"):
        biased(as_torch(find_scheme("sgld-euler")), schedule={"step": 3.0})


def test_a_default_step_is_halved_until_the_chain_contracts():
    """The share of the time scale that is the default is beyond the limit of explicit Euler where friction is weak."""
    settings = {**GENERIC, "friction": 0.2, "schedule": {}}
    found = rate(as_torch(find_scheme("sghmc-euler-explicit")), quantity="stationary-bias", config=settings)
    assert (found.verdict, found.found.exponent) == ("conforms", 1)
    default = make_subject(as_torch(find_scheme("sghmc-euler-explicit")), load_configuration(settings)).step
    assert found.points[0].step < default


def test_a_chain_that_contracts_at_no_step_size_is_left_open():
    def driven(theta, p, *, h, grad, D, T):
        p = p - h * grad(theta) + h * D * p + math.sqrt(2 * D * T * h) * torch.randn_like(p)
        return theta + h * p, p

    found = rate(torch_step(kinetic)(driven), quantity="stationary-bias", config={**GENERIC, "schedule": {}})
    assert found.verdict == "inconclusive" and "contracts at no step size" in found.reason


def test_steps_that_are_not_affine_are_said():
    def clipped(theta, p, *, h, grad, D, T):
        p = p - h * (grad(theta).clamp(-1, 1) + D * p) + math.sqrt(2 * D * T * h) * torch.randn_like(p)
        return theta + h * p, p

    found = biased(torch_step(kinetic)(clipped))
    assert found.verdict == "inconclusive" and "not affine" in found.reason
    found = biased(as_torch(find_scheme("sgnht-aboba")))
    assert found.verdict == "inconclusive" and "`xi` is not known" in found.reason
    assert thermostat.state[-1] == "xi"


@pytest.mark.parametrize("cut", [0.9, 2.0, 4.0, 5.5])
def test_noise_that_is_cut_off_is_not_taken_for_normal_noise(cut):
    def clamped(theta, *, h, grad, T):
        noise = torch.randn_like(theta).clamp(-cut, cut)
        return theta - h * grad(theta) + math.sqrt(2 * T * h) * noise

    found = biased(torch_step(langevin)(clamped))
    assert found.verdict == "inconclusive" and "not affine" in found.reason


@pytest.mark.parametrize("check", ["local-order", "pure-step", "dtype", "stationary-bias"])
def test_the_certificate_of_torch_code_states_what_is_not_judged(check):
    def step(theta, *, h, grad, T):
        return theta - h * grad(theta) + math.sqrt(2 * T * h) * torch.randn_like(theta)

    (found, *_) = verify(torch_step(langevin, order=1)(step), GENERIC, checks=[check])
    assert found.verdict == "conforms" and "float32" in found.certificate["limits"], found.reason
