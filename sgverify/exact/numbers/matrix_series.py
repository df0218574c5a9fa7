"""Matrices of exact numbers, and sums along a recursion by doubling.

Lyapunov equations of a step M(h) = I + h M_1 + ... that tends to the identity, as power series in h.

Joint moments and cumulants by multi-index, over any exact or ball arithmetic.

A multi-index (a_1, ..., a_d) names E x_1^a_1 ... x_d^a_d, or the joint cumulant of that many copies of each.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Mapping, Sequence
from itertools import pairwise
from typing import Any

from flint import arb, fmpq_mat

from sgverify.exact.chain.lyapunov import ContinuousLyapunov, Matrix, transposed
from sgverify.exact.rings.polynomials import to_fmpq


def rational_matrix(rows: Iterable[Iterable[Any]]) -> fmpq_mat:
    """A matrix of exact numbers."""
    return fmpq_mat([[to_fmpq(value) for value in row] for row in rows])


def rational_column(values: Iterable[Any]) -> fmpq_mat:
    """A column of exact numbers."""
    return rational_matrix([value] for value in values)


def ones_column(size: int) -> fmpq_mat:
    """A column of ones."""
    return fmpq_mat(size, 1, [1] * size)


def unit_matrix(size: int, kind: Any = fmpq_mat) -> Any:
    """The identity, of one of flint's kinds."""
    return kind(size, size, [int(i == j) for i in range(size) for j in range(size)])


def power(matrix: Any, steps: int) -> Any:
    """matrix^steps by squaring, steps >= 1."""
    found = matrix
    for bit in bin(steps)[3:]:
        found = found * found
        if bit == "1":
            found = matrix * found
    return found


def sum_along(matrix: Any, inner: Any, steps: int) -> Any:
    """sum_{i=1..steps} M^i X M^iT, doubling the number of terms, steps >= 1."""
    first = matrix * inner * matrix.transpose()
    reached, total = matrix, first
    for bit in bin(steps)[3:]:
        total = total + reached * total * reached.transpose()
        reached = reached * reached
        if bit == "1":
            total = first + matrix * total * matrix.transpose()
            reached = matrix * reached
    return total


def block_matrix(rows: Sequence[Sequence[Any]]) -> Any:
    """The matrix of these blocks."""
    lines = [zip(*(block.tolist() for block in row), strict=True) for row in rows]
    height, width = sum(row[0].nrows() for row in rows), sum(block.ncols() for block in rows[0])
    return type(rows[0][0])(
        height, width, [x for line in lines for parts in line for part in parts for x in part]
    )


def blocks_of(matrix: Any, heights: Sequence[int], widths: Sequence[int]) -> list[list[Any]]:
    """The blocks of a matrix, of these heights and widths."""
    entries, kind = matrix.tolist(), type(matrix)
    return [
        [
            kind(bottom - top, right - left, [x for row in entries[top:bottom] for x in row[left:right]])
            for left, right in _spans(widths)
        ]
        for top, bottom in _spans(heights)
    ]


def _spans(sizes: Sequence[int]) -> list[tuple[int, int]]:
    ends = [0]
    for size in sizes:
        ends.append(ends[-1] + size)
    return list(pairwise(ends))


def lyapunov_series(maps: Sequence[Matrix], sources: list[Matrix]) -> list[Matrix]:
    """S_k with sum_{i+j+l=k+1, (i,j) != 0} M_i S_l M_j^T = - sources_k."""
    equation = ContinuousLyapunov(maps[0], (*maps[1:], *sources))
    backs = transposed(maps)
    # Of most steps the map is a polynomial of low degree in h, and a product with 0 costs what any other does.
    acting = [not all(entry == 0 for entry in matrix.entries()) for matrix in maps]
    found: list[Matrix] = []
    for k, source in enumerate(sources):
        right = source
        for l, known in enumerate(found):
            total = k + 1 - l
            if acting[total - 1]:
                right = right + maps[total - 1] * known + known * backs[total - 1]
            for i in range(1, total):
                if acting[i - 1] and acting[total - i - 1]:
                    right = right + maps[i - 1] * known * backs[total - i - 1]
        found.append(equation.solve(right * -1))
    return found


