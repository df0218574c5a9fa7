"""Matrices of fractions that become matrices of balls only where a number has no fraction."""

from __future__ import annotations

from typing import Any

from flint import arb, arb_mat, fmpq, fmpq_mat


def rational_or_balls(rows: list[list[Any]]) -> Any:
    """A rational matrix if every entry is rational, else a matrix of balls."""
    if any(isinstance(x, arb) for row in rows for x in row):
        return arb_mat([[arb(x) for x in row] for row in rows])
    return fmpq_mat([[fmpq(x) for x in row] for row in rows])


def product(left: Any, right: fmpq_mat) -> Any:
    """left right, in balls where left is."""
    return left * (right if isinstance(left, fmpq_mat) else arb_mat(right))


def scaled(matrix: fmpq_mat, factor: Any) -> Any:
    """factor matrix, in balls where the factor is one."""
    return matrix * factor if isinstance(factor, fmpq) else arb_mat(matrix) * factor


def total(left: Any | None, right: Any) -> Any:
    """left + right of either kind; None is nothing yet."""
    if left is None:
        return right
    if type(left) is not type(right):
        left, right = arb_mat(left), arb_mat(right)
    return left + right


def nonzero(matrix: Any) -> bool:
    """Whether an entry is certainly not zero."""
    return any(x != 0 if isinstance(x, fmpq) else not x.contains(0) for x in matrix.entries())


def minus_identity(matrix: Any) -> Any:
    """matrix - I."""
    n = matrix.nrows()
    return matrix - type(matrix)(n, n, [int(i == j) for i in range(n) for j in range(n)])


def alike(matrices: list[Any]) -> list[Any]:
    """All rational, or all balls."""
    if all(isinstance(m, fmpq_mat) for m in matrices):
        return matrices
    return [arb_mat(m) if isinstance(m, fmpq_mat) else m for m in matrices]
