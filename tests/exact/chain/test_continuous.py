"""Continuous Lyapunov equations by their residual."""

from __future__ import annotations

import flint
import pytest
from flint import arb_mat, fmpq, fmpq_mat

from sgverify.errors import NotExpandableError
from sgverify.exact.chain.lyapunov import EXACT_SIZE, ContinuousLyapunov
from tests.exact.series_chains import random_series_chain


@pytest.mark.parametrize("coupled", [True, False])
@pytest.mark.parametrize("size", [1, 2, 4])
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
