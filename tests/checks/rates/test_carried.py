"""Rates by what is proved of a step, where no exact law is read: right steps pass, wrong ones and unknown potentials do not."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

import sgverify
from sgverify import dynamics, sqrt
from sgverify.exact.readings.formula import plant
from sgverify.exact.series.stated_density import absorbs_noise
from sgverify.schemes import Scheme, dot, find_scheme

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


def thermostat_of(mass: int, claimed: int) -> Scheme:
    """A Euler step of a thermostat of this mass under the density of a thermostat of the mass `claimed`."""

    def rho(theta, p, xi, *, U, dim, D, T):
        return -(U(theta) + dot(p, p) / 2 + claimed * dim / 2 * (xi - D) ** 2) / T

    @dynamics(theta="vector", p="vector", xi="scalar", density=rho)
    def slow(theta, p, xi, *, grad, dim, D, T):
        return (p, -grad(theta) - xi * p, (dot(p, p) / dim - T) / mass), (0, D * T, 0)

    @sgverify.scheme(slow, order=1)
    def euler(theta, p, xi, *, h, grad, noise, dim, D, T):
        p = p - h * (xi * p + grad(theta)) + sqrt(2 * D * T * h) * noise()
        return theta + h * p, p, xi + h * (dot(p, p) / dim - T) / mass

    return euler


def test_a_thermostat_has_the_rates_of_its_order_where_it_leaves_its_density_invariant() -> None:
    well = {"target": {"name": "double-well"}}
    assert {outcome for outcome, _ in averages("sgnht-aboba", **well)} == {"pass", "not-applicable"}
    assert averages(thermostat_of(3, 3), **well) == [("pass", "proof")]
    assert averages(thermostat_of(3, 1), **well) == [("undecided", "exact")]


def test_a_step_that_never_forgets_its_start_has_no_rate_by_proof() -> None:
    def rho(theta, p, xi, *, U, T):
        return -(U(theta) + dot(p, p) / 2 + xi**2 / 2) / T

    @dynamics(theta="vector", p="vector", xi="scalar", density=rho)
    def noise_apart(theta, p, xi, *, grad, T):
        return (p, -grad(theta), -xi), (0, 0, T)

    @sgverify.scheme(noise_apart, order=1)
    def euler(theta, p, xi, *, h, grad, noise, T):
        p = p - h * grad(theta)
        return theta + h * p, p, xi - h * xi + sqrt(2 * T * h) * noise.scalar()

    found = averages(euler, target={"name": "double-well"})
    assert found and "pass" not in {outcome for outcome, _ in found}


def test_noise_that_a_thermostat_absorbs_costs_no_order() -> None:
    found = sgverify.verify("sgnht-aboba", {"gradient": {"kind": "iid"}}, checks=["chen2015/theorem-4"])
    assert [item.found.low for item in found if item.outcome == "pass"] == [2]
    thermostat, kinetic = find_scheme("sgnht-aboba"), find_scheme("sghmc-aboba")
    assert [absorbs_noise(thermostat, dim, isotropic=True) for dim in (1, 2)] == [True, True]
    # One friction cannot balance noise that differs between coordinates; without a thermostat nothing does.
    assert not absorbs_noise(thermostat, 2, isotropic=False) and not absorbs_noise(kinetic, 1, isotropic=True)


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
    (tmp_path / "cone.py").write_text(
        "from sgverify.extending import TargetKind, dot, sqrt\n\n\ndef potential(*, dim):\n"
        "    return lambda theta: dot(theta, theta) * sqrt(dot(theta, theta)), None\n\n\n"
        "CONE = TargetKind('cone', '|theta|^3', 'a test', {}, potential, sized=True)\n"
    )
    for settings in (
        {"target": {"name": "kink.py:kink"}},
        {"target": {"name": "cone.py:CONE", "dim": 2}},
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
