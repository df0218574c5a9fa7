"""Bounded draws of the sampler: their values, frequencies, independence of batching, and the law they lead to."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
import torch

from sgverify.errors import ConfigurationError
from sgverify.samplers import Settings, fixed
from sgverify.samplers.randomness.noise import Mixed
from sgverify.samplers.randomness.philox import Stream
from sgverify.samplers.randomness.variates import normals
from sgverify.schemes import langevin, scheme, sqrt
from sgverify.schemes.definition.mathematics import NORMAL, THREE_POINT, TWO_POINT
from sgverify.targets import Target
from tests.sampled_states import sample_states
from tests.self_checks.registry import self_check

LEVEL = 1e-7
LAWS = (NORMAL, THREE_POINT, TWO_POINT, THREE_POINT)


@scheme(langevin)
def bounded(theta, *, h, grad, noise, T):
    return theta - h * grad(theta) + sqrt(2 * T * h) * noise.three_point()


@scheme(langevin)
def coin_and_normal(theta, *, h, grad, noise, T):
    return theta - h * grad(theta) + sqrt(T * h) * (noise() + noise.two_point())


def streams(kind: str, chains: range = range(200)) -> Stream:
    return Stream.of(kind, seed=3, runs=[b"one"], chains=chains)


def taken(first: int, count: int, chains: range = range(200)) -> torch.Tensor:
    source = Mixed(lambda kind: streams(kind, chains), "noise", LAWS, dim=2, dtype=torch.float64)
    return torch.stack(list(source.take(first, count)))


def within(share: float, chance: float, count: int) -> bool:
    """Hoeffding's bound at the level."""
    return abs(share - chance) < math.sqrt(math.log(2 / LEVEL) / (2 * count))


def test_draws_take_the_values_of_their_law_as_often_as_it_says() -> None:
    made = taken(0, 100).unflatten(0, (100, 4))
    for slot, law in enumerate(LAWS):
        values = made[:, slot].flatten()
        for value, chance in law.atoms:
            share = float((values == float(value)).double().mean())
            assert within(share, float(chance), len(values))
        if not law.normal:
            assert set(values.tolist()) == {float(value) for value, _ in law.atoms}


def test_wrong_probabilities_are_caught() -> None:
    values = taken(0, 100).unflatten(0, (100, 4))[:, 1].flatten()
    assert not within(float((values > 0).double().mean()), 1 / 4, len(values))


def test_draws_of_different_slots_and_laws_are_independent() -> None:
    made = taken(0, 200).unflatten(0, (200, 4))
    for one in range(4):
        for other in range(one):
            products = (made[:, one] * made[:, other]).sign()
            assert abs(float(products.sum())) < math.sqrt(2 * products.numel() * math.log(2 / LEVEL))
            # z^2 too: a law made of a normal draw's own words would show there.
            large = ((made[:, one].abs() > 0.9) & (made[:, other].abs() > 0.9)).double().mean()
            chance = float(
                (made[:, one].abs() > 0.9).double().mean() * (made[:, other].abs() > 0.9).double().mean()
            )
            # The two shares are measured themselves: three bounds in place of one.
            assert abs(float(large) - chance) < 3 * math.sqrt(math.log(2 / LEVEL) / (2 * products.numel()))


def test_a_draw_does_not_depend_on_how_many_are_made_at_once_or_for_whom() -> None:
    whole = taken(0, 40)
    pieces = torch.cat([taken(0, 7), taken(7, 20), taken(27, 13)])
    assert torch.equal(whole, pieces)
    assert torch.equal(whole[..., 70:90, :], taken(0, 40, range(70, 90)))


def test_normal_draws_are_those_of_a_step_without_others() -> None:
    """A scheme's noise() keeps its numbers where a bounded draw is added to it."""
    made = taken(0, 10).unflatten(0, (10, 4))[:, 0, 0]
    expected = normals(streams("noise"), 0, 20).unflatten(0, (10, 2))[:, :, 0].movedim(1, -1)
    assert torch.equal(made, expected)


@pytest.mark.parametrize("found", [bounded, coin_and_normal], ids=lambda s: s.name)
def test_the_sampler_agrees_with_the_exact_law(found: Any) -> None:
    evidence = self_check(
        "agreement",
        found,
        target={"size": 10},
        gradient={"kind": "iid", "batch": 2},
        steps=100,
        chains=256,
    )
    assert evidence.verdict == "conforms", evidence.reason


def test_tape_and_definition_give_the_same_bits(line: Target) -> None:
    rows = fixed([0.1], [40])
    settings = Settings(chains=5)
    plain = sample_states(coin_and_normal, line, rows, at=[40], settings=settings, tape=False)
    taped = sample_states(coin_and_normal, line, rows, at=[40], settings=settings)
    assert np.array_equal(plain.values["theta"], taped.values["theta"])


def test_bounded_draws_have_no_brownian_path(line: Target) -> None:
    with pytest.raises(ConfigurationError, match=r"coupled='brownian'.*noise.three_point\(\)"):
        sample_states(
            bounded, line, fixed([0.1, 0.05], [4, 8]), at=[4], settings=Settings(coupled="brownian")
        )
