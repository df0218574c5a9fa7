"""p-values of sampled means, variances and correlations that should have a given value.

Bounds of the chance of a sampled mean or variance that hold for every law with the moments that are given.

A p-value of normal theory is no bound at 1e-7: a sample that misses the rare events of a law with heavy tails has too small
a variance, and too small a kurtosis with it. These need exact moments, hold at every number of values, and see less.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import ArrayLike

from sgverify.errors import UserError
from sgverify.rates.sample import Floats

GROUPS = (32, 64)
"""Into how many groups values are split."""

SIZES = (1.0, 1.5, 2.5)
"""Deviations of a group's mean that are counted, in its standard deviations."""

RATIOS = (1.5, 2.0, 3.0)
"""Ratios of a group's second moment to the expected one that are counted."""


def mean_tail(standard: Floats, *, bound: float = 0.0, quadratic: bool = False) -> float:
    """A bound of the chance of a mean of independent values (n,), of mean 0 +- `bound` and variance at most 1, so far from 0.

    k groups of m values: the mean of one exceeds t with probability q <= (1/m) / (1/m + t^2) on each side (Cantelli), so
    that the count of those that do is at most binomial(k, q). The smallest of the counts at fixed t and k, times how many
    there are. `quadratic`: the values are polynomials of degree 2 in normal ones at most, for which P(mean >= t) <=
    exp(-n t^2 / (2 + 2 sqrt(2) t)) as well (Laurent and Massart 2000, Lemma 1, with the largest weight at most 1/sqrt 2).
    """

    def chance(size: float, m: int) -> float:
        return 1 / (1 + m * size * size)

    tails = []
    for m, k, means in _groups(standard):
        for size in SIZES:
            t = size / math.sqrt(m)
            tails += [_counted(int(np.sum(side * means - bound >= t)), k, chance(t, m)) for side in (1, -1)]
    if quadratic:
        t = max(0.0, abs(float(standard.mean())) - bound)
        tails += [math.exp(-len(standard) * t * t / (2 + 2 * math.sqrt(2) * t))] * 2
    return min(1.0, len(tails) * min(tails)) if tails else 1.0


def variance_tail(above: Floats, below: Floats, fourth: float | None) -> float:
    """A bound of the chance of squares (n,) of standardised values so far from 1 on average.

    `above` have mean at most 1, `below` at least 1 (they differ by what is not known of mean and variance); `fourth` bounds
    E w^2, the kurtosis, of both; None where no bound is known. Upwards, groups whose mean exceeds t are counted, of probability at
    most 1/t (Markov), and v / (v + (t-1)^2) with v = (fourth - 1)/m (Cantelli). Downwards, E exp(-a w) <= 1 - (1 -
    exp(-a f))/f for w >= 0 with E w = 1 and E w^2 = f, so that P(mean <= s) <= exp(-n KL(s/f, 1/f)): nothing is known where
    the kurtosis is not, as rare events that a sample misses may hold any part of a variance.
    """

    def chance(t: float, m: int) -> float:
        spread = math.inf if fourth is None else max(0.0, fourth - 1) / m
        return min(1 / t, 1.0 if math.isinf(spread) else spread / (spread + (t - 1) ** 2))

    tails = [
        _counted(int(np.sum(means >= t)), k, chance(t, m)) for m, k, means in _groups(above) for t in RATIOS
    ]
    tail = min(1.0, 2 * len(tails) * min(tails)) if tails else 1.0
    if fourth is None:
        return tail
    return min(1.0, tail, 2 * _too_little(below, max(1.0, fourth)))


def _too_little(squares: Floats, fourth: float) -> float:
    from scipy.special import xlogy

    s, q = float(squares.mean()) / fourth, 1 / fourth
    if s >= q:
        return 1.0
    divergence = float(xlogy(s, s / q)) + (float(xlogy(1 - s, (1 - s) / (1 - q))) if q < 1 else math.inf)
    return math.exp(-len(squares) * divergence)


def _groups(values: Floats) -> list[tuple[int, int, Floats]]:
    """(m, k, means of k groups of m values); surplus values are in no group."""
    split = []
    for k in GROUPS:
        m = len(values) // k
        if m:
            split.append((m, k, values[: k * m].reshape(k, m).mean(axis=1)))
    return split


def _counted(count: int, groups: int, chance: float) -> float:
    """P(N >= count) for binomial N."""
    from scipy.special import bdtrc

    return 1.0 if count == 0 else float(bdtrc(count - 1, groups, chance))


