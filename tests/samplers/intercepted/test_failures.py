"""Code that raises: whose fault it is, and what the message says."""

from __future__ import annotations

import math

import pytest
import torch

from sgverify import torch_step, verify
from sgverify.checks.code.pure_step import check_pure_step
from sgverify.checks.question import Question
from sgverify.claims import find_claim
from sgverify.configuration import load_configuration
from sgverify.errors import Unreached, UserError
from sgverify.samplers.intercepted.black_box import BlackBox, CodeError
from sgverify.schemes import langevin
from sgverify.subject.binding import make_subject

SMALL = {"target": {"name": "gaussian-mean", "size": 7, "dim": 3}}


def boxed(function, dim):
    return BlackBox(torch_step(langevin)(function), lambda theta, _: theta, dim, {"T": 1.0})


def position(dim):
    return (torch.ones(dim, dtype=torch.float64),)


def optimizer(lazily):
    held = {}

    def prepare(theta):
        parameter = torch.nn.Parameter(torch.zeros(len(theta), dtype=torch.float64))
        held["made"] = torch.optim.SGD([parameter], lr=0.1, momentum=0.9)

    if not lazily:
        prepare(torch.zeros(3))

    def step(theta, *, h, grad, T):
        if "made" not in held:
            prepare(theta)
        made = held["made"]
        (parameter,) = made.param_groups[0]["params"]
        with torch.no_grad():
            parameter.copy_(theta)
        parameter.grad = grad(theta)
        made.step()
        return parameter.detach() + math.sqrt(2 * T * h) * torch.randn_like(theta)

    return step


def test_an_optimizer_made_for_another_dimension_is_named_with_the_way_out():
    step = optimizer(lazily=False)
    boxed(step, 3).run(position(3), torch.zeros(3, dtype=torch.float64), 0.1)
    with pytest.raises(Unreached) as caught:
        boxed(step, 2).run(position(2), None, 0.1)
    said = str(caught.value)
    assert "raised RuntimeError: The size of tensor a" in said and "it runs in dimension 3" in said
    assert "Make it from theta within the step" in said and "set target.dim" in said


def test_an_optimizer_that_the_first_call_made_belongs_to_its_dimension():
    step = optimizer(lazily=True)
    boxed(step, 2).run(position(2), torch.zeros(2, dtype=torch.float64), 0.1)
    subject = make_subject(torch_step(langevin)(step), load_configuration(SMALL))
    found = check_pure_step(Question(subject, find_claim("sgverify/pure-step"), "pure-step"))
    assert found.verdict == "inconclusive" and "it runs in dimension 2" in found.reason


@pytest.mark.power
def test_no_check_dies_of_an_optimizer_of_another_dimension():
    found = {
        item.check: item for item in verify(torch_step(langevin, order=1)(optimizer(lazily=False)), SMALL)
    }
    assert (
        found["local-order"].verdict == "inconclusive"
        and "it runs in dimension 3" in found["local-order"].reason
    )
    assert found["pure-step"].verdict == "violates" and "came again" in found["pure-step"].reason


def on_a_sphere(theta, *, h, grad, T):
    z = torch.randn_like(theta)
    return theta - h * grad(theta) + math.sqrt(2 * T * h * len(theta)) * z / z.norm()


def wary(theta, *, h, grad, T):
    z = torch.randn_like(theta)
    if not z.any():
        raise RuntimeError("draws of nothing but zeros")
    return theta - h * grad(theta) + math.sqrt(2 * T * h) * z


@pytest.mark.parametrize("function", [on_a_sphere, wary])
def test_what_fails_only_with_draws_that_are_put_in_is_not_the_codes_fault(function):
    with pytest.raises(Unreached, match="it runs with draws of its own"):
        boxed(function, 2).run(position(2), torch.zeros(2, dtype=torch.float64), 0.1)


def test_what_fails_with_draws_of_its_own_too_is():
    def narrow(theta, *, h, grad, T):
        return theta - h * torch.eye(2, dtype=torch.float32) @ grad(theta) + torch.randn_like(theta)

    def curved(theta, *, h, grad, T):
        theta = theta.requires_grad_()
        (bent,) = torch.autograd.grad(grad(theta).sum(), theta)
        return theta - h * bent

    with pytest.raises(CodeError, match="runs on tensors of shapes theta \\(2,\\), in torch.float64"):
        boxed(narrow, 2).run(position(2), None, 0.1)
    with pytest.raises(UserError, match="what grad returns are numbers, without a graph"):
        boxed(curved, 2).run(position(2), None, 0.1)


def test_a_shape_that_fits_is_no_reason():
    scale = torch.ones(2, dtype=torch.float64)

    def broken(theta, *, h, grad, T):
        return theta * scale + undefined  # noqa: F821 - the bug

    with pytest.raises(CodeError, match="raised NameError"):
        boxed(broken, 2).run(position(2), None, 0.1)
