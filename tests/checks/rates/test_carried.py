"""Rates by what is proved of a step, where no exact law is read: right steps pass, wrong ones and unknown potentials do not."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

import sgverify
from sgverify.exact.readings.formula import plant
from sgverify.schemes import Scheme, find_scheme

LOGISTIC = {"target": {"name": "logistic-regression"}, "gradient": {"kind": "iid"}}
OF_AVERAGES = ("stationary-bias", "bias", "mse", "consistency")
HOT = plant(find_scheme("sgld-euler"), "sqrt(2*T*h)", "sqrt(2.1*T*h)")
COLD = plant(find_scheme("sghmc-aboba"), "sqrt(2*D*T*h)", "sqrt(D*T*h)")


def averages(scheme: Scheme | str, checks: Sequence[str] = (), **settings: Any) -> list[tuple[str, str]]:
    found = sgverify.verify(scheme, settings, checks=checks)
    return [(item.outcome, item.method) for item in found if item.check in OF_AVERAGES]


@pytest.mark.parametrize("scheme", ["sgld-euler", "sghmc-aboba"])
def test_the_order_that_is_proved_decides_on_a_smooth_target(scheme: str) -> None:
    found = averages(scheme, **LOGISTIC)
    assert {outcome for outcome, _ in found} == {"pass", "not-applicable"} and {how for _, how in found} == {
        "proof"
    }


@pytest.mark.parametrize("scheme", [HOT, COLD], ids=["hot", "cold"])
def test_a_wrong_step_has_no_rate_by_proof(scheme: Scheme) -> None:
    assert "pass" not in {outcome for outcome, _ in averages(scheme, **LOGISTIC)}


def test_nothing_is_carried_over_to_potentials_that_need_not_be_smooth_or_to_chains_that_escape(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "kink.py").write_text(
        "import sgverify\n\n@sgverify.log_density(dim=2)\ndef kink(theta):\n    return -theta.abs().sum(-1)\n"
    )
    (tmp_path / "relu.py").write_text(
        "import torch, sgverify\n\ntorch.manual_seed(0)\nx = torch.randn(9, 1)\n"
        "net = torch.nn.Sequential(torch.nn.Linear(1, 1), torch.nn.ReLU(), torch.nn.Linear(1, 1))\n"
        "relu = sgverify.module_target(net, torch.nn.MSELoss(reduction='sum'), data=(x, x))\n"
    )
    for settings in (
        {"target": {"name": "kink.py:kink"}},
        {"target": {"name": "relu.py:relu"}, "schedule": {"step": 0.01}},
        # On the line grids would answer first.
        {"target": {"name": "rastrigin", "dim": 3}},
        {"target": {"name": "quartic"}, "gradient": {"kind": "additive"}},
        {**LOGISTIC, "gradient": {"kind": "iid", "clip": 1.0}},
        {**LOGISTIC, "gradient": {"kind": "full", "clip": 1.0}},
        {**LOGISTIC, "gradient": {"kind": "full", "scale": 1.1}},
        {**LOGISTIC, "gradient": {"kind": "reshuffle"}},
    ):
        assert ("pass", "proof") not in averages("sgld-euler", OF_AVERAGES, **settings), settings
