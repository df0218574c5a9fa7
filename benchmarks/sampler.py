"""Benchmark: the torch sampler beside a loop written by hand for the one scheme."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import numpy as np
import torch
from torch import Tensor

from benchmarks.measuring import Row, Setting, compare
from sgverify.configuration import load_configuration
from sgverify.samplers import Settings, fixed, one_thread, sample
from sgverify.subject.binding import make_subject
from sgverify.subject.subject import Subject

SCHEME = "sghmc-aboba"
STEP_SIZES = 5
CHAINS = 256
LENGTH = 2_000
WIDE_CHAINS, WIDE_DIM, WIDE_LENGTH = 4_096, 10, 2_000

# Two independent samples of the same average: a gap of 6 standard errors has the probability 2e-9 in each comparison.
STANDARD_ERRORS = 6.0


def run(setting: Setting) -> Iterator[Row]:
    """Full gradients, then iid minibatches of 10, five step sizes by 256 chains; then one step size, many chains."""
    length = 50 if setting.tiny else LENGTH
    chains = 32 if setting.tiny else CHAINS
    for kind in ("full", "iid"):
        subject = make_subject(SCHEME, load_configuration(None, gradient={"kind": kind}, chains=chains))
        steps = [subject.step / 2**k for k in range(STEP_SIZES)]
        timing, peer = compare(
            lambda subject=subject, steps=steps: _sampled(subject, steps, length),
            lambda subject=subject, steps=steps: _by_hand(subject, steps, length),
            setting,
            same=_same,
        )
        estimator = "full gradients" if kind == "full" else "iid minibatches of 10"
        yield Row(
            f"sampler, {SCHEME}, {estimator}, {STEP_SIZES} step sizes x {chains} chains",
            timing,
            None,
            "hand-written torch loop with torch.randn",
            peer,
            work=length,
            unit="steps/s",
            note="the loop has neither counter-based random numbers nor a watch for divergence",
        )

    yield from _wide(setting)


def _wide(setting: Setting) -> Iterator[Row]:
    """One step size, many chains, dim 10, float32, full gradients: each generator, and the compiled reading.

    The peer is what one would write by hand with numbers for the mean and the precision, which are the same in every
    coordinate. Compiling is not timed: a first, short run does it.
    """
    length, chains = (12, 64) if setting.tiny else (WIDE_LENGTH, WIDE_CHAINS)
    target = {"name": "gaussian", "dim": WIDE_DIM}
    for scheme, by_hand in BY_HAND.items():
        configuration = load_configuration(
            None, target=target, dtype="float32", chains=chains, test_function="theta[0]**2"
        )
        subject = make_subject(scheme, configuration)
        step = float(subject.step) / 4
        for name, keys in READINGS.items():
            if setting.tiny and "compiled" in keys:
                continue
            _wide_sampled(subject, step, 12, keys)
            timing, peer = compare(
                partial(_wide_sampled, subject, step, length, keys),
                partial(_wide_by_hand, subject, step, length, by_hand),
                setting,
                same=_same,
            )
            yield Row(
                f"sampler, {scheme}, {chains} chains, dim {WIDE_DIM}, float32, {name}",
                timing,
                None,
                "hand-written functional torch loop with torch.randn",
                peer,
                work=length,
                unit="steps/s",
            )


def _wide_sampled(subject: Subject, step: float, length: int, keys: dict[str, Any]) -> np.ndarray:
    averages = sample(
        subject.scheme,
        subject.target,
        fixed([step], [length]),
        observables=[subject.observable],
        settings=Settings.of(subject.configuration, **keys),
    )
    return averages.values[0, :, 0]


def _wide_by_hand(subject: Subject, h: float, length: int, by_hand: Callable[..., Any]) -> np.ndarray:
    c = subject.configuration
    torch.manual_seed(c.seed)
    mean, precision = float(subject.target.mean[0]), float(subject.target.precision[0][0])
    with one_thread(), torch.inference_mode():
        theta = torch.full((c.chains, WIDE_DIM), mean + c.start * (c.temperature / precision) ** 0.5)
        p = torch.zeros_like(theta)
        total = torch.zeros(c.chains, dtype=torch.float64)
        move = by_hand(h, c.friction, c.temperature, lambda at: precision * (at - mean))
        for _ in range(length):
            theta, p = move(theta, p)
            total = total + theta[:, 0] ** 2
        return (total / length)[None].numpy()


def _euler_by_hand(h: float, D: float, T: float, grad: Callable[[Tensor], Tensor]) -> Callable[..., Any]:
    kick = math.sqrt(2 * T * h)

    def move(theta: Tensor, p: Tensor) -> tuple[Tensor, Tensor]:
        return theta - h * grad(theta) + kick * torch.randn(theta.shape), p

    return move


def _aboba_by_hand(h: float, D: float, T: float, grad: Callable[[Tensor], Tensor]) -> Callable[..., Any]:
    half, damping, kick = h / 2, math.exp(-D * h / 2), math.sqrt(2 * D * T * h)

    def move(theta: Tensor, p: Tensor) -> tuple[Tensor, Tensor]:
        theta = theta + half * p
        p = damping * p
        p = p - h * grad(theta) + kick * torch.randn(theta.shape)
        p = damping * p
        return theta + half * p, p

    return move


def _baoab_by_hand(h: float, D: float, T: float, grad: Callable[[Tensor], Tensor]) -> Callable[..., Any]:
    half, damping = h / 2, math.exp(-D * h)
    kick = math.sqrt(-T * math.expm1(-2 * D * h))

    def move(theta: Tensor, p: Tensor) -> tuple[Tensor, Tensor]:
        p = p - half * grad(theta)
        theta = theta + half * p
        p = damping * p + kick * torch.randn(theta.shape)
        theta = theta + half * p
        return theta, p - half * grad(theta)

    return move


BY_HAND: dict[str, Callable[..., Any]] = {
    "sgld-euler": _euler_by_hand,
    "sghmc-aboba": _aboba_by_hand,
    "sghmc-baoab": _baoab_by_hand,
}
READINGS: dict[str, dict[str, Any]] = {
    "philox": {},
    "native": {"generator": "native"},
    "native, compiled": {"generator": "native", "compiled": True},
}


def _sampled(subject: Subject, steps: list[float], length: int) -> np.ndarray:
    """The averages of theta^2. Shape (step sizes, chains)."""
    averages = sample(
        subject.scheme,
        subject.target,
        fixed(steps, [length]),
        observables=[subject.observable],
        settings=Settings.of(subject.configuration),
    )
    return averages.values[0, :, 0]


def _by_hand(subject: Subject, steps: list[float], length: int) -> np.ndarray:
    """The same for ABOBA in chen2015's letters and the Gaussian mean alone, as one would write it down."""
    c, chains = subject.configuration, subject.configuration.chains
    torch.manual_seed(c.seed)
    grad = _gradient(subject)
    with one_thread(), torch.inference_mode():
        h = torch.tensor(steps, dtype=torch.float64)[:, None, None]
        half, damping = h / 2, torch.exp(-c.friction * h / 2)
        kick = torch.sqrt(2 * c.friction * c.temperature * h)
        start = float(subject.target.mean[0]) + c.start * float(subject.target.covariance[0][0]) ** 0.5
        theta = torch.full((len(steps), chains, 1), start, dtype=torch.float64)
        p = torch.zeros_like(theta)
        total = torch.zeros_like(theta)
        for _ in range(length):
            theta = theta + half * p
            p = damping * p
            p = p - h * grad(theta) + kick * torch.randn(theta.shape, dtype=torch.float64)
            p = damping * p
            theta = theta + half * p
            total = total + theta**2
        return (total / length)[..., 0].numpy()


def _gradient(subject: Subject) -> Callable[[Tensor], Tensor]:
    data = torch.tensor(subject.target.data, dtype=torch.float64)[:, 0]
    size, batch = len(data), subject.configuration.gradient.batch
    precision, mean = float(subject.target.precision[0][0]), float(subject.target.mean[0])
    if not subject.configuration.gradient.estimator.noisy:
        return lambda theta: precision * (theta - mean)

    def minibatch(theta: Tensor) -> Tensor:
        chosen = data[torch.randint(size, (*theta.shape[:-1], batch))]
        return theta + size * (theta - chosen.mean(-1, keepdim=True))

    return minibatch


def _same(ours: np.ndarray, theirs: np.ndarray) -> bool:
    gap = np.abs(ours.mean(-1) - theirs.mean(-1))
    errors = np.sqrt((ours.var(-1, ddof=1) + theirs.var(-1, ddof=1)) / ours.shape[-1])
    return bool(np.all(gap <= STANDARD_ERRORS * errors))
