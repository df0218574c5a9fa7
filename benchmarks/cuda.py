"""Benchmark: the same steps on a CUDA device, as they are and compiled, beside the processor."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import torch

from benchmarks.core import one_core
from benchmarks.measuring import Row, Setting, compare, measure
from benchmarks.peers.problems import BATCH, FRICTION, SIZE
from sgverify.configuration import load_configuration
from sgverify.samplers import GradientChoice, Settings, fixed, one_thread, sample
from sgverify.subject.binding import make_subject

LENGTH, DIM = 800, 10
SCHEMES = (("sgld-euler", 1e-4), ("sghmc-euler-explicit", 2e-3))

# Two independent samples of the same average: a gap of 6 standard errors has the probability 2e-9 in each comparison.
STANDARD_ERRORS = 6.0

# (kind of gradient, compiled): torch compiles steps with full gradients of a quadratic potential alone.
READINGS: dict[str, tuple[str, bool]] = {
    "full gradients": ("full", False),
    "full gradients, compiled": ("full", True),
    f"minibatches of {BATCH} for each": ("iid", False),
}


def run(setting: Setting) -> Iterator[Row]:
    """4096 chains in float32: C on one core, beside torch on the device with its own generator."""
    chains, length = (32, 20) if setting.tiny else (4096, LENGTH)
    with one_core(), one_thread():
        for name, step in SCHEMES[: 1 if setting.tiny else 2]:
            for reading, (kind, compiled) in READINGS.items():
                label = f"{name}, float32, {chains} chains, {reading}: on one core, beside CUDA"
                work: dict[str, Any] = {"work": length, "unit": "steps/s"}
                ours = _run_of(name, step, chains, length, kind, compiled="kernel")
                ours()
                if not torch.cuda.is_available():
                    yield Row(
                        label,
                        measure(ours, setting),
                        peer="CUDA: not measured",
                        note="torch finds no CUDA device here",
                        **work,
                    )
                    continue
                device = _run_of(
                    name, step, chains, length, kind, compiled=compiled, generator="native", device="cuda"
                )
                # Once first, so that all is compiled.
                device()
                timing, other = compare(ours, device, setting, same=_same)
                yield Row(label, timing, None, "the same definition on CUDA", other, **work)


def _run_of(
    scheme: str, step: float, chains: int, length: int, kind: str, **how: Any
) -> Callable[[], np.ndarray]:
    target = {"name": "gaussian-mean", "dim": DIM, "size": SIZE}
    subject = make_subject(scheme, load_configuration(None, target=target, test_function="theta[0]**2"))
    gradient = GradientChoice(kind, batch=BATCH)
    settings = Settings(
        chains=chains, dtype="float32", start=0.0, friction=FRICTION, gradient=gradient, **how
    )

    def work() -> np.ndarray:
        found = sample(
            subject.scheme,
            subject.target,
            fixed([step], [length]),
            observables=[subject.observable],
            settings=settings,
        )
        return found.values[0, 0, 0]

    return work


def _same(ours: np.ndarray, theirs: np.ndarray) -> bool:
    gap = abs(ours.mean() - theirs.mean())
    return bool(gap <= STANDARD_ERRORS * ((ours.var(ddof=1) + theirs.var(ddof=1)) / len(ours)) ** 0.5)
