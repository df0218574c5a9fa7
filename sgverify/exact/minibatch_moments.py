"""E g^2, E g^3, E g^4 of a gradient estimator on a data set in one dimension: polynomials in theta, exactly.

g is the estimate less the full gradient. Datum i pulls with H_i theta + y_i, so that g is linear in theta and E g^k
a polynomial of degree k at most: a constant where all data share one Hessian.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from math import comb

from flint import fmpq

from sgverify.configuration import GradientTable
from sgverify.exact.cumulants import moments_from_cumulants
from sgverify.exact.minibatch import with_replacement, without_replacement
from sgverify.exact.series.polynomials import to_fraction
from sgverify.schemes import exact
from sgverify.targets import Target

HIGHEST = 4

Moments = dict[int, list[Fraction]]
"""E g^k by k: the coefficients of 1, theta, theta^2, ..."""


def estimator_moments(table: GradientTable, target: Target) -> Moments | str:
    """E g^2, E g^3, E g^4 of the estimator in closed form, by cumulants; a sentence that says why where there are none."""
    estimator = table.estimator
    if not estimator.noisy:
        return {k: [Fraction(0)] for k in range(2, HIGHEST + 1)}
    if target.dim > 1:
        return "the target has more than one dimension"
    if table.clip is not None:
        return "clipped gradients are not linear in theta"
    if estimator.each_evaluation:
        # A covariance in one dimension is a number, however it is bracketed.
        value = table.covariance
        while isinstance(value, list):
            value = value[0]
        variance = Fraction(exact(value))
        return {2: [variance], 3: [Fraction(0)], 4: [3 * variance**2]}
    if not estimator.plain:
        return f"the noise of {table.kind!r} gradients depends on earlier steps"
    if not target.quadratic:
        return "the data's gradients are not polynomials in theta of degree one"
    rows = pulls(target)
    cumulants = (with_replacement if estimator.replaced else without_replacement)(
        rows, table.batch, order=HIGHEST
    ).cumulants
    width = len(rows[0])
    moments = moments_from_cumulants(dict(cumulants), width, HIGHEST, one=fmpq(1))
    found: Moments = {}
    for k in range(2, HIGHEST + 1):
        if width == 1:
            found[k] = [to_fraction(moments[(k,)])]
        else:
            found[k] = _trimmed([comb(k, j) * to_fraction(moments[(j, k - j)]) for j in range(k + 1)])
    return found


def pulls(target: Target) -> list[tuple[Fraction, ...]]:
    """(H_i, y_i) of each datum, N grad likelihood_i(theta) = H_i theta + y_i; (y_i,) alone where all H_i are the same."""
    if target.common_curvature:
        return [tuple(row) for row in target.data_gradients()]
    data = target.data_quadratics()
    return [
        (to_fraction(h), to_fraction(y))
        for (h,), (y,) in zip(data.hessians.tolist(), data.gradients.tolist(), strict=True)
    ]


def polynomial_text(coefficients: Sequence[Fraction]) -> str:
    """'13/5 - 2 theta + theta^2'; the number itself where it is constant."""
    shown = ""
    for power, value in enumerate(coefficients):
        if value == 0 and len(coefficients) > 1:
            continue
        name = {0: "", 1: "theta"}.get(power, f"theta^{power}")
        size = abs(value)
        text = name if size == 1 and name else f"{size} {name}".strip()
        sign = ("- " if value < 0 else "+ ") if shown else ("-" if value < 0 else "")
        shown += f"{' ' if shown else ''}{sign}{text}"
    return shown or "0"


def _trimmed(coefficients: list[Fraction]) -> list[Fraction]:
    while len(coefficients) > 1 and coefficients[-1] == 0:
        coefficients.pop()
    return coefficients
