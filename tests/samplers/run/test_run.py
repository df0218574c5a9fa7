"""Chains in motion: against hand-written loops, in any batch, and where they diverge."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
import torch

from sgverify.samplers import (
    GradientChoice,
    Settings,
    fixed,
    horizon,
    power,
    sample,
)
from sgverify.samplers.randomness.philox import Stream
from sgverify.samplers.randomness.variates import normals
from sgverify.samplers.reading.constants import Constant
from sgverify.schemes import dot, exp, find_scheme, kinetic, langevin, scheme, sqrt, thermostat
from sgverify.targets import Target
from tests.sampled_states import sample_states

ABOBA = find_scheme("sghmc-aboba")
SGLD = find_scheme("sgld-euler")
KINDS = ["full", "iid", "without-replacement", "reshuffle", "symmetric", "svrg", "additive"]


@scheme(thermostat)
def nose_hoover(theta, p, xi, *, h, grad, noise, dim, D, T):  # type: ignore[no-untyped-def]
    p = exp(-xi * h) * p - h * grad(theta) + sqrt(2 * D * T * h) * noise()
    theta = theta + h * p
    return theta, p, xi + h * (dot(p, p) / dim - T)


@scheme(kinetic)
def two_noises(theta, p, *, h, grad, noise, D, T):  # type: ignore[no-untyped-def]
    guess = theta + h * p + sqrt(h) * noise()
    fresh = grad.fresh()
    p = p - h / 2 * (grad(theta) + fresh(guess)) - h * D * p + sqrt(2 * D * T * h) * noise()
    return theta + h * p, p


@scheme(langevin, memory={"v": lambda theta, *, h, grad: h * grad(theta)})
def remembering(theta, v, *, h, grad, noise, T):  # type: ignore[no-untyped-def]
    return theta - v + sqrt(2 * T * h) * noise(), (v + h * grad(theta)) / 2


def noise_of(steps: list[float], draws: int, dim: int, length: int, settings: Settings) -> torch.Tensor:
    """The documented stream: draw slot s, coordinate i of step l is the normal number ((l-1) draws + s) dim + i."""
    runs = [row.schedule.key for row in fixed(steps, [1])]
    stream = Stream.of("noise", seed=settings.seed, runs=runs, chains=range(settings.chains))
    flat = normals(stream, 0, length * draws * dim)
    return flat.unflatten(0, (length, draws, dim)).movedim(2, -1)


def test_sgld_euler_is_the_hand_written_loop_bit_for_bit(line: Target) -> None:
    steps, length, settings = [0.1, 0.3], 50, Settings(temperature=0.7, chains=4, seed=9)
    z = noise_of(steps, 1, 1, length, settings).numpy()
    found = sample_states(SGLD, line, fixed(steps, [1]), at=range(1, length + 1), settings=settings)
    for s, h in enumerate(steps):
        theta = np.full((4, 1), 0.5 + 2 * math.sqrt(0.7 / 3))
        for step in range(length):
            theta = theta - h * ((theta - 0.5) * 3.0) + math.sqrt(2 * 0.7 * h) * z[step, 0, s]
            assert np.array_equal(found.values["theta"][s, step], theta)


def test_aboba_is_the_hand_written_loop_bit_for_bit(line: Target) -> None:
    steps, length = [0.1, 0.3], 50
    settings = Settings(
        temperature=0.7, friction=1.7, chains=4, seed=9, start=-1.5, start_momentum="stationary"
    )
    z = noise_of(steps, 1, 1, length, settings).numpy()
    runs = [row.schedule.key for row in fixed(steps, [1])]
    momentum = normals(Stream.of("momentum", seed=9, runs=runs, chains=range(4)), 0, 1)[0].numpy()
    found = sample_states(ABOBA, line, fixed(steps, [1]), at=range(1, length + 1), settings=settings)
    for s, h in enumerate(steps):
        theta = np.full((4, 1), 0.5 - 1.5 * math.sqrt(0.7 / 3))
        p = momentum[s][:, None] * math.sqrt(0.7)
        half = 0.5 * h
        for step in range(length):
            theta = theta + half * p
            p = math.exp(-1.7 * half) * p
            p = p - h * ((theta - 0.5) * 3.0) + math.sqrt(2 * 1.7 * 0.7 * h) * z[step, 0, s]
            p = math.exp(-1.7 * half) * p
            theta = theta + half * p
            assert np.array_equal(found.values["theta"][s, step], theta)
            assert np.array_equal(found.values["p"][s, step], p)


def test_draws_and_coordinates_take_their_slots(space: Target) -> None:
    """A scheme of two draws in dimension 3, against tensors and the target's exact gradient: to rounding."""
    steps, length, settings = [0.05, 0.1], 20, Settings(temperature=1.3, chains=3, seed=2)
    z = noise_of(steps, 2, 3, length, settings)
    H, mean = torch.tensor(space.precision_float64()), torch.tensor(space.mean_float64())
    h = torch.tensor(steps, dtype=torch.float64)[:, None, None]
    spread = torch.tensor(np.sqrt(1.3 * np.diag(space.covariance_float64())))
    theta = (mean + 2 * spread).expand(2, 3, 3)
    p = torch.zeros_like(theta)
    for step in range(length):
        guess = theta + h * p + h.sqrt() * z[step, 0]
        force = ((theta - mean) @ H + (guess - mean) @ H) / 2
        p = p - h * force - h * 2.0 * p + (2 * 2.0 * 1.3 * h).sqrt() * z[step, 1]
        theta = theta + h * p
    found = sample_states(two_noises, space, fixed(steps, [1]), at=[length], settings=settings)
    # 20 contracting steps of some 40 roundings each, of numbers below 10: far below 1e-12.
    assert np.abs(found.values["theta"][:, 0] - theta.numpy()).max() < 20 * 40 * 10 * np.finfo(float).eps
    assert np.abs(found.values["p"][:, 0] - p.numpy()).max() < 20 * 40 * 10 * np.finfo(float).eps


