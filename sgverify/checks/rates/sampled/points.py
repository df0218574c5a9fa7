"""Which sampled points stand beside exact ones in a report, to show the running code on the exact curve?"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from sgverify.checks.rates.sampled.method import check_complete
from sgverify.evidence import Evidence, Point
from sgverify.exact.affine.stability import spectral_radii
from sgverify.samplers import Averages, Settings, fixed, horizon, sample
from sgverify.subject.subject import Subject

LONGEST = 4_000
"""The longest sampled chain, in steps."""

BETWEEN = (200, 400, 3_000)
"""Further sampled lengths beside those of the exact points, so that an exponent can be fitted to the sampled points."""

BURN_IN = 2
"""A stationary average is taken over the last 1/`BURN_IN` of the steps."""

FORGOTTEN = 1e-3
"""The largest part rho^(burn-in) of the start's offset that may be left when the average begins, rho the spectral radius; a
test function of degree two then has 1e-6 of it. A step size with a slower chain gets no sampled point."""


def with_sampled_points(subject: Subject, evidence: Sequence[Evidence], chains: int) -> list[Evidence]:
    """The evidence with sampled points added to its stationary-bias, bias and MSE curves.

    The points only illustrate: verdicts remain those of the exact method. Bias and MSE of one schedule share their chains.
    """
    # The exact curves are those of averages over every step.
    settings = Settings.of(subject.configuration, chains=chains, burn_in=0, thinning=1)
    sweeps: dict[tuple[str, tuple[tuple[float, int], ...]], Averages] = {}
    result = []
    for item in evidence:
        points: list[Point] = []
        if item.verdict in ("conforms", "violates") and item.method == "exact":
            if item.check == "stationary-bias":
                points = _stationary(subject, item, settings)
            elif item.check in ("bias", "mse") and item.configuration["schedule"]["kind"] == "horizon":
                points = _finite(subject, item, settings, sweeps)
        result.append(replace(item, points=(*item.points, *points)) if points else item)
    return result


def _stationary(subject: Subject, item: Evidence, settings: Settings) -> list[Point]:
    steps = _forgetful(subject, [point.step for point in item.points if point.step is not None])
    if not steps:
        return []
    averages = sample(
        subject.scheme,
        subject.target,
        fixed(steps, [LONGEST // BURN_IN, LONGEST]),
        observables=[subject.observable],
        settings=settings,
    )
    check_complete(averages)
    half, whole = averages.values[0, :, 0], averages.values[0, :, 1]
    late = (whole * BURN_IN - half) / (BURN_IN - 1) - float(subject.truth)
    return [
        _point(step, None, late[row], averages.diverged[row] is not None) for row, step in enumerate(steps)
    ]


def _forgetful(subject: Subject, steps: list[float]) -> list[float]:
    radii = spectral_radii(subject.scheme, subject.model.parameters, subject.step_sizes.eigenvalues, steps)
    return [
        step for step, radius in zip(steps, radii, strict=True) if radius ** (LONGEST // BURN_IN) <= FORGOTTEN
    ]


def _finite(
    subject: Subject,
    item: Evidence,
    settings: Settings,
    sweeps: dict[tuple[str, tuple[tuple[float, int], ...]], Averages],
) -> list[Point]:
    alpha, scale = (
        float(_fraction(item.certificate["schedule"]["alpha"])),
        item.certificate["schedule"]["scale"],
    )
    exact = {
        p.length: p.step
        for p in item.points
        if p.step is not None and p.length is not None and p.length <= LONGEST
    }
    if not exact:
        return []
    rows = sorted(
        ((exact.get(length, scale * length**-alpha), length) for length in {*exact, *BETWEEN}),
        key=lambda row: row[1],
    )
    key = ("horizon", tuple(rows))
    if key not in sweeps:
        sweeps[key] = sample(
            subject.scheme,
            subject.target,
            horizon(scale, alpha, [length for _, length in rows]),
            observables=[subject.observable],
            settings=settings,
        )
        check_complete(sweeps[key])
    averages = sweeps[key]
    points = []
    for number, (step, length) in enumerate(rows):
        errors = averages.values[0, number, 0] - float(subject.truth)
        diverged = averages.diverged[number] is not None
        points.append(_point(step, length, errors**2 if item.check == "mse" else errors, diverged))
    return points


def _point(step: float, length: int | None, values: np.ndarray, diverged: bool) -> Point:
    if diverged:
        return Point(
            step=step, length=length, value=None, kind="sampled", diverged=True, note="the chains diverged"
        )
    spread = float(np.std(values, ddof=1)) / len(values) ** 0.5
    return Point(
        step=step, length=length, value=float(np.mean(values)), standard_error=spread, kind="sampled"
    )


def _fraction(text: str | int | float) -> float:
    number, _, below = str(text).partition("/")
    return float(number) / float(below or 1)
