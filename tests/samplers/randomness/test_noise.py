"""Noise of the rows: coupled on one Brownian path against brute force and against exact laws."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
import torch
from scipy import stats

from sgverify.samplers import GradientChoice, Row, Settings, fixed, sample
from sgverify.samplers.randomness import noise
from sgverify.samplers.randomness.noise import Brownian, Streamed
from sgverify.samplers.randomness.philox import Stream
from sgverify.samplers.run.schedules import Fixed
from sgverify.schemes import find_scheme, langevin, scheme, sqrt
from sgverify.targets import Target
from tests.sampled_states import sample_states

LEVEL = 1e-7
SGLD = find_scheme("sgld-euler")
ABOBA = find_scheme("sghmc-aboba")


def stream(seed: int = 0, chains: int = 3) -> Stream:
    return Stream.of("noise", seed=seed, runs=[b"coupled"], chains=range(chains))


def brownian(
    stream: Stream, spans: tuple[int, ...], draws: int, dim: int, first: int, count: int
) -> torch.Tensor:
    source = Brownian(stream, spans, draws=draws, dim=dim, dtype=torch.float64)
    return torch.stack(list(source.take(first, count)))


def by_hand(fine: torch.Tensor, span: int, step: int, draws: int, slot: int) -> torch.Tensor:
    """One draw of a long step, from its definition."""
    parts = [fine[(step * span + n) * draws + slot, 0] for n in range(span)]
    return sum(parts[1:], parts[0]) / math.sqrt(span)


@pytest.mark.parametrize("draws", [1, 2])
def test_a_long_step_adds_up_the_short_ones(draws: int) -> None:
    spans = (4, 1, 2, 16, 4)
    made = brownian(stream(), spans, draws, 2, 3, 5)
    fine = Streamed(stream(), draws=draws, dim=2, dtype=torch.float64).stacked(0, 200)
    assert made.shape == (5 * draws, 5, 3, 2)
    for row, span in enumerate(spans):
        for step in range(5):
            for slot in range(draws):
                expected = by_hand(fine, span, step + 3, draws, slot)
                # 16 numbers below 9, added in another order: 16 roundings of sums below 16 * 9.
                assert (made[step * draws + slot, row] - expected).abs().max() < 16 * 16 * 9 * 2.0**-53
    assert torch.equal(made[:, 1], fine[3 * draws : 8 * draws, 0])


@pytest.mark.parametrize("piece", [1, 20, 333])
def test_how_much_is_summed_at_once_does_not_matter(piece: int, monkeypatch: pytest.MonkeyPatch) -> None:
    whole = brownian(stream(), (1, 64, 8), 2, 3, 2, 9)
    monkeypatch.setattr(noise, "_PIECE", piece)
    assert torch.equal(brownian(stream(), (1, 64, 8), 2, 3, 2, 9), whole)


def test_draws_of_a_row_keep_their_law() -> None:
    for row in brownian(stream(seed=1, chains=500), (1, 2, 32), 1, 2, 0, 200).unbind(1):
        values = row.flatten().numpy()
        band = math.sqrt(math.log(2 / LEVEL) / (2 * len(values)))
        assert stats.kstest(values, "norm").statistic < band
        law = stats.chi2(len(values))
        assert law.ppf(LEVEL) < float((values**2).sum()) < law.isf(LEVEL)
        products = (row[1:] * row[:-1]).sign()
        assert abs(float(products.sum())) < math.sqrt(2 * products.numel() * math.log(2 / LEVEL))


def responses(h: float, span: int, length: int, fine: int) -> np.ndarray:
    """What each fine draw adds to the average of theta of SGLD on U = 3 theta^2 / 2 at step h = span h_min."""
    found = np.zeros(fine)
    for n in range(fine):
        theta = total = 0.0
        for step in range(length):
            kick = 1 / math.sqrt(span) if n // span == step else 0.0
            theta = (1 - 3 * h) * theta + math.sqrt(2 * h) * kick
            total += theta
        found[n] = total / length
    return found


def gaps(line: Target, coupled: Any, spans: tuple[int, int], fine: int, chains: int = 2000) -> np.ndarray:
    rows = [Row(Fixed(0.02 * span), (fine // span,)) for span in spans]
    settings = Settings(chains=chains, coupled=coupled, seed=3)
    found = sample(SGLD, line, rows, observables=[lambda theta: theta[..., 0]], settings=settings)
    return found.values[0, 0, 0] - found.values[0, 1, 0]


@pytest.mark.parametrize("spans", [(2, 1), (8, 1), (8, 2)])
def test_differences_of_averages_have_their_exact_variance(line: Target, spans: tuple[int, int]) -> None:
    """The averages are linear in the draws: Var(difference) = sum_n (r_a(n) - r_b(n))^2, chi-square over chains."""
    fine, chains = 64, 2000
    smallest = min(spans)
    a, b = (
        responses(0.02 * span, span // smallest, fine // span, fine // smallest) for span in spans
    )  # fmt: skip
    law = stats.chi2(chains - 1)
    exact = float(((a - b) ** 2).sum())
    ratio = gaps(line, "brownian", spans, fine).var(ddof=1) * (chains - 1) / exact
    assert law.ppf(LEVEL) < ratio < law.isf(LEVEL)
    independent = float((a**2).sum() + (b**2).sum())
    ratio = gaps(line, False, spans, fine).var(ddof=1) * (chains - 1) / independent
    assert law.ppf(LEVEL) < ratio < law.isf(LEVEL)


def test_a_wrong_root_of_the_span_is_seen(line: Target, monkeypatch: pytest.MonkeyPatch) -> None:
    honest = Brownian._row
    monkeypatch.setattr(
        Brownian, "_row", lambda self, span, *given: honest(self, span, *given) / math.sqrt(span)
    )
    with pytest.raises(AssertionError):
        test_a_long_step_adds_up_the_short_ones(1)
    with pytest.raises(AssertionError):
        test_draws_of_a_row_keep_their_law()


@pytest.mark.power  # 1.7 s
@pytest.mark.parametrize("name", ["sgld-euler", "sghmc-aboba", "sghmc-baoab", "sghmc-obabo"])
def test_coupling_cuts_the_variance_of_differences(line: Target, name: str) -> None:
    """By 8 at the least, from h to h/2; the same total time for both."""
    rows = [Row(Fixed(0.1 / 2**j), (200 * 2**j,)) for j in range(3)]
    spread = {}
    for coupled in (False, "brownian"):
        settings = Settings(chains=400, coupled=coupled)
        found = sample(find_scheme(name), line, rows, observables=[lambda theta, *p: theta[..., 0] ** 2],
                       settings=settings).values[0, :, 0]  # fmt: skip
        spread[coupled] = np.var(found[:-1] - found[1:], axis=-1, ddof=1)
    assert (spread[False] / spread["brownian"]).min() > 8


@pytest.mark.by_default("iid")
@pytest.mark.parametrize("kind", ["full", "iid", "additive"])
def test_coupled_rows_do_not_depend_on_batching(wide_posterior: Target, kind: str) -> None:
    """Any chains, any length of block; a look at further chains is a run of its own."""
    rows = [Row(Fixed(0.02 / 2**j), (5 * 2**j, 10 * 2**j)) for j in (1, 0, 3)]
    tests = [lambda theta, p: theta[..., 0] * p[..., 1]]

    def run(chains: range = range(6), block: int | None = None) -> np.ndarray:
        settings = Settings(
            chains=len(chains), first_chain=chains.start, coupled="brownian", start_momentum="stationary",
            gradient=GradientChoice(kind, batch=4),
        )  # fmt: skip
        return sample(ABOBA, wide_posterior, rows, observables=tests, settings=settings, block=block).values

    whole = run()
    assert np.array_equal(run(block=1), whole)
    assert np.array_equal(run(block=7), whole)
    assert np.array_equal(np.concatenate([run(range(2)), run(range(2, 6))], axis=-1), whole)
    assert len(np.unique(whole[0, 0, 0])) == 6


def test_minibatches_of_coupled_rows_are_independent() -> None:
    rows = fixed([0.1, 0.2], [1])
    assert noise.stream_keys("brownian", "noise", rows) == [b"coupled"]
    assert noise.stream_keys("brownian", "iid", rows) == noise.stream_keys(False, "iid", rows)
    assert noise.stream_keys(True, "iid", rows) == [b"coupled"]


@scheme(langevin, memory={"v": lambda theta, *, h, grad, noise, dim: noise() + 0 * grad(theta) * h / dim})
def started_by_chance(theta, v, *, h, grad, noise, T):  # type: ignore[no-untyped-def]
    return theta - h * grad(theta) + sqrt(2 * T * h) * noise(), v


@pytest.mark.parametrize("coupled", [False, True, "brownian"])
def test_memory_may_start_from_noise(space: Target, coupled: Any) -> None:
    settings = Settings(chains=2000, coupled=coupled)
    rows = fixed([0.1, 0.2], [1])
    found = sample_states(started_by_chance, space, rows, at=[3], settings=settings).values["v"]
    for row in found:
        assert stats.kstest(row.ravel(), "norm").pvalue > LEVEL
    assert np.array_equal(found[0], found[1]) == (coupled is not False)


@scheme(
    langevin, memory={"v": lambda theta, *, grad: grad(theta) + grad.fresh()(theta) + grad.fresh()(theta)}
)
def started_by_many(theta, v, *, h, grad, noise, T):  # type: ignore[no-untyped-def]
    return theta - h * grad(theta) + sqrt(2 * T * h) * noise(), v


@pytest.mark.parametrize("kind", ["iid", "additive"])
def test_memory_may_start_from_more_gradients_than_a_step_takes(wide_posterior: Target, kind: str) -> None:
    settings = Settings(chains=50, gradient=GradientChoice(kind, batch=4))
    found = sample_states(started_by_many, wide_posterior, fixed([0.01], [1]), at=[1], settings=settings)
    assert len(np.unique(found.values["v"][0, 0, :, 0])) == 50