CASES = [
    (ABOBA, "posterior", kind, "float64", False) for kind in KINDS
] + [
    (two_noises, "wide_posterior", kind, "float32", False) for kind in KINDS
] + [
    (two_noises, "wide_posterior", "iid", "float64", True),
    (nose_hoover, "posterior", "iid", "float64", False),
    (remembering, "posterior", "iid", "float64", False),
]  # fmt: skip


@pytest.mark.by_default(
    "fixed-sghmc-aboba-full-float64",
    "fixed-sghmc-aboba-reshuffle-float64",
    "fixed-sghmc-aboba-svrg-float64",
    "fixed-two_noises-additive-float32",
    "fixed-remembering-iid-float64",
    "power-sghmc-aboba-iid-float64",
    "power-two_noises-svrg-float32",
)
@pytest.mark.parametrize("case", CASES, ids=lambda case: "-".join(map(str, (case[0].name, *case[2:4]))))
@pytest.mark.parametrize("rows", ["fixed", "power"])
def test_results_do_not_depend_on_batching(case: tuple, rows: str, request: pytest.FixtureRequest) -> None:
    """Any subset of chains and step sizes, and any length of block, gives the same bits."""
    subject, name, kind, dtype, plain = case
    target = request.getfixturevalue(name)
    at = [1, 2, 5, 17]
    sweep = fixed([0.004, 0.01, 0.02], at) if rows == "fixed" else power([0.004, 0.01, 0.02], 0.3, at)
    choice = GradientChoice(kind, batch=4)
    settings = Settings(chains=5, seed=4, dtype=dtype, gradient=choice, start_momentum="stationary")
    tests = [lambda theta, *p: theta[..., 0] ** 2, lambda theta, *p: theta[..., -1] * theta[..., 0]]

    def run(rows: Any = sweep, chains: range = range(5), **how: Any) -> np.ndarray:
        part = Settings(**{**vars(settings), "chains": len(chains), "first_chain": chains.start})
        states = sample_states(subject, target, rows, at=at, settings=part, **how)
        averages = sample(subject, target, rows, observables=tests, settings=part, **how)
        flat = [values.reshape(*values.shape[:3], -1) for values in states.values.values()]
        return np.concatenate([*flat, averages.values.transpose(1, 2, 3, 0)], -1)

    whole = run(hoist=not plain)
    assert np.isfinite(whole).all()
    assert np.array_equal(run(hoist=not plain), whole)
    assert np.array_equal(run(hoist=not plain, chains=range(2, 4)), whole[:, :, 2:4])
    assert np.array_equal(run(hoist=not plain, rows=sweep[1:2]), whole[1:2])
    assert np.array_equal(run(hoist=not plain, rows=sweep[::-1]), whole[::-1])
    for block in (1, 3):
        assert np.array_equal(run(hoist=not plain, block=block), whole)


