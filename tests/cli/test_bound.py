"""`sgverify bound`: the answer, its JSON, and what is refused."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import sgverify
from sgverify.cli import main
from tests.cli.conftest import Call


def test_a_certificate_is_told_and_written(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "bound.json"
    asked = ["bound", "sgld-euler", "--m", "1", "--L", "10", "--step", "0.0123", "--json", str(path)]
    assert main(asked) == 0
    told = " ".join(capsys.readouterr().out.split())
    assert "for every U with 1 <= U'' <= 10, in every dimension" in told
    assert "contracts by 1.23 % a step" in told and "[proof]" in told
    document = json.loads(path.read_text())
    assert document["schema"] == "sgverify/bound/1"
    assert document["decay"] == pytest.approx(0.0123, rel=1e-6)
    assert document["smallest_step"] < 0.0123 < document["largest_step"] == pytest.approx(0.2, rel=1e-2)
    assert document["distance"] < document["published"][0]["distance"]


def test_the_bounds_of_a_posterior_are_taken() -> None:
    found = sgverify.bound("sghmc-baoab", target={"name": "logistic-regression"}, friction=5.0)
    assert found.origin == "logistic-regression" and found.m == pytest.approx(1, rel=1e-6) and found.proved


def test_torch_code_has_the_certificate_of_the_scheme_whose_law_it_has(tmp_path: Path) -> None:
    path = tmp_path / "mine.py"
    path.write_text(
        "import torch\n\n\n"
        "class SGLD(torch.optim.Optimizer):\n"
        "    def __init__(self, params, lr=1e-2):\n"
        "        super().__init__(params, dict(lr=lr))\n\n"
        "    def step(self, closure=None):\n"
        "        for group in self.param_groups:\n"
        "            for p in group['params']:\n"
        "                noise = (2 * group['lr']) ** 0.5 * torch.randn_like(p)\n"
        "                p.data.add_(p.grad, alpha=-group['lr']).add_(noise)\n"
    )
    found = sgverify.bound(f"{path}:SGLD", m=1, L=10, schedule={"step": 0.03})
    assert found.law is not None and found.law.startswith("sgld-euler with h = 0.03")
    assert found.decay == pytest.approx(0.03, rel=1e-6)


@pytest.mark.parametrize(
    ("asked", "code", "said"),
    [
        (["psgld", "--m", "1", "--L", "2"], 3, "no certificate: "),
        (["sgld-euler", "--m", "1", "--L", "2", "--step", "1.01"], 3, "does not contract on the quadratic"),
        (["sgld-euler", "--m", "2", "--L", "1"], 2, "expected m <= L"),
        (["sgld-euler", "--m", "0", "--L", "1"], 2, "strong convexity"),
        (["sgld-euler", "--m", "1"], 2, "--m is given alone"),
        (["sgld-euler", "--m", "1", "--L", "2", "--noise", "-1"], 2, "expected the variance"),
        (["sgld-euler", "--set", "target.name=double-well"], 2, "no bounds of its Hessian"),
        (["sgld-euler", "--set", "target.name=poisson-regression"], 2, "without end"),
        (["sgld-euler", "--m", "nan", "--L", "1"], 2, "expected"),
    ],
)
def test_refusals(asked: list[str], code: int, said: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["bound", *asked]) == code
    told = capsys.readouterr()
    assert said in told.out + told.err


def test_the_answer_about_a_scheme_has_the_line() -> None:
    results = sgverify.verify("sgld-euler", checks=["local-order"], target={"name": "logistic-regression"})
    assert "contracts   by 2.9 % a step, and at every larger step up to h = 0.2" in str(results)


def test_a_quantity_by_its_letter_is_told_its_option_or_its_key(call: Call) -> None:
    assert "Did you mean '--step'?" in call("bound", "sghmc-baoab", "--m", "1", "--L", "9", "--h", "0.1").err
    assert "Did you mean '--set schedule.step=...'?" in call("verify", "sgld-euler", "--h", "0.1").err
