"""Symmetric tensors of order 3 and 4 as n x n^(r-1) matrices, so that matrix products do all the work."""

from __future__ import annotations

import math
from collections.abc import Sequence

from flint import arb_mat

from sgverify.exact.ball import reshaped


def rotated(tensor: arb_mat) -> arb_mat:
    """The tensor with its first slot moved last: [i; j, k] becomes [j; k, i]."""
    # The transpose lists its entries as (j, ..., i), which in row-major order already is the rotated tensor.
    return reshaped(tensor.transpose(), tensor.nrows(), tensor.ncols())


def applied(tensor: arb_mat, factors: Sequence[arb_mat | None]) -> arb_mat:
    """(F_1 x F_2 x ... x F_r) applied to a tensor of order r, slot by slot; None is the identity."""
    for factor in factors:
        tensor = rotated(tensor if factor is None else factor * tensor)
    return tensor


def push(tensor: arb_mat, injection: arb_mat, order: int) -> arb_mat:
    """Cumulants of B g from those of g: q x q^(order-1) in, n x n^(order-1) out, with B of shape n x q."""
    n, q = injection.nrows(), injection.ncols()
    sizes = [q] * order
    for _ in range(order):
        moved = (injection * tensor).transpose()
        sizes = [*sizes[1:], n]
        tensor = reshaped(moved, sizes[0], math.prod(sizes[1:]))
    return tensor


def along(third: arb_mat, direction: arb_mat) -> arb_mat:
    """sum_i a_i kappa_ijk of a symmetric tensor of order 3 and an n x 1 direction a: n x n."""
    n = third.nrows()
    return reshaped(direction.transpose() * third, n, n)


def over(third: arb_mat, form: arb_mat) -> arb_mat:
    """sum_jk kappa_ijk E_jk of a symmetric tensor of order 3 and an n x n form E: n x 1."""
    n = third.nrows()
    return third * reshaped(form, n * n, 1)


def over_fourth(fourth: arb_mat, form: arb_mat) -> arb_mat:
    """sum_kl kappa_ijkl E_kl of a symmetric tensor of order 4 and an n x n form E: n x n."""
    n = fourth.nrows()
    return reshaped(reshaped(fourth, n * n, n * n) * reshaped(form, n * n, 1), n, n)
