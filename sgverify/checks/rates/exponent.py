"""Which exponent do exact errors show at falling step sizes, and does it agree with that of their expansion at h = 0?"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from sgverify.checks.registry import CHECKS
from sgverify.evidence import Evidence, Point
from sgverify.exact.readings.leading_terms import powers_of_h
from sgverify.rates import regress_exact


def with_regression(evidence: Evidence) -> Evidence:
    """The evidence with the regression on its points in the certificate; sampled evidence already holds its own fit."""
    name = "length" if CHECKS[evidence.check].along_schedule else "step"
    points = sorted(
        (p for p in evidence.points if p.kind == "exact" and getattr(p, name) is not None and not p.diverged),
        key=lambda point: float(getattr(point, name)),
    )
    if "regression" in evidence.certificate or evidence.predicted.exponent is None or not points:
        return evidence
    places = np.array([float(getattr(point, name)) for point in points])
    line = regress_exact(places, *_values(points))
    certificate = line.certificate(places.tolist(), "L" if name == "length" else "h")
    return replace(evidence, certificate={**evidence.certificate, "regression": certificate})


def _values(points: list[Point]) -> tuple[np.ndarray, np.ndarray]:
    """The values of the points and the error bound of each; the bound of a point without a value is infinite."""
    values = np.array([0.0 if point.value is None else point.value for point in points])
    bounds = np.array([np.inf if p.value is None or p.error_bound is None else p.error_bound for p in points])
    return values, bounds


JUMP = 8.0
"""An error that is h^q g(h), g analytic within four times the largest step, changes h^-q times itself by (1 - 1/4)^-m at most
where g has a pole of order m: 8 is m = 7."""

SEEN = 1e-4
"""Errors below this share of (h rate)^q show no order: they may come from a solver's tolerance."""

STEADY = 0.25
"""Two neighbouring slopes that differ by at most this belong to one power of h."""

SHORT = 0.3
"""A slope below q by more is that of q - 1/2 or less: errors c h^q (1 + O(h rate)) have one nearer to q at the smallest steps."""

CLEAR = 4.0
"""An error counts from this multiple of its bound."""

AGREE, SHOWN = 0.1, 0.01
"""A lower power counts where polynomials through the larger and through the smaller steps agree on it so far, and where it is so
much of the error at the smallest step."""

LEAP, WITHIN = 3.0, 0.2
"""A jump has a slope that is larger by LEAP than the one below it, so that a high power is none, and an error of (h rate)^q at
least, or of WITHIN^q where h rate is more: code may take other substeps from some size on, and have another constant there."""

FEWEST = 3
"""The fewest step sizes whose bound lies below (h rate)^q; three give two slopes."""


@dataclass(frozen=True)
class ErrorTrend:
    """Verdict `fine`, `slow` (a lower power than q), `jump` (an error that smaller steps do not announce) or `open`.

    `index` (index of the step size) and `entry` are where the trend is clearest, `slope` is the power of h seen there, and
    `turn` the difference between that power and the one at larger steps.
    """

    verdict: str
    index: int = 0
    entry: int = 0
    slope: float = 0.0
    turn: float = 0.0


def judge_errors(
    times: np.ndarray, errors: np.ndarray, bounds: np.ndarray, q: float, *, large: int = 0
) -> ErrorTrend:
    """Do errors at falling step sizes satisfy |error| <= C h^q?

    `times` holds h rate for each step size, decreasing, shape (steps,); `errors` has shape (steps, entries) and `bounds`,
    the error bounds of the errors, shape (steps,). The first `large` steps are too large to show a power of h: their
    errors are only compared with the extrapolation from smaller steps.
    """
    scale = times**q
    size = np.abs(errors)
    share = size / scale[:, None]
    clear = size > CLEAR * bounds[:, None]
    low = slice(large, None)
    slow = _slow(times[low], size[low], share[low], clear[low], q) or _hidden(
        times[low], errors[low], bounds[low], int(q)
    )
    if slow is not None:
        return replace(slow, index=slow.index + large)
    for k in range(len(times) - 2):
        entry = _leaps(times, size, bounds, q, k)
        if entry is not None:
            return ErrorTrend("jump", k, entry)
    if int((bounds < scale / CLEAR)[low].sum()) < FEWEST:
        return ErrorTrend("open", int(np.argmax(bounds / scale)))
    return ErrorTrend("fine")


