"""Averages of polynomials from weighted draws, with control variates, and the error of each from independent scrambles.

With weights w proportional to exp(-U/T)/q, q the density of the fitted law, E f = E_q[w f]/E_q[w]. The draws are R independent
scrambles of one Sobol sequence, whose means are independent and identically distributed: their spread is the standard error
of an average, with R - 1 degrees of freedom. The functions c = div g - g . grad U/T have the average 0 under exp(-U/T) for smooth g
that grow polynomially (Stein's identity; Assaraf and Caffarel 1999, Mira, Solgi and Imparato 2013); for g linear in theta their
span contains each quadratic polynomial less its average where U is quadratic, so that only what is not Gaussian in the target
is left to chance.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np
from scipy import stats

from sgverify.errors import Unreached
from sgverify.samplers.importance.fitting import (
    FREEDOM,
    FittedLaw,
    TorchPotential,
    effective_share,
    fit_student,
)
from sgverify.targets.observable import Exponents
from sgverify.targets.target import Target

SCRAMBLES = 32
"""R, the independent scrambles: their spread tells a standard error within 13 %, 1/sqrt(2 (R - 1))."""

EACH = 1024
"""Draws of each scramble: on a target near a Gaussian the standard error of an average is about 1e-4 standard deviations."""

EFFECTIVE = 1024
"""The fewest effective draws: 32 for each scramble, from where the mean of a scramble is close to normal."""

CARRIERS = 256
"""The fewest draws that carry the variance, (sum r^2)^2 / sum r^4 over r = w (f - E f): the average then has a skewness below 1/16
and, of 8192 draws, the mean of a scramble has a kurtosis within 1/8 of a normal one's."""

EVALUATIONS = 4e8
"""The most data times draws: tens of seconds."""

_SEED = 1000
"""The seed of the first scramble; smaller ones belong to the fit."""

_ALONG, _SEGMENTS, _AGREE = 12, 64, 1e-4
"""Nodes of the integral of grad U along a segment from the mode to a draw, such segments, and how closely it is U's rise."""

_UNLIKELY = 1e-6
"""The chance that the averages of control variates whose true average is 0 are called different from 0."""

_QUADRATIC = 30
"""The largest dimension for control variates from all linear g: there are d + d (d + 1)/2 of them, beyond it d."""


@dataclass(frozen=True)
class EstimatedAverage:
    """E f, its standard error from `SCRAMBLES` - 1 degrees of freedom, and the standard deviation of f."""

    value: float
    standard_error: float
    spread: float


