"""The balance of swaps: refuted where it is broken, never on a correct composite, and told apart from the printed F = 1."""

from __future__ import annotations

import itertools
import math
from typing import Any

import numpy as np
import pytest
import torch
from flint import arb
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from sgverify.checks import verify
from sgverify.checks.exchange.balance import check_swap_balance, imbalances
from sgverify.checks.question import Question
from sgverify.claims import find_claim
from sgverify.configuration import load_configuration
from sgverify.samplers import GradientChoice, Settings, fixed
from sgverify.samplers.composites.exchange import ExchangeChoice
from sgverify.schemes.composites import COMPOSITES, ReplicaExchange
from sgverify.schemes.composites.composite import log_swap_rate
from sgverify.strategies import configurations, exchanges
from sgverify.subject.binding import make_subject
from sgverify.targets import Target, build_target
from sgverify.testing import examples
from tests.sampled_states import sample_states
from tests.samplers.conftest import build

CARD = "sgverify/swap-balance"
EXCHANGES = [name for name, item in COMPOSITES.items() if isinstance(item, ReplicaExchange)]
NOISY: dict[str, Any] = {"gradient": {"kind": "iid", "batch": 2}, "target": {"size": 12, "data_seed": 3}}


def judged(name: str, **settings: Any) -> Any:
    return check_swap_balance(
        Question(make_subject(name, load_configuration(**settings)), find_claim(CARD), "swap-balance")
    )


@pytest.mark.by_default("resgld", "avr-resghmc", "vr-resgld")
@pytest.mark.parametrize("name", EXCHANGES)
def test_every_exchange_of_the_catalogue_balances(name: str) -> None:
    assert judged(name, **NOISY, exchange={"ladder": [1, 2, 5]}).verdict == "conforms"


@pytest.mark.power  # 1.3 s
@settings(max_examples=examples(8), suppress_health_check=list(HealthCheck), deadline=None)
@given(data=st.data())
def test_no_alarm_on_a_correct_composite_under_any_configuration(data: st.DataObject) -> None:
    composite = COMPOSITES[data.draw(st.sampled_from(EXCHANGES))]
    drawn = data.draw(configurations(scheme=composite.scheme, dtypes=("float64", "float32")))
    table = data.draw(exchanges()).model_dump(exclude_unset=True)
    configuration = load_configuration(drawn, exchange=table)
    found = check_swap_balance(
        Question(make_subject(composite, configuration), find_claim(CARD), "swap-balance")
    )
    assert found.verdict == "conforms", found.reason


def test_the_printed_correction_is_refuted_with_noise_and_stands_without() -> None:
    found = judged("vr-resgld", **NOISY, exchange={"correction": 1})
    assert found.verdict == "violates" and "F = 1 does not balance" in found.reason
    assert judged("vr-resgld", target=NOISY["target"], exchange={"correction": 1}).verdict == "conforms"


def test_the_flows_are_those_of_brute_force_integration() -> None:
    subject = make_subject(
        "resgld", load_configuration(**NOISY, temperature=0.5, exchange={"ladder": [1, 3], "correction": 1})
    )
    cold, hot = 0.5, 1.5
    gap = 1 / cold - 1 / hot
    z = np.linspace(-12, 12, 400_001)
    weights = np.exp(-z * z / 2) / math.sqrt(2 * math.pi) * (z[1] - z[0])
    for (name, value), (u, s) in zip(
        imbalances(subject).items(), itertools.product((0.5, 2.0), (0.0, 0.25, 4.0)), strict=True
    ):
        chance = {}
        for sign in (1, -1):
            noisy = sign * u / gap + math.sqrt(s) / gap * z
            log_s = log_swap_rate(noisy, 0.0, tau_1=cold, tau_2=hot, variance=s / gap**2, F=1.0)
            chance[sign] = float((weights * np.exp(np.minimum(log_s, 0.0))).sum())
        assert float(value.mid()) == pytest.approx(math.log(chance[1] / chance[-1]) - u, abs=1e-7), name
    assert all(
        value.overlaps(arb(0))
        for value in imbalances(make_subject("resgld", load_configuration(**NOISY))).values()
    )


def test_a_scheme_that_is_no_composite_is_not_judged() -> None:
    (found,) = verify("sgld-euler", checks=["swap-balance"])
    assert found.verdict == "not-applicable" and "is none" in found.reason


@pytest.mark.power  # 1.1 s
def test_each_replica_keeps_the_exact_moments_of_its_temperature() -> None:
    """The discrete Euler law of each replica, var T / (lambda (1 - h lambda / 2)), is kept by exact swaps up to O(h)."""
    target: Target = build("gaussian", dim=1, precision=2.0)
    chains, ladder, h = 4000, (1.0, 2.0, 4.0), 0.02
    choice = ExchangeChoice(ladder=ladder)
    found = sample_states(
        COMPOSITES["resghmc"],
        target,
        fixed([h], [400]),
        at=[400],
        settings=Settings(chains=chains, exchange=choice, start=0.0, start_momentum="stationary"),
    )
    for name, precision in (("theta", 2.0), ("p", 1.0)):
        for row, T in enumerate(ladder):
            mean = (found.values[name][row, 0, :, 0] ** 2).mean()
            # Var of the mean of squares is 2 T^2/C: six standard errors, and the O(h) of the step.
            assert abs(mean * precision / T - 1) < 6 * math.sqrt(2 / chains) + 2 * h, (name, row)


@pytest.mark.power  # 1.8 s
def test_swapping_by_noisy_energies_without_correction_heats_the_cold_replica() -> None:
    """Its second moment: above the posterior's by the noise of the steps, and without a correction by that of the swaps too."""
    target = build_target_of_data()
    truth = float(target.spread_float64(1.0)[0] ** 2)
    found = {}
    for F in (2.0, 1e9):
        settings = Settings(
            chains=1500,
            start=0.0,
            gradient=GradientChoice("iid", 4),
            exchange=ExchangeChoice(ladder=(1.0, 6.0), correction=F, smoothing=1.0),
        )
        values = sample_states(
            COMPOSITES["resgld"], target, fixed([0.0008], [250]), at=[250], settings=settings
        ).values["theta"][0, 0, :, 0]
        found[F] = ((values - target.location_float64(1.0)[0]) ** 2).mean() / truth
    assert found[2.0] < 0.9 * found[1e9]


def build_target_of_data() -> Target:
    spread = torch.linspace(-8, 8, 60, dtype=torch.float64).tolist()
    return build("gaussian-mean", data=spread, dim=1)


_ = build_target
