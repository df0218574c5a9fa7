"""Noise that is added, fresh in every step: the moments of a step are those of an affine map (`lifted`).

The moments of an affine chain are a larger affine chain without noise.

E (M x + xi)^a = sum_{b <= a} binom(a, b) E xi^b (M x)^(a - b) is linear in the monomials of x, so the column w of E x^a,
|a| <= degree, obeys w' = T w. The numbers are of any ring: balls, or polynomials in h over fractions or balls.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import flint
from flint import arb, arb_mat, arb_poly, fmpq_mat, fmpq_poly

from sgverify.exact.affine.model import Model, StepSize
from sgverify.exact.affine.noise import joint_cumulants
from sgverify.exact.affine.step_series import StepSeries
from sgverify.exact.chain.expansion import EXPANSION_BITS, ORDERS, AffineSeries
from sgverify.exact.numbers.cumulants import MultiIndex, moments_from_cumulants, multi_indices, product, unit
from sgverify.exact.numbers.matrix_series import MatrixSeries
from sgverify.exact.recursion.period import RepeatedPeriod, RunningSum, inner_block


def lifted(map_: arb_mat, shift: arb_mat, cumulants: Mapping[MultiIndex, Any], degree: int) -> arb_mat:
    """T of X' = map X + shift + xi; `cumulants` are the joint ones of xi of orders 2 and up, missing ones zero."""
    n = map_.nrows()
    noise = {**cumulants, **{unit(n, i): shift[i, 0] for i in range(n)}}
    return arb_mat(_rows(map_.tolist(), moments_from_cumulants(noise, n, degree, one=arb(1)), degree))


def lifted_series(
    series: AffineSeries, higher_cumulants: Mapping[MultiIndex, Sequence[Any]], degree: int
) -> MatrixSeries:
    """T in powers of h; `higher_cumulants` are the coefficients of h^1, h^2, ... of those of orders 3 and up."""
    rational = isinstance(series.map[0], fmpq_mat)
    rational = rational and not any(
        isinstance(x, arb) for values in higher_cumulants.values() for x in values
    )
    poly, matrix = (fmpq_poly, fmpq_mat) if rational else (arb_poly, arb_mat)
    n = series.map[0].nrows()

    def entry(matrices: Sequence[Any], i: int, j: int, constant: int = 0) -> Any:
        return poly([constant, *(m[i, j] for m in matrices)])

    cumulants = {unit(n, i): entry(series.shift, i, 0) for i in range(n)}
    for i, j in itertools.combinations_with_replacement(range(n), 2):
        cumulants[unit(n, i, j)] = entry(series.covariance, i, j)
    cumulants |= {key: poly([0, *values]) for key, values in higher_cumulants.items()}
    noise = moments_from_cumulants(cumulants, n, degree, one=poly([1]))
    map_ = [[entry(series.map, i, j, int(i == j)) for j in range(n)] for i in range(n)]
    rows = _rows(map_, noise, degree)
    # Coefficients beyond h^orders would be those of a truncated step, and are left out.
    return MatrixSeries([matrix([[x[k] for x in row] for row in rows]) for k in range(series.orders + 1)])


def _rows(map_: Sequence[Sequence[Any]], noise: Mapping[MultiIndex, Any], degree: int) -> list[list[Any]]:
    """T by rows, over the ring of its entries: noise are the raw moments of c + xi to `degree`."""
    n = len(map_)
    one = noise[(0,) * n]
    columns = multi_indices(n, 0, degree)
    images: dict[MultiIndex, dict[MultiIndex, Any]] = {(0,) * n: {(0,) * n: one}}
    for powers in columns[1:]:
        lead = next(i for i, power in enumerate(powers) if power)
        smaller = images[tuple(p - (i == lead) for i, p in enumerate(powers))]
        images[powers] = product(smaller, {unit(n, j): map_[lead][j] for j in range(n)})
    rows = []
    for powers in columns:
        total: dict[MultiIndex, Any] = {}
        for below in itertools.product(*(range(p + 1) for p in powers)):
            weight = math.prod(math.comb(p, b) for p, b in zip(powers, below, strict=True)) * noise[below]
            for key, value in images[tuple(p - b for p, b in zip(powers, below, strict=True))].items():
                total[key] = total[key] + weight * value if key in total else weight * value
        rows.append([total.get(key, 0 * one) for key in columns])
    return rows


LARGEST = 2
"""The largest number of coordinates of a chain: theta and p in one dimension, or theta alone in two."""

HIGHEST_DEGREE = 4
"""The highest degree of a test function; degrees up to 2 need no such moments, and are possible in any dimension."""


@dataclass(frozen=True)
class StateIndependentNoise:
    """Draws and minibatch noise whose laws do not depend on the state; in two dimensions draws alone."""

    model: Model
    steps = None

    def period(self, step: StepSize, asked: RunningSum) -> RepeatedPeriod:
        """See `Randomness`."""
        parts, noise = self.model.parts(step()), self.model.noise
        sources: list[tuple[Callable[[int], Any], arb_mat]] = [(law.cumulant, b) for law, b in parts.draws]
        if noise.noisy:
            sources += [(noise.scalar_cumulant, block) for block in parts.injections]
        cumulants = joint_cumulants(sources, asked.highest)
        operator = lifted(parts.map, parts.shift, cumulants, asked.highest)
        return RepeatedPeriod(asked.joined(operator, self.model.size))

    def period_series(self, degree: int) -> RepeatedPeriod:
        """See `Randomness`."""
        series = StepSeries(self.model, ORDERS)
        return RepeatedPeriod(lifted_series(series.affine, series.cumulants(degree), degree))

    def unreached(self, degree: int) -> str | None:
        """See `Randomness`."""
        named = f"the test function {self.model.observable} has degree {degree}"
        if self.model.size > LARGEST:
            return f"{named}; beyond one dimension at most 2 is reached"
        if self.model.target.dim > 1 and self.model.noise.noisy:
            return f"{named}; beyond one dimension at most 2 is reached where the gradient is noisy"
        return f"{named}; at most {HIGHEST_DEGREE} is reached" if degree > HIGHEST_DEGREE else None

    def why_no_square(self, degree: int) -> str | None:
        """See `Randomness`."""
        return None


def telescopes(model: Model, degree: int, phi: list[Any]) -> bool:
    """Whether sigma_0^2 vanishes for the test function with these coefficients, of the monomials of degree 1 and up.

    sigma_0^2 = E[grad psi^T Q_1 grad psi], psi solving L psi = phi_0 - phi, is zero exactly if psi does not
    depend on a coordinate that is driven by noise: the time average of theta^2 p = d(theta^3/3)/dt telescopes.
    """
    with flint.ctx.workprec(EXPANSION_BITS):
        generator = inner_block(StateIndependentNoise(model).period_series(degree).step.terms[1])
        psi = generator.transpose().solve(type(generator)(len(phi), 1, phi))
        noise = StepSeries(model, 1).affine.covariance[0]
        return not any(
            powers[i] and noise[i, i] != 0 and psi[k, 0] != 0
            for k, powers in enumerate(multi_indices(model.size, 1, degree))
            for i in range(model.size)
        )
