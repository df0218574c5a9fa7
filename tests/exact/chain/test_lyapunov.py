"""Doubling against scipy and against an exact residual; stability certified or refused by name."""

from __future__ import annotations

from fractions import Fraction

import flint
import numpy as np
import pytest
from flint import arb, arb_mat
from scipy.linalg import solve_discrete_lyapunov

from sgverify.errors import InstabilityError
from sgverify.exact.chain.lyapunov import Contraction, floats, spectral_radius
from sgverify.exact.numbers.ball import PrecisionLostError, matrix, number
from sgverify.exact.numbers.entrywise import applied
from tests.tables import each_row


def stable(size: int, seed: int, radius: float) -> np.ndarray:
    draw = np.random.default_rng(seed).normal(size=(size, size))
    return radius * draw / np.abs(np.linalg.eigvals(draw)).max()


@pytest.mark.parametrize(("size", "seed", "radius"), [(1, 0, 0.5), (2, 1, 0.99), (5, 2, 0.999), (10, 3, 0.9)])
def test_solutions_agree_with_scipy(size: int, seed: int, radius: float) -> None:
    m = stable(size, seed, radius)
    root = np.random.default_rng(seed + 50).normal(size=(size, size))
    q = root @ root.T
    contraction = Contraction.of(matrix(m.tolist()))
    for found, plain in (
        (contraction.forward(matrix(q.tolist())), solve_discrete_lyapunov(m, q)),
        (contraction.adjoint(matrix(q.tolist())), solve_discrete_lyapunov(m.T, q)),
    ):
        # scipy loses about cond(I - M x M) ~ 1 / (1 - radius^2) digits of its 16.
        assert np.allclose(floats(found), plain, rtol=1e-9 / (1 - radius**2), atol=0.0)


@pytest.mark.parametrize("bits", [64, 300])
def test_the_balls_hold_the_exact_solution(bits: int) -> None:
    with flint.ctx.workprec(bits):
        m, q, third = matrix([[Fraction(1, 2)]]), matrix([[3]]), matrix([[5]])
        contraction = Contraction.of(m)
        assert contraction.forward(q)[0, 0].contains(4)
        assert contraction.tensor(third, 3)[0, 0].contains(flint.fmpq(40, 7))
        assert contraction.tensor(third, 4)[0, 0].contains(flint.fmpq(16, 3))
        assert contraction.forward(q)[0, 0].rad() < number(100) * arb(2) ** -bits


def test_the_remainder_is_needed_for_the_balls_to_hold() -> None:
    with flint.ctx.workprec(64):
        exact = Contraction.of(matrix([[Fraction(1, 2)]]))
        truncated = Contraction(exact.powers[:2], (arb(1) / 2) ** 4)
        assert truncated.forward(matrix([[3]]))[0, 0].contains(4)
        assert truncated.tensor(matrix([[5]]), 3)[0, 0].contains(flint.fmpq(40, 7))
        assert not Contraction(exact.powers[:2], arb(0)).forward(matrix([[3]]))[0, 0].contains(4)


def test_stationary_tensor_solves_its_equation() -> None:
    m = matrix((stable(2, 9, 0.8)).tolist())
    tensor = arb_mat(2, 8, list(range(16)))
    found = Contraction.of(m).tensor(tensor, 4)
    residual = found - applied(found, [m] * 4) - tensor
    assert all(entry.contains(0) and entry.rad() < 1e-9 for entry in residual.entries())


@each_row("rows", [[[1]], [[-1]], [[1, 1], [0, 1]], [[0, 2], [-2, 0]], [[Fraction(3, 2)]]])
def test_an_unstable_chain_is_refused_by_its_spectral_radius(rows: list[list[Fraction]]) -> None:
    radius = spectral_radius(matrix(rows))
    with pytest.raises(InstabilityError, match=f"spectral radius={radius:.6g}"):
        Contraction.of(matrix(rows))


def test_a_stable_chain_with_large_transients_is_certified() -> None:
    with flint.ctx.workprec(192):
        m = matrix([[Fraction(9, 10), 10**9], [0, Fraction(9, 10)]])
        assert Contraction.of(m).tail < 1


def test_a_radius_just_below_one_needs_bits_not_a_refusal() -> None:
    near = Fraction(1) - Fraction(1, 10**14)
    with flint.ctx.workprec(256):
        assert (
            Contraction.of(matrix([[near]]))
            .forward(matrix([[1]]))[0, 0]
            .contains(flint.fmpq(1) / (1 - flint.fmpq(near.numerator, near.denominator) ** 2))
        )
    with flint.ctx.workprec(20), pytest.raises(PrecisionLostError):
        Contraction.of(matrix([[near]]))
