"""Are cause and mend of torch code told in its own names and lines, and only where the edited file passes?"""

from __future__ import annotations

from pathlib import Path

import pytest
import torch

from sgverify import torch_step
from sgverify.advice.diagnosis.code_edits.candidates import CodeEdits
from sgverify.advice.diagnosis.diagnosing import diagnose
from sgverify.advice.diagnosis.measured_terms.response import response_cause
from sgverify.configuration import load_configuration
from sgverify.schemes import langevin
from sgverify.verdict.asking import enquire

STEP = """
def move(theta, grad, lr, beta):
    noise = torch.randn_like(theta)
    theta = theta + noise * math.sqrt(2 * lr)
    if lr > 0:
        theta = theta + torch.randn_like(theta)
    return theta - lr * grad
"""


def test_one_slip_in_one_expression_is_tried() -> None:
    found = CodeEdits(STEP, range(1, 9), ["lr", "beta"]).found
    told = {(edit.was, edit.now) for edit in found}
    assert ("noise * math.sqrt(2 * lr)", "noise * math.sqrt(2 * lr * beta)") in told
    assert ("if lr > 0", "if True") in told
    assert ("noise * math.sqrt(2 * lr)", "torch.randn_like(theta) * math.sqrt(2 * lr)") in told


KEPT = """
class Pulled:
    def start(self, p, lr):
        self.first = p.detach().clone()
        self.scale = math.sqrt(2 * lr)

    def step(self, p, lr, gamma):
        d = p.grad + gamma * (p - self.first)
        p.add_(d, alpha=-lr).add_(torch.randn_like(p), alpha=self.scale)
"""


def test_a_number_that_is_kept_is_computed_anew_and_a_copy_of_a_parameter_is_not() -> None:
    """p - p mends every pull, and says nothing of it."""
    found = CodeEdits(KEPT, range(1, 12), ["lr", "gamma"]).found
    anew = {(edit.was, edit.now, edit.kind) for edit in found if edit.rule == "cached"}
    assert anew == {("self.scale", "math.sqrt(2 * lr)", "noise")}
    assert "+ gamma * (p - self.first)" in {edit.part for edit in found}


CODE = """import torch
from sgverify import torch_step
from sgverify.schemes import langevin


@torch_step(langevin, order=1)
def step(theta, *, h, grad, T):
    xi = torch.randn_like(theta)
    return theta - h*grad(theta) + (2*h)**0.5*xi
"""


def test_the_mend_of_torch_code_is_a_line_of_its_file(tmp_path: Path) -> None:
    file = tmp_path / "mine.py"
    file.write_text(CODE, encoding="utf-8")
    enquiry = enquire(f"{file}:step", load_configuration({"gradient": {"kind": "full"}}), ("local-order",))
    found = diagnose(enquiry.subject, enquiry.ask())
    assert found is not None and found.edit is not None
    assert found.cause.name == "temperature-missing" and "line 9" in found.cause.sentence
    assert (found.edit.was, found.edit.now) == ("(2*h)**0.5*xi", "(2*h*T)**0.5*xi")
    assert file.read_text(encoding="utf-8") == CODE


@torch_step(langevin)
def pulled(theta, *, h, grad, T):
    return theta - h * (grad(theta) + 0.4 * (theta - 1.25)) + (2 * T * h) ** 0.5 * torch.randn_like(theta)


@torch_step(langevin)
def midpoint(theta, *, h, grad, T):
    scale = 1 + 0.5 * torch.sin(theta)
    correction = 0.25 * T * torch.cos(theta)
    return (
        theta - h * (scale * grad(theta) - correction) + (2 * T * h * scale) ** 0.5 * torch.randn_like(theta)
    )


@torch_step(langevin)
def ito(theta, *, h, grad, T):
    scale = 1 + 0.5 * torch.sin(theta)
    correction = 0.5 * T * torch.cos(theta)
    return (
        theta - h * (scale * grad(theta) - correction) + (2 * T * h * scale) ** 0.5 * torch.randn_like(theta)
    )


@pytest.mark.parametrize(
    ("step", "name", "says"),
    [(pulled, "localised", "0.2 (theta - 1.25)^2"), (midpoint, "stratonovich", "1/2")],
)
def test_drift_and_noise_are_told_apart(step, name: str, says: str) -> None:  # type: ignore[no-untyped-def]
    found = response_cause(step)
    assert found is not None and found.name == name and says in found.sentence


def test_a_preconditioner_with_its_correction_has_no_cause() -> None:
    assert response_cause(ito) is None