MultiIndex = tuple[int, ...]


def multi_indices(dim: int, lowest: int, highest: int) -> list[MultiIndex]:
    """Every multi-index of `dim` entries with a sum from `lowest` to `highest`, by sum."""
    return [
        tuple(slots.count(i) for i in range(dim))
        for order in range(lowest, highest + 1)
        for slots in itertools.combinations_with_replacement(range(dim), order)
    ]


def unit(size: int, *places: int) -> MultiIndex:
    """The multi-index of the product of the variables at these places."""
    return tuple(places.count(k) for k in range(size))


def product(left: Mapping[MultiIndex, Any], right: Mapping[MultiIndex, Any]) -> dict[MultiIndex, Any]:
    """The product of two polynomials, given by their coefficients."""
    total: dict[MultiIndex, Any] = {}
    for (a, x), (b, y) in itertools.product(left.items(), right.items()):
        key = tuple(i + j for i, j in zip(a, b, strict=True))
        total[key] = total[key] + x * y if key in total else x * y
    return total


def gaussian_moments(mean: Any, spread: Any | None, degree: int) -> list[Any]:
    """E x^a of degree 0 to `degree` in balls, for N(mean, spread), a point where the covariance is None."""
    n = mean.nrows()
    cumulants = {unit(n, i): mean[i, 0] for i in range(n)}
    if spread is not None:
        cumulants |= {unit(n, i, j): spread[i, j] for i in range(n) for j in range(i, n)}
    return list(moments_from_cumulants(cumulants, n, degree, one=arb(1)).values())


def moments_from_cumulants(
    cumulants: Mapping[MultiIndex, Any], dim: int, order: int, *, one: Any
) -> dict[MultiIndex, Any]:
    """Joint moments to `order`: m_{a + e_i} = sum_{b <= a} binom(a, b) kappa_{b + e_i} m_{a - b}, m_0 =
    `one`.

    A cumulant that is missing is zero.
    """
    moments = {(0,) * dim: one}
    for index in multi_indices(dim, 1, order):
        lead, rest = _peeled(index)
        moments[index] = sum(
            (
                count * cumulants[below] * moments[above]
                for count, below, above in _pairs(lead, rest)
                if below in cumulants
            ),
            0 * one,
        )
    return moments


def cumulants_from_moments(moments: Mapping[MultiIndex, Any], dim: int, order: int) -> dict[MultiIndex, Any]:
    """Joint cumulants of orders 1 to `order`, the same recursion solved for its last term."""
    cumulants: dict[MultiIndex, Any] = {}
    for index in multi_indices(dim, 1, order):
        lead, rest = _peeled(index)
        value = moments[index]
        for count, below, above in _pairs(lead, rest):
            if below != index:
                value = value - count * cumulants[below] * moments[above]
        cumulants[index] = value
    return cumulants


def _peeled(index: MultiIndex) -> tuple[int, MultiIndex]:
    """The first variable i of a multi-index, and the multi-index less e_i."""
    lead = next(i for i, power in enumerate(index) if power)
    return lead, (*index[:lead], index[lead] - 1, *index[lead + 1 :])


def _pairs(lead: int, rest: MultiIndex) -> list[tuple[int, MultiIndex, MultiIndex]]:
    """All (binom(rest, b), b + e_lead, rest - b) with b <= rest."""
    found = []
    for below in itertools.product(*(range(power + 1) for power in rest)):
        count = math.prod(math.comb(r, b) for r, b in zip(rest, below, strict=True))
        with_lead = (*below[:lead], below[lead] + 1, *below[lead + 1 :])
        found.append((count, with_lead, tuple(r - b for r, b in zip(rest, below, strict=True))))
    return found
