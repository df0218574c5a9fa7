"""Sampled points: signed values with their covariance and error bounds.

The error rate of a whole call, and what each of its sampled verdicts gets of it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import ArrayLike, NDArray

from sgverify.errors import UserError

CALL = 0.01
"""The chance of any false violation among the sampled verdicts of one call, where the configuration leaves `level` open. A
rate that conforms is false with no larger chance; a point null that conforms says what it would have found."""

RATES = 25
"""Sampled rates among which the level of a call is divided. A call that samples is one `rate`, of a printed card and of those that
correct it (a test counts them): `verify` draws no chains, and the cases of a report are calls of their own."""

POINT_NULLS = 100
"""Point nulls that one call may ask for at most."""

SPARED = 0.01
"""The part of the level that the point nulls share; a deterministic truth lets them be far stricter than rates."""


@dataclass(frozen=True)
class LevelShare:
    """The share of a call's level that one verdict gets: by Bonferroni's inequality the shares sum to the level at most."""

    call: float

    def __post_init__(self) -> None:
        if not 0 < self.call < 0.5:
            raise UserError(f"level={self.call}: expected a chance between 0 and 1/2, e.g. {CALL}")

    @property
    def rate(self) -> float:
        """For one rate, all its forbidden orders, looks and sweeps together."""
        return (1 - SPARED) * self.call / RATES

    @property
    def point_null(self) -> float:
        """For one point null, all its components and looks together."""
        return SPARED * self.call / POINT_NULLS


def chance_of_any(levels: Sequence[float]) -> float:
    """The chance that any of these verdicts is a false violation, at most: the sum of their levels."""
    return min(1.0, float(sum(levels)))


Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Sample:
    """Signed means at J points, the covariance of their errors, and how that covariance was estimated.

    `values` (J,), `covariance` (J, J) of the values themselves (not of single chains). `chains` is the number of
    independent chains behind every value, None where the covariance is known without sampling; `coupled` says that
    one chain contributes to all points, so that the covariance is a full estimate with chains - 1 degrees of freedom.
    `looks`: the most that are taken at the growing sample, for which the interval of an exponent allows.
    """

    values: Floats
    covariance: Floats
    chains: int | None
    coupled: bool
    looks: int = 1

    @classmethod
    def of_chains(cls, errors: ArrayLike, *, coupled: bool, looks: int = 1) -> Sample:
        """The sample behind single-chain errors, shape (J, chains), signed; `coupled` if chain c is one noise at all J.

        Raises `UserError` for fewer than two chains and for values that are not finite.
        """
        table = np.asarray(errors, dtype=np.float64)
        if table.ndim != 2 or table.shape[1] < 2:
            raise UserError(
                f"errors: shape {table.shape}; expected (points, chains) with at least 2 chains, whose spread is the error"
            )
        chains = table.shape[1]
        covariance = np.cov(table) if coupled else np.diag(table.var(axis=1, ddof=1))
        found = cls.of(table.mean(axis=1), np.atleast_2d(covariance) / chains, chains)
        return replace(found, looks=looks)

    @classmethod
    def of(
        cls, values: ArrayLike, errors: ArrayLike, chains: int | None = None, coupled: bool | None = None
    ) -> Sample:
        """The sample with these means and `errors`: standard errors (J,) of independent points, or a covariance (J, J).

        Where `coupled` is open, a covariance that is not diagonal is read as estimated from chains that run at all points;
        of independent points with an error in common (`shifted`) it has to be said that they are not. Raises
        `UserError` for values that are not finite, errors that are negative, and shapes that do not match.
        """
        means, spread = (np.asarray(given, dtype=np.float64) for given in (values, errors))
        if spread.ndim == 1 and np.any(spread < 0):
            raise UserError(f"standard errors: {spread.tolist()}; expected none below 0")
        matrix = np.diag(spread**2) if spread.ndim == 1 else spread
        if means.ndim != 1 or matrix.shape != (len(means), len(means)):
            raise UserError(
                f"values of shape {means.shape} with errors of shape {spread.shape}; expected (J,) with (J,) or (J, J)"
            )
        bad = [i for i in range(len(means)) if not (np.isfinite(means[i]) and np.all(np.isfinite(matrix[i])))]
        if bad:
            raise UserError(
                f"values[{bad[0]}]={means[bad[0]]}: expected a finite value with a finite error; "
                "leave out the points at which the chains diverged"
            )
        if coupled is None:
            coupled = bool(np.any(matrix != np.diag(np.diagonal(matrix))))
        return cls(means, matrix, chains, coupled)

    def shifted(self, error: float) -> Sample:
        """The sample whose points share one more error of this size, such as that of a reference average.

        It correlates the points and couples no chains: the degrees of freedom stay what they are.
        """
        return replace(self, covariance=self.covariance + error**2)

    def take(self, points: Sequence[int] | slice) -> Sample:
        """The sample at some of the points, in that order."""
        index = np.arange(len(self.values))[points]
        return replace(self, values=self.values[index], covariance=self.covariance[np.ix_(index, index)])

    @property
    def vanishes(self) -> bool:
        """Every value is zero and no chain strayed from it."""
        return not (np.any(self.values) or np.any(np.diagonal(self.covariance)))
