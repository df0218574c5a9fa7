"""The moments of an affine chain are a larger affine chain without noise.

E (M x + xi)^a = sum_{b <= a} binom(a, b) E xi^b (M x)^(a - b) is linear in the monomials of x, so the column w of E x^a,
|a| <= degree, obeys w' = T w. The numbers are of any ring: balls, or polynomials in h over fractions or balls.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping, Sequence
from typing import Any

from flint import arb, arb_mat, arb_poly, fmpq_mat, fmpq_poly

from sgverify.exact.cumulants import MultiIndex, moments_from_cumulants, multi_indices, product, unit
from sgverify.exact.expansion import AffineSeries
from sgverify.exact.matrix_series import MatrixSeries


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
    # Beyond h^orders the coefficients are those of a truncated step: they are left out.
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
