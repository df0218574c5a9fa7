"""How far readings of torch code reach: rare draws, rounding, a third dimension, and steps that are given."""

from __future__ import annotations

import math

import pytest
import torch

from sgverify import torch_step, verify
from sgverify.errors import ConfigurationError, InstabilityError
from sgverify.schemes import langevin

SMALL = {"target": {"name": "gaussian-mean", "size": 7, "dim": 2}}
IN_SPACE = {"target": {"name": "gaussian-mean", "size": 7, "dim": 3}}
BOTH = ["local-order", "stationary-bias"]


def moved(theta, h, slope, T, noise):
    return theta - h * slope + math.sqrt(2 * T * h) * noise


def plain(theta, *, h, grad, T):
    return moved(theta, h, grad(theta), T, torch.randn_like(theta))


def judged(function, configuration=SMALL, checks=BOTH, **options):
    found = verify(torch_step(langevin, order=1)(function), configuration, checks=list(checks), **options)
    return {item.check: item for item in found}


@pytest.mark.power  # the kill matrix has both bugs
def test_draws_that_are_drawn_again_where_they_are_rare_are_unreadable_and_those_that_are_clamped_are_seen():
    def truncated(theta, *, h, grad, T):
        return moved(theta, h, grad(theta), T, torch.nn.init.trunc_normal_(torch.empty_like(theta)))

    def clamped(theta, *, h, grad, T):
        return moved(theta, h, grad(theta), T, torch.randn_like(theta).clamp(-3.5, 3.5))

    assert [found.verdict for found in judged(truncated).values()] == ["inconclusive"] * 2
    assert judged(clamped)["stationary-bias"].verdict == "violates"


def test_an_order_that_rounding_hides_is_not_found_and_a_bias_far_above_the_rounding_is():
    def rounded(theta, *, h, grad, T):
        scale = torch.tensor(2 * T * h, dtype=torch.float32).sqrt().double()
        return theta - h * grad(theta) + scale * torch.randn_like(theta)

    found = judged(rounded, None)
    order, bias = found["local-order"], found["stationary-bias"]
    assert order.verdict == "inconclusive" and order.found.exponent is None
    assert "rounding hides the order" in order.reason
    assert bias.predicted.exponent == 1
    assert bias.verdict == "conforms" and bias.found.exponent == 1


def test_a_bias_that_roundings_do_not_explain_is_refuted_still():
    def cold(theta, *, h, grad, T):
        scale = torch.tensor(2 * T * h, dtype=torch.float32).sqrt().double()
        return theta - h * grad(theta) + 0.9999 * scale * torch.randn_like(theta)

    assert judged(cold, None)["stationary-bias"].verdict == "violates"


@pytest.mark.power  # twelve seconds; the pools judge such steps with every check
def test_a_third_coordinate_that_is_left_alone_is_seen_on_a_target_that_has_one():
    def plane(theta, *, h, grad, T):
        slope = torch.cat([grad(theta)[:2], 0 * theta[2:]])
        return moved(theta, h, slope, T, torch.randn_like(theta))

    assert judged(plane, checks=["local-order"])["local-order"].verdict == "conforms"
    seen = judged(plane, IN_SPACE, ["local-order"])["local-order"]
    assert seen.verdict == "violates" and "in dimension 3" in seen.reason
    right = judged(plain, IN_SPACE, ["local-order"])["local-order"]
    assert right.verdict == "conforms" and "coordinates beyond" in right.reason


def test_the_steps_of_a_sweep_are_taken_as_given_or_refused():
    steps = [0.02, 0.01, 0.005, 0.0025, 0.00125]
    found = judged(plain, checks=["stationary-bias"], sweep={"steps": steps})["stationary-bias"]
    assert found.verdict == "conforms" and [point.step for point in found.points] == steps
    with pytest.raises(InstabilityError, match="sweep.steps has 100"):
        judged(plain, checks=["stationary-bias"], sweep={"steps": [100.0, *steps]})
    with pytest.raises(ConfigurationError, match="2 different step sizes"):
        judged(plain, checks=["stationary-bias"], sweep={"steps": steps[:2]})


def test_a_configured_float32_is_refused():
    with pytest.raises(ConfigurationError, match="judged in float64"):
        judged(plain, dtype="float32")


@torch_step(langevin, memory=["v"])
def root_of_memory(theta, v, *, h, grad, T):  # type: ignore[no-untyped-def]
    v = 0.9 * v + 0.1 * grad(theta) ** 2
    return theta - h * grad(theta) / (1 + v.sqrt()) + (2 * T * h) ** 0.5 * torch.randn_like(theta), v


@pytest.mark.power  # 0.7 s
def test_a_root_of_a_memory_that_never_is_negative_is_no_error_of_the_call() -> None:
    (found,) = [
        item
        for item in verify(root_of_memory, checks=["stationary-bias"])
        if item.verdict != "not-applicable"
    ]
    assert found.outcome == "fail" and "with the memory (v) at rest" in found.reason
