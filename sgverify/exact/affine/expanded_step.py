"""Whether a step at a given h equals its power series at h = 0: coefficients in balls against their series, term by term.

Proofs, and rates from expansions, concern h -> 0. exp(-1/h) has a zero series, and min(h, a) is h in its series and a beyond
h = a: at a configured step size such a definition computes something else than its expansion.

The limit of the stationary bias as h -> 0 under a biased gradient, as a power series in the gradient's bias delta.

The gradient P (v - mu) + g becomes P(delta) (v - mu(delta)) + g with P(delta) = P + delta P', r(delta) = P mu +
delta r' and mu(delta) = P(delta)^-1 r(delta). To first order in h one step is then M_1(delta), c_1(delta),
Q_1(delta), power series in delta, and the invariant law as h -> 0 is N(m(delta), S(delta)) with

    M_1(0) m_j = - c_j - sum_{i>=1} M_i m_{j-i},
    M_1(0) S_j + S_j M_1(0)^T = - Q_j - sum_{i>=1} (M_i S_{j-i} + S_{j-i} M_i^T),

all in fractions where the step is rational. Noise of the gradient enters the covariance at h^2 only.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

import flint
import numpy as np
from flint import arb, arb_mat, arb_poly, fmpq_mat, fmpq_poly

from sgverify.errors import Unreached
from sgverify.exact.affine.carrier import AffineStep, read_affine
from sgverify.exact.affine.field import Scalar, coefficient, constant, number_ring, step_size
from sgverify.exact.affine.matrices import added, alike, product
from sgverify.exact.affine.model import Model
from sgverify.exact.affine.noise import GradientNoise
from sgverify.exact.affine.step_series import StepSeries
from sgverify.exact.chain.expansion import Expansion, steady_means
from sgverify.exact.chain.lyapunov import ContinuousLyapunov
from sgverify.exact.numbers import ball
from sgverify.exact.numbers.ball import BALLS
from sgverify.exact.numbers.matrix_series import (
    moments_from_cumulants,
    ones_column,
    rational_column,
    rational_matrix,
    unit_matrix,
)
from sgverify.exact.rings.polynomials import to_fmpq, to_fraction
from sgverify.exact.rings.power_series import EXACT, TruncatedSeries
from sgverify.exact.rings.ring import Ring
from sgverify.schemes import Scheme, exact
from sgverify.targets import Target

TERMS = 52
"""The number of powers of s = sqrt(h) that are kept: up to h^25, beyond which the series of exp(-4) has a rest of 1e-10."""

WINDOW = 8
"""Powers of s over which the fall of the terms is measured: h^4, so that series in h^2 alone fall in every window."""

BITS = 256

ROUNDING = 2.0**-53
"""The relative precision of float64 in a coefficient: no run sees a smaller difference."""


@dataclass(frozen=True)
class SeriesDifference:
    """A coefficient `what` whose `value` at step size `step` differs from the sum `series` of its power series."""

    step: float
    what: str
    value: float
    series: float

    def __str__(self) -> str:
        return f"at h={self.step:g} {self.what} is {self.value:.6g}, where its power series at h = 0 has {self.series:.6g}"


class ExpandedStep:
    """One step of a scheme on quadratic potentials, its coefficients expanded. `parameters` are T, D, ... as numbers.

    Raises `Unreached` or `NotExpandableError` where the step has no coefficients or no series.
    """

    def __init__(self, scheme: Scheme, parameters: Mapping[str, Fraction]) -> None:
        self._scheme = scheme
        self._given = {name: parameters[name] for name in scheme.parameters}
        self._ring: Ring = number_ring(TERMS)
        given: dict[str, Any] = {name: constant(self._ring, value) for name, value in self._given.items()}
        read = read_affine(scheme, {"h": step_size(self._ring), **given})
        with flint.ctx.workprec(BITS):
            self._series = [
                (name, base, power, *self._coefficients(expanded))
                for name, blocks in read.rows.items()
                for base, coefficients in blocks.items()
                for power, expanded in enumerate(coefficients)
            ]

    def contracts(self, step: float) -> bool:
        """Whether the step by its series contracts at curvature 1; True where a series cannot be summed."""
        names = list(self._scheme.state)
        matrix = np.zeros((len(names), len(names)))
        with flint.ctx.workprec(BITS):
            s = ball.number(exact(step)).sqrt()
            for name, base, _, expanded, whole in self._series:
                if base[0] == "state":
                    summed = _summed(expanded, whole, s)
                    if summed is None:
                        return True
                    matrix[names.index(name), names.index(base[1])] += float(summed[0].mid())
        return bool(np.abs(np.linalg.eigvals(matrix)).max() < 1)

    def difference(self, step: float) -> SeriesDifference | None:
        """The largest difference at this h that the remainder of the series cannot explain; None where there is none."""
        with flint.ctx.workprec(BITS):
            h = ball.number(exact(step))
            given = {name: Scalar(BALLS, ball.number(value)) for name, value in self._given.items()}
            try:
                read = read_affine(self._scheme, {"h": Scalar(BALLS, h), **given})
            except (Unreached, ZeroDivisionError):
                return None
            found = [
                (apart, name, value, series)
                for name, value, series, rest in self._pairs(read, h.sqrt())
                if (apart := abs(value - series)) > rest + ROUNDING * abs(value)
            ]
            if not found:
                return None
            _, name, value, series = max(found, key=lambda item: float(item[0].mid()))
            return SeriesDifference(step, name, float(value.mid()), float(series.mid()))

    def _pairs(self, read: AffineStep, s: arb) -> Sequence[tuple[str, arb, arb, arb]]:
        """(name, value, value of the series, bound of its remainder) of each coefficient of which the series is summed."""
        found: list[tuple[str, arb, arb, arb]] = []
        for name, base, power, expanded, whole in self._series:
            at = read.rows[name].get(base, ())
            here: Any = at[power] if power < len(at) else 0
            value = here if isinstance(here, arb) else BALLS.number(exact(here))
            summed = _summed(expanded, whole, s)
            if summed is not None and value.is_finite():
                found.append((f"{_named(base, power)} in {name}", value, *summed))
        return found

    def _coefficients(self, series: Any) -> tuple[list[arb], bool]:
        """The known coefficients of s^0, s^1, ..., and whether the series ends with them."""
        if not isinstance(series, TruncatedSeries):
            return [BALLS.number(exact(series))], True
        whole = series.order >= EXACT
        last = max(series.terms, default=0) + 1 if whole else min(series.order, TERMS)
        return [arb(coefficient(self._ring, series, k)) for k in range(last)], whole


def _summed(coefficients: Sequence[arb], whole: bool, s: arb) -> tuple[arb, arb] | None:
    """The sum of a series and a bound of what was cut off; None where its terms do not fall fast enough to tell.

    The terms of a function that is analytic in a disc around 0 beyond s fall like a geometric series, times a cosine
    where its singularities are complex. r is the slower of the falls of the largest term over the last three
    windows of WINDOW powers: the rest is at most WINDOW/(1 - r) of the last window's if it goes on so, and ten times
    that is allowed for a fall that slows down.
    """
    terms = [c * s**k for k, c in enumerate(coefficients)]
    total = sum(terms, arb(0))
    if whole:
        return total, arb(0)
    # A coefficient that may be 0, by the intervals of floats, falls no further than their rounding.
    sizes = [0.0 if term.contains(0) else float(abs(term).mid()) for term in terms]
    if len(sizes) < 3 * WINDOW:
        return None
    late, before, early = (max(sizes[len(sizes) - (k + 1) * WINDOW :][:WINDOW]) for k in range(3))
    if late == before == early == 0:
        return total, arb(0)
    if not before or not early:
        return None
    fall = max(late / before, before / early)
    return (total, arb(10 * WINDOW * before * fall / (1 - fall))) if fall < 0.5 else None


def _named(base: Any, power: int) -> str:
    kind, which = base
    potential = {0: "", 1: " times the Hessian"}.get(power, f" times the Hessian^{power}")
    text = {"state": f"{which}", "noise": f"draw {which}", "gradient": f"gradient noise {which}"}.get(
        kind, kind
    )
    return f"the coefficient of {text}{potential}"


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
        found = (self.precision * rational_column(theta) - self.pull).entries()
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
    ones = ones_column(target.dim)
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
    spread: list[Matrix] = []
    for j, covariance in enumerate(covariances):
        for i in range(1, j + 1):
            moved = maps[i] * spread[j - i]
            covariance = covariance + moved + moved.transpose()
        spread.append(equation.solve(covariance * -1))
    return steady_means(maps, shifts), spread


def _powers(precision: fmpq_mat, change: fmpq_mat, highest: int, orders: int) -> list[list[fmpq_mat]]:
    """For each power of delta, its coefficients in I, P(delta), P(delta)^2, ..."""
    unit = unit_matrix(precision.nrows())
    found = [[unit if j == 0 else unit * 0] for j in range(orders + 1)]
    for k in range(highest):
        for j in range(orders + 1):
            grown = found[j][k] * precision
            found[j].append(grown + found[j - 1][k] * change if j else grown)
    return found


def _gradient(target: Target) -> tuple[fmpq_mat, fmpq_mat]:
    """P and r of the gradient P theta - r."""
    precision = rational_matrix(target.precision)
    return precision, precision * rational_column(target.mean)
