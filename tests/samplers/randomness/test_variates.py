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

from sgverify.samplers.randomness import variates
from sgverify.samplers.randomness.philox import ROWS, Stream
from sgverify.samplers.randomness.variates import Variates, indices, normals
from tests.tables import each_row

LEVEL = 1e-7


def make(seed: int = 0, runs: int = 2, chains: range = range(5)) -> Stream:
    return Stream.of("test", seed=seed, runs=[bytes([run]) for run in range(runs)], chains=chains)


def words_of(stream: Stream, cell: int) -> list[int]:
    """The words of the first chain of the first run, as numbers below 2^64."""
    bits = stream.bits(range(cell, cell + 1), range(1), range(1))
    return [int(word) & ((1 << 64) - 1) for word in bits.flatten()]


def single(*given) -> torch.Tensor:  # type: ignore[no-untyped-def]
    return normals(*given, torch.float32)


@each_row("draw", [normals, single, lambda *a: indices(*a, 1000)])
@each_row(("first", "count"), [(0, 1), (0, 7), (3, 1), (3, 9), (6, 2), (1001, 5)])
def test_any_stretch_is_part_of_the_whole(draw, first: int, count: int) -> None:
    whole = draw(make(), 0, 1010)
    assert torch.equal(draw(make(), first, count), whole[first : first + count])


@pytest.mark.parametrize("draw", [normals, single, lambda *a: indices(*a, 1000)])
def test_chains_and_runs_do_not_know_of_each_other(draw, monkeypatch: pytest.MonkeyPatch) -> None:
    whole = draw(make(), 0, 64)
    part = Stream.of("test", seed=0, runs=[bytes([1])], chains=range(2, 4))
    assert torch.equal(draw(part, 0, 64), whole[:, 1:, 2:4])
    far = Stream.of("test", seed=0, runs=[bytes([0]), bytes([1])], chains=range(3, 300))
    assert torch.equal(draw(far, 0, 64)[:, :, :2], whole[:, :, 3:])
    expected = draw(far, 0, 64)
    for cached in (1, 3000, 7000, 30_000):
        monkeypatch.setattr(variates, "_CACHED", cached)
        assert torch.equal(draw(far, 0, 64), expected)


def box_muller(word: int) -> tuple[float, float]:
    """Two normals of a word, by the definition: 42 bits with a sign, and 22 bits of angle."""
    top = (word >> 22) - ((1 << 42) if word >> 63 else 0)
    radius = math.sqrt(-2 * math.log(abs(2 * top + 1) / 2**42)) * (1 if top >= 0 else -1)
    angle = math.pi * ((2 * (word & 0x3FFFFF) + 1) / 2**23 - 0.5)
    return radius * math.cos(angle), radius * math.sin(angle)


@pytest.mark.parametrize(("dtype", "tolerance"), [(torch.float64, 2e-14), (torch.float32, 4e-5)])
def test_normals_are_box_muller_of_the_words(dtype: torch.dtype, tolerance: float) -> None:
    """Each operation errs by a unit roundoff or so; some ten of them act on |z| < 8: 2e-14 in all in float64.

    In float32, u is rounded to 2^-24 of itself, so r^2 to 2^-23 and r to 2^-24 / r, and 3e-5 at r >= 2e-3.
    """
    stream = make(seed=4, runs=1, chains=range(1))
    drawn = normals(stream, 0, 3200, dtype).flatten().tolist()
    for cell in range(100):
        bits = words_of(stream, cell)
        assert len(bits) == ROWS
        for row, word in enumerate(bits):
            expected = box_muller(word)
            for half in range(2):
                found = drawn[(2 * cell + half) * ROWS + row]
                assert found == pytest.approx(expected[half], rel=0, abs=tolerance)


@each_row("bits", [0, (1 << 64) - 1, 1 << 63, (1 << 63) - 1, 1 << 22, (1 << 63) - (1 << 22)])
def test_extreme_words_give_finite_normals(bits: int) -> None:
    """u is never 0; in float32 it may be rounded to 1, where both are 0."""
    word = torch.tensor([bits - (1 << 64) if bits >> 63 else bits])
    for dtype in (torch.float64, torch.float32):
        pair = [float(value) for value in variates.box_muller(word, dtype)]
        assert pair == pytest.approx(box_muller(bits), rel=1e-6, abs=1e-3)
        assert math.hypot(*pair) <= math.sqrt(2 * 42 * math.log(2)) * (1 + 1e-6)


@pytest.mark.parametrize(("dtype", "terms"), [(torch.float64, 10), (torch.float32, 5)])
def test_the_logarithm_is_accurate_to_the_last_bits(dtype: torch.dtype, terms: int) -> None:
    """Near 1, near 0 and between; the sum of two rounded terms errs by 2 units in the last place at most."""
    top = float(1 << 41)
    spread = torch.linspace(0, 41, 4001, dtype=torch.float64).exp2()
    u = torch.cat(
        [top - torch.arange(1, 2000, dtype=torch.float64) * 2.0**18, spread[:-1], 0.5 + torch.arange(2000)]
    )
    given = u.to(dtype)
    expected = np.array([-2 * math.log(x / top) for x in given.tolist()])
    found = variates._minus_two_log(given.clone(), terms).to(torch.float64).numpy()
    assert np.abs(found[expected > 0] / expected[expected > 0] - 1).max() < 4 * torch.finfo(dtype).eps


def test_normals_in_order_are_those_at_once() -> None:
    stream = make(chains=range(70))
    whole = normals(stream, 0, 500)
    source, done = Variates(stream), 0
    for count in (1, 31, 3, 64, 100, 1, 300):
        assert torch.equal(source.take(done, count), whole[done : done + count])
        done += count
    assert torch.equal(source.take(5, 90), whole[5:95])


@pytest.mark.parametrize(("draw", "law"), [(normals, stats.norm), (single, stats.norm)])
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
        "pairs": z[ROWS:] * z[:-ROWS],
        "runs": z[:, 1:] * z[:, :-1],
        "chains": z[:, :, 1:] * z[:, :, :-1],
    }
    for name, product in pairs.items():
        assert abs(float(product.sum())) < math.sqrt(2 * product.numel() * math.log(2 / LEVEL)), name


def test_the_sizes_of_a_pair_are_independent() -> None:
    """The two of a pair share their radius; whether each is above the median size is a fair sign all the same."""
    z = normals(make(seed=6, runs=3, chains=range(64)), 0, 4000)
    large = (z.abs() - stats.norm.isf(0.25)).sign()
    pairs = large.unflatten(0, (-1, 2, ROWS))
    product = pairs[:, 0] * pairs[:, 1]
    assert abs(float(product.sum())) < math.sqrt(2 * product.numel() * math.log(2 / LEVEL))


def test_a_bound_for_each_index() -> None:
    bounds = torch.arange(1, 9)[:, None, None]
    drawn = indices(make(runs=4, chains=range(200)), 0, 8, bounds)
    assert torch.equal(drawn.amax((1, 2)), torch.arange(8))
    assert int(drawn.min()) == 0
