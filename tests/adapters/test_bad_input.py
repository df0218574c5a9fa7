"""What is no step is told in one message: as a function of tensors, as an optimizer, as code with its own loss."""

from __future__ import annotations

import re
import time

import pytest
import torch

from sgverify import torch_step, verify
from sgverify.errors import UserError
from sgverify.schemes import langevin
from tests.zoo.optimizers import SGLD

pytestmark = pytest.mark.usefixtures("short_runs")

CALLS = [0]


def noisy(theta, h, g):
    return theta - h * g + (2 * h) ** 0.5 * torch.randn_like(theta)


def other_shape(theta, *, h, grad):
    return noisy(theta, h, grad(theta)).unsqueeze(0)


def random_many(theta, *, h, grad):
    while torch.rand(()) > 0.5:
        theta = theta + 0.0
    return noisy(theta, h, grad(theta))


def under_no_grad(theta, *, h, grad):
    with torch.no_grad():
        x = theta.clone().requires_grad_()
        (g,) = torch.autograd.grad((x**2).sum() / 2, x)
    return noisy(theta, h, g)


@torch.no_grad()
def decorated(theta, *, h, grad):
    x = theta.clone().requires_grad_()
    (g,) = torch.autograd.grad((x**2).sum() / 2, x)
    return noisy(theta, h, g)


def writes(theta, *, h, grad):
    return theta.sub_(h * grad(theta)).add_((2 * h) ** 0.5 * torch.randn_like(theta))


def of_a_global(theta, *, h, grad):
    CALLS[0] += 1
    return noisy(theta, h / (1 + CALLS[0] % 2), grad(theta))


class Resizes(SGLD):
    def move(self, p, state, group):
        p.data = p.data.repeat(2)


class UnderNoGrad(SGLD):
    def move(self, p, state, group):
        (p.grad,) = torch.autograd.grad((p**2).sum() / 2, p)
        super().move(p, state, group)


class OfTheClock(SGLD):
    def move(self, p, state, group):
        super().move(p, state, {**group, "lr": group["lr"] * (1 + 1e-3 * (time.time() % 60 > 30))})


class OfAGlobal(SGLD):
    def move(self, p, state, group):
        CALLS[0] += 1
        super().move(p, state, {**group, "lr": group["lr"] / (1 + CALLS[0] // 2 % 2)})


def reason(found, check):
    """The message of an error, or the reason of an answer that does not conform."""
    try:
        (item,) = verify(found, checks=[check])
    except UserError as error:
        return str(error)
    assert item.outcome in ("fail", "undecided")
    return item.reason


@pytest.mark.parametrize(
    "function, check, told",
    [
        (
            other_shape,
            "pure-step",
            r"returned a tensor of shape \(1, 1\) for `theta`; expected a tensor of shape \(1,\)",
        ),
        (random_many, "local-order", "how many a step draws depends on its state or on its draws"),
        (
            under_no_grad,
            "local-order",
            r"no graph is recorded under torch.no_grad\(\): differentiate under torch.enable_grad",
        ),
        (decorated, "local-order", r"no graph is recorded under torch.no_grad\(\)"),
        (writes, "pure-step", "it writes to its argument theta: the caller's state is no longer what it was"),
        (of_a_global, "pure-step", "writes to CALLS, which outlives the call"),
    ],
)
def test_a_function(function, check, told):
    assert re.search(told, reason(torch_step(langevin)(function), check))


@pytest.mark.parametrize(
    "kind, check, told",
    [
        (
            Resizes,
            "pure-step",
            r"step\(\) gave a parameter of shape .* the shape .*; expected the same shape",
        ),
        (
            UnderNoGrad,
            "pure-step",
            r"UnderNoGrad\(params, lr=.*parameters of shape .*raised RuntimeError.*does not require grad",
        ),
        # The rule is that of functions, tried above.
        pytest.param(
            OfTheClock,
            "pure-step",
            "its result depends on the clock, which it reads by time.time",
            marks=pytest.mark.power,
        ),
        pytest.param(OfAGlobal, "pure-step", "came again|CALLS", marks=pytest.mark.power),
    ],
)
def test_an_optimizer(kind, check, told):
    found = reason(kind, check)
    assert re.search(told, found), found