@dataclass(frozen=True)
class Nulls:
    """The components of one look: the deviation of each, its standard error, and its p-value; arrays of shape (m,).

    `degrees` are the degrees of freedom of Student's t for an estimated error (inf for a known one); an error that is not finite
    means that the resolution of the component is unknown. `bounds` are probabilities that hold for every law with the known
    moments. If they are given, only they reject, and `p_values` only request more chains; without them the p-values reject.
    """

    labels: tuple[str, ...]
    deviations: Floats
    errors: Floats
    p_values: Floats
    degrees: Floats
    bounds: Floats | None = None

    @classmethod
    def of(
        cls, label: str, deviation: float, error: float, p_value: float, degrees: float = math.inf
    ) -> Nulls:
        """One component."""
        return cls((label,), *(np.array([float(x)]) for x in (deviation, error, p_value, degrees)))

    def bounded(self, *chances: float) -> Nulls:
        """The components with a bound of the probability of each."""
        return replace(self, bounds=np.array(chances, dtype=np.float64))

    @classmethod
    def joined(cls, *parts: Nulls) -> Nulls:
        """The components of all parts. Raises `UserError` for labels that repeat and for p-values that are none."""
        labels = tuple(label for part in parts for label in part.labels)
        names = ("deviations", "errors", "p_values", "degrees")
        bounds = None
        if any(part.bounds is not None for part in parts):
            bounds = np.concatenate([part.p_values if part.bounds is None else part.bounds for part in parts])
        joined = cls(labels, *(np.concatenate([getattr(part, name) for part in parts]) for name in names))
        joined = replace(joined, bounds=bounds)
        if len(set(labels)) < len(labels):
            raise UserError(f"labels={list(labels)}: expected a name of its own for each component")
        return joined

    def __post_init__(self) -> None:
        bad = [i for i, p in enumerate(self.p_values) if not 0 <= p <= 1]
        if bad or not self.labels:
            given = f"{self.labels[bad[0]]}: p={self.p_values[bad[0]]}" if bad else "no component"
            raise UserError(
                f"{given}; expected values that are finite, and a chance between 0 and 1 for each"
            )

    @property
    def smallest(self) -> float:
        """The smallest p-value after Bonferroni's correction; it may exceed 1."""
        return len(self.labels) * float(self.p_values.min())

    @property
    def smallest_bound(self) -> float:
        """The smallest bound, or the smallest p-value where there are no bounds."""
        return self.smallest if self.bounds is None else len(self.labels) * float(self.bounds.min())

    @property
    def fewest_degrees(self) -> float:
        """The degrees of freedom of the coarsest error."""
        return float(self.degrees.min())


def mean_null(
    label: str,
    values: ArrayLike,
    expected: float,
    *,
    variance: float | None = None,
    bound: float = 0.0,
) -> Nulls:
    """Is the mean of independent values (n,) `expected`, known to +- `bound`? Normal with a known variance, else Student's t.

    Values with skewness g give a mean whose tails differ on the two sides: P(T <= x) = Phi(x) + g (2 x^2 + 1) phi(x) / (6
    sqrt n), and -g (x^2 - 1) phi(x) / (6 sqrt n) where the variance is known. The monotone transformation that undoes this (Hall
    1992, equation (5); its counterpart for a known variance) gives a second p-value; the larger of the two is taken. Neither is
    a bound where values are not normal: `bounded_nulls` gives one.
    """
    table = _values(label, values)
    n = len(table)
    gap = float(table.mean()) - expected
    gap = math.copysign(max(0.0, abs(gap) - bound), gap)
    error = math.sqrt((float(table.var(ddof=1)) if variance is None else variance) / n)
    degrees = math.inf if variance is not None else n - 1
    if error == 0:
        return Nulls.of(label, gap, 0.0, 0.0 if gap else 1.0, degrees)
    z = gap / error
    return Nulls.of(
        label,
        gap,
        error,
        max(_two_sided(z, degrees), _two_sided(_unskewed(z, table, variance), degrees)),
        degrees,
    )


def variance_null(
    label: str, values: ArrayLike, expected: float, *, bound: float = 0.0, kurtosis: float | None = None
) -> Nulls:
    """Is the variance of independent values (n,) `expected`, known to +- `bound`? The deviation is log(s^2 / expected).

    n s^2 / sigma^2 is taken for chi-square with its degrees of freedom matched to the kurtosis kappa of the values: the
    variance of s^2 is sigma^4 (2 / (n-1) + kappa / n), so nu = 2 / (2 / (n-1) + kappa / n) (Box 1953). `kurtosis` is kappa
    where it is known, as a sample may miss the rare events that make it large: the larger p-value counts, and the smaller
    nu for the error. A bound only where values are normal: `bounded_nulls` gives one. Raises `UserError` for an expected
    variance that is not known to be positive.
    """
    from scipy.special import chdtr, chdtrc

    if not expected > bound:
        raise UserError(f"{label}: expected variance {expected} +- {bound}; expected a positive one")
    table = _values(label, values)
    n = len(table)
    known = [excess_kurtosis(table)] if kurtosis is None else [excess_kurtosis(table), kurtosis]
    matched = [2 / (2 / (n - 1) + max(0.0, kappa) / n) for kappa in known]
    sampled = float(table.var(ddof=1))
    # The nearest of the variances that may be expected.
    ratio = sampled / min(max(sampled, expected - bound), expected + bound)
    # A law with hardly any degrees is nearly all at 0: it makes moderate excesses unlikely, and so is never asked alone.
    tail = max(min(float(chdtr(nu, nu * ratio)), float(chdtrc(nu, nu * ratio))) for nu in matched)
    degrees = min(matched)
    deviation = math.log(ratio) if ratio else -math.inf
    return Nulls.of(label, deviation, math.sqrt(2 / degrees), min(1.0, 2 * tail), degrees)


