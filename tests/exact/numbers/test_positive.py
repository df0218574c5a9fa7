"""Cholesky factors and square roots in balls against scipy, mpmath and their own definition."""

from __future__ import annotations

import flint
import numpy as np
import pytest
import scipy.linalg
from flint import arb, arb_mat

from sgverify.exact.chain.lyapunov import floats
from sgverify.exact.numbers.ball import PrecisionLostError, cholesky, euclidean, matrix, square_root


def positive(size: int, seed: int, spread: float = 0.0) -> arb_mat:
    """A random positive definite matrix whose eigenvalues span `spread` decades more than those of a Wishart matrix."""
    rng = np.random.default_rng(seed)
    half = rng.normal(size=(size, size + 2)) * np.geomspace(1, 10.0 ** (spread / 2), size)[:, None]
    return matrix((half @ half.T).tolist())


@pytest.mark.parametrize(("size", "spread"), [(1, 0), (2, 0), (3, 6), (6, 12)])
def test_the_square_root_encloses_the_true_one(size: int, spread: float) -> None:
    with flint.ctx.workprec(192):
        a = positive(size, size, spread)
        root = square_root(a)
        assert all(entry.contains(0) for entry in (root * root - a).entries())
        # Radii of a few units of the working precision, times the condition number of the root.
        widest = max(entry.rad() for entry in root.entries())
        assert widest < arb(2) ** -120 * euclidean(root.entries())
        cholesky(root)
    assert np.allclose(floats(root), np.real(scipy.linalg.sqrtm(floats(a))), rtol=1e-6)


def test_multiple_eigenvalues_do_no_harm() -> None:
    with flint.ctx.workprec(192):
        root = square_root(matrix([[4, 0, 0], [0, 4, 0], [0, 0, 9]]))
        assert all(
            entry.contains(v) for entry, v in zip(root.entries(), [2, 0, 0, 0, 2, 0, 0, 0, 3], strict=True)
        )


def test_cholesky_is_lower_triangular_and_gives_the_matrix_back() -> None:
    with flint.ctx.workprec(192):
        a = positive(4, 7)
        factor = cholesky(a)
        assert all(factor[i, j] == 0 for i in range(4) for j in range(i + 1, 4))
        assert all(entry.contains(0) for entry in (factor * factor.transpose() - a).entries())


def test_what_is_not_positive_definite_is_refused() -> None:
    with flint.ctx.workprec(192):
        with pytest.raises(PrecisionLostError):
            cholesky(matrix([[1, 2], [2, 1]]))
        with pytest.raises(PrecisionLostError):
            square_root(matrix([[1, 1], [1, 1]]))
        assert all(entry == 0 for entry in square_root(arb_mat(2, 2)).entries())


def test_the_norm_of_balls_around_zero_holds_zero() -> None:
    with flint.ctx.workprec(192):
        norm = euclidean([arb(0, 1e-20), arb(0, 1e-20)])
        assert norm.contains(0) and norm.upper() < 2e-20
        assert euclidean([arb(3), arb(4)]).contains(5) and not euclidean([arb(3), arb(4)]).contains(0)
