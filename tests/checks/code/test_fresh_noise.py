"""Noise of torch code: new at each step, of each chain, and kept nowhere."""

from __future__ import annotations

import math

import pytest
import torch

from sgverify import torch_step, verify
from sgverify.schemes import langevin

pytestmark = pytest.mark.usefixtures("short_runs")

SMALL = {"target": {"name": "gaussian-mean", "size": 7, "dim": 2}}


def moved(theta, h, slope, T, noise):
    return theta - h * slope + math.sqrt(2 * T * h) * noise


def reseeded(theta, *, h, grad, T):
    torch.manual_seed(0)
    return moved(theta, h, grad(theta), T, torch.randn_like(theta))


def own_seed(theta, *, h, grad, T):
    generator = torch.Generator().manual_seed(42)
    return moved(theta, h, grad(theta), T, torch.randn(theta.shape, generator=generator, dtype=theta.dtype))


def seeded_by_the_state(theta, *, h, grad, T):
    generator = torch.Generator().manual_seed(int(1e6 * abs(float(theta.flatten()[0]))))
    return moved(theta, h, grad(theta), T, torch.randn(theta.shape, generator=generator, dtype=theta.dtype))


def forked(theta, *, h, grad, T):
    with torch.random.fork_rng():
        return moved(theta, h, grad(theta), T, torch.randn_like(theta))


def kept():
    held = {}

    def step(theta, *, h, grad, T):
        if theta.shape not in held:
            held[theta.shape] = torch.randn_like(theta)
        return moved(theta, h, grad(theta), T, held[theta.shape])

    return step


def antithetic():
    held = {}

    def step(theta, *, h, grad, T):
        noise = -held.pop("noise") if "noise" in held else torch.randn_like(theta)
        if not held.pop("turn", False):
            held.update(noise=noise, turn=True)
        return moved(theta, h, grad(theta), T, noise)

    return step


def mean_slope(theta, *, h, grad, T):
    return moved(theta, h, grad(theta).mean(0, keepdim=True), T, torch.randn_like(theta))


def centred(theta, *, h, grad, T):
    noise = torch.randn_like(theta)
    return moved(theta, h, grad(theta), T, noise - noise.mean(0) if len(theta) > 1 else noise)


def one_for_all(theta, *, h, grad, T):
    return moved(theta, h, grad(theta), T, torch.randn(theta.shape[-1], dtype=theta.dtype))


def own_generator(source):
    def step(theta, *, h, grad, T):
        return moved(theta, h, grad(theta), T, torch.randn(theta.shape, generator=source, dtype=theta.dtype))

    return step


def rejecting(theta, *, h, grad, T):
    noise = torch.nn.init.trunc_normal_(torch.empty_like(theta))
    return moved(theta, h, grad(theta), T, noise)


def tossed(theta, *, h, grad, T):
    return moved(theta, h, grad(theta), T, 2 * torch.bernoulli(theta * 0 + 0.5) - 1)


def plain(theta, *, h, grad, T):
    return moved(theta, h, grad(theta), T, torch.randn_like(theta))


def judged(function, *checks, chains=False):
    step = torch_step(langevin, order=1, chains=chains)(function)
    return verify(step, SMALL, checks=list(checks or ["pure-step"]))


@pytest.mark.by_default(
    "own_seed-False-every step has the same noise",
    "seeded_by_the_state-False-the noise is a function of the state",
    "forked-False-every step has the same noise",
    "step-False-draws 0 times where it drew 1 times before",
    "step-False-do not decide a step",
    "centred-True-chains disturb one another",
    "one_for_all-True-all chains share their noise",
)
@pytest.mark.parametrize(
    "function, chains, said",
    [
        (reseeded, False, "every step has the same noise"),
        (own_seed, False, "every step has the same noise"),
        (seeded_by_the_state, False, "the noise is a function of the state"),
        (forked, False, "every step has the same noise"),
        (kept(), False, "draws 0 times where it drew 1 times before"),
        (antithetic(), False, "do not decide a step"),
        (mean_slope, True, "chains disturb one another"),
        (centred, True, "chains disturb one another"),
        (one_for_all, True, "all chains share their noise"),
    ],
)
def test_noise_that_is_not_new_or_not_a_chains_own_is_named(function, chains, said):
    before = torch.get_rng_state()
    (found,) = judged(function, chains=chains)
    assert found.verdict == "violates" and said in found.reason
    assert function is reseeded or torch.equal(before, torch.get_rng_state())


@pytest.mark.by_default("plain-True", "tossed-False", "rejecting-True", "step-True")
@pytest.mark.parametrize("chains", [False, True])
@pytest.mark.parametrize("function", [plain, tossed, rejecting, own_generator(torch.Generator())])
def test_new_noise_passes(function, chains):
    for _ in range(2):
        (found,) = judged(function, chains=chains)
        if chains and function is rejecting:
            # How often it draws again is another number for each chain: its rows cannot be drawn for.
            assert found.verdict == "inconclusive" and "depends on its state or on its draws" in found.reason
        else:
            assert found.verdict == "conforms", found.reason


def test_a_draw_for_each_chain_in_a_loop_is_not_called_shared():
    def looped(theta, *, h, grad, T):
        noise = torch.stack([torch.randn(theta.shape[1], dtype=theta.dtype) for _ in theta])
        return moved(theta, h, grad(theta), T, noise)

    (found,) = judged(looped, chains=True)
    assert found.verdict == "inconclusive" and "expected one row for each chain" in found.reason
