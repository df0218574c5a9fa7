"""Powers of h from values at falling step sizes, each value with a bound of its error.

`powers_of_h`: the coefficients of all powers, by Richardson's extrapolation. `fit_steps`: the leading power, and whether powers
of h explain the values at all. `judge_errors`: whether errors are O(h^q), and if not at which step size.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction
from functools import lru_cache

import numpy as np

from sgverify.rates.verdict import Rate


@dataclass(frozen=True)
class PowersOfH:
    """y(h) = sum_j c_j h^j: coefficients and bounds of their errors, shape (degree + 1, *batch).

    A bound is the effect of rounding in the values, plus twice the change of the fit when its largest step is left out.
    """

    coefficients: np.ndarray
    bounds: np.ndarray

    def seen(self, power: int) -> np.ndarray:
        """A mask: where the coefficient of h^power exceeds twice its bound. Shape (*batch)."""
        found: np.ndarray = np.abs(self.coefficients[power]) > 2 * self.bounds[power]
        return found


def powers_of_h(steps: np.ndarray, values: np.ndarray, errors: np.ndarray) -> PowersOfH:
    """The polynomial through the values, of degree len(steps) - 1. Shapes (n,), (n, *batch), (n, *batch).

    `steps` fall; `errors` bound the values' roundings. Interpolation is Richardson's extrapolation of every coefficient at
    once; in the variable h/h_1 the system is solved in long double, whose rounding does not count.
    """
    all_steps = _fitted(steps, values, errors)
    fewer = _fitted(steps[1:], values[1:], errors[1:])
    count = len(steps) - 1
    change = np.abs(all_steps[0][:count] - fewer[0])
    coefficients, rounding = all_steps
    bounds = rounding[:count] + 2 * change
    return PowersOfH(coefficients[:count].astype(float), bounds.astype(float))


def _fitted(steps: np.ndarray, values: np.ndarray, errors: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Coefficients of the interpolating polynomial, and bounds of the effect of the errors on them."""
    inverse = _inverse_vandermonde(tuple(np.asarray(steps, dtype=np.longdouble) / steps[0]))
    powers = np.longdouble(steps[0]) ** np.arange(len(steps))
    rows = inverse / powers[:, None]
    return np.tensordot(rows, values, 1), np.tensordot(np.abs(rows), errors, 1)


@lru_cache(maxsize=64)
def _inverse_vandermonde(x: tuple[np.longdouble, ...]) -> np.ndarray:
    """Row j: the weights of the values in the coefficient of x^j, from the Lagrange polynomials."""
    count = len(x)
    rows = np.zeros((count, count), dtype=np.longdouble)
    for i in range(count):
        poly = np.ones(1, dtype=np.longdouble)
        for k in range(count):
            if k != i:
                poly = (np.append(0, poly) - x[k] * np.append(poly, 0)) / (x[i] - x[k])
        rows[:, i] = poly
    rows.setflags(write=False)
    return rows


LEAST = 1e-8
"""A power of h counts if its value at the largest step exceeds this share of the average itself."""

EXPLAINED = 0.05
"""A value is explained if the polynomial through the values at smaller steps agrees with it up to this share. For a law that is
analytic in h within twice the step, and a polynomial through three further halvings, Lagrange's remainder is at most
(1 - 1/2)(1 - 1/4)(1 - 1/8)/2^3 = 0.04 of the largest value there; more halvings reduce it."""

BELOW = 3
"""The fewest values at smaller steps for the prediction of a value."""


@dataclass(frozen=True)
class StepFit:
    """A fit of powers of h: `rate` is the leading power.

    `outlier` is (h, value, prediction) at the smallest step whose value the smaller steps do not explain; None if there is none.
    """

    rate: Rate
    powers: PowersOfH
    outlier: tuple[float, float, float] | None


def fit_steps(steps: np.ndarray, values: np.ndarray, errors: np.ndarray, scale: float) -> StepFit:
    """Fit powers of h to the values or, if whole powers do not explain them, powers of sqrt(h).

    `steps`, `values` and their error bounds `errors` have shape (n,). `scale` is the magnitude of the quantities whose
    differences the values are.
    """
    whole = _fit(steps, values, errors, scale, 1)
    if whole.outlier is None:
        return whole
    halves = _fit(steps, values, errors, scale, 2)
    return whole if halves.outlier is not None else halves


def _fit(steps: np.ndarray, values: np.ndarray, errors: np.ndarray, scale: float, parts: int) -> StepFit:
    """The fit in powers of h^(1/parts)."""
    variable = steps ** (1 / parts)
    powers = powers_of_h(variable, values[:, None], errors[:, None])
    found = Rate(None)
    for power in range(len(powers.coefficients)):
        c = float(powers.coefficients[power, 0])
        if powers.seen(power)[0] and abs(c) * variable[0] ** power > LEAST * scale:
            found = Rate(Fraction(power, parts), c)
            break
    return StepFit(found, powers, _outlier(variable, steps, values, errors, scale, found))


def _outlier(
    variable: np.ndarray, steps: np.ndarray, values: np.ndarray, errors: np.ndarray, scale: float, found: Rate
) -> tuple[float, float, float] | None:
    """(h, value, prediction) at the smallest step whose value differs from what the smaller steps give.

    With the leading power h^q, the values over h^q are extrapolated by the polynomial through the smaller steps: a polynomial
    through few values of h^3 itself would miss it.
    """
    power = float(found.exponent or 0)
    for k in reversed(range(len(steps) - BELOW)):
        weights = np.array(
            [
                np.prod(
                    [
                        (variable[k] - variable[j]) / (variable[i] - variable[j])
                        for j in range(k + 1, len(steps))
                        if j != i
                    ]
                )
                for i in range(k + 1, len(steps))
            ]
        )
        weights = weights * (steps[k] / steps[k + 1 :]) ** power
        due = float(weights @ values[k + 1 :])
        unsure = 2 * (float(np.abs(weights) @ errors[k + 1 :]) + float(errors[k]) + LEAST * scale)
        if abs(values[k] - due) > EXPLAINED * max(abs(values[k]), abs(due)) + unsure:
            return float(steps[k]), float(values[k]), due
        if found.exponent is None and abs(values[k]) > unsure:
            return float(steps[k]), float(values[k]), 0.0
    return None


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
    for entry in map(int, np.flatnonzero(clear.sum(axis=0) >= 3)):
        i, j, k = np.flatnonzero(clear[:, entry])[-3:]
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
