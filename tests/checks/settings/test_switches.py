"""Switches in torch code: a step that is another one beyond a threshold is not passed for what it is below it."""

from __future__ import annotations

import math
import random

import pytest
import torch

from sgverify import torch_step, verify
from sgverify.checks.settings import switches
from sgverify.checks.settings.switches import _ends as one_alone
from sgverify.checks.settings.switches import find_switches
from sgverify.schemes import kinetic, langevin, thermostat
from sgverify.schemes.loading import load_step


def euler(theta, h, slope, T, noise=None):
    return theta - h * slope + math.sqrt(2 * T * h) * (torch.randn_like(theta) if noise is None else noise)


def large_step(theta, *, h, grad, T):
    return euler(theta, min(h, 0.2), grad(theta), T)


def warm(theta, *, h, grad, T):
    return euler(theta, h, grad(theta), min(T, 50.0))


def box(theta, *, h, grad, T):
    return euler(theta, h, grad(theta), T).clamp(-900, 900)


def clipped(theta, *, h, grad, T):
    return euler(theta, h, grad(theta).clamp(-300, 300), T)


def hot_far_out(theta, *, h, grad, T):
    return euler(theta, h, grad(theta), T, (1 + (theta.abs() > 40)) * torch.randn_like(theta))


def still_at_small_steps(theta, *, h, grad, T):
    return euler(theta, h, grad(theta), T, torch.randn_like(theta) * (h > 0.0005))


def plain(theta, *, h, grad, T):
    return euler(theta, h, grad(theta), T)


def tamed(theta, *, h, grad, T):
    g = grad(theta)
    return euler(theta, h, g / (1 + h * g.norm()), T)


def baoab(theta, p, *, h, grad, D, T):
    c = math.exp(-D * h)
    p = p - h / 2 * grad(theta)
    theta = theta + h / 2 * p
    p = c * p + math.sqrt(T * (1 - c * c)) * torch.randn_like(p)
    theta = theta + h / 2 * p
    return theta, p - h / 2 * grad(theta)


def hoover(theta, p, xi, *, h, grad, dim, D, T):
    p = p - h * (grad(theta) + xi * p) + math.sqrt(2 * D * T * h) * torch.randn_like(p)
    return theta + h * p, p, xi + h * ((p * p).sum(-1) / dim - T)


@pytest.mark.by_default("large_step-h-0.2", "warm-T-50.0", "hot_far_out-the size of the state-50.0")
@pytest.mark.parametrize(
    "function, number, at",
    [
        (large_step, "h", 0.2),
        (warm, "T", 50.0),
        (box, "the size of the state", 900 / 0.8),
        (clipped, "the size of the state", 300 / (1.3 * 0.8)),
        (hot_far_out, "the size of the state", 40 / 0.8),
        (still_at_small_steps, "h", 0.0005),
    ],
)
def test_a_threshold_is_found(function, number, at):
    found, looked = find_switches(torch_step(langevin)(function))
    (switch,) = [item for item in found if item.number == number]
    assert at / 1.5 < switch.at < at * 1.5
    assert looked[number][0] < at < looked[number][1]


@pytest.mark.by_default("plain-dynamics0")
@pytest.mark.parametrize(
    "function, dynamics", [(plain, langevin), (tamed, langevin), (baoab, kinetic), (hoover, thermostat)]
)
def test_one_formula_has_none(function, dynamics):
    assert find_switches(torch_step(dynamics)(function))[0] == []


OPTIMIZER = """
import torch

class Limited(torch.optim.Optimizer):
    def __init__(self, params, lr=1e-3):
        super().__init__(params, dict(lr=lr))

    @torch.no_grad()
    def step(self, closure=None):
        for group in self.param_groups:
            lr = min(OWNER["lr"], 0.2)
            for p in group["params"]:
                p.add_(p.grad, alpha=-lr).add_(torch.randn_like(p), alpha=(2 * lr) ** 0.5)
"""


@pytest.mark.by_default("group")
@pytest.mark.parametrize("owner", ["group", "self.param_groups[0]"])
def test_a_threshold_of_an_optimizer_is_found_whether_its_groups_are_apart_or_not(owner, tmp_path):
    file = tmp_path / "limited.py"
    file.write_text(OPTIMIZER.replace("OWNER", owner))
    found, looked = find_switches(load_step(f"{file}:Limited"))
    (switch,) = [item for item in found if item.number == "h"]
    # No option is T: one of its steps is one of h at T = 1.
    assert 0.2 / 1.5 < switch.at < 0.2 * 1.5
    assert looked["h"][0] < 0.2 < looked["h"][1]


def test_the_numbers_of_an_optimizer_are_looked_at_side_by_side(tmp_path, monkeypatch):
    alone = []
    monkeypatch.setattr(switches, "_ends", lambda *given: alone.append(given) or one_alone(*given))
    file = tmp_path / "limited.py"
    file.write_text(OPTIMIZER.replace('min(OWNER["lr"], 0.2)', 'group["lr"]'))
    found, looked = find_switches(load_step(f"{file}:Limited"))
    assert not found and len(alone) == 3 * len(looked)


@pytest.mark.power  # 0.9 s
def test_a_friction_that_is_clipped_and_a_momentum_that_is_reset():
    def reset(theta, p, *, h, grad, D, T):
        theta, p = baoab(theta, p, h=h, grad=grad, D=min(D, 20.0), T=T)
        return theta, torch.where(p.abs() > 70, 0.0, p)

    found = {item.number: item for item in find_switches(torch_step(kinetic)(reset))[0]}
    assert 15 < found["D"].at < 30 and "the size of the state" in found


def move_clipped(theta, *, h, grad, T):
    move = h * grad(theta)
    return theta - (1 + move - (1 - move).abs()) / 2 + math.sqrt(2 * T * h) * torch.randn_like(theta)


@pytest.mark.power  # 1.3 s
def test_a_switch_that_recedes_as_the_step_falls_is_told_and_leaves_nothing_open():
    (switch,) = find_switches(torch_step(langevin)(move_clipped))[0]
    assert switch.recedes and switch.at == pytest.approx(512 / (1.3 * 0.8), rel=0.5)
    (found,) = verify(torch_step(langevin)(move_clipped), checks=["switches"])
    assert found.verdict == "conforms" and "recedes as h falls" in found.reason
    assert not any(item.recedes for item in find_switches(torch_step(langevin)(clipped))[0])


@pytest.mark.power  # 0.5 s
def test_a_switch_leaves_the_outcome_open_and_is_named():
    (found,) = verify(torch_step(langevin)(clipped), checks=["switches"])
    assert found.verdict == "inconclusive" and "where the size of the state passes" in found.reason
    (passed,) = verify(torch_step(langevin)(plain), checks=["switches"])
    assert passed.verdict == "conforms" and "nothing is said beyond" in passed.reason


def test_noise_of_python_is_not_taken_for_a_switch():
    def of_python(theta, *, h, grad, T):
        noise = torch.tensor([random.gauss(0.0, 1.0) for _ in range(theta.numel())]).to(theta)
        return euler(theta, h, grad(theta), T, noise.reshape(theta.shape))

    (found,) = verify(torch_step(langevin)(of_python), checks=["switches"])
    assert found.verdict == "inconclusive" and "random although every torch draw was put in" in found.reason