@dataclass(frozen=True, eq=False)
class WeightedDraws:
    """Draws of a fitted law, one scramble after another, with U/T and its gradient. Shapes (n, d), (n,), (n, d), n = R `EACH`."""

    fit: FittedLaw
    points: np.ndarray
    energies: np.ndarray
    gradients: np.ndarray

    @property
    def count(self) -> int:
        """The number of draws."""
        return len(self.points)

    @cached_property
    def weights(self) -> np.ndarray:
        """Importance weights with mean 1. Shape (n,)."""
        logs = self.fit.log_weights(self.points, self.energies)
        weights = np.exp(logs - logs.max())
        return np.asarray(weights / weights.mean())

    @cached_property
    def share(self) -> float:
        """The effective share of the draws, (sum w)^2 / (n sum w^2)."""
        return effective_share(self.fit.log_weights(self.points, self.energies))

    @property
    def provenance(self) -> dict[str, Any]:
        """The method in words and numbers, for a certificate."""
        law = self.fit.law
        return {
            "law": f"Student with {FREEDOM:g} degrees of freedom, fitted in {law.dim} dimensions",
            "draws": self.count,
            "scrambles": SCRAMBLES,
            "effective": self.share,
            "largest_weight": float(self.weights.max()),
            "control_variates": 0 if self.variates is None else self.variates.shape[1],
            "descents_without_another_mode": self.fit.descents,
        }

    def average(self, terms: Mapping[Exponents, Fraction]) -> EstimatedAverage:
        """E f for f = sum of terms[a] prod_i theta_i^(a_i), an exponent for each coordinate.

        Raises `Unreached` where the tails of weights or of weighted values are too heavy for a standard error.
        """
        values = np.zeros(self.count)
        for exponents, coefficient in terms.items():
            powers = [
                self.points[:, i] ** power for i, power in enumerate(exponents[: self.fit.law.dim]) if power
            ]
            values += float(coefficient) * np.prod(powers, axis=0) if powers else float(coefficient)
        return self.average_of(values)

    def average_of(self, values: np.ndarray) -> EstimatedAverage:
        """The same for a function by its values at the draws. Shape (n,)."""
        weights = self.weights
        if self.share * self.count < EFFECTIVE:
            raise Unreached(
                f"of {self.count} draws of the fitted Student law {self.share * self.count:.0f} are effective, and {EFFECTIVE} are "
                "needed"
            )
        plain = float(weights @ values) / self.count
        away = values - plain
        spread = math.sqrt(float(weights @ away**2) / self.count)
        left = away if self.variates is None else away - self._explained(away)
        for what in (away, left):
            self._refuse_heavy(weights * what, spread)
        mean, error = self._of_scrambles(left)
        # The weights are exact to the rounding of the energies.
        rounding = 2.0**-52 * float(np.abs(self.energies[np.isfinite(self.energies)]).max(initial=1.0))
        return EstimatedAverage(plain + mean, math.hypot(error, rounding * spread), spread)

    def _of_scrambles(self, values: np.ndarray) -> tuple[float, float]:
        """E f and its standard error, by the law of a ratio of means: the spread of the scrambles' means of w (f - E f)."""
        mean = float(self.weights @ values) / self.count
        means = (self.weights * (values - mean)).reshape(SCRAMBLES, EACH).mean(1)
        return mean, float(means.std(ddof=1)) / math.sqrt(SCRAMBLES)

    def _explained(self, away: np.ndarray) -> np.ndarray:
        """The combination of control variates closest to f - E f under the target; coefficients come from the other scrambles.

        Shape (n,). Those of one half of the scrambles are fitted on the other half, so that the means stay unbiased.
        """
        assert self.variates is not None
        roots = np.sqrt(self.weights)
        found, middle = np.empty_like(away), SCRAMBLES // 2 * EACH
        for fitted, used in (
            (slice(None, middle), slice(middle, None)),
            (slice(middle, None), slice(None, middle)),
        ):
            columns = np.column_stack([self.variates[fitted], np.ones(middle)]) * roots[fitted, None]
            best = np.linalg.lstsq(columns, away[fitted] * roots[fitted], rcond=None)[0]
            found[used] = self.variates[used] @ best[:-1]
        return found

    @cached_property
    def variates(self) -> np.ndarray | None:
        """Functions of the average 0 under the target, shape (n, k); None where autograd's gradient is not that of U.

        In y = root^-1 (theta - mean), with G the gradient of U/T by y: -G_i, and (i = j) - (y_j G_i + y_i G_j)/2 for i <= j.
        """
        law = self.fit.law
        if not np.isfinite(self.energies).all() or not _is_gradient(self.fit, self.points):
            # Beyond an edge of the support, or at a jump of U, Stein's identity has boundary terms.
            return None
        y, slopes = law.whitened(self.points), self.gradients @ law.root
        columns = [-slopes]
        if law.dim <= _QUADRATIC:
            first, second = np.triu_indices(law.dim)
            products = y[:, first] * slopes[:, second]
            products += y[:, second] * slopes[:, first]
            columns.append((first == second) - products / 2)
        found = np.concatenate(columns, axis=1)
        if 4 * found.shape[1] > self.count or not np.isfinite(found).all():
            return None
        means = (self.weights[:, None] * found).reshape(SCRAMBLES, EACH, -1).mean(1)
        bound = stats.t.isf(_UNLIKELY / (2 * found.shape[1]), SCRAMBLES - 1)
        apart = np.abs(means.mean(0)) > bound * means.std(0, ddof=1) / math.sqrt(SCRAMBLES)
        return None if apart.any() else found

    def _refuse_heavy(self, parts: np.ndarray, spread: float) -> None:
        """Raise `Unreached` where few of the parts r of an average carry its variance. Shape (n,)."""
        squares = (parts / (spread or 1.0)) ** 2
        carriers = float(squares.sum() ** 2 / (squares**2).sum()) if squares.any() else self.count
        if carriers < CARRIERS:
            raise Unreached(
                f"{carriers:.0f} of {self.count} draws of the fitted Student law carry the variance of the average, and "
                f"{CARRIERS} are needed for a standard error"
            )


def draw_weighted(target: Target, temperature: float) -> WeightedDraws:
    """`EACH` draws of each scramble, weighted, of the law that is fitted to exp(-U/T).

    Raises `Unreached`, with the reason, where no law fits, or where there are too many data.
    """
    data = TorchPotential(target, temperature).data
    if SCRAMBLES * EACH * data > EVALUATIONS:
        raise Unreached(
            f"{SCRAMBLES * EACH} draws would evaluate {data} data each, more than {EVALUATIONS:.0e} in all"
        )
    fit = fit_student(target, temperature)
    points = np.concatenate([fit.law.draws(EACH, _SEED + number) for number in range(SCRAMBLES)])
    return WeightedDraws(fit, points, *fit.potential.with_gradients(points))


def _is_gradient(fit: FittedLaw, points: np.ndarray) -> bool:
    """Does grad U/T, integrated along segments from the mode to draws, give the rise of U/T?

    It does not where U jumps, or where a user's own derivative is wrong.
    """
    ends = points[:: max(1, len(points) // _SEGMENTS)][:_SEGMENTS]
    nodes, shares = np.polynomial.legendre.leggauss(_ALONG)
    places = (1 + nodes) / 2
    away = ends - fit.mode
    along = (fit.mode + places[:, None, None] * away).reshape(-1, away.shape[1])
    slopes = fit.potential.with_gradients(along)[1].reshape(_ALONG, *away.shape)
    rises = np.einsum("k,knd,nd->n", shares / 2, slopes, away)
    due = fit.potential.values(ends) - fit.lowest
    return bool((np.abs(rises - due) <= _AGREE * (1 + np.abs(due))).all())
