"""Generalised least squares of signed values on given terms, with exact small-sample corrections."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

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


def fit_terms(sample: Sample, columns: Floats, *, shrink: Sequence[float | None] | None = None) -> Fit:
    """values = columns @ c + noise with the noise's covariance, c by generalised least squares.

    `columns` (J, p). `shrink[k]` = s adds the pseudo-observation c_k = 0 +- s. The scale is fixed: the residuals test
    the terms and never widen the errors. Chains estimate the covariance S / n, and that is allowed for:

    - coupled points: with q = (rows) - p residual directions the estimate is that of an analysis of covariance, so
      its variance is (n-1)/(n-1-q) (1 + Q/(n-1)) times the naive one and its t has n-1-q degrees of freedom, and
      Q (n-q)/(q (n-1)) is F(q, n-q) distributed (Rao 1959, Khatri 1966, Grizzle and Allen 1969);
    - independent points: n-1 degrees of freedom, the least that Satterthwaite's formula can give, and Q/q against
      F(q, n-1).

    Raises `UserError` for a covariance that is singular.
    """
    from statsmodels.regression.linear_model import GLS

    points, terms = columns.shape
    values, covariance = sample.values, sample.covariance
    for k, scale in enumerate(shrink or ()):
        if scale is not None:
            columns = np.vstack([columns, np.eye(terms)[k]])
            values = np.append(values, 0.0)
            covariance = np.block(
                [
                    [covariance, np.zeros((len(covariance), 1))],
                    [np.zeros((1, len(covariance))), np.array([[scale**2]])],
                ]
            )
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
    p_value = _tail(statistic, residual, sample)
    return Fit(np.asarray(result.params), spread, float(degrees), p_value)


def chance_of_zero(sample: Sample) -> float:
    """The p-value of all values being zero: chi-square, Hotelling's T^2 or F as for the lack of fit."""
    statistic = float(sample.values @ np.linalg.solve(sample.covariance, sample.values))
    return _tail(statistic, len(sample.values), sample)


def chance_of_rest(sample: Sample, columns: Floats) -> float:
    """The p-value that the residual of the columns' best fit is noise: that of `fit_terms`, without its estimates.

    1 where the covariance is singular, so that no test is possible.
    """
    size = np.sqrt(np.diagonal(sample.covariance))
    try:
        root = np.linalg.cholesky(sample.covariance / np.outer(size, size))
    except np.linalg.LinAlgError:
        return 1.0
    values, terms = (np.linalg.solve(root, (table.T / size).T) for table in (sample.values, columns))
    best = np.linalg.lstsq(terms, values, rcond=None)[0]
    return _tail(float(np.sum((values - terms @ best) ** 2)), len(values) - columns.shape[1], sample)


def _tail(statistic: float, residual: int, sample: Sample) -> float:
    """The chance of a larger residual sum of squares in so many directions, were they noise alone."""
    from scipy.special import chdtrc, fdtrc

    n = sample.chains
    if residual == 0:
        return 1.0
    if n is None:
        return float(chdtrc(residual, statistic))
    if sample.coupled:
        return float(fdtrc(residual, n - residual, statistic * (n - residual) / (residual * (n - 1))))
    return float(fdtrc(residual, n - 1, statistic / residual))
