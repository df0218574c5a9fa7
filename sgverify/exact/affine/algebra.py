"""Polynomials in the precision matrix, turned into matrices of any of flint's kinds or of numpy."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from flint import arb, arb_mat, fmpq_mat

from sgverify.exact.affine.carrier import AffineStep, Base, Polynomial
from sgverify.exact.affine.field import BALLS
from sgverify.exact.affine.matrices import total as plus
from sgverify.schemes import exact

Entry = Callable[[Any], Any]


def powers_of(precision: Any, identity: Any, count: int) -> list[Any]:
    """[I, P, P^2, ...], `count` of them."""
    powers = [identity]
    for _ in range(count - 1):
        powers.append(powers[-1] * precision)
    return powers


def longest(step: AffineStep) -> int:
    """The largest number of coefficients of any block: one more than the degree in P."""
    return max(len(polynomial) for row in step.rows.values() for polynomial in row.values())


def as_ball(value: Any) -> Any:
    """A coefficient of a reading as a ball, of an exact number too; 0 stays."""
    if isinstance(value, arb):
        return value
    return 0 if value == 0 else BALLS.number(exact(value))


def block(polynomial: Polynomial | None, powers: Sequence[Any], entry: Entry) -> Any | None:
    """sum_k entry(c_k) P^k, None for a block that is absent or zero."""
    total: Any | None = None
    for c, power in zip(polynomial or (), powers, strict=False):
        factor = entry(c)
        if not (isinstance(factor, int) and factor == 0):
            # An irrational coefficient is a ball, and the powers may be rational.
            ball = isinstance(factor, arb) and isinstance(power, fmpq_mat)
            total = plus(total, arb_mat(power) * factor if ball else power * factor)
    return total


def stacked(
    step: AffineStep,
    names: Sequence[str],
    columns: Sequence[Base],
    powers: Sequence[Any],
    entry: Entry,
    make: Callable[..., Any],
) -> Any:
    """The matrix whose (name, base) blocks are the step's; `make(rows)` builds the matrix from its entries."""
    dim = powers[0].nrows()
    rows = [[0] * (dim * len(columns)) for _ in range(dim * len(names))]
    for r, name in enumerate(names):
        for c, base in enumerate(columns):
            found = block(step.rows[name].get(base), powers, entry)
            if found is not None:
                for i in range(dim):
                    for j in range(dim):
                        rows[r * dim + i][c * dim + j] = found[i, j]
    return make(rows)
