"""The hooks around the steps of a scheme, and what they leave alone."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pytest
import torch

from sgverify.draws.stored.source import definition_of
from sgverify.errors import ConfigurationError
from sgverify.samplers import GradientChoice, Settings, fixed, power, sample
from sgverify.samplers.composites.exchange import ExchangeChoice
from sgverify.samplers.composites.hooks import StepHooks, hooks_of
from sgverify.schemes import NAMED, find_scheme, sqrt
from sgverify.schemes.composites import COMPOSITES, Composite, ReplicaExchange
from sgverify.targets import Target
from tests.sampled_states import sample_states
from tests.samplers.conftest import averaged_in_pieces


def first(theta, *_):
    return theta[..., 0]


@dataclass(frozen=True)
class Weighed(Composite):
    kind = "weighed"


class _Weighing(StepHooks):
    """Weighs each state by the number of its step, which it carries."""

    weighted = True

    def enter(self, stage, state, carried):
        self.stage, self.count = stage, carried[0] if carried else torch.zeros_like(state[0][..., :1])

    def estimator(self, estimator):
        self.own = estimator
        return estimator

    def after(self, place, number, state, steps):
        self.count = self.count + 1
        self.energy = self.own.energy(state[0], place, 0)
        return state

    @property
    def carried(self):
        return (self.count,)

    def log_weights(self):
        return self.count[..., 0].to(torch.float64).log()


@pytest.fixture(autouse=True)
def _registered():
    hooks_of.register(Weighed)(lambda composite, settings: _Weighing())


@pytest.mark.parametrize("name", ["sgld-euler", "sghmc-aboba", "sgnht-euler"])
@pytest.mark.parametrize("kind", ["iid", "full"])
def test_replicas_that_never_swap_are_runs_of_the_scheme_at_their_temperature_and_step(
    name: str, kind: str, posterior: Target
) -> None:
    # No swap is tried within so few steps.
    never = ExchangeChoice(ladder=(1.0, 4.0), step_factors=(1.0, 0.5), every=100)
    settings = Settings(chains=3, gradient=GradientChoice(kind, 4), exchange=never, temperature=2.0)
    whole = sample_states(
        ReplicaExchange("mine", find_scheme(name)), posterior, fixed([0.01], [9]), at=[9], settings=settings
    )
    alone = sample_states(find_scheme(name), posterior, fixed([0.01], [9]), at=[9], settings=settings)
    for variable, value in alone.values.items():
        np.testing.assert_array_equal(whole.values[variable][0], value[0])
    # The other one has the noise of a stream of its own; at T = 0 of both it would have the minibatches alone.
    assert not np.array_equal(whole.values["theta"][1], alone.values["theta"][0])


@pytest.mark.parametrize("name", ["vr-resgld", "vr-resghmc"])
def test_each_replica_starts_at_its_own_place(name: str, posterior: Target) -> None:
    never = ExchangeChoice(ladder=(1.0, 3.0, 5.0), every=100)
    settings = Settings(chains=2, gradient=GradientChoice("iid", 4), exchange=never, start=(2.0, -1.5, 0.5))
    rows = fixed([1e-12, 2e-12], [1])
    found = sample_states(COMPOSITES[name], posterior, rows, at=[1], settings=settings).values["theta"]
    mean, spread = posterior.location_float64(1.0), posterior.spread_float64(1.0)
    # Steps of 1e-12 move a chain by some 1e-6 of a standard deviation.
    for row, offset in enumerate((2.0, -1.5, 0.5) * 2):
        np.testing.assert_allclose(
            found[row, 0], np.broadcast_to(mean + offset * spread, found[row, 0].shape), atol=1e-4
        )


@pytest.mark.parametrize("start", [[1.0, 2.0, 3.0], (1.0, 2.0)])
def test_starts_of_another_number_of_replicas_are_refused(start, posterior: Target) -> None:
    settings = Settings(chains=2, start=start)
    scheme = COMPOSITES["resgld"] if len(start) == 3 else find_scheme("sgld-euler")
    with pytest.raises(ConfigurationError, match="the coldest replica first|only replica exchange"):
        sample_states(scheme, posterior, fixed([0.01], [1]), at=[1], settings=settings)


def test_replicas_share_their_minibatches_and_nothing_else(posterior: Target) -> None:
    never = ExchangeChoice(ladder=(1.0, 1.0 + 1e-12), every=100)
    settings = Settings(
        chains=4, gradient=GradientChoice("iid", 2), exchange=never, temperature=1e-30, start=1.0
    )
    found = sample_states(COMPOSITES["resgld"], posterior, fixed([0.01], [5]), at=[5], settings=settings)
    # Without temperature theta is a function of the minibatches; noise is 1e-16 of it.
    np.testing.assert_allclose(found.values["theta"][0], found.values["theta"][1], rtol=1e-12)
    assert len(set(found.values["theta"][0].ravel())) == 4


@pytest.mark.by_default("resgld", "avr-resgld", "avr-resghmc")
@pytest.mark.parametrize(
    "name", [name for name, item in COMPOSITES.items() if isinstance(item, ReplicaExchange)]
)
def test_a_run_goes_on_to_the_same_bits_wherever_it_was_cut(name: str, posterior: Target) -> None:
    settings = Settings(chains=5, gradient=GradientChoice("iid", 4), exchange=ExchangeChoice(refresh=7))
    keys = {"observables": [first], "settings": settings}
    rows = fixed([0.01, 0.02], [20, 40])
    whole = sample(COMPOSITES[name], posterior, rows, **keys)
    found = averaged_in_pieces((13,), COMPOSITES[name], posterior, rows, **keys, block=3)
    np.testing.assert_array_equal(found, whole.values)
    assert (
        len(whole.rows) == (4 if COMPOSITES[name].kind == "replica-exchange" else 2)
        and np.isfinite(whole.values).all()
    )


def test_a_run_of_another_rule_is_another_run() -> None:
    rules = [COMPOSITES[name].rule for name in ("resgld", "vr-resgld")]
    scheme = COMPOSITES["resgld"].scheme
    assert len({definition_of(scheme), *(definition_of(scheme, rule) for rule in rules)}) == 3


def test_a_diverged_replica_ends_its_group_and_is_named(line: Target) -> None:
    choice = ExchangeChoice(ladder=(1.0, 2.0, 4.0), step_factors=(1.0, 1.0, 100.0), every=10**6)
    settings = Settings(chains=3, exchange=choice)
    found = sample(
        COMPOSITES["resgld"], line, fixed([0.05, 0.001], [60]), observables=[first], settings=settings
    )
    ended, well = found.diverged[:3], found.diverged[3:]
    assert all(why is not None and str(why).startswith("step=0.05, replica 3 diverged") for why in ended)
    assert well == (None, None, None)
    assert np.isnan(found.values[0, :3]).all() and np.isfinite(found.values[0, 3:]).all()


def test_weights_of_states_enter_the_averages_in_pieces_too(posterior: Target) -> None:
    scheme, rows = find_scheme("sgld-euler"), [*fixed([0.01], [4, 8]), *power([0.02], 0.5, [4, 8])]
    settings = Settings(chains=3, gradient=GradientChoice("iid", 4), burn_in=1)
    composite = Weighed("weighed", scheme)
    found = sample(composite, posterior, rows, observables=[first], settings=settings)
    states = sample_states(scheme, posterior, rows, at=range(1, 9), settings=settings).values["theta"][..., 0]
    number = np.arange(1, 9)
    for row, h in ((0, np.ones(8)), (1, 0.02 * number**-0.5)):
        for place, length in enumerate((4, 8)):
            chosen = slice(1, length)
            weights = (number * h)[chosen]
            expected = (weights[:, None] * states[row, chosen]).sum(0) / weights.sum()
            np.testing.assert_allclose(found.values[0, row, place], expected, rtol=1e-13)
    again = averaged_in_pieces((3,), composite, posterior, rows, observables=[first], settings=settings)
    np.testing.assert_array_equal(again, found.values)


def test_a_composite_of_a_type_that_nobody_registered_is_refused(line: Target) -> None:
    with pytest.raises(ConfigurationError, match="cannot be sampled"):
        sample(Composite("mine", NAMED["sgld-euler"]), line, fixed([0.1], [4]), observables=[first])


@pytest.mark.parametrize(
    ("choice", "match"),
    [
        ({"ladder": (2.0, 3.0)}, "ladder"),
        ({"ladder": (1.0, 1.0)}, "ladder"),
        ({"ladder": (1.0,)}, "ladder"),
        ({"step_factors": (1.0,)}, "step_factors"),
        ({"intensity": 100.0}, "intensity"),
        ({"energies": "minibatch"}, "energies"),
    ],
)
def test_a_ladder_that_is_none_is_refused(choice: dict, match: str, line: Target) -> None:
    settings = Settings(chains=2, exchange=ExchangeChoice(**choice))
    with pytest.raises(ConfigurationError, match=match):
        sample(COMPOSITES["resgld"], line, fixed([0.1], [4]), observables=[first], settings=settings)


class _Positive(_Weighing):
    """Weighs states off the half line by 0."""

    def after(self, place, number, state, steps):
        self.theta = state[0][..., 0].clone()
        return super().after(place, number, state, steps)

    def log_weights(self):
        return torch.where(self.theta > 0, 0.0, -torch.inf)


def test_a_weight_of_zero_counts_nothing_even_where_the_test_function_is_none(line: Target) -> None:
    hooks_of.register(Weighed)(lambda composite, settings: _Positive())
    mine, rows = Weighed("mine", find_scheme("sgld-euler")), fixed([0.3], [40])
    settings = Settings(chains=5)
    found = sample(mine, line, rows, observables=[lambda theta: sqrt(theta[..., 0])], settings=settings)
    states = sample_states(mine, line, rows, at=range(1, 41), settings=settings).values["theta"][0, :, :, 0]
    assert (states < 0).any()
    roots = np.sqrt(np.maximum(states, 0)).sum(0) / (states > 0).sum(0)
    np.testing.assert_allclose(found.values[0, 0, 0], roots, rtol=1e-12)
