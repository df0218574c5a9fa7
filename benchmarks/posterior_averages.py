"""Benchmark: certified averages of one-dimensional posteriors, beside mpmath's quadrature."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from types import SimpleNamespace
from typing import Any

import mpmath
import numpy as np
from mpmath import mpf

from benchmarks.measuring import Row, Setting, close, compare, measure
from sgverify.exact.posterior.conjugate import conjugate_law
from sgverify.exact.posterior.tails import enclosed_moments
from sgverify.targets import Target, build_target

BAR = 1.0
DIGITS = 20
# mpmath states no bound; at 20 digits its tanh-sinh rule is right to about 15 on these densities.
AGREEMENT = 1e-12


def run(setting: Setting) -> Iterator[Row]:
    """E theta^2 of a double well and of logistic posteriors, and E (log rate)^2 by polygamma functions."""
    well = _built("double-well")
    timing, peer = compare(
        lambda: _second_moment(well),
        lambda: _by_mpmath(lambda x: (x**2 - 1) ** 2 + x / 4, 0.0, 1.0),
        setting,
        same=lambda ours, theirs: close(ours, theirs, AGREEMENT),
    )
    yield Row(
        "E theta^2 of a double well, enclosed", timing, BAR, f"mpmath.quad at {DIGITS} digits, no bound", peer
    )

    few = _built("logistic-regression", size=5 if setting.tiny else 20)
    middle, spread = float(few.location_float64(1.0)[0]), float(few.spread_float64(1.0)[0])
    timing, peer = compare(
        lambda: _second_moment(few),
        lambda: _by_mpmath(_logistic(few), middle, spread),
        setting,
        same=lambda ours, theirs: close(ours, theirs, AGREEMENT),
    )
    yield Row(
        f"E theta^2 of a logistic posterior, {few.size} data, enclosed",
        timing,
        BAR,
        f"mpmath.quad at {DIGITS} digits, no bound",
        peer,
    )
    many = _built("logistic-regression", size=20 if setting.tiny else 1000)
    yield Row(
        f"E theta^2 of a logistic posterior, {many.size} data, enclosed",
        measure(lambda: _second_moment(many), setting),
        BAR,
    )

    counts = _built("gamma-poisson")
    law = conjugate_law(counts)
    assert law is not None and counts.data is not None
    shape, rate = mpf(2) + int(counts.data.sum()), mpf(1) + len(counts.data)
    place = float(mpmath.log(shape / rate))
    timing, peer = compare(
        lambda: float(law.average({(2,): Fraction(1)}).mid()),
        lambda: _by_mpmath(lambda x: rate * mpmath.exp(x) - shape * x, place, float(1 / mpmath.sqrt(shape))),
        setting,
        same=lambda ours, theirs: close(ours, theirs, AGREEMENT),
    )
    yield Row(
        "E theta^2 of a gamma-Poisson posterior, by polygamma functions",
        timing,
        None,
        f"mpmath.quad at {DIGITS} digits, no bound",
        peer,
    )


def _built(name: str, **keys: Any) -> Target:
    return build_target(SimpleNamespace(name=name, **keys))


def _second_moment(target: Target) -> float:
    centre, moments = enclosed_moments(target, 0, Fraction(1), 2)
    return float((centre**2 + 2 * centre * moments[1] + moments[2]).mid())


def _logistic(target: Target) -> Any:
    assert target.data is not None
    scores = [mpf(float(x)) * (1 if y else -1) for x, y in np.asarray(target.data)]
    return lambda x: x**2 / 2 + sum(mpmath.log1p(mpmath.exp(-s * x)) for s in scores)


def _by_mpmath(energy: Any, middle: float, spread: float) -> float:
    with mpmath.workdps(DIGITS):
        least = energy(mpf(middle))
        points = [mpf(middle) + k * mpf(spread) for k in (-14, -4, 0, 4, 14)]
        norm, moment = (
            mpmath.quad(lambda x, k=k: x**k * mpmath.exp(least - energy(x)), points) for k in (0, 2)
        )
        return float(moment / norm)