@pytest.mark.power  # 1.3 s
def test_the_plain_gradient_gives_the_same_chains(wide_posterior: Target) -> None:
    """Every clever path is held against the plain one: they differ by rounding alone, in a contracting chain."""
    for kind in KINDS:
        settings = Settings(chains=3, gradient=GradientChoice(kind, batch=4))
        clever, plain = (
            sample_states(
                two_noises, wide_posterior, fixed([0.01], [1]), at=[30], settings=settings, hoist=hoist
            )
            for hoist in (True, False)
        )
        # 30 steps, gradients of size 1e3 at most times h, each good to 30 roundings.
        assert (
            np.abs(clever.values["theta"] - plain.values["theta"]).max() < 30 * 30 * 10 * np.finfo(float).eps
        )


def test_float32_follows_float64(posterior: Target) -> None:
    """ABOBA contracts here; a step makes fewer than 20 roundings of numbers below 10, 2^-24 each.

    The errors of a step are multiplied by at most 2 before they decay, by 1 - D h/2 = 0.99 a step or faster: their
    sum stays below 20 * 10 * 2 * 100 * 2^-24.
    """
    found = {}
    for dtype in ("float32", "float64"):
        settings = Settings(chains=5, dtype=dtype, gradient=GradientChoice("iid", batch=4))
        found[dtype] = sample_states(
            ABOBA, posterior, fixed([0.01], [1]), at=[10, 200], settings=settings
        ).values
    for name in ("theta", "p"):
        difference = np.abs(found["float32"][name] - found["float64"][name]).max()
        assert 0 < difference < 20 * 10 * 2 * 100 * 2.0**-24


def test_a_float32_constant_in_a_float64_run_would_be_seen(
    line: Target, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The planted bug of a published library: the comparison with the hand-written loop must notice it."""
    honest = Constant.meet
    monkeypatch.setattr(Constant, "meet", lambda self, like: honest(self, like).float().to(like.dtype))
    with pytest.raises(AssertionError):
        test_aboba_is_the_hand_written_loop_bit_for_bit(line)


def test_rows_of_different_lengths_are_those_of_separate_runs(posterior: Target) -> None:
    settings = Settings(chains=4, gradient=GradientChoice("reshuffle", batch=4))
    rows = horizon(0.02, 0.3, [5, 11, 40])
    rows = (rows[2], rows[0], rows[1])
    tests = [lambda theta, p: theta[..., 0] ** 2]
    whole = sample(ABOBA, posterior, rows, observables=tests, settings=settings)
    for i, row in enumerate(rows):
        alone = sample(ABOBA, posterior, [row], observables=tests, settings=settings)
        assert np.array_equal(alone.values[:, 0], whole.values[:, i])
        for name in ("theta", "p"):
            assert np.array_equal(alone.last[name][0], whole.last[name][i])
            assert np.isfinite(alone.last[name]).all()


def test_a_stationary_momentum_and_a_thermostat_start_as_stated(posterior: Target) -> None:
    @scheme(thermostat)
    def still(theta, p, xi, *, h, noise):  # type: ignore[no-untyped-def]
        return theta + 0 * noise(), p, xi

    settings = Settings(temperature=2.0, friction=1.5, chains=40_000, start=-3.0, start_momentum="stationary")
    found = sample_states(still, posterior, fixed([0.1, 0.2], [1]), at=[1], settings=settings).values
    spread = math.sqrt(2.0 * float(posterior.covariance[0][0]))
    assert np.abs(found["theta"] - (float(posterior.mean[0]) - 3 * spread)).max() < 1e-15
    assert (found["xi"] == 1.5).all()
    # The sum of 80000 squares over T is chi-square: 6 standard deviations, 2e-9.
    squares = float((found["p"] ** 2).sum()) / 2.0
    assert abs(squares - 80_000) < 6 * math.sqrt(2 * 80_000)
    assert not np.array_equal(found["p"][0], found["p"][1])


def test_coupled_rows_share_their_noise(line: Target) -> None:
    settings = Settings(chains=4, coupled=True)
    tests = [lambda theta: theta[..., 0]]
    found = sample(SGLD, line, fixed([0.1, 0.1 + 1e-13], [20]), observables=tests, settings=settings)
    assert 0 < np.abs(found.values[0, 0] - found.values[0, 1]).max() < 1e-10
    apart = sample(
        SGLD, line, fixed([0.1, 0.1 + 1e-13], [20]), observables=tests, settings=Settings(chains=4)
    )
    assert np.abs(apart.values[0, 0] - apart.values[0, 1]).max() > 1e-3


def test_seeds_differ_and_repeat(line: Target) -> None:
    def run(seed: int) -> np.ndarray:
        settings = Settings(chains=4, seed=seed)
        return sample_states(SGLD, line, fixed([0.1], [1]), at=[5], settings=settings).values["theta"]

    assert np.array_equal(run(1), run(1))
    assert not np.array_equal(run(1), run(2))
