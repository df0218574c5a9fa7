"""Benchmark: the mean square error on a decreasing schedule to L = 1e6, where every step has its own map."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

import sgverify
from benchmarks.measuring import Row, Setting, close, compare
from benchmarks.moment_recursion import Step, mean_square_error, start_of, test_function_of
from sgverify.configuration import load_configuration
from sgverify.subject.binding import make_subject
from sgverify.subject.subject import Subject

SCHEME = "sghmc-aboba"
LENGTHS = [10**k for k in range(2, 7)]
RECURSED = 10**4
AGREEMENT = 1e-6


def run(setting: Setting) -> Iterator[Row]:
    """The whole answer beside a recursion in numpy; nothing where the answer has no values along the schedule."""
    lengths, recursed = ([10, 100], 100) if setting.tiny else (LENGTHS, RECURSED)
    choice = {"schedule": {"kind": "power"}, "sweep": {"lengths": lengths}}
    evidence = sgverify.rate(SCHEME, quantity="mse", **choice)
    if not evidence.points:
        return
    subject = make_subject(SCHEME, load_configuration(None, **choice))
    steps = list(steps_of(subject, _number(evidence.certificate["schedule"]["alpha"]), recursed))
    start, phi = start_of(subject.model), test_function_of(subject.model)

    def whole() -> float:
        points = sgverify.rate(SCHEME, quantity="mse", **choice).points
        return next(point.value for point in points if point.length == recursed)

    timing, peer = compare(
        whole,
        lambda: mean_square_error(steps, start, phi),
        setting,
        same=lambda ours, theirs: close(ours, theirs, AGREEMENT),
    )
    yield Row(
        f"mse exponent of {SCHEME}, power schedule to L = {lengths[-1]:.0e}",
        timing,
        None,
        "moments step by step in numpy float64",
        peer,
        scale=lengths[-1] / recursed,
        note=f"the recursion runs {recursed:.0e} steps; its time is extrapolated; its maps are given to it",
    )


def steps_of(subject: Subject, alpha: float, length: int) -> Iterator[Step]:
    """The chain of every step h_l = scale l^-alpha in one dimension: the definition, run on arrays over l."""
    h = subject.scale * np.arange(1, length + 1) ** -alpha
    precision, mean = float(subject.target.precision[0][0]), float(subject.target.mean[0])
    c, size = subject.configuration, len(subject.scheme.state)

    def moved(state: list[float], draw: float) -> np.ndarray:
        values: Any = subject.scheme.step(
            tuple(state),
            h=h,
            grad=lambda theta: precision * (theta - mean),
            noise=lambda: draw,
            D=c.friction,
            T=c.temperature,
        )
        return np.stack([np.broadcast_to(value, h.shape).astype(float) for value in values], axis=-1)

    assert subject.scheme.draws == 1, "one draw, so that one column holds the noise"
    shift = moved([0.0] * size, 0.0)
    columns = [moved([float(i == k) for i in range(size)], 0.0) - shift for k in range(size)]
    maps, noise = np.stack(columns, axis=-1), moved([0.0] * size, 1.0) - shift
    covariances = noise[:, :, None] * noise[:, None, :]
    return (Step(m, s, q, float(w)) for m, s, q, w in zip(maps, shift, covariances, h, strict=True))


def _number(text: Any) -> float:
    number, _, below = str(text).partition("/")
    return float(number) / float(below or 1)
