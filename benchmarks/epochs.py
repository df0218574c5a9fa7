"""Benchmark: the stationary bias at every position of an epoch, beside going through all orders of the data."""

from __future__ import annotations

import itertools
from collections.abc import Iterator

import numpy as np

from benchmarks.measuring import Row, Setting, close, compare
from sgverify.configuration import load_configuration
from sgverify.exact.affine.model import fixed_step
from sgverify.exact.answers.moments import EpochAnswers
from sgverify.schemes.loading import load_scheme
from sgverify.subject.binding import make_subject
from sgverify.subject.subject import Subject

BAR = 1.0
STEP = 0.1
# So many epochs forget the start to this, and float64 keeps it.
EPOCHS, AGREEMENT = 60, 1e-9


def run(setting: Setting) -> Iterator[Row]:
    """theta^2 under SGLD on the mean of a Gaussian, one datum in a step, for both ways to go through the data."""
    size = 4 if setting.tiny else 7
    for kind, name in (("reshuffle", "an epoch"), ("symmetric", "a sweep there and back")):
        subject = _subject(kind, size)
        timing, peer = compare(
            lambda subject=subject: _by_exchangeability(subject),
            lambda subject=subject, kind=kind: _by_orders(subject, kind == "symmetric"),
            setting,
            same=lambda ours, theirs: all(close(a, b, AGREEMENT) for a, b in zip(ours, theirs, strict=True)),
        )
        yield Row(
            f"stationary bias at every position of {name}, {size} data",
            timing,
            BAR,
            "all orders of the data side by side in numpy, no bound",
            peer,
        )


def _subject(kind: str, size: int) -> Subject:
    data = [round(float(x), 2) for x in np.random.default_rng(1).normal(size=size)]
    settings = {"target": {"data": data}, "gradient": {"kind": kind, "batch": 1}}
    return make_subject(load_scheme("sgld-euler"), load_configuration(settings))


def _by_exchangeability(subject: Subject) -> list[float]:
    answers = EpochAnswers(subject.model)
    step = fixed_step(STEP)
    return [answers.stationary_bias(step, k).value for k in range(1, answers.steps + 1)]


def _by_orders(subject: Subject, backward: bool) -> list[float]:
    """theta' = theta - h (P theta - S x_i) + sqrt(2 h) z, P the posterior's precision, S that of all data."""
    data = np.array(subject.configuration.target.data, dtype=np.float64)
    size, precision = len(data), float(subject.target.precision[0][0])
    orders = np.array(list(itertools.permutations(data)))
    if backward:
        orders = np.concatenate([orders, orders[:, ::-1]], axis=1)
    mean, second, found = 0.0, 0.0, []
    for _ in range(EPOCHS):
        m, s, found = np.full(len(orders), mean), np.full(len(orders), second), []
        for k in range(orders.shape[1]):
            kick = STEP * size * orders[:, k]
            shrunk = 1 - STEP * precision
            m, s = shrunk * m + kick, shrunk**2 * s + 2 * shrunk * kick * m + kick**2 + 2 * STEP
            found.append(float(s.mean() - float(subject.truth)))
        mean, second = m.mean(), s.mean()
    return found
