"""Arguments of an optimizer's `step`: the step size by its name, and flags, which are no fault of the code."""

from __future__ import annotations

import math

import pytest
import torch
from torch.optim import Optimizer

import sgverify


class ByStep(Optimizer):
    """The step size and the temperature are arguments of the step."""

    factor = 2.0

    def __init__(self, params):
        super().__init__(params, {})

    @torch.no_grad()
    def step(self, lr, closure=None, temperature=1.0):
        for group in self.param_groups:
            for p in group["params"]:
                p.add_(p.grad, alpha=-lr)
                p.add_(torch.randn_like(p), alpha=math.sqrt(self.factor * lr * temperature))


class ByStepCold(ByStep):
    factor = 1.7


class Flagged(Optimizer):
    """Noise by request alone."""

    factor = 2.0

    def __init__(self, params, lr=1e-3, temperature=1.0):
        super().__init__(params, {"lr": lr, "temperature": temperature})

    @torch.no_grad()
    def step(self, closure=None, *, add_noise=False):
        for group in self.param_groups:
            for p in group["params"]:
                p.add_(p.grad, alpha=-group["lr"])
                if add_noise:
                    size = math.sqrt(self.factor * group["lr"] * group["temperature"])
                    p.add_(torch.randn_like(p), alpha=size)


class FlaggedHot(Flagged):
    factor = 2.3


@pytest.mark.by_default(
    "ByStep-given0-pass", "ByStepCold-given1-fail", "Flagged-given3-pass", "FlaggedHot-given4-undecided"
)
@pytest.mark.parametrize(
    ("found", "given", "outcome"),
    [
        (ByStep, {}, "pass"),
        (ByStepCold, {}, "fail"),
        (Flagged, {}, "undecided"),
        (Flagged, {"add_noise": "1"}, "pass"),
        (FlaggedHot, {}, "undecided"),
        (FlaggedHot, {"add_noise": "1"}, "fail"),
    ],
)
def test_arguments_of_the_step_are_given_by_name(found, given, outcome) -> None:
    answers = sgverify.verify(found, checks=["local-order"], adapter={"map": given})
    assert answers.outcome == outcome, answers[0].reason
    if outcome == "undecided":
        assert "--set adapter.map.add_noise=1" in answers[0].reason


def test_what_no_argument_is_called_is_refused_by_name() -> None:
    with pytest.raises(sgverify.errors.UserError, match="parameters of the constructor and of step"):
        sgverify.verify(Flagged, checks=["local-order"], adapter={"map": {"add_noice": "1"}})


def test_a_function_may_take_the_gradient_of_the_mean_loss(tmp_path):
    file = tmp_path / "mean.py"
    file.write_text(
        "import torch\nfrom sgverify import torch_step\nfrom sgverify.schemes import langevin\n\n\n"
        "@torch_step(langevin)\ndef sgld(theta, *, h, grad):\n"
        "    return theta - h*grad(theta) + (2*h/1000)**0.5*torch.randn_like(theta)\n"
    )
    outcomes = [
        sgverify.verify(f"{file}:sgld", checks=["local-order"], adapter={"gradient": kind})[0].outcome
        for kind in ("mean", "sum")
    ]
    assert outcomes == ["pass", "fail"]
