"""The eigenvectors of a symmetric matrix: an orthogonal matrix that is enclosed in balls, and what is left off the diagonal.

For any real V with r = |I - V^T V|_F <= 1/2 the matrix W = V (V^T V)^(-1/2) is orthogonal. The eigenvalues x of V^T V lie
in [1 - r, 1 + r], where |x^(-1/2) - 1| <= sqrt(2) |x - 1|, and |V|_2 <= sqrt(3/2), so that |W - V|_F <= sqrt(3) r <= 2 r:
balls of the radius 2 r around the entries of V enclose W. V itself comes from LAPACK, and is improved by Newton steps
(Ogita and Aishima 2018, Iterative refinement for symmetric eigenvalue decomposition, algorithm 1); no claim of theirs is
used, since W^T P W is computed in balls and shows how good V is.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

import flint
import numpy as np
from flint import arb, arb_mat

from sgverify.exact.numbers.ball import PrecisionLostError, frobenius, identity, matrix, widened

_IDLE = 5
"""Newton steps in a row that may bring no improvement, as those that turn the vectors of close eigenvalues do."""

_DOUBLINGS = 4

_APART = 256
"""Eigenvalues closer than so many times the off-diagonal are turned among themselves: a Newton step would not converge."""

_SPARED = 24
"""Bits that roundings of the products may cost: the off-diagonal is small when it is below 2^-(bits - 24) of the matrix."""


@dataclass(frozen=True)
class Eigenbasis:
    """P = W (diag(values) + E) W^T with W orthogonal, E symmetric and |E|_F <= defect.

    `vectors` encloses W entry by entry; `values` are exact numbers near the eigenvalues of P. Equal and close eigenvalues
    are allowed: E then keeps what their eigenvectors share.
    """

    vectors: arb_mat
    values: tuple[arb, ...]
    defect: arb

    @classmethod
    def of(cls, precision: Sequence[Sequence[Fraction]]) -> Eigenbasis:
        """The basis of a symmetric matrix of exact numbers, at flint's working precision."""
        exact = matrix(precision)
        vectors = _improved(exact, _from_lapack(precision))
        off = frobenius(identity(exact.nrows()) - vectors.transpose() * vectors)
        if not off <= arb(0.5):
            raise PrecisionLostError("eigenvectors that are not orthogonal to the working precision")
        orthogonal = widened(vectors, 2 * off)
        turned = orthogonal.transpose() * (exact * orthogonal)
        values = tuple(turned[i, i].mid() for i in range(turned.nrows()))
        return cls(orthogonal, values, frobenius(turned - _diagonal(values)))


def _from_lapack(precision: Sequence[Sequence[Fraction]]) -> arb_mat:
    rows = np.array([[float(entry) for entry in row] for row in precision])
    return arb_mat(np.linalg.eigh(rows)[1].tolist())


def _improved(exact: arb_mat, vectors: arb_mat) -> arb_mat:
    """Newton steps on midpoints until the off-diagonal is negligible, or they help no more."""
    n, size = exact.nrows(), frobenius(exact)
    enough = arb(2) ** -(flint.ctx.prec - _SPARED) * size
    best, smallest, idle = vectors, arb("inf"), 0
    while idle < _IDLE:
        back = vectors.transpose()
        gram, turned = (back * vectors).mid(), (back * (exact * vectors)).mid()
        values = [(turned[i, i] / gram[i, i]).mid() for i in range(n)]
        left = (frobenius(turned - _diagonal(values)) + size * frobenius(identity(n) - gram)).mid()
        if left < smallest / 2:
            best, smallest, idle = vectors, left, 0
        else:
            idle += 1
        if left <= enough:
            return vectors
        rows = turned.tolist()
        apart = _APART * left
        vectors = vectors + vectors * _correction(rows, gram.tolist(), values, apart)
        vectors = (vectors * _turns(rows, values, apart, enough)).mid()
    return best


def _turns(rows: list[list[arb]], values: Sequence[arb], apart: arb, enough: arb) -> arb_mat:
    """The rotations within groups of close eigenvalues, by LAPACK on what is left of P there, enlarged to size 1."""
    n, turned = len(values), False
    turns = np.eye(n)
    order = sorted(range(n), key=lambda i: float(values[i]))
    groups: list[list[int]] = []
    for before, i in zip([None, *order], order, strict=False):
        if before is not None and values[i] - values[before] <= apart:
            groups[-1].append(i)
        else:
            groups.append([i])
    for group in groups:
        middle = values[group[0]]
        left = [[rows[i][j] - (middle if i == j else 0) for j in group] for i in group]
        largest = max((abs(entry) for row in left for entry in row), key=float)
        off = max((abs(rows[i][j]) for i in group for j in group if i != j), key=float, default=arb(0))
        if off > enough:
            turned = True
            block = np.array([[float((entry / largest).mid()) for entry in row] for row in left])
            turns[np.ix_(group, group)] = np.linalg.eigh((block + block.T) / 2)[1]
    found = arb_mat(turns.tolist())
    # Rotations of LAPACK are orthogonal to 53 bits; each step of Newton and Schulz doubles them.
    for _ in range(_DOUBLINGS if turned else 0):
        found = (found * (3 * identity(n) - found.transpose() * found) / 2).mid()
    return found


def _correction(turned: list[list[arb]], gram: list[list[arb]], values: Sequence[arb], apart: arb) -> arb_mat:
    """The Newton step: pairs of eigenvalues that are no further apart than `apart` are made orthogonal alone."""
    n = len(values)
    mids = [value.mid() for value in values]
    rows = []
    for i in range(n):
        row = []
        for j in range(n):
            skew, gap = (1 if i == j else 0) - gram[i][j], mids[j] - mids[i]
            far = i != j and abs(gap) > apart
            row.append((turned[i][j] + mids[j] * skew) / gap if far else skew / 2)
        rows.append(row)
    return arb_mat(rows).mid()


def _diagonal(values: Sequence[arb]) -> arb_mat:
    n = len(values)
    return arb_mat(n, n, [values[i] if i == j else 0 for i in range(n) for j in range(n)])


__all__ = ["Eigenbasis"]