def undecided_end(times: np.ndarray, errors: np.ndarray, bounds: np.ndarray, q: float) -> bool:
    """Would smaller steps tell more? True if an error at the smallest step is large, or does not fall as h^q there."""
    size = np.abs(errors)
    clear = (size[-2:] > CLEAR * bounds[-2:, None]).all(axis=0) & (size[-1] > SEEN * times[-1] ** q)
    large = size[-1] > JUMP * times[-1] ** q
    slope = np.log(np.maximum(size[-2], 1e-300) / np.maximum(size[-1], 1e-300)) / np.log(
        times[-2] / times[-1]
    )
    if _leaps(times, size, bounds, q, len(times) - 2) is not None:
        return True
    return bool((clear & (large | (slope < q - SHORT))).any())


def _leaps(times: np.ndarray, size: np.ndarray, bounds: np.ndarray, q: float, k: int) -> int | None:
    """The entry whose error at step k is largest, if extrapolation from the smaller steps does not predict that error."""
    share = (size + bounds[:, None]) / times[:, None] ** q
    here = np.where(size[k] > CLEAR * bounds[k], size[k], 0.0)
    entry = int(np.argmax(here))
    if not here[entry] > max(min(times[k], WITHIN) ** q, JUMP * float(share[k + 1 :].max()) * times[k] ** q):
        return None
    # An error below its bound is replaced by the bound: the true error may fall faster, but not slower.
    seen = np.maximum(size[k : k + 3, entry], bounds[k : k + 3])
    slopes = np.diff(np.log(np.maximum(seen, 1e-300))) / np.diff(np.log(times[k : k + 3]))
    return entry if len(slopes) < 2 or slopes[0] > slopes[1] + LEAP else None


def _slow(
    times: np.ndarray, size: np.ndarray, share: np.ndarray, clear: np.ndarray, q: float
) -> ErrorTrend | None:
    """The entry whose error falls slowest, with a steady slope, at the smallest steps where it exceeds its bound."""
    worst: ErrorTrend | None = None
    largest = 0.0
    for entry in range(size.shape[1]):
        seen = np.flatnonzero(clear[:, entry])
        if len(seen) < 3:
            continue
        i, j, k = seen[-3:]
        first, last = (
            float(np.log(size[a, entry] / size[b, entry]) / np.log(times[a] / times[b]))
            for a, b in ((i, j), (j, k))
        )
        steady = abs(first - last) < STEADY and max(first, last) < q - SHORT
        if steady and share[k, entry] > max(SEEN, largest):
            largest = float(share[k, entry])
            worst = ErrorTrend("slow", int(k), entry, last, abs(first - last))
    return worst


def _hidden(times: np.ndarray, errors: np.ndarray, bounds: np.ndarray, q: int) -> ErrorTrend | None:
    """A term in a lower power of h, hidden below a larger term in h^q.

    Two polynomials in h are fitted: one through all steps but the last, one through all but the first. Both must agree on
    the coefficient of the lower power. A fractional power p gives coefficients that differ by the factor (h_1/h_2)^p of
    the two fits' step sizes, so that the fits disagree and nothing is reported.
    """
    if len(times) < 2 * FEWEST or not (bounds > 0).all():
        return None
    errs = np.repeat(bounds[:, None], errors.shape[1], axis=1)
    fits = [powers_of_h(times[part], errors[part], errs[part]) for part in (slice(0, -1), slice(1, None))]
    for power in range(q):
        first, last = (fit.coefficients[power] for fit in fits)
        sure = np.max([CLEAR * fit.bounds[power] for fit in fits], axis=0)
        here = np.abs(last) * times[-1] ** power
        agree = np.abs(first - last) < AGREE * np.abs(last)
        shown = here > np.maximum(SHOWN * np.abs(errors[-1]), SEEN * times[-1] ** q)
        seen = agree & shown & (np.minimum(np.abs(first), np.abs(last)) > sure)
        if seen.any():
            entry = int(np.argmax(np.where(seen, here, 0.0)))
            return ErrorTrend("slow", len(times) - 1, entry, float(power))
    return None
