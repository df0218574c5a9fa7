"""Temperature, steps and F that change from epoch to epoch, and momenta that are drawn anew."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pytest
import torch

import sgverify
from sgverify.configuration import TargetTable, load_configuration
from sgverify.draws.sampling import row_of_length as row_of
from sgverify.errors import ConfigurationError
from sgverify.samplers import Settings, annealed, fixed, one_thread
from sgverify.samplers.composites.exchange import ExchangeChoice
from sgverify.samplers.gradients.estimators import GradientChoice
from sgverify.samplers.run.leg import Position
from sgverify.samplers.run.run import Ensemble
from sgverify.schemes import find_scheme
from sgverify.schemes.loading import load_step
from sgverify.subject.binding import make_subject
from sgverify.targets import build_target
from tests.sampled_states import sample_states

DATA = build_target(TargetTable(size=20))
EPOCH, LENGTH, COOLING, FACTOR = 10, 35, 1.5, 1.3
MINIBATCHES = GradientChoice(kind="iid", batch=4)


@dataclass(frozen=True)
class AnnealingChoice:
    """What is annealed; names, meanings and defaults are those of the table `[annealing]`."""

    epoch: int | None = None
    cooling: float = 1.0
    correction: float = 1.0
    until: int | None = None


def _settings(**given: Any) -> Settings:
    return Settings(chains=6, temperature=2.0, gradient=MINIBATCHES, compiled=False, **given)


def _by_hand(name: str, settings: Settings, rows: Any, until: int | None = None) -> tuple[torch.Tensor, ...]:
    """The last state of runs one after the other, each of one epoch at the constant T_k and F_k of its formula."""
    position: Position | None = None
    scheme = load_step(name)
    with one_thread(), torch.no_grad():
        for done in range(0, LENGTH, EPOCH):
            k = done // EPOCH if until is None else min(done // EPOCH, until)
            F = 2.0 * FACTOR**k
            constant = replace(settings, temperature=settings.temperature / COOLING**k, annealing=None)
            if settings.exchange is not None:
                constant = replace(constant, exchange=replace(settings.exchange, correction=F))
            ensemble = Ensemble(scheme, DATA, rows, constant)
            start = ensemble.begin() if position is None else position
            for block in ensemble.blocks(start=start, until=min(LENGTH, done + EPOCH)):
                last = block
            position = ensemble.position(last, ended=True)
    return position.state


@pytest.mark.parametrize("until", [None, 2])
@pytest.mark.parametrize("name", ["sgld-euler", "sghmc-baoab"])
def test_a_cooled_run_is_one_of_runs_at_the_temperatures_of_its_epochs(name: str, until: int | None) -> None:
    choice = AnnealingChoice(EPOCH, COOLING, until=until)
    rows = fixed([0.01, 0.02], [LENGTH])
    found = sample_states(load_step(name), DATA, rows, at=[LENGTH], settings=_settings(annealing=choice))
    (theta, *_) = _by_hand(name, _settings(), rows, until)
    assert np.array_equal(found.values["theta"][:, 0], theta.numpy())
    constant = sample_states(load_step(name), DATA, rows, at=[LENGTH], settings=_settings())
    assert not np.array_equal(found.values["theta"], constant.values["theta"])


@pytest.mark.parametrize("name", ["resghmc", "vr-resgld"])
def test_replicas_are_cooled_together_and_F_grows(name: str) -> None:
    exchange = ExchangeChoice(ladder=(1.0, 3.0), correction=2.0)
    choice = AnnealingChoice(EPOCH, COOLING, FACTOR)
    rows = fixed([0.01], [LENGTH])
    settings = _settings(exchange=exchange, start=(1.0, -1.0))
    cooled = replace(settings, annealing=choice)
    found = sample_states(load_step(name), DATA, rows, at=[LENGTH], settings=cooled)
    (theta, *_) = _by_hand(name, settings, rows)
    assert np.array_equal(found.values["theta"][:, 0], theta.numpy())


def test_F_alone_changes_swaps() -> None:
    rows = fixed([0.01], [LENGTH])
    found = []
    for correction in (1.0, 50.0):
        choice = AnnealingChoice(EPOCH, 1.0, correction)
        settings = _settings(exchange=ExchangeChoice(ladder=(1.0, 3.0)), annealing=choice)
        found.append(
            sample_states(load_step("resgld"), DATA, rows, at=[EPOCH, LENGTH], settings=settings).values[
                "theta"
            ]
        )
    assert np.array_equal(found[0][:, 0], found[1][:, 0])
    assert not np.array_equal(found[0][:, 1], found[1][:, 1])


def test_annealed_steps_stay_and_then_fall_with_each_epoch() -> None:
    (row,) = annealed([0.4], [60], epoch=10, decay=0.5, after=2)
    assert [row.at(l) for l in (1, 20, 21, 30, 31, 41)] == [0.4, 0.4, 0.2, 0.2, 0.1, 0.05]
    # vr-resgld section 5.2: 2e-6 for 200 epochs, and then x 0.984 in each.
    (printed,) = annealed([2e-6], [500 * 196], epoch=196, decay=0.984, after=200)
    assert printed.at(200 * 196) == 2e-6
    assert printed.at(200 * 196 + 1) == pytest.approx(2e-6 * 0.984, rel=1e-15)
    assert printed.at(500 * 196) == pytest.approx(2e-6 * 0.984**300, rel=1e-12)
    assert row.schedule.key != annealed([0.4], [60], epoch=10, decay=0.5, after=1)[0].schedule.key


def test_the_printed_settings_are_a_configuration() -> None:
    c = load_configuration(
        {
            "temperature": 0.01,
            "target": {"size": 20},
            "gradient": {"kind": "without-replacement", "batch": 4},
            "schedule": {"kind": "annealed", "scale": 2e-6, "decay": 0.984, "after": 200},
            "annealing": {"cooling": 1.02, "correction": 1.02},
            "exchange": {"ladder": [1.0, 5.0], "step_factors": [1.0, 1.5], "correction": 1.5e5},
            "steps": 1010,
        }
    )
    subject = make_subject("vr-resghmc", c)
    subject.validate()
    # N/n = 5 steps make an epoch.
    assert row_of(subject, 1010).at(1001) == pytest.approx(2e-6 * 0.984)
    ensemble = Ensemble(subject.composite, subject.target, [row_of(subject, 1010)], Settings.of(c))
    settings = ensemble.settings_at(1000)
    assert settings.temperature == pytest.approx(0.01 / 1.02**200)
    assert settings.exchange.correction == pytest.approx(1.5e5 * 1.02**200)
    assert ensemble.stage((0, 1), 1000).temperatures == pytest.approx(np.array([0.01, 0.05]) / 1.02**200)


def test_momenta_are_drawn_anew_at_the_temperature_of_the_moment() -> None:
    target = build_target(TargetTable(name="gaussian"))
    scheme, every = find_scheme("sghmc-baoab"), 5
    choice = AnnealingChoice(10, 4.0)
    settings = Settings(
        chains=4096, temperature=2.0, friction=1e-3, resample_momentum=every, annealing=choice
    )
    # A step so short that neither force nor friction changes a momentum by more than 1e-3.
    states = sample_states(scheme, target, fixed([1e-4], [20]), at=range(1, 21), settings=settings)
    p = states.values["p"][0, :, :, 0]
    assert np.abs(p[:every]).max() < 2e-2
    for first, T in ((5, 2.0), (10, 0.5), (15, 0.5)):
        here = p[first]
        assert here.var() == pytest.approx(T, rel=5 * (2 / 4096) ** 0.5)
        assert abs(here.mean()) < 5 * (T / 4096) ** 0.5
        assert abs(np.corrcoef(here, p[first - 1])[0, 1]) < 5 / 4096**0.5
        assert np.abs(p[first + 4] - here).max() < 2e-2
    theta = states.values["theta"][0, :, :, 0]
    assert np.abs(np.diff(theta, axis=0)).max() < 1e-3


@pytest.mark.by_default("sghmc-baoab")
@pytest.mark.parametrize("name", ["sghmc-baoab", "resghmc"])
def test_kernels_and_pauses_leave_the_bits(name: str) -> None:
    choice = AnnealingChoice(EPOCH, COOLING, FACTOR)
    settings = _settings(
        annealing=choice, resample_momentum=7, exchange=ExchangeChoice() if name[:2] == "re" else None
    )
    (row,) = annealed([0.02], [LENGTH], epoch=EPOCH, decay=0.9)
    plain = sample_states(load_step(name), DATA, [row], at=range(1, LENGTH + 1), settings=settings)
    other = replace(settings, compiled="kernel")
    # In C, and paused in the midst of an epoch and on its boundary.
    ensemble = Ensemble(load_step(name), DATA, [row], other)
    with one_thread(), torch.no_grad():
        position = ensemble.begin()
        for until in (4, 10, 21, None):
            for block in ensemble.blocks(start=position, until=until):
                last = block
            theta = last.state["theta"].clone()
            position = ensemble.position(last)
            assert np.array_equal(plain.values["theta"][:, last.last - 1], theta.numpy())


def test_what_cannot_be_run_is_refused_by_name() -> None:
    rows, scheme = fixed([0.01], [20]), find_scheme("sghmc-baoab")
    with pytest.raises(ConfigurationError, match=r"annealing.epoch left open"):
        Ensemble(scheme, DATA, rows, Settings(annealing=AnnealingChoice(cooling=1.1)))
    with pytest.raises(ConfigurationError, match="regions and their weights"):
        Ensemble(load_step("awsgld"), DATA, rows, Settings(annealing=AnnealingChoice(5, 1.1)))
    with pytest.raises(ConfigurationError, match="advice"):
        sgverify.advise("gaussian-mean", annealing={"cooling": 1.1})


STANDS = {
    "local-order",
    "order-equivalence",
    "constant-equivalence",
    "stationarity",
    "mean-flow",
    "step-conditions",
}


@pytest.mark.parametrize("given", [
    {"annealing": {"cooling": 1.02, "epoch": 5}},
    {"resample_momentum": 10},
    {"schedule": {"kind": "annealed"}, "annealing": {"epoch": 5}},
])  # fmt: skip
def test_no_check_of_one_temperature_conforms_where_it_changes(given: dict[str, Any]) -> None:
    config = load_configuration(given)
    asked = [
        "local-order",
        "stationary-bias",
        "covariance",
        "bias",
        "invariant-order",
    ]
    found = sgverify.verify("sghmc-baoab", config, checks=asked)
    assert {item.check for item in found if item.verdict == "conforms"} == {"local-order"}
    (key, *_) = given
    told = "schedule.kind='annealed'" if key == "schedule" else key
    for item in found:
        assert item.check in STANDS or (item.verdict == "not-applicable" and told in item.reason)
