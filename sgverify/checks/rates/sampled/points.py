"""Which sampled points stand beside exact ones in a report, to show the running code on the exact curve?"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction

from sgverify.checks.rates.sampled.method import run_chains
from sgverify.checks.rates.sampled.pilot import affine_time
from sgverify.checks.rates.sampled.plan import SampledRun
from sgverify.checks.rates.sampled.rates import points_of
from sgverify.evidence import Evidence, Point
from sgverify.samplers import fixed, horizon
from sgverify.subject.subject import Subject

LONGEST = 4_000
"""The longest sampled chain, in steps. A stationary average is taken over its last half."""

BETWEEN = (200, 400, 3_000)
"""Further sampled lengths beside those of the exact points, so that an exponent can be fitted to the sampled points."""

FORGOTTEN = 7.0
"""The relaxation times before a stationary average begins: e^-7 = 1e-3 of the start's offset is left at most, and a test function
of degree two then has 1e-6 of it. A step size with a slower chain gets no sampled point."""


def with_sampled_points(subject: Subject, evidence: Sequence[Evidence], chains: int) -> list[Evidence]:
    """The evidence with sampled points added to its stationary-bias, bias and MSE curves.

    The points only illustrate: verdicts remain those of the exact method. Bias and MSE of one schedule share their random numbers.
    """
    result = []
    for item in evidence:
        run = None
        if item.verdict in ("conforms", "violates") and item.method == "exact":
            if item.check == "stationary-bias":
                run = _sweep(subject, item)
            elif item.check in ("bias", "mse") and item.configuration["schedule"]["kind"] == "horizon":
                run = _lengths(item)
        points: list[Point] = []
        if run is not None:
            seed = subject.configuration.seed
            found = run_chains(subject, run.rows, seed=seed, first=0, count=chains, progress=(0.0, 0.0))[0]
            points = points_of(subject, run, found, squared=item.check == "mse")
        result.append(replace(item, points=(*item.points, *points)) if points else item)
    return result


def _sweep(subject: Subject, item: Evidence) -> SampledRun | None:
    given = (point.step for point in item.points if point.step is not None)
    steps = tuple(step for step in given if LONGEST // 2 * step >= FORGOTTEN * affine_time(subject, step))
    if not steps:
        return None
    half = LONGEST // 2
    return SampledRun("fixed", steps, fixed(steps, [half, half + half // 2, LONGEST]), (), {})


def _lengths(item: Evidence) -> SampledRun | None:
    alpha, scale = Fraction(item.certificate["schedule"]["alpha"]), item.certificate["schedule"]["scale"]
    exact = {point.length for point in item.points if point.length is not None and point.length <= LONGEST}
    if not exact:
        return None
    lengths = tuple(sorted({*exact, *BETWEEN}))
    rows = horizon(scale, float(alpha), lengths)
    return SampledRun("horizon", lengths, rows, (), {}, alpha=alpha, scale=scale)
