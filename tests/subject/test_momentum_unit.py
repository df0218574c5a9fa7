"""A momentum of another variance than T: the law of theta is right, and the step is read in the dynamics' own unit."""

from __future__ import annotations

import math
from typing import Any

import pytest
import torch

from sgverify import exp, scheme, sqrt
from sgverify.configuration import load_configuration
from sgverify.exact.series.local_order import local_order
from sgverify.schemes import kinetic
from sgverify.schemes.torch_step import torch_step
from sgverify.subject.binding import make_subject
from sgverify.subject.momentum_unit import TOLD, in_own_unit, told_unit


@scheme(kinetic, order=2)
def of_variance_one(theta: Any, p: Any, *, h: Any, grad: Any, noise: Any, T: Any, D: Any) -> Any:
    p = p - h / 2 * grad(theta) / T
    theta = theta + h / 2 * p
    p = exp(-h * D) * p + sqrt(1 - exp(-2 * h * D)) * noise()
    theta = theta + h / 2 * p
    return theta, p - h / 2 * grad(theta) / T


@scheme(kinetic, order=2)
def without_temperature(theta: Any, p: Any, *, h: Any, grad: Any, noise: Any, D: Any) -> Any:
    p = p - h / 2 * grad(theta)
    theta = theta + h / 2 * p
    p = exp(-h * D) * p + sqrt(1 - exp(-2 * h * D)) * noise()
    theta = theta + h / 2 * p
    return theta, p - h / 2 * grad(theta)


def code(heat: float = 0.0, cold: float = 1.0, mass: float = 1.0) -> Any:
    @torch_step(kinetic, order=1)
    def step(theta: Any, p: Any, *, h: Any, grad: Any, T: Any, D: Any) -> Any:
        noise = math.sqrt(2 * D * h * mass * T**heat) * torch.randn_like(p)
        p = p - h * grad(theta) / T**cold - h * D * p + noise
        return theta + h * p / mass, p

    return step


@scheme(kinetic, order=1)
def of_mass_two(theta: Any, p: Any, *, h: Any, grad: Any, noise: Any, T: Any, D: Any) -> Any:
    p = p - h * grad(theta) - h * D * p + sqrt(4 * D * T * h) * noise()
    return theta + h * p / 2, p


@scheme(kinetic, order=1)
def of_mass_two_with_the_noise_of_one(
    theta: Any, p: Any, *, h: Any, grad: Any, noise: Any, T: Any, D: Any
) -> Any:
    p = p - h * grad(theta) - h * D * p + sqrt(2 * D * T * h) * noise()
    return theta + h * p / 2, p


@pytest.mark.parametrize(
    ("step", "order", "variance"), [(of_variance_one, 2, "1 at every T"), (of_mass_two, 1, "2 T")]
)
def test_a_definition_is_read_in_the_unit_of_its_dynamics(step: Any, order: int, variance: str) -> None:
    read = make_subject(step, load_configuration({"temperature": 0.731294578123})).scheme
    assert f"{TOLD}: its p has the variance {variance}, and its h is" in read.summary
    found = local_order(read, 1)
    assert found.given_minibatch is None or found.given_minibatch.order >= order


def test_a_step_without_a_temperature_keeps_all_moments_of_its_noise() -> None:
    # p/sqrt(T) sqrt(T) is p by a relation of symbols: a step that counts as one that does not tend to the identity has two moments.
    found = local_order(without_temperature, 1)
    assert found.given_minibatch is None or found.given_minibatch.order >= 2


@pytest.mark.parametrize(
    ("given", "variance"),
    [
        ((0.0, 1.0), "1 at every T"),
        ((1.0, 0.0, 1.7329118453), "1.73291 T"),
        ((0.5, 0.5, 2.25), "2.25 T^(1/2)"),
    ],
)
def test_torch_code_is_read_so(given: tuple[float, ...], variance: str) -> None:
    read = in_own_unit(code(*given))
    assert f"{TOLD}: its p has the variance {variance}, and its h is" in read.conventions
    # It then makes the first-order step of kinetic.
    theta, p, h, T, D = torch.tensor([0.3]), torch.tensor([-0.8]), 1e-3, 0.7, 1.9
    torch.manual_seed(1)
    moved = read.function(theta, p, h=h, grad=lambda x: 1.3 * x, T=T, D=D)
    torch.manual_seed(1)
    due = p - h * 1.3 * theta - h * D * p + math.sqrt(2 * D * T * h) * torch.randn_like(p)
    assert torch.allclose(moved[1], due, rtol=1e-5)
    assert torch.allclose(moved[0], theta + h * due, rtol=1e-5)


@pytest.mark.parametrize("given", [(1.0, 1.0), (1.0, 0.0), (1.001, 0.0, 2.0), (0.0, 0.5), (1e-3, 1.0)])
def test_another_noise_or_force_is_left_as_it_is(given: tuple[float, ...]) -> None:
    step = code(*given)
    assert in_own_unit(step) is step
    assert in_own_unit(of_mass_two_with_the_noise_of_one) is of_mass_two_with_the_noise_of_one


def test_its_own_step_is_told() -> None:
    assert "its h is 1.41421 times the h that is told" in told_unit(in_own_unit(of_mass_two))
    assert "its h is 1 T^(2/4) times the h that is told" in told_unit(in_own_unit(of_variance_one))
    assert told_unit(without_temperature) == ""
