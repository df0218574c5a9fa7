"""Least squares of signed values: on given terms, with exact small-sample corrections, and of logarithms on a line.

`fit_terms` decides; the regression describes its points and is never a verdict.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np

from sgverify.errors import UserError
from sgverify.rates.sample import Floats, Sample


@dataclass(frozen=True)
class Fit:
    """Estimates of the terms' contributions, their covariance, and how well the terms describe the points.

    `estimates` (p,) are in units of the columns; `degrees` are those of a t-statistic of any contrast (inf: normal);
    `p_value` is that of the lack of fit.
    """

    estimates: Floats
    covariance: Floats
    degrees: float
    p_value: float

    def quantile(self, tail: float) -> float:
        """The number of standard deviations that leaves `tail` on one side."""
        from scipy.special import ndtri, stdtrit

        return float(-ndtri(tail) if np.isinf(self.degrees) else -stdtrit(self.degrees, tail))


def fit_terms(sample: Sample, columns: Floats, *, shrink_last: float | None = None) -> Fit:
    """values = columns @ c + noise with the noise's covariance, c by generalised least squares.

    `columns` (J, p). `shrink_last` = s adds the pseudo-observation c_(p-1) = 0 +- s. The scale is fixed: the residuals test
    the terms and never widen the errors. Chains estimate the covariance S / n, and that is allowed for:

    - coupled points: with q = (rows) - p residual directions the estimate is that of an analysis of covariance, so
      its variance is (n-1)/(n-1-q) (1 + Q/(n-1)) times the naive one and its t has n-1-q degrees of freedom, and
      Q (n-q)/(q (n-1)) is F(q, n-q) distributed (Rao 1959, Khatri 1966, Grizzle and Allen 1969);
    - independent points: n-1 degrees of freedom, the least that Satterthwaite's formula can give, and Q/q against
      F(q, n-1).

    Raises `UserError` for a covariance that is singular.
    """
    from scipy.special import chdtrc, fdtrc
    from statsmodels.regression.linear_model import GLS

    points, terms = columns.shape
    values, covariance = sample.values, sample.covariance
    if shrink_last is not None:
        columns = np.vstack([columns, np.eye(terms)[-1]])
        values = np.append(values, 0.0)
        covariance = np.pad(covariance, (0, 1))
        covariance[-1, -1] = shrink_last**2
    residual = len(values) - terms
    n = sample.chains
    if n is not None and n - 1 - residual < 1:
        raise UserError(
            f"chains={n}: expected at least {residual + 2} for errors estimated at {points} points; run more chains"
        )
    # Whitening by a Cholesky factor needs numbers of one size: errors at small steps may be tiny.
    size = np.sqrt(np.diagonal(covariance))
    if np.any(size <= 0):
        raise UserError(
            f"standard error 0 at point {int(np.argmin(size))}: expected a positive one; an exact value is no sample"
        )
    try:
        np.linalg.cholesky(covariance / np.outer(size, size))
    except np.linalg.LinAlgError:
        raise UserError(
            "covariance: singular, so some points are copies of others; give distinct points or more chains"
        ) from None
    result = GLS(
        values / size, columns / size[:, None], sigma=covariance / np.outer(size, size), hasconst=False
    ).fit(cov_type="fixed scale")
    spread = np.asarray(result.cov_params())
    statistic = float(result.ssr)
    degrees = np.inf
    if n is not None:
        degrees = n - 1 - residual if sample.coupled else n - 1
        if sample.coupled:
            spread = spread * ((n - 1) / (n - 1 - residual)) * (1 + statistic / (n - 1))
    # The chance of a larger residual sum of squares in so many directions, were they noise alone.
    if residual == 0:
        p_value = 1.0
    elif n is None:
        p_value = float(chdtrc(residual, statistic))
    else:
        rest = n - residual if sample.coupled else n - 1
        p_value = float(fdtrc(residual, rest, statistic * rest / (residual * (n - 1))))
    return Fit(np.asarray(result.params), spread, float(degrees), p_value)


TOLD = 3.0
"""Standard errors that a value lies from 0, at least, to have a logarithm: below, its sign is not certain and the logarithm of
its size is mostly that of the noise."""

FEWEST = 3
"""Points: through two there is always a line, and its residuals say nothing."""

TAIL = 0.025
"""On each side of the interval: 95 % in all."""

STOPPED = 1.25
"""How many times more often an interval misses at the end of several looks: a sample that stops growing for its values may
stop where the interval misses on one side and be looked at again where it misses on the other. Then the misses of a last
look on both sides come on top of those of an early one on one side, 1.5 times as many; where the stop has nothing to do with
the points, it is 1. Divided by the middle of the two, the level leads to a coverage from 94 to 96 %."""


@dataclass(frozen=True)
class Regression:
    """A line through log|value| against log x, or why there is none.

    `exponent` is its slope; sampled, [`low`, `high`] holds with 95 % the slope that the same regression has on the values
    without noise, and `residuals` are in standard errors. Of exact points [`low`, `high`] is the range of the slopes between
    neighbours, which is no confidence interval, and `residuals` are logarithms of a ratio. `used` are indices, and `entering` the
    factors with which the logarithms there enter the slope; `left_out` says by index why a point was not used. `lack_of_fit`: the
    chance of such residuals, were the values a power of x; None if exact.
    """

    exponent: float | None = None
    low: float | None = None
    high: float | None = None
    used: tuple[int, ...] = ()
    entering: tuple[float, ...] = ()
    residuals: tuple[float, ...] = ()
    left_out: tuple[tuple[int, str], ...] = ()
    lack_of_fit: float | None = None
    why: str = ""

    def certificate(self, places: Sequence[float], name: str) -> dict[str, Any]:
        """The numbers, as a certificate holds them; `name` is that of the abscissa."""
        left_out = {f"{name}={places[i]:.6g}": why for i, why in self.left_out}
        if self.exponent is None:
            return {"why_none": self.why, "left_out": left_out}
        return {
            "exponent": self.exponent,
            "low": self.low,
            "high": self.high,
            "interval": "range of local slopes" if self.lack_of_fit is None else "95 % confidence",
            name: [float(places[i]) for i in self.used],
            "residuals": list(self.residuals),
            "residuals_are": "logarithms" if self.lack_of_fit is None else "standard errors",
            "left_out": left_out,
            **({} if self.lack_of_fit is None else {"lack_of_fit": self.lack_of_fit}),
        }


def regress(abscissae: Floats, sample: Sample) -> Regression:
    """Weighted least squares of log|b| on log x, over the points of one sign that are more than `TOLD` standard errors from 0.

    The standard error of a logarithm is s/|b|, and the weights are (b/s)^2 - `TOLD`^2: a point does not come in or go by the
    hair that chance adds to it, which would bend the slope. They are the same where points are coupled: the slope is then a mean
    of those between pairs, so that it lies among them whatever b is. Generalised least squares need not, where b is no power.
    The interval is that of a linear function of the logarithms, with their whole covariance; after the last of several
    looks its level is divided by `STOPPED`.
    """
    from scipy.special import ndtri, stdtrit

    spreads = np.sqrt(np.diagonal(sample.covariance))
    used, left_out = [], []
    for i, (value, spread) in enumerate(zip(sample.values.tolist(), spreads.tolist(), strict=True)):
        if abs(value) > TOLD * spread:
            used.append(i)
        else:
            far = f"{abs(value) / spread:.1f} standard errors from 0" if spread else "0"
            left_out.append((i, far))
    why = _why_none(sample.values, used, f"more than {TOLD:.0f} standard errors from 0")
    if why:
        return Regression(left_out=tuple(left_out), why=why)
    kept = sample.take(used)
    if not np.all(np.diagonal(kept.covariance) > 0):
        return Regression(left_out=tuple(left_out), why="a value without an error is no sample")
    relative = kept.covariance / np.outer(kept.values, kept.values)
    variances = np.diagonal(relative)
    # E (log(1 + e) - 0)^2 = v + 11/4 v^2 + O(v^3) for e ~ N(0, v): the variance 5/2 v^2, and the square of the bias -v/2.
    covariance = relative + np.diag(2.75 * variances**2)
    logs = Sample(np.log(np.abs(kept.values)), covariance, sample.chains, sample.coupled)
    columns, slope, entering, residuals = _line(abscissae[used], logs.values, 1 / variances - TOLD**2)
    tail = TAIL if sample.looks == 1 else TAIL / STOPPED
    width = -float(ndtri(tail) if sample.chains is None else stdtrit(sample.chains - 1, tail))
    reach = width * math.sqrt(float(entering @ covariance @ entering))
    try:
        lack_of_fit = fit_terms(logs, columns).p_value
    except UserError:
        lack_of_fit = 1.0  # points that are copies of others, or too few chains: no test is possible
    return Regression(
        slope,
        slope - reach,
        slope + reach,
        tuple(used),
        tuple(entering.tolist()),
        tuple((residuals / np.sqrt(np.diagonal(covariance))).tolist()),
        tuple(left_out),
        lack_of_fit,
    )


def regress_exact(abscissae: Floats, values: Floats, bounds: Floats, *, fewest: int = FEWEST) -> Regression:
    """Least squares of log|b| on log x over exact values of one sign, each known to +- its bound; the range of the local slopes.

    `abscissae`, `values` and `bounds` (J,), sorted by abscissa. A local slope is that between neighbours among the points used;
    the range allows for the bounds, and `fewest` is the number of points that are asked for.
    """
    used = [i for i in range(len(values)) if abs(values[i]) > bounds[i]]
    left_out = tuple(
        (i, "exactly 0" if not values[i] else "0 within its error bound")
        for i in range(len(values))
        if i not in used
    )
    why = _why_none(values, used, "told from 0", fewest)
    if why:
        return Regression(left_out=left_out, why=why)
    sizes, errors = np.abs(values[used]), bounds[used]
    logs = np.log(sizes)
    _, slope, entering, residuals = _line(abscissae[used], logs, np.ones(len(used)))
    ends = [
        math.log(upper / lower) / math.log(abscissae[a] / abscissae[b])
        for (a, x, e), (b, y, f) in pairwise(zip(used, sizes, errors, strict=True))
        for upper, lower in ((x - e, y + f), (x + e, y - f))
    ]
    return Regression(
        slope,
        min(ends),
        max(ends),
        tuple(used),
        tuple(entering.tolist()),
        tuple(residuals.tolist()),
        left_out,
    )


def _line(abscissae: Floats, logs: Floats, weights: Floats) -> tuple[Floats, float, Floats, Floats]:
    """Weighted least squares of `logs`: the columns, the slope, the factors with which logs enter it, and the residuals."""
    from statsmodels.regression.linear_model import WLS

    # Centred, so that the two columns are nearly orthogonal whatever the units of x.
    x = np.log(abscissae)
    columns = np.stack([np.ones_like(x), x - x.mean()], axis=1)
    fitted = WLS(logs, columns, weights=weights).fit()
    # params = pinv(W^(1/2) X) W^(1/2) y
    entering = np.asarray(fitted.model.pinv_wexog)[1] * np.sqrt(weights)
    return columns, float(fitted.params[1]), entering, np.asarray(fitted.resid)


def _why_none(values: Floats, used: Sequence[int], told: str, fewest: int = FEWEST) -> str:
    if len(used) < fewest:
        return f"{len(used)} of {len(values)} points {'is' if len(used) == 1 else 'are'} {told}, and a fit needs {fewest}"
    if len({values[i] > 0 for i in used}) > 1:
        return "the values change their sign"
    return ""
