"""Matrices of fractions that become matrices of balls only where a number has no fraction.

Polynomials in the precision matrix, turned into matrices of any of flint's kinds or of numpy.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from flint import arb, arb_mat, fmpq, fmpq_mat

from sgverify.exact.affine.carrier import AffineStep, Base, Polynomial
from sgverify.exact.numbers.ball import BALLS
from sgverify.exact.numbers.matrix_series import unit_matrix
from sgverify.schemes import exact


def rational_or_balls(rows: list[list[Any]]) -> Any:
    """A rational matrix if every entry is rational, else a matrix of balls."""
    if any(isinstance(x, arb) for row in rows for x in row):
        return arb_mat([[arb(x) for x in row] for row in rows])
    return fmpq_mat([[fmpq(x) for x in row] for row in rows])


def product(left: Any, right: Any) -> Any:
    """left right, in balls where left is."""
    return left * (right if isinstance(left, fmpq_mat) else arb_mat(right))


def scaled(matrix: Any, factor: Any) -> Any:
    """factor matrix, in balls where the factor is one."""
    return matrix * factor if isinstance(factor, fmpq) else arb_mat(matrix) * factor


def added(left: Any | None, right: Any) -> Any:
    """left + right of either kind; None stands for zero."""
    if left is None:
        return right
    if type(left) is not type(right):
        left, right = alike([left, right])
    return left + right


def nonzero(matrix: Any) -> bool:
    """Whether an entry is certainly not zero."""
    return any(not x.contains(0) if isinstance(x, arb) else x != 0 for x in matrix.entries())


def minus_identity(matrix: Any) -> Any:
    """matrix - I."""
    return matrix - unit_matrix(matrix.nrows(), type(matrix))


def alike(matrices: list[Any]) -> list[Any]:
    """All rational, or all balls."""
    if all(isinstance(m, fmpq_mat) for m in matrices):
        return matrices
    return [arb_mat(m) if isinstance(m, fmpq_mat) else m for m in matrices]


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
    """A coefficient of an affine step as a ball; the exact 0 stays as it is."""
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
            ball = isinstance(factor, arb) and not isinstance(power, arb_mat)
            total = added(total, arb_mat(power) * factor if ball else power * factor)
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
