"""The eigenvectors of a symmetric matrix in balls: orthogonal, near, and honest about what they leave off the diagonal."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

import flint
import numpy as np
import pytest
from flint import arb, arb_mat, fmpq, fmpq_mat

from sgverify.exact.numbers.ball import Eigenbasis, frobenius, identity, matrix


def turned(eigenvalues: Sequence[Fraction]) -> list[list[Fraction]]:
    """A dense matrix of fractions with these eigenvalues, turned by a Householder reflection."""
    n = len(eigenvalues)
    v = [Fraction(i + 1) for i in range(n)]
    length = sum(x * x for x in v)
    h = [[Fraction(int(i == j)) - 2 * v[i] * v[j] / length for j in range(n)] for i in range(n)]
    return [[sum(h[i][k] * eigenvalues[k] * h[j][k] for k in range(n)) for j in range(n)] for i in range(n)]


SPECTRA = {
    "apart": [Fraction(k * k + 1, 7) for k in range(9)],
    "equal": [Fraction(1)] * 6 + [Fraction(3)] * 3,
    "1e-16 apart": [1 + Fraction(k, 10**16) for k in range(7)] + [Fraction(3), Fraction(4)],
    "one": [Fraction(2)],
}


@pytest.mark.parametrize("spectrum", SPECTRA)
def test_the_vectors_are_orthogonal_and_leave_what_they_say(spectrum: str) -> None:
    """P - W diag W^T is as small as stated for every W in the balls; the eigenvalues are known exactly."""
    rows = turned(SPECTRA[spectrum])
    with flint.ctx.workprec(192):
        basis = Eigenbasis.of(rows)
        w, n = basis.vectors, len(rows)
        off = identity(n) - w.transpose() * w
        assert all(entry.contains(0) for entry in off.entries())
        assert float(basis.defect) < 1e-30
        middle = arb_mat(n, n, [basis.values[i] if i == j else 0 for i in range(n) for j in range(n)])
        assert frobenius(matrix(rows) - w * middle * w.transpose()) < 1e-28
        found = sorted(float(v) for v in basis.values)
    assert np.allclose(found, sorted(map(float, SPECTRA[spectrum])), rtol=1e-14)


def test_the_defect_tells_of_a_matrix_whose_vectors_are_others() -> None:
    """A matrix that is changed by 1e-20 has another basis: that of the first leaves 1e-20 off the diagonal."""
    rows = turned(SPECTRA["apart"])
    with flint.ctx.workprec(192):
        basis, n = Eigenbasis.of(rows), len(rows)
        moved = fmpq_mat([[fmpq(x.numerator, x.denominator) for x in row] for row in rows])
        moved[0, 1] = moved[1, 0] = moved[0, 1] + fmpq(1, 10**20)
        left = basis.vectors.transpose() * arb_mat(moved) * basis.vectors
        off = [left[i, j] for i in range(n) for j in range(n) if i != j]
        assert max(float(abs(entry)) for entry in off) > 1e-22 > float(basis.defect)
        assert arb(basis.defect) < arb(1e-40)