def bounded_nulls(
    names: tuple[str, str],
    values: ArrayLike,
    mean: float,
    variance: float,
    *,
    mean_bound: float = 0.0,
    variance_bound: float = 0.0,
    kurtosis: float | None = None,
    most: float | None = None,
    normal: bool = False,
    quadratic: bool = False,
) -> Nulls:
    """Mean and variance of independent values (n,), both known, with bounds of the chance that hold for their law.

    The mean is in units of the standard deviation, the variance a log of a ratio. `kurtosis` is the excess where it is
    known, `most` a bound of it; with neither, no variance is too small. `normal`: the values are, and the p-values are exact.
    `quadratic`: they are polynomials of degree 2 at most in normal ones. See `tests.self_checks.nulls`.
    """
    table, unit = _values(names[0], values), math.sqrt(variance + variance_bound)
    centre = mean_null(names[0], table / unit, mean / unit, variance=1.0, bound=mean_bound / unit)
    spread = variance_null(names[1], table, variance, bound=variance_bound, kurtosis=kurtosis)
    if normal:
        return Nulls.joined(centre.bounded(*centre.p_values), spread.bounded(*spread.p_values))
    gaps = table - mean
    near = np.copysign(np.maximum(0.0, np.abs(gaps) - mean_bound), gaps) / unit
    least = math.sqrt(variance - variance_bound)
    far = (np.abs(gaps) + mean_bound) / least
    # Both have at most this fourth moment: |y| + e does in L^4, by Minkowski's inequality.
    fourth, excess = None, kurtosis if most is None else most
    if excess is not None:
        fourth = (((3 + max(0.0, excess)) ** 0.25 + mean_bound / least) * unit / least) ** 4
    tail = mean_tail(gaps / unit, bound=mean_bound / unit, quadratic=quadratic)
    return Nulls.joined(centre.bounded(tail), spread.bounded(variance_tail(near**2, far**2, fourth)))


def correlation_null(label: str, one: ArrayLike, other: ArrayLike) -> Nulls:
    """Are two samples (n,) of independent pairs uncorrelated? r sqrt((n-2) / (1-r^2)) against Student's t, n - 2 degrees.

    A bound only where one of the two is normal and independent of the other: large values of both at once spread r.
    """
    first, second = _values(label, one), _values(label, other)
    if first.shape != second.shape or len(first) < 3:
        raise UserError(f"{label}: {len(first)} and {len(second)} values; expected at least 3 pairs")
    first, second = first - first.mean(), second - second.mean()
    size = math.sqrt(float(first @ first) * float(second @ second))
    degrees = len(first) - 2
    if size == 0:
        raise UserError(f"{label}: values that are all the same; expected two samples that vary")
    r = max(-1.0, min(1.0, float(first @ second) / size))
    z = r * math.sqrt(degrees / (1 - r * r)) if abs(r) < 1 else math.copysign(math.inf, r)
    return Nulls.of(label, r, 1 / math.sqrt(degrees), _two_sided(z, degrees), degrees)


def excess_kurtosis(values: Floats) -> float:
    """m_4 / m_2^2 - 3 from central moments; 0 where nothing varies."""
    centred = values - values.mean()
    second = float(np.mean(centred**2))
    return float(np.mean(centred**4)) / second**2 - 3 if second else 0.0


def _two_sided(z: float, degrees: float) -> float:
    from scipy.special import ndtr, stdtr

    return float(min(1.0, 2 * (ndtr(-abs(z)) if math.isinf(degrees) else stdtr(degrees, -abs(z)))))


def _unskewed(z: float, table: Floats, variance: float | None) -> float:
    centred = table - table.mean()
    second = float(np.mean(centred**2))
    if second == 0:
        return z
    g = float(np.mean(centred**3)) / second**1.5 / math.sqrt(len(table))
    if variance is None:
        return z + g * z * z / 3 + g * g * z**3 / 27 + g / 6
    # z - g (z^2 - 1) / 6 with the cubic that keeps it monotone.
    return z - g * (z * z - 1) / 6 + g * g * z**3 / 108


def _values(label: str, values: ArrayLike) -> Floats:
    table = np.asarray(values, dtype=np.float64)
    if table.ndim != 1 or len(table) < 2 or not np.all(np.isfinite(table)):
        raise UserError(
            f"{label}: expected at least 2 finite values, one for each chain; shape {table.shape}"
        )
    return table
