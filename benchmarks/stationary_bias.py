"""Benchmark: the stationary bias of an overdamped step beyond Gaussians, a curve of five step sizes."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from fractions import Fraction

import numpy as np

import sgverify
from benchmarks.measuring import Row, Setting, compare, measure
from sgverify.configuration import load_configuration
from sgverify.exact.transfer.line.bias import LineAnswers
from sgverify.subject.binding import make_subject

SCHEME = "sgld-euler"
WELL = {"name": "double-well"}
BAR = 3.0
CHAINS, TIMED = 2048, 200

PER_SIGMA = 3.0
"""Points of the peer's grid in a standard deviation of a step: the trapezoid rule of a Gaussian errs by e^(-2 pi^2 9)."""

AGREEMENT = 1e-7
"""Relative: the peer solves in float64 with a condition of 1/(h gap), about 1e4, and subtracts two averages, 1e4 apart
from their difference."""

SHARE = 0.01
"""Samples are asked for a hundredth of the bias, the grids' own error being below 1e-9 of it."""


def run(setting: Setting) -> Iterator[Row]:
    """The whole answer, then its values beside a dense Nystrom matrix and beside plain sampling."""
    first = 0.0048
    steps = [first, first / 2] if setting.tiny else [first / 2**k for k in range(5)]
    what = f"stationary bias of {SCHEME} on a double well, {len(steps)} step sizes"
    yield Row(
        f"{what}: constant, points, errors, verdict",
        measure(
            lambda: sgverify.rate(SCHEME, quantity="stationary-bias", target=WELL, sweep={"steps": steps}),
            setting,
        ),
        BAR,
    )
    timing, peer = compare(lambda: _values(steps), lambda: [_nystrom(h) for h in steps], setting, same=_agree)
    yield Row(
        f"{what}: the values alone, three grids each",
        timing,
        BAR,
        "the Gaussian kernel as one dense matrix, numpy float64",
        peer,
        note="one grid each, right to 1e-8 of the bias, which it cannot say; ours state 1e-12",
    )
    few = 1 if setting.tiny else TIMED
    sampled = measure(lambda: _sample(steps[0], few), setting)
    yield Row(
        f"{what}: the values alone, to 1 %",
        timing,
        BAR,
        "plain Euler chains in numpy float64",
        sampled,
        scale=sum(map(_steps_needed, steps)) / (few * CHAINS),
        note="the chains' time is extrapolated to the steps that 1 % of each bias needs",
    )


def _values(steps: Sequence[float]) -> list[float]:
    subject = make_subject(SCHEME, load_configuration(target=WELL))
    answers = LineAnswers(subject.scheme, subject.target, subject.observable, Fraction(1), Fraction(2))
    return [answers.stationary_bias(step).value or math.nan for step in steps]


def _agree(ours: list[float], theirs: list[float]) -> bool:
    return all(abs(a - b) <= AGREEMENT * abs(a) for a, b in zip(ours, theirs, strict=True))


def _slope(x: np.ndarray) -> np.ndarray:
    return 4 * x * (x**2 - 1) + 0.25


def _nystrom(step: float) -> float:
    sigma = math.sqrt(2 * step)
    x = np.linspace(-3.1, 3.1, int(6.2 / sigma * PER_SIGMA))
    kernel = np.exp(-((x[None, :] - (x - step * _slope(x))[:, None]) ** 2) / (2 * sigma**2))
    kernel *= (x[1] - x[0]) / (sigma * math.sqrt(2 * math.pi))
    system = kernel.T - np.eye(len(x))
    middle = len(x) // 2
    system[middle] = 1.0
    right = np.zeros(len(x))
    right[middle] = 1.0
    law = np.linalg.solve(system, right)
    density = np.exp(-((x**2 - 1) ** 2) - 0.25 * x)
    return float(law @ x**2 - density @ x**2 / density.sum())


def _sample(step: float, count: int) -> float:
    generator = np.random.default_rng(0)
    x = np.ones(CHAINS)
    total = 0.0
    for _ in range(count):
        x = x - step * _slope(x) + math.sqrt(2 * step) * generator.standard_normal(CHAINS)
        total += float((x**2).mean())
    return total / count


def _steps_needed(step: float) -> float:
    """2 tau Var/(h e^2) steps give a standard error e; tau = 0.16 and Var = 0.31 are those of the double well."""
    bias = 0.68 * step
    return 2 * 0.16 * 0.31 / (step * (SHARE * bias) ** 2)
