"""The invariant law of torch code: that of the exact rung for the catalogue's own schemes, point by point."""

from __future__ import annotations

import math

import pytest
import torch

from sgverify import rate, torch_step, verify
from sgverify.configuration import load_configuration
from sgverify.errors import InstabilityError
from sgverify.schemes import find_scheme, kinetic, langevin
from sgverify.subject.binding import make_subject
from tests.mutants.torch_code import sgnht
from tests.zoo.torch_code import as_torch

DATA = {"data": [[0.0, 1.0], [1.0, 0.0], [4.0, 1.5], [0.5, -2.0]], "prior_mean": [1.0, -0.5]}
GENERIC = {
    "temperature": 0.5,
    "friction": 3.0,
    "schedule": {"step": 0.1},
    "test_function": "theta[0]**2 + theta[0]*theta[1]",
    "target": DATA,
}

LINE = {"target": {"name": "gaussian"}, "test_function": "theta**2"}


def biased(step, **settings):
    return rate(step, quantity="stationary-bias", config={**GENERIC, **settings})


@pytest.mark.by_default("sgld-euler-theta[0]**2 + theta[0]*theta[1]", "sghmc-euler-explicit-theta[0]*p[1]")
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
        ({"target": {"name": "double-well", "dim": 2}}, "dim=2"),
        ({"gradient": {"kind": "reshuffle", "batch": 2}}, "depend on one another"),
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


@pytest.mark.power  # 1.0 s
def test_steps_that_are_not_affine_are_said():
    def clipped(theta, *, h, grad, T):
        return theta - h * grad(theta).clamp(-1, 1) + math.sqrt(2 * T * h) * torch.randn_like(theta)

    found = rate(torch_step(langevin)(clipped), quantity="stationary-bias", target={"name": "gaussian"})
    assert found.verdict == "violates" and "not affine" in found.reason
    found = rate(sgnht, quantity="stationary-bias", target={"name": "gaussian"})
    assert found.verdict == "conforms" and "not affine" in found.reason


@pytest.mark.by_default("3.0-violates")
@pytest.mark.parametrize("cut, verdict", [(0.9, "violates"), (3.0, "violates"), (5.5, "inconclusive")])
def test_noise_that_is_cut_off_is_not_taken_for_normal_noise(cut, verdict):
    def clamped(theta, *, h, grad, T):
        noise = torch.randn_like(theta).clamp(-cut, cut)
        return theta - h * grad(theta) + math.sqrt(2 * T * h) * noise

    found = biased(torch_step(langevin)(clamped))
    assert found.verdict == verdict, found.reason


@pytest.mark.power  # 0.7 s
def test_noise_of_two_points_has_the_right_law():
    def two_point(theta, *, h, grad, T):
        z = torch.randn_like(theta)
        return theta - h * grad(theta) + math.sqrt(2 * T * h) * torch.where(z > 0, 1.0, -1.0)

    found = biased(torch_step(langevin)(two_point), **LINE)
    assert (found.verdict, found.found.exponent) == ("conforms", 1), found.reason


def far_off(theta, *, h, grad, T):
    """Noise doubled beyond 5."""
    wide = 1 + (theta.abs() > 5).to(theta.dtype)
    return theta - h * grad(theta) + math.sqrt(2 * T * h) * wide * torch.randn_like(theta)


def test_states_are_tried_out_to_six_spreads_of_the_target():
    wide = {"target": {"name": "gaussian", "precision": 0.01}}
    found = rate(torch_step(langevin)(far_off), quantity="stationary-bias", config=wide)
    assert found.verdict == "violates" and "spreads" in found.reason
    narrow = rate(
        torch_step(langevin)(far_off), quantity="stationary-bias", config={"target": {"name": "gaussian"}}
    )
    assert narrow.verdict == "inconclusive" and "one step is not affine at theta = -5.01" in narrow.reason


def switching(limit):
    def step(theta, *, h, grad, T):
        return theta - h * grad(theta) + math.sqrt((1 if h > limit else 2) * T * h) * torch.randn_like(theta)

    return torch_step(langevin, order=1)(step)


def test_steps_that_no_powers_of_h_explain_are_no_green_line():
    steps = {"target": {"name": "gaussian"}, "sweep": {"steps": [0.8, 0.6, 0.3, 0.2, 0.1]}}
    found = rate(switching(0.5), quantity="stationary-bias", config=steps)
    assert found.verdict == "inconclusive" and "at the configured h=0.6" in found.reason
    assert rate(switching(2.0), quantity="stationary-bias", config=steps).verdict == "conforms"
    small = {**steps, "sweep": {"steps": [0.02, 0.01, 0.005, 0.0025]}}
    found = rate(switching(0.015), quantity="stationary-bias", config=small)
    assert found.verdict == "violates" and "announce" in found.reason


@pytest.mark.by_default("local-order", "pure-step", "dtype")
@pytest.mark.parametrize("check", ["local-order", "pure-step", "dtype", "stationary-bias"])
def test_the_certificate_of_torch_code_states_what_is_not_judged(check):
    def step(theta, *, h, grad, T):
        return theta - h * grad(theta) + math.sqrt(2 * T * h) * torch.randn_like(theta)

    (found, *_) = verify(torch_step(langevin, order=1)(step), GENERIC, checks=[check])
    assert found.verdict == "conforms" and "float32" in found.certificate["limits"], found.reason


def test_float32_hides_no_power_of_h():
    def rounded(theta, *, h, grad, T):
        moved = theta.float() - h * grad(theta).float()
        return moved.double() + math.sqrt(2 * T * h) * torch.randn_like(theta)

    found = rate(torch_step(langevin)(rounded), quantity="stationary-bias")
    assert (found.verdict, found.found.exponent) == ("conforms", 1)
