"""Continuous Lyapunov equations by their residual."""

from __future__ import annotations

import flint
import numpy as np
import pytest
from flint import arb_mat, fmpq, fmpq_mat

from sgverify.errors import NotExpandableError
from sgverify.exact.chain.lyapunov import EXACT_SIZE, ContinuousLyapunov, _Cayley
from tests.exact.series_chains import random_series_chain
from tests.tables import each_row


@each_row("coupled", [True, False])
@each_row("size", [1, 2, 4])
def test_fractions_solve_exactly(size: int, coupled: bool) -> None:
    chain = random_series_chain(size, size, coupled=coupled)
    drift, right = chain.maps[0], chain.covariances[0]
    found = ContinuousLyapunov(drift, (right,)).solve(right)
    assert isinstance(found, fmpq_mat)
    assert drift * found + found * drift.transpose() == right


@pytest.mark.parametrize("size", [3, EXACT_SIZE + 2])
def test_balls_hold_the_solution(size: int) -> None:
    chain = random_series_chain(size, 40 + size)
    with flint.ctx.workprec(200):
        drift, right = arb_mat(chain.maps[0]), arb_mat(chain.covariances[0])
        found = ContinuousLyapunov(drift, (right,)).solve(right)
        residual = drift * found + found * drift.transpose() - right
        assert all(entry.contains(0) and entry.rad() < 1e-50 for entry in residual.entries())
        if size <= EXACT_SIZE:
            exact = ContinuousLyapunov(chain.maps[0], (chain.covariances[0],)).solve(chain.covariances[0])
            assert found.overlaps(arb_mat(exact))


def test_a_large_block_of_fractions_is_solved_in_balls_and_small_ones_are_not() -> None:
    chain = random_series_chain(EXACT_SIZE + 1, 5)
    assert isinstance(ContinuousLyapunov(chain.maps[0]).solve(chain.covariances[0]), arb_mat)
    apart = random_series_chain(EXACT_SIZE + 1, 5, coupled=False)
    assert isinstance(ContinuousLyapunov(apart.maps[0]).solve(apart.covariances[0]), fmpq_mat)


def test_zero_is_solved_by_zero_whatever_the_size() -> None:
    chain = random_series_chain(EXACT_SIZE + 1, 5)
    nothing = chain.covariances[0] * 0
    assert ContinuousLyapunov(chain.maps[0]).solve(nothing) == nothing


@pytest.mark.parametrize("rows", [[[0]], [[1]], [[0, 1], [-1, 0]], [[-1, 0], [0, 0]]])
def test_a_drift_that_does_not_decay_is_refused(rows: list[list[int]]) -> None:
    with pytest.raises(NotExpandableError, match="real part"):
        ContinuousLyapunov(fmpq_mat(rows))


def test_a_drift_just_beyond_float_precision_is_still_certified_in_balls() -> None:
    tiny = fmpq(1, 10**20)
    # Upper triangular with eigenvalues -1 and +1e-20: float64 may see either sign, the balls must not solve
    # it.
    with flint.ctx.workprec(300), pytest.raises(NotExpandableError):
        ContinuousLyapunov(arb_mat([[-1, 1], [0, tiny]])).solve(arb_mat([[1, 0], [0, 1]]))


@pytest.mark.parametrize("repeated", [False, True])
def test_a_large_symmetric_drift_is_solved_in_its_eigenvectors_within_the_bound(repeated: bool) -> None:
    n = EXACT_SIZE + 4
    random = np.random.default_rng(3)
    entries = random.integers(-9, 10, (n, n))
    drift = -(np.eye(n, dtype=int) * 7 if repeated else entries @ entries.T + 7 * np.eye(n, dtype=int))
    right = entries + entries.T
    # One coupling joins all coordinates, so that the block is large where the drift is a multiple of the identity.
    found = ContinuousLyapunov(fmpq_mat(drift.tolist()), (fmpq_mat(n, n, [1] * n**2),)).solve(
        fmpq_mat(right.tolist())
    )
    doubled = _Cayley(arb_mat(drift.tolist())).solve(fmpq_mat(right.tolist()))
    for one, other in zip(found.entries(), doubled.entries(), strict=True):
        assert one.overlaps(other)
        assert float(one.rad()) < 1e-12 * (1 + abs(float(one.mid())))
