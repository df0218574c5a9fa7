"""Are cause and mend of torch code told in its own names and lines, and only where the edited file passes?"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import torch

from sgverify import torch_step
from sgverify.advice.diagnosis.code_edits import search as code_search
from sgverify.advice.diagnosis.code_edits.candidates import CodeEdit, CodeEdits
from sgverify.advice.diagnosis.diagnosing import diagnose
from sgverify.advice.diagnosis.measured_terms.black_box import black_box_cause
from sgverify.advice.diagnosis.measured_terms.response import response_cause
from sgverify.advice.diagnosis.model import Cause
from sgverify.advice.diagnosis.own_words import in_own_words, of_edit
from sgverify.advice.diagnosis.source import Replacement
from sgverify.checks.order.own_loss_cause import Terms, time_of_call
from sgverify.configuration import load_configuration
from sgverify.law.own_dynamics import keeps_density_by_place
from sgverify.schemes import langevin
from sgverify.schemes.loading import load_step
from sgverify.verdict.asking import enquire
from tests.zoo import optimizers

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


@torch_step(langevin)
def elsewhere(theta, *, h, grad, T):
    return theta - h * grad(theta + torch.randn_like(theta)) + (2 * T * h) ** 0.5 * torch.randn_like(theta)


@pytest.mark.parametrize(
    ("step", "name", "says"),
    [(pulled, "localised", "0.2 (theta - 1.25)^2"), (midpoint, "stratonovich", "1/2")],
)
def test_drift_and_noise_are_told_apart(step, name: str, says: str) -> None:  # type: ignore[no-untyped-def]
    found = response_cause(step)
    assert found is not None and found.name == name and says in found.sentence


def test_a_preconditioner_with_its_correction_has_no_cause() -> None:
    assert response_cause(ito) is None


def test_a_preconditioner_of_theta_keeps_the_density_with_its_correction_alone() -> None:
    assert keeps_density_by_place(ito, 1) and not keeps_density_by_place(midpoint, 1)


def test_a_gradient_that_is_taken_elsewhere_is_no_preconditioner_of_theta() -> None:
    """Under constant gradients, where a preconditioner is read, nothing tells the place."""
    assert not keeps_density_by_place(elsewhere, 1)


def test_a_preconditioner_of_what_is_kept_lacks_its_correction() -> None:
    found = response_cause(load_step(f"{optimizers.__file__}:PreconditionedAlone"))
    assert found is not None and found.name == "drift-correction-missing"
    assert "sq follows the gradients" in found.sentence


@torch_step(langevin)
def quiet(theta, *, h, grad, T):
    return theta - h * grad(theta) + 0 * torch.randn_like(theta)


def test_rounding_is_no_noise_of_another_power() -> None:
    found = black_box_cause(quiet)
    assert found is not None and found.name == "noise-missing"


def test_an_edit_whose_code_raises_is_no_mend(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    def raises(*given: Any) -> Any:
        raise ValueError("math domain error")

    search: Any = object.__new__(code_search._CodeSearch)
    search._file, search._text = str(tmp_path / "mine.py"), "x = 1\n"
    search._subject = SimpleNamespace(reference="mine.py:x", configuration=None)
    monkeypatch.setattr(code_search, "make_subject", raises)
    monkeypatch.setattr(code_search, "replaced", lambda text, changes: text)
    with search._loaded(SimpleNamespace(change=None)) as made:
        assert made is None


@torch_step(langevin)
def forceless(theta, *, h, grad, T):
    return theta + (2 * T * h) ** 0.5 * torch.randn_like(theta)


def test_a_force_that_is_missing_is_no_tiny_one() -> None:
    found = black_box_cause(forceless)
    assert found == Cause("drift-scaled", "the force on theta is missing: langevin has -U'")


@pytest.mark.parametrize(
    ("was", "now", "told"),
    [
        ("math.sqrt(2 * lr)", "math.sqrt(2 * lr * group['alpha'])", "T/alpha where T is due"),
        ("lr * z", "(2 * lr)**0.5 * z", "lr*T/2 where T is due"),
        (
            "math.sqrt(h) * z",
            "math.sqrt(2 * h) * z",
            "T/2 where T is due, spreads are 0.707 times the due ones",
        ),
    ],
)
def test_the_temperature_that_a_factor_makes_is_told_in_the_options(was: str, now: str, told: str) -> None:
    edit = CodeEdit(Replacement(0, 1, ""), was, now, 3, "noise", "into root", 1, alone=True)
    assert f"its temperature is {told}" in of_edit(edit, Cause("diffusion-scaled", "-"), [], ito).sentence
    several = replace(edit, alone=False)
    assert "temperature" not in of_edit(several, Cause("diffusion-scaled", "-"), [], ito).sentence


def test_the_time_of_a_call_is_what_noise_and_prior_have_in_common() -> None:
    prior, data = np.array([[1.0, -2.0], [0.5, 3.0]]), np.array([[[0.3, 1.0]], [[2.0, -1.0]]])
    terms = Terms(prior + data.sum(axis=1), np.array([2 * np.eye(2)] * 2), prior, data, 1)
    less = 3 * prior + 2 * data.sum(axis=1)
    assert time_of_call(3 * terms.drift, 3 * terms.covariance, terms) == 3
    assert time_of_call(less, 3 * terms.covariance, terms) == 3
    assert time_of_call(terms.drift, 3 * terms.covariance, terms) == 1


def test_what_passes_is_told_in_the_order_of_the_answers(monkeypatch: pytest.MonkeyPatch) -> None:
    """The checks are asked by the time that each took, which differs from run to run."""
    search: Any = object.__new__(code_search._CodeSearch)
    answers = [SimpleNamespace(check=name, claim="claim", seconds=s) for name, s in (("a", 2.0), ("b", 1.0))]
    search._asked, search._corrected = {item.check: item for item in reversed(answers)}, False
    by_time = [(("claim", "b"), {"pass"}), (("claim", "a"), {"pass"})]
    monkeypatch.setattr(code_search, "asked_again", lambda made, asked: by_time)
    assert search._passed(None) == "pass a, b"


def test_powers_are_those_of_the_option_and_p_is_what_the_code_keeps() -> None:
    step = SimpleNamespace(conventions="SGHMC(params, lr=h**2, alpha=h*D); p = lr*buffer/h; one more")
    told = Cause(
        "diffusion-power-of-h",
        "the variance of the noise of p goes as h^5 where h is due: h^(5/2) and not sqrt(h)",
    )
    assert in_own_words(told, step).sentence == (
        "the variance of the noise of p = lr^(1/2)*buffer goes as lr^(5/2) where sqrt(lr) is due: lr^(5/4) and not lr^(1/4)"
    )
