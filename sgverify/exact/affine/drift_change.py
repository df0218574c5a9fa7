"""The limit of the stationary bias as h -> 0 under a biased gradient, as a power series in the gradient's bias delta.

The gradient P (v - mu) + g becomes P(delta) (v - mu(delta)) + g with P(delta) = P + delta P', r(delta) = P mu +
delta r' and mu(delta) = P(delta)^-1 r(delta). To first order in h one step is then M_1(delta), c_1(delta),
Q_1(delta), power series in delta, and the invariant law as h -> 0 is N(m(delta), S(delta)) with

    M_1(0) m_j = - c_j - sum_{i>=1} M_i m_{j-i},
    M_1(0) S_j + S_j M_1(0)^T = - Q_j - sum_{i>=1} (M_i S_{j-i} + S_{j-i} M_i^T),

all in fractions where the step is rational. Noise of the gradient enters the covariance at h^2 only.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

from flint import arb_mat, arb_poly, fmpq_mat, fmpq_poly

from sgverify.exact.affine.matrices import added, alike, product
from sgverify.exact.affine.model import Model
from sgverify.exact.affine.noise import GradientNoise
from sgverify.exact.affine.step_series import StepSeries
from sgverify.exact.chain.expansion import Expansion
from sgverify.exact.chain.lyapunov import ContinuousLyapunov
from sgverify.exact.numbers.cumulants import moments_from_cumulants
from sgverify.exact.rings.polynomials import to_fmpq, to_fraction
from sgverify.targets import Target

Matrix = Any


@dataclass(frozen=True)
class DriftChange:
    """P' (d x d) and r' (d x 1): the gradient changes by delta (P' theta - r')."""

    precision: fmpq_mat
    pull: fmpq_mat

    @classmethod
    def between(cls, target: Target, changed: Target) -> DriftChange:
        """The difference of the gradients of two Gaussian targets: that of `changed` at delta = 1."""
        (one, pull), (other, moved) = (_gradient(t) for t in (target, changed))
        return cls(other - one, moved - pull)

    @property
    def vanishes(self) -> bool:
        """Whether the gradient does not change."""
        return not any(entry != 0 for part in (self.precision, self.pull) for entry in part.entries())

    def at(self, theta: Sequence[Fraction]) -> tuple[Fraction, ...]:
        """P' theta - r', exactly. Shape (d,) -> (d,)."""
        column = fmpq_mat(len(theta), 1, [to_fmpq(value) for value in theta])
        found = (self.precision * column - self.pull).entries()
        return tuple(to_fraction(value) for value in found)


def limit_bias(model: Model, change: DriftChange, orders: int) -> Expansion:
    """c_0, c_1, ..., c_orders: lim_{h -> 0} of the stationary bias of `model`, in powers of delta.

    Any polynomial test function, any dimension. Raises `NotExpandableError` where the step has no expansion or its
    drift does not decay.
    """
    quiet = StepSeries(replace(model, noise=GradientNoise("full")), 1)
    _ = StepSeries(model, 1).gradients, quiet.affine  # refuse what has no expansion at h = 0
    maps, shifts, covariances = _leading(quiet, change, orders)
    mean, spread = _law(maps, shifts, covariances)
    rational = all(isinstance(part, fmpq_mat) for part in (*mean, *spread))
    poly = fmpq_poly if rational else arb_poly
    n = model.size

    def unit(*places: int) -> tuple[int, ...]:
        return tuple(places.count(i) for i in range(n))

    cumulants = {unit(i): poly([m[i, 0] for m in mean]) for i in range(n)}
    cumulants |= {unit(i, j): poly([s[i, j] for s in spread]) for i in range(n) for j in range(i, n)}
    phi = model.observable
    moments = moments_from_cumulants(cumulants, n, phi.degree, one=poly([1]))
    pad = n - phi.dim * len(phi.state)
    average = sum(
        (moments[(*powers, *([0] * pad))] * to_fmpq(c) for powers, c in phi.terms.items()),
        poly([0]) - to_fmpq(model.truth),
    )
    return Expansion(tuple(average[k] for k in range(orders + 1)))


def _leading(
    series: StepSeries, change: DriftChange, orders: int
) -> tuple[list[Matrix], list[Matrix], list[Matrix]]:
    """The coefficients of h of M - I, c and Q as power series in delta: s^2 of s = sqrt(h)."""
    target, names = series.model.target, list(series.model.scheme.state)
    precision, pull = _gradient(target)
    powers = _powers(precision, change.precision, series.highest, orders)
    inverse = precision.inv()
    centre: list[fmpq_mat] = []
    for j in range(orders + 1):
        right = pull if j == 0 else change.pull * int(j == 1) - change.precision * centre[j - 1]
        centre.append(inverse * right)
    ones = fmpq_mat(target.dim, 1, [1] * target.dim)
    maps = [series.blocks([("state", name) for name in names], 2, p) for p in powers]
    pulls = [series.blocks([("mean", 0)], 2, p) for p in powers]
    shifts = []
    for j, p in enumerate(powers):
        shift = product(series.blocks([("ones", 0)], 2, p), ones)
        for i in range(j + 1):
            shift = added(shift, product(pulls[i], centre[j - i]))
        shifts.append(shift)
    return alike(maps), alike(shifts), alike([series.covariance(2, p) for p in powers])


def _law(
    maps: Sequence[Matrix], shifts: Sequence[Matrix], covariances: Sequence[Matrix]
) -> tuple[list[Matrix], list[Matrix]]:
    if not all(isinstance(part, fmpq_mat) for part in (*maps, *shifts, *covariances)):
        maps, shifts, covariances = ([arb_mat(m) for m in part] for part in (maps, shifts, covariances))
    equation = ContinuousLyapunov(maps[0], (*maps[1:], *covariances))
    inverse = maps[0].inv()
    mean: list[Matrix] = []
    spread: list[Matrix] = []
    for j, (shift, covariance) in enumerate(zip(shifts, covariances, strict=True)):
        for i in range(1, j + 1):
            shift = shift + maps[i] * mean[j - i]
            moved = maps[i] * spread[j - i]
            covariance = covariance + moved + moved.transpose()
        mean.append(inverse * shift * -1)
        spread.append(equation.solve(covariance * -1))
    return mean, spread


def _powers(precision: fmpq_mat, change: fmpq_mat, highest: int, orders: int) -> list[list[fmpq_mat]]:
    """For each power of delta, its coefficients in I, P(delta), P(delta)^2, ..."""
    n = precision.nrows()
    unit = fmpq_mat(n, n, [int(i == j) for i in range(n) for j in range(n)])
    found = [[unit if j == 0 else unit * 0] for j in range(orders + 1)]
    for k in range(highest):
        for j in range(orders + 1):
            grown = found[j][k] * precision
            found[j].append(grown + found[j - 1][k] * change if j else grown)
    return found


def _gradient(target: Target) -> tuple[fmpq_mat, fmpq_mat]:
    """P and r of the gradient P theta - r."""
    precision = fmpq_mat([[to_fmpq(v) for v in row] for row in target.precision])
    mean = fmpq_mat(target.dim, 1, [to_fmpq(v) for v in target.mean])
    return precision, precision * mean
