"""The variates as functions of the words, and their laws.

The bounds on laws hold with probability 1 - 1e-7 each for ideal random numbers (Dvoretzky, Kiefer, Wolfowitz with
Massart's constant; Hoeffding; the exact chi-square law): the seeds are fixed, so they either hold or not.
"""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch
from scipy import stats

from sgverify.samplers import variates
from sgverify.samplers.philox import Stream
from sgverify.samplers.variates import indices, normals, uniforms

LEVEL = 1e-7


def make(seed: int = 0, runs: int = 2, chains: range = range(5)) -> Stream:
    return Stream.of("test", seed=seed, runs=[bytes([run]) for run in range(runs)], chains=chains)


def words_of(stream: Stream, block: int) -> list[int]:
    return [int(word[0, 0, 0]) for word in stream.blocks(block, 1)]


@pytest.mark.parametrize("draw", [uniforms, normals, lambda *a: indices(*a, 1000)])
@pytest.mark.parametrize(("first", "count"), [(0, 1), (0, 7), (3, 1), (3, 9), (6, 2), (1001, 5)])
def test_any_stretch_is_part_of_the_whole(draw, first: int, count: int) -> None:
    whole = draw(make(), 0, 1010)
    assert torch.equal(draw(make(), first, count), whole[first : first + count])


@pytest.mark.parametrize("draw", [uniforms, normals, lambda *a: indices(*a, 1000)])
def test_chains_and_runs_do_not_know_of_each_other(draw, monkeypatch: pytest.MonkeyPatch) -> None:
    whole = draw(make(), 0, 64)
    part = Stream.of("test", seed=0, runs=[bytes([1])], chains=range(2, 4))
    assert torch.equal(draw(part, 0, 64), whole[:, 1:, 2:4])
    monkeypatch.setattr(variates, "_CACHED", 30)
    assert torch.equal(draw(make(), 0, 64), whole)


def test_uniforms_are_the_odd_multiples_that_the_words_say() -> None:
    stream = make(seed=3, runs=1, chains=range(1))
    drawn = uniforms(stream, 0, 40).flatten().tolist()
    for block in range(20):
        w = words_of(stream, block)
        for half in range(2):
            whole = (w[2 * half] << 20) | (w[2 * half + 1] >> 12)
            assert drawn[2 * block + half] == (2 * whole + 1) / 2**53


def test_normals_are_box_muller_of_the_words() -> None:
    """Each operation errs by a unit roundoff or so; some ten of them act on |z| < 9: 2e-14 in all."""
    stream = make(seed=4, runs=1, chains=range(1))
    drawn = normals(stream, 0, 2000).flatten().tolist()
    for block in range(1000):
        w = words_of(stream, block)
        u = (2 * ((w[0] << 20) | (w[1] >> 12)) + 1) / 2**53
        bits = (w[2] << 20) | (w[3] >> 12)
        angle = math.pi * ((bits | 1) / 2**52 - 0.5)
        radius = math.sqrt(-2 * math.log(u)) * (-1) ** (bits & 1)
        assert drawn[2 * block] == pytest.approx(radius * math.cos(angle), rel=0, abs=2e-14)
        assert drawn[2 * block + 1] == pytest.approx(radius * math.sin(angle), rel=0, abs=2e-14)


def test_the_logarithm_is_accurate_to_the_last_bits() -> None:
    """Near 1, near 0 and between; the sum of two rounded terms errs by 2 units in the last place at most."""
    u = torch.cat(
        [
            1 - 2.0**-53 * torch.arange(1, 2000, 2, dtype=torch.float64),
            2.0**-53 * torch.arange(1, 2000, 2, dtype=torch.float64),
            uniforms(make(), 0, 1000).flatten(),
        ]
    )
    expected = np.array([math.log(x) for x in u.tolist()])
    found = variates._log(u.clone()).numpy()
    assert np.abs(found / expected - 1).max() < 4 * np.finfo(float).eps


@pytest.mark.parametrize(("draw", "law"), [(uniforms, stats.uniform), (normals, stats.norm)])
def test_the_law_of_continuous_variates(draw, law) -> None:
    values = draw(make(seed=1, runs=4, chains=range(100)), 0, 1000).flatten().numpy()
    band = math.sqrt(math.log(2 / LEVEL) / (2 * len(values)))
    grid = np.arange(1, len(values) + 1) / len(values)
    assert np.abs(law.cdf(np.sort(values)) - grid).max() < band + 1 / len(values)


@pytest.mark.parametrize("bound", [2, 7, 1000])
def test_the_law_of_indices(bound: int) -> None:
    values = indices(make(seed=2, runs=4, chains=range(100)), 0, 1000, bound).flatten().numpy()
    counts = np.bincount(values, minlength=bound)
    assert len(counts) == bound
    assert stats.chisquare(counts).pvalue > LEVEL


def test_normals_are_white() -> None:
    """Products of neighbouring fair signs along a path are again independent fair signs: Hoeffding bounds their sum."""
    z = normals(make(seed=5, runs=3, chains=range(64)), 0, 4000).sign()
    pairs = {
        "neighbours": z[1:] * z[:-1],
        "lag 3": z[3:] * z[:-3],
        "runs": z[:, 1:] * z[:, :-1],
        "chains": z[:, :, 1:] * z[:, :, :-1],
    }
    for name, product in pairs.items():
        assert abs(float(product.sum())) < math.sqrt(2 * product.numel() * math.log(2 / LEVEL)), name


def test_the_sizes_of_a_pair_are_independent() -> None:
    """The two of a pair share their radius; whether each is above the median size is a fair sign all the same."""
    z = normals(make(seed=6, runs=3, chains=range(64)), 0, 4000)
    large = (z.abs() - stats.norm.isf(0.25)).sign()
    product = large[0::2] * large[1::2]
    assert abs(float(product.sum())) < math.sqrt(2 * product.numel() * math.log(2 / LEVEL))


def test_a_bound_for_each_index() -> None:
    bounds = torch.arange(1, 9)[:, None, None]
    drawn = indices(make(runs=4, chains=range(200)), 0, 8, bounds)
    assert torch.equal(drawn.amax((1, 2)), torch.arange(8))
    assert int(drawn.min()) == 0
