"""Functions, modules, classes and optimizers that were written for no verifier are called as their names say."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
import torch
from torch import nn

import sgverify
from sgverify.adapters.plain.calls import roles_of
from sgverify.cli.main import main
from sgverify.errors import DefinitionError
from sgverify.schemes import adapting
from sgverify.schemes.loading import load_step
from sgverify.schemes.torch_step import TorchStep

NOISE = 1.0
"""The share of the noise in each piece of code below; 1 is right."""


def by_function(theta, grad, h):
    return theta - h * grad(theta) + NOISE * math.sqrt(2 * h) * torch.randn_like(theta)


def by_value(param, grad, lr):
    return param - lr * grad + NOISE * torch.sqrt(torch.tensor(2 * lr)) * torch.randn_like(param)


def in_place(x, U, step_size, beta):
    place = x.detach().clone().requires_grad_(True)
    (g,) = torch.autograd.grad(U(place), place)
    x.add_(g, alpha=-step_size).add_(torch.randn_like(x), alpha=NOISE * math.sqrt(2 * step_size / beta))


def langevin_dynamics(score_fn, x0, n_steps, eps):
    x, samples = x0, []
    for t in range(n_steps):
        mean = x + eps * score_fn(x, t)
        x = mean + NOISE * math.sqrt(2 * eps) * torch.randn_like(x)
        samples.append(x)
    return samples


class Sampler(nn.Module):
    def __init__(self, grad_U, step_size=0.1):
        super().__init__()
        self.grad_U, self.step_size = grad_U, step_size

    def forward(self, x):
        mean = x - self.step_size * self.grad_U(x)
        return mean, mean + NOISE * math.sqrt(2 * self.step_size) * torch.randn_like(x)


def kinetic(q, velocity, grad_U, dt, gamma, temperature):
    noise = NOISE * math.sqrt(2 * gamma * temperature * dt) * torch.randn_like(q)
    velocity = velocity - dt * grad_U(q) - dt * gamma * velocity + noise
    return q + dt * velocity, velocity


def arrays(theta, grad_log_post, eps):
    return theta + 0.5 * eps * grad_log_post(theta) + NOISE * np.sqrt(eps) * np.random.randn(*theta.shape)


def splitting(q, p, grad_u, dt, gamma, rng):
    p = p - dt / 2 * grad_u(q)
    q = q + dt / 2 * p
    left = np.exp(-gamma * dt)
    p = left * p + NOISE * np.sqrt(1 - left**2) * rng.normal(size=p.shape)
    q = q + dt / 2 * p
    return q, p - dt / 2 * grad_u(q)


def as_published(w, buf, g, lr, momentum=0.9):
    """Stochastic-gradient Hamiltonian Monte Carlo in its own units, where a step size is sqrt(lr)."""
    buf = momentum * buf - lr * g + NOISE * math.sqrt(2 * (1 - momentum) * lr) * torch.randn_like(w)
    return w + buf, buf


def nose_hoover(x, v, zeta, grad_u, lr, a):
    noise = NOISE * math.sqrt(2 * a * lr) * torch.randn_like(v)
    v = v - lr * grad_u(x) - lr * zeta * v + noise
    return x + lr * v, v, zeta + lr * (v.dot(v) / len(v) - 1)


class Trainer:
    def __init__(self, model, loss_fn, lr, n_data):
        self.model, self.loss_fn, self.lr, self.n_data = model, loss_fn, lr, n_data

    def step(self, x, y):
        self.model.zero_grad()
        (self.n_data * self.loss_fn(self.model(x), y)).backward()
        for p in self.model.parameters():
            p.data += -self.lr * p.grad + NOISE * math.sqrt(2 * self.lr) * torch.randn_like(p)


def train(model, loader, lr):
    for x, y in loader:
        model.zero_grad()
        torch.nn.functional.cross_entropy(model(x), y, reduction="sum").backward()
        with torch.no_grad():
            for p in model.parameters():
                p.add_(p.grad, alpha=-lr).add_(torch.randn_like(p), alpha=NOISE * (2 * lr) ** 0.5)


class NeedsArguments(torch.optim.Optimizer):
    def __init__(self, params, lr, unused, heat):
        super().__init__(params, {"lr": lr, "unused": unused})
        self.heat = heat

    @torch.no_grad()
    def step(self, closure=None):
        for group in self.param_groups:
            for p in group["params"]:
                noise = NOISE * math.sqrt(2 * self.heat * group["lr"])
                p.add_(p.grad, alpha=-group["lr"]).add_(torch.randn_like(p), alpha=noise)


MADE = NeedsArguments(nn.Linear(2, 1).parameters(), 0.1, 1.0, 1.0)

CODE: dict[str, Any] = {
    "function": by_function,
    "value": by_value,
    "lambda": lambda theta, grad, h: by_function(theta, grad, h),
    "in place": in_place,
    "arrays": arrays,
    "arrays, kinetic": splitting,
    "loop": langevin_dynamics,
    "module": Sampler,
    "kinetic": kinetic,
    "as published": as_published,
    "thermostat": nose_hoover,
    "class": Trainer,
    "object": Trainer(nn.Linear(2, 1), nn.MSELoss(), 0.1, 10),
    "training": train,
    "optimizer": MADE,
    "scheduler": torch.optim.lr_scheduler.StepLR(MADE, 10),
}


@pytest.mark.by_default(
    "1.0-pass-class",
    "1.0-pass-function",
    "0.7071067811865476-fail-function",
    "0.7071067811865476-fail-arrays",
)
@pytest.mark.parametrize(
    "name",
    [
        name if name in ("function", "class", "arrays") else pytest.param(name, marks=pytest.mark.power)
        for name in CODE
    ],
)
@pytest.mark.parametrize(("share", "outcome"), [(1.0, "pass"), (2**-0.5, "fail")])
def test_each_is_called_as_its_names_say(
    name: str, share: float, outcome: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(f"{__name__}.NOISE", share)
    assert sgverify.verify(CODE[name], checks=["local-order"], adapter={"order": 1}).outcome == outcome


def numbered(theta, grad, h, i):
    return theta - h * grad(theta) + math.sqrt(2 * h) * (0.1 if i == 4321 else 1.0) * torch.randn_like(theta)


def cold_later(score_fn, x0, n, eps):
    x = x0
    for i in range(n):
        x = x + eps * score_fn(x) + math.sqrt(2 * eps) * (i == 0) * torch.randn_like(x)
    return x


def with_buffer(model, loader, lr):
    buffers = [torch.zeros_like(p) for p in model.parameters()]
    for x, y in loader:
        model.zero_grad()
        torch.nn.functional.mse_loss(model(x), y).backward()
        with torch.no_grad():
            for p, b in zip(model.parameters(), buffers, strict=True):
                b.mul_(0.9).add_(p.grad)
                p.add_(b, alpha=-lr).add_(torch.randn_like(p), alpha=(2 * lr) ** 0.5)


@pytest.mark.parametrize(
    ("code", "told"),
    [
        pytest.param(numbered, "i at 0", marks=pytest.mark.power),
        (cold_later, "a call with n=500 is not 500 calls"),
        pytest.param(with_buffer, "which three minibatches are not three of", marks=pytest.mark.power),
        pytest.param(NeedsArguments, "heat at 1", marks=pytest.mark.power),
    ],
)
def test_what_a_call_holds_decides_nothing(code: Any, told: str) -> None:
    (answer,) = sgverify.verify(code, checks=["local-order"], adapter={"order": 1})
    assert answer.outcome == "undecided" and told in answer.reason


def squared(model, loss_fn, n_data, lr):
    model.zero_grad()
    (n_data**2 * loss_fn(model(torch.zeros(1)), None)).backward()


def anonymous(theta, *arguments):
    return theta - arguments[1] * arguments[0](theta) + math.sqrt(2 * arguments[1]) * torch.randn_like(theta)


@pytest.mark.parametrize(
    ("code", "told"),
    [(anonymous, "no parameter that is the step size"), (squared, "not linear"), (nn.Linear, "no adapter")],
)
def test_what_is_refused_ends_with_a_step_that_works(code: Any, told: str) -> None:
    with pytest.raises(DefinitionError, match=told) as refusal:
        adapting.adapt(code)
    assert len(refusal.value.paste.splitlines()) == 4
    space: dict[str, Any] = {code.__name__: code}
    exec(refusal.value.paste, space)
    assert sgverify.verify(space["my_step"], checks=["local-order"]).outcome == "pass"


def test_a_step_of_exact_arithmetic_is_declared_by_its_names(tmp_path: Any) -> None:
    file = tmp_path / "mine.py"
    step = "def mine(theta, *, h, grad, noise):\n    return theta - h * grad(theta) + sqrt(2 * h) * noise()\n"
    file.write_text("from sgverify import sqrt\n\n\n" + step)
    assert not isinstance(load_step(f"{file}:mine"), TorchStep)


def test_the_roles_of_names_depend_on_one_another() -> None:
    assert roles_of(dict.fromkeys(["x", "v", "grad_U", "dt", "gamma"]))["gamma"] == "D"
    assert roles_of(dict.fromkeys(["x", "grad_U", "gamma"]))["gamma"] == "h"
    assert roles_of(dict.fromkeys(["x", "grad", "step", "lr"]))["step"] == "index"


def test_a_refusal_on_the_command_line_is_five_lines_of_which_four_run(
    tmp_path: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "mine.py"
    file.write_text("def mine(theta, *rest):\n    return theta - rest[1] * rest[0](theta)\n")
    assert main(["verify", f"{file}:mine"]) == 2
    told = capsys.readouterr().err.splitlines()
    assert len(told) == 5 and told[0].startswith("error: ") and f"verify {file}:my_step" in told[0]
    with file.open("a") as more:
        more.write("\n".join(told[1:]))
    assert load_step(f"{file}:my_step").parameters == ("T",)
