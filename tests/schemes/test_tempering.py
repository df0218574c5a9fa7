"""Steps that take no temperature sample exp(-U/T) of the U that they are given; those that take one and leave it out do not."""

from __future__ import annotations

import pytest
import torch

import sgverify
from sgverify import scheme, sqrt, torch_step
from sgverify.schemes import kinetic, langevin


@scheme(langevin, order=1)
def euler(theta, *, h, grad, noise):
    return theta - h * grad(theta) + sqrt(2 * h) * noise()


@scheme(langevin, order=1)
def euler_hot(theta, *, h, grad, noise):
    return theta - h * grad(theta) + sqrt(2.2 * h) * noise()


@scheme(langevin, order=1)
def euler_deaf(theta, *, h, grad, noise, T):
    return theta - h * grad(theta) + sqrt(2 * h) * noise()


@scheme(kinetic, order=1)
def sghmc(theta, p, *, h, grad, noise, D):
    p = p - h * grad(theta) - h * D * p + sqrt(2 * D * h) * noise()
    return theta + h * p, p


@torch_step(kinetic, order=1)
def sghmc_in_torch(theta, p, *, h, grad, D):
    p = p - h * grad(theta) - h * D * p + (2 * D * h) ** 0.5 * torch.randn_like(p)
    return theta + h * p, p


@torch_step(langevin, order=1)
def hot_in_torch(theta, *, h, grad):
    return theta - h * grad(theta) + (2.2 * h) ** 0.5 * torch.randn_like(theta)


@pytest.mark.by_default(
    "euler-pass", "euler_hot-fail", "euler_deaf-fail", "sghmc-pass", "sghmc_in_torch-pass"
)
@pytest.mark.parametrize(
    ("step", "outcome"),
    [
        (euler, "pass"),
        (euler_hot, "fail"),
        (euler_deaf, "fail"),
        (sghmc, "pass"),
        (sghmc_in_torch, "pass"),
        (hot_in_torch, "fail"),
    ],
    ids=lambda value: getattr(value, "name", value),
)
def test_the_density_is_tempered_for_a_step_without_a_temperature(step, outcome) -> None:
    found = sgverify.verify(step, checks=["local-order"], temperature=0.5)
    assert found.outcome == outcome, found[0].reason


def test_the_answer_says_so() -> None:
    assert "the gradient of U/T, for it takes no T" in sghmc_in_torch.conventions
    assert "the gradient of U/T, for it takes no T" in euler.summary
    assert euler.parameters == ("T",) and euler_deaf.summary == ""
