"""Stationary law and bias against closed forms and against scipy."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import flint
import numpy as np
import pytest
from flint import arb, fmpq
from scipy.linalg import solve_discrete_lyapunov

from sgverify.errors import InstabilityError
from sgverify.exact.chain.chain import AffineChain, ChainProblem, QuadraticForm
from sgverify.exact.chain.ergodic import ergodic_bias, stationary_bias, stationary_law
from sgverify.exact.chain.lyapunov import floats
from sgverify.exact.numbers.ball import Certified, column, matrix, number
from tests.exact.affine_chains import PlainChain, random_chain

CONTRACT = 1e-6


def holds(found: Certified, exact: Fraction) -> bool:
    gap = abs(Fraction(found.value) - exact)
    with flint.ctx.workprec(4 * found.bits):
        return bool(found.ball.overlaps(number(exact)) and gap <= Fraction(found.error_bound))


def test_stationary_law_agrees_with_scipy() -> None:
    problem = random_chain(4, 11).problem_at(192)
    law = stationary_law(problem.chain)
    m, c, q = (floats(x) for x in (problem.chain.map, problem.chain.shift, problem.chain.covariance))
    mean = np.linalg.solve(np.eye(4) - m, c)
    covariance = solve_discrete_lyapunov(m, q)
    # Radius 0.9: neither solve loses more than a few digits of 16.
    assert np.allclose(floats(law.mean), mean, rtol=1e-11)
    assert np.allclose(floats(law.covariance), covariance, rtol=1e-11, atol=1e-13)
    a, b = floats(problem.observable.quadratic), floats(problem.observable.linear)
    plain = (
        float(problem.observable.constant.mid())
        + (b.T @ mean + mean.T @ a @ mean).item()
        + np.trace(a @ covariance)
    )
    found = stationary_bias(random_chain(4, 11).problem_at)
    assert found.value == pytest.approx(plain - float(problem.target.mid()), rel=1e-10)


def ornstein_uhlenbeck(bits: int, step: Fraction = Fraction(1, 10**4)) -> ChainProblem:
    """theta' = (1 - h) theta + sqrt(2h) z from 2: E theta_l^2 = s + (1-h)^(2l) (4 - s), s = 1 / (1 - h/2)."""
    chain = AffineChain(matrix([[1 - step]]), column([0]), matrix([[2 * step]]), column([2]))
    return ChainProblem(chain, QuadraticForm(arb(0), column([0]), matrix([[1]])), arb(1))


@pytest.mark.parametrize("length", [1, 10**3, 10**12])
def test_any_length_meets_the_closed_form(length: int) -> None:
    h = fmpq(1, 10**4)

    def exact() -> arb:
        limit = 1 / (1 - h / 2)
        ratio = arb((1 - h) ** 2)
        return arb(limit - 1) + (4 - limit) * ratio * (1 - ratio**length) / (1 - ratio) / length

    found = ergodic_bias(ornstein_uhlenbeck, length)
    assert found.ball.overlaps(exact())
    assert found.relative_error <= 1e-12


def test_an_identically_zero_bias_is_reported_as_zero() -> None:
    def exact_flow(bits: int) -> ChainProblem:
        decay = arb(-0.01).exp()
        chain = AffineChain(
            matrix([[decay]]), column([0]), matrix([[1 - decay * decay]]), column([0]), matrix([[1]])
        )
        return ChainProblem(chain, QuadraticForm(arb(0), column([0]), matrix([[1]])), arb(1))

    for found in (stationary_bias(exact_flow), ergodic_bias(exact_flow, 1000)):
        assert found.vanishes and found.value == 0.0 and found.error_bound < 1e-40


def test_parts_add_up_to_the_whole() -> None:
    """A diagonal chain, split, against the same chain in coordinates that couple everything."""
    rows = [[Fraction(1, 2), 0, 0], [0, Fraction(-1, 3), 0], [0, 0, Fraction(4, 5)]]
    form = [[Fraction(1), 0, 0], [0, Fraction(2), 0], [0, 0, Fraction(-3)]]
    turn = [[1, 1, 0], [0, 1, 1], [0, 0, 1]]
    back = [[1, -1, 1], [0, 1, -1], [0, 0, 1]]

    def plain(bits: int) -> ChainProblem:
        noise = matrix([[1, 0, 0], [0, 2, 0], [0, 0, 3]])
        chain = AffineChain(matrix(rows), column([1, 2, 3]), noise, column([1, 0, 2]))
        return ChainProblem(chain, QuadraticForm(arb(1), column([1, 2, 3]), matrix(form)), arb(2))

    def turned(bits: int) -> ChainProblem:
        problem, t, s = plain(bits), matrix(turn), matrix(back)
        chain, phi = problem.chain, problem.observable
        return ChainProblem(
            AffineChain(
                t * chain.map * s, t * chain.shift, t * chain.covariance * t.transpose(), t * chain.start_mean
            ),
            QuadraticForm(phi.constant, s.transpose() * phi.linear, s.transpose() * phi.quadratic * s),
            problem.target,
        )

    for length in (1, 5, 10**6):
        assert ergodic_bias(plain, length).value == pytest.approx(
            ergodic_bias(turned, length).value, rel=1e-14
        )
    assert stationary_bias(plain).value == pytest.approx(stationary_bias(turned).value, rel=1e-14)


def test_an_unstable_part_is_refused_even_where_the_test_function_is_blind_to_it() -> None:
    def problem_at(bits: int) -> ChainProblem:
        chain = AffineChain(
            matrix([[0.5, 0], [0, 1.5]]), column([0, 0]), matrix([[1, 0], [0, 1]]), column([0, 0])
        )
        return ChainProblem(chain, QuadraticForm(arb(0), column([1, 0]), matrix([[0, 0], [0, 0]])), arb(0))

    for compute in (stationary_bias, lambda p: ergodic_bias(p, 10)):
        with pytest.raises(InstabilityError, match="spectral radius=1.5"):
            compute(problem_at)


def test_forty_variables_stay_exact() -> None:
    """Dimension 20 in position and momentum, fully coupled, against float64 linear algebra."""
    chain: PlainChain = random_chain(40, 5, gaussian=True)
    chain = replace(chain, atoms=chain.atoms[:3], weights=[Fraction(1, 3)] * 3)
    found = ergodic_bias(chain.problem_at, 10**12)
    assert found.relative_error <= CONTRACT
    problem = chain.problem_at(192)
    m, c, q = (floats(x) for x in (problem.chain.map, problem.chain.shift, problem.chain.covariance))
    a, b = floats(problem.observable.quadratic), floats(problem.observable.linear)
    mean, covariance = np.linalg.solve(np.eye(40) - m, c), solve_discrete_lyapunov(m, q)
    plain = float(problem.observable.constant.mid() - problem.target.mid())
    plain += (b.T @ mean + mean.T @ a @ mean).item() + np.trace(a @ covariance)
    assert found.value == pytest.approx(plain, rel=1e-9)
