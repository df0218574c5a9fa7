"""The minibatches' laws by enumeration of all that can be drawn, and what holds for certain."""

from __future__ import annotations

from collections import Counter
from itertools import combinations, permutations, product

import numpy as np
import pytest
import torch
from scipy import stats

from sgverify.errors import ConfigurationError
from sgverify.gradients import ESTIMATORS
from sgverify.samplers import GradientChoice
from sgverify.samplers.gradients import minibatches
from sgverify.samplers.gradients.minibatches import (
    Iid,
    Reshuffle,
    Symmetric,
    WithoutReplacement,
    check_minibatches,
    source_of,
)
from sgverify.samplers.randomness.philox import Stream
from sgverify.targets import Target

LEVEL = 1e-7
CHAINS = 2000


def stream(kind: str = "test", chains: range = range(CHAINS), runs: int = 2) -> Stream:
    return Stream.of(kind, seed=11, runs=[bytes([run]) for run in range(runs)], chains=chains)


def drawn(source: object, count: int) -> np.ndarray:
    """Minibatches of all chains. Shape (S C, count, n)."""
    return source.block(0, count).permute(2, 3, 0, 1).flatten(0, 1).numpy()  # type: ignore[attr-defined]


def assert_equally_likely(found: Counter, outcomes: list) -> None:
    assert set(found) == set(outcomes)
    assert stats.chisquare([found[outcome] for outcome in outcomes]).pvalue > LEVEL


def test_iid_draws_every_sequence_equally_often() -> None:
    batches = drawn(Iid(stream(), 3, 2), 2).reshape(-1, 4)
    assert_equally_likely(Counter(map(tuple, batches.tolist())), list(product(range(3), repeat=4)))


@pytest.mark.parametrize("few", [True, False])
def test_without_replacement_draws_every_subset_equally_often(
    few: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(minibatches, "_COMPARED", 32 if few else 0)
    batches = drawn(WithoutReplacement(stream(), 5, 3), 2)
    assert all(len(set(batch)) == 3 for chain in batches.tolist() for batch in chain)
    found = Counter(tuple(tuple(sorted(batch)) for batch in chain) for chain in batches.tolist())
    subsets = list(combinations(range(5), 3))
    assert_equally_likely(found, list(product(subsets, subsets)))


def test_both_ways_of_floyds_algorithm_give_the_same_subsets(monkeypatch: pytest.MonkeyPatch) -> None:
    found = []
    for most in (32, 0):
        monkeypatch.setattr(minibatches, "_COMPARED", most)
        found.append(WithoutReplacement(stream(chains=range(50)), 40, 20).block(3, 5))
    assert torch.equal(*found)


@pytest.mark.parametrize("few", [True, False])
def test_without_replacement_of_all_data_is_all_data(few: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(minibatches, "_COMPARED", 32 if few else 0)
    batches = drawn(WithoutReplacement(stream(chains=range(50)), 7, 7), 3)
    assert np.array_equal(np.sort(batches, axis=-1), np.broadcast_to(np.arange(7), batches.shape))


def test_reshuffle_covers_the_data_every_epoch() -> None:
    epochs = drawn(Reshuffle(stream(chains=range(50)), 12, 3), 4 * 5).reshape(100, 5, 12)
    assert np.array_equal(np.sort(epochs, axis=-1), np.broadcast_to(np.arange(12), epochs.shape))


def test_reshuffle_draws_every_permutation_equally_often_and_epochs_apart() -> None:
    epochs = drawn(Reshuffle(stream(), 4, 2), 2 * 2).reshape(-1, 2, 4)
    orders = list(permutations(range(4)))
    assert_equally_likely(
        Counter(tuple(map(tuple, chain)) for chain in epochs[:, :1].tolist()), [(o,) for o in orders]
    )
    # The first datum of one epoch and of the next: all 16 pairs alike.
    pairs = Counter(map(tuple, epochs[:, :, 0].tolist()))
    assert_equally_likely(pairs, list(product(range(4), repeat=2)))


def test_a_symmetric_sweep_comes_back_in_reverse_and_then_takes_another_partition() -> None:
    sweeps = drawn(Symmetric(stream(chains=range(50)), 12, 3), 8 * 5).reshape(100, 5, 8, 3)
    assert np.array_equal(sweeps[:, :, 4:], sweeps[:, :, 3::-1])
    forward = sweeps[:, :, :4].reshape(100, 5, 12)
    assert np.array_equal(np.sort(forward, axis=-1), np.broadcast_to(np.arange(12), forward.shape))
    assert not np.array_equal(forward[:, 0], forward[:, 1])


@pytest.mark.parametrize("kind", [name for name, estimator in ESTIMATORS.items() if estimator.draws_data])
@pytest.mark.parametrize("few", [True, False])
def test_a_minibatch_is_a_function_of_its_number_and_chain(
    kind: str, few: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(minibatches, "_COMPARED", 32 if few else 0)
    whole = source_of(ESTIMATORS[kind], GradientChoice(kind, batch=4), stream(chains=range(6)), 12, 1).block(
        0, 20
    )
    assert whole.shape == (20, 4, 2, 6)
    source = source_of(ESTIMATORS[kind], GradientChoice(kind, batch=4), stream(chains=range(2, 5)), 12, 1)
    for first, count in [(7, 6), (0, 1), (1, 2), (19, 1)]:
        assert torch.equal(source.block(first, count), whole[first : first + count, :, :, 2:5])


@pytest.mark.parametrize(
    ("kind", "batch", "message"),
    [
        ("iid", 0, r"gradient.batch=0: expected 1 to 20"),
        ("without-replacement", 21, r"gradient.batch=21: expected 1 to 20"),
        ("reshuffle", 3, r"gradient.batch=3: .*divisor of 20"),
        ("symmetric", 3, r"gradient.batch=3: symmetric .*divisor of 20"),
    ],
)
def test_impossible_batches_are_refused(kind: str, batch: int, message: str, posterior: Target) -> None:
    with pytest.raises(ConfigurationError, match=message):
        check_minibatches(kind, posterior, batch)


def test_a_target_without_data_has_no_minibatches(line: Target) -> None:
    with pytest.raises(ConfigurationError, match=r"gradient.kind='iid': the target gaussian has no data"):
        check_minibatches("iid", line, 1)
