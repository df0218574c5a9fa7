"""Lifted recursions against brute force, and the two ways to a mean square error against each other."""

from __future__ import annotations

import functools
from fractions import Fraction

import flint
import pytest
from flint import arb, arb_mat, fmpq, fmpq_mat

from sgverify.errors import InstabilityError
from sgverify.exact.ball import Certified, column, matrix, number
from sgverify.exact.chain import Problem
from sgverify.exact.cumulants import cumulants_from_moments, multi_indices
from sgverify.exact.ergodic import Centred, ergodic_bias, stationary_bias
from sgverify.exact.expansion import Expansion, expand, expand_transient
from sgverify.exact.lifted import PolynomialProblem, lift, lift_series, lifted, lifted_mean_square_error
from sgverify.exact.mse import mean_square_error
from tests.exact.affine_chains import PlainChain, Polynomial, random_chain
from tests.exact.series_chains import SeriesChain, random_series_chain


def polynomial_problem(chain: PlainChain, observable: Polynomial, bits: int) -> PolynomialProblem:
    n, order = chain.size, 2 * max(sum(key) for key in observable)
    moments = {
        key: chain.moment(*(i for i, power in enumerate(key) for _ in range(power)))
        for key in multi_indices(n, 0, order)
    }
    cumulants = cumulants_from_moments(moments, n, order)
    return PolynomialProblem(
        map=matrix(chain.map),
        shift=column(chain.shift),
        cumulants={key: number(value) for key, value in cumulants.items() if sum(key) > 1},
        start_mean=column(chain.start),
        start_covariance=None if chain.start_covariance is None else matrix(chain.start_covariance),
        observable={key: number(value) for key, value in observable.items()},
        target=number(chain.target),
    )


def holds(found: Certified, exact: Fraction) -> bool:
    with flint.ctx.workprec(4 * found.bits):
        return bool(found.ball.overlaps(number(exact))) and found.relative_error <= 1e-12


QUARTICS: dict[int, Polynomial] = {
    1: {(4,): Fraction(2), (3,): Fraction(-1), (1,): Fraction(1, 3), (0,): Fraction(5)},
    2: {(4, 0): Fraction(1), (2, 2): Fraction(-3), (1, 3): Fraction(1, 2), (0, 1): Fraction(7)},
}


@pytest.mark.parametrize("start", ["gaussian", "point"])
@pytest.mark.parametrize(("size", "seed", "length"), [(1, 1, 1), (1, 2, 3), (2, 3, 2)])
def test_the_bias_of_a_quartic_equals_a_recursion_in_fractions(
    size: int, seed: int, length: int, start: str
) -> None:
    chain, phi = random_chain(size, seed, start=start), QUARTICS[size]
    later = [phi]
    for _ in range(length):
        later.append(chain.step_back(later[-1]))
    exact = sum((chain.start_average(p) for p in later[1:]), Fraction(0)) / length - chain.target
    assert holds(ergodic_bias(lifted(functools.partial(polynomial_problem, chain, phi)), length), exact)


@pytest.mark.parametrize("gaussian", [True, False])
@pytest.mark.parametrize("start", ["gaussian", "point"])
@pytest.mark.parametrize(("size", "seed"), [(1, 5), (2, 6)])
@pytest.mark.parametrize("length", [1, 2, 13, 10**3, 10**12])
def test_two_ways_to_degree_two_agree(size: int, seed: int, length: int, gaussian: bool, start: str) -> None:
    chain = random_chain(size, seed, gaussian=gaussian, start=start)
    lifting = functools.partial(polynomial_problem, chain, chain.phi())
    for one, two in (
        (ergodic_bias(lifted(lifting), length), ergodic_bias(chain.problem_at, length)),
        (stationary_bias(lifted(lifting)), stationary_bias(chain.problem_at)),
        (lifted_mean_square_error(lifting, length), mean_square_error(chain.problem_at, length)),
    ):
        assert one.ball.overlaps(two.ball)
        assert max(one.relative_error, two.relative_error) <= 1e-12


def test_slow_chains_agree_too() -> None:
    """A spectral radius of 1 - 1e-4 and lengths on both sides of the mixing time."""
    chain = random_chain(1, 8)
    chain.map = [[Fraction(9999, 10000)]]
    lifting = functools.partial(polynomial_problem, chain, chain.phi())
    for length in (10**2, 10**5, 10**9):
        one, two = lifted_mean_square_error(lifting, length), mean_square_error(chain.problem_at, length)
        assert one.ball.overlaps(two.ball) and max(one.relative_error, two.relative_error) <= 1e-12


@pytest.mark.parametrize("length", [1, 2])
def test_the_mean_square_error_of_a_quartic_equals_brute_force(length: int) -> None:
    chain, phi = random_chain(1, 9), QUARTICS[1]
    chain.phi = lambda: dict(phi)  # type: ignore[method-assign]
    found = lifted_mean_square_error(functools.partial(polynomial_problem, chain, phi), length)
    assert holds(found, chain.averages(length)[1])


def test_an_unstable_chain_is_refused() -> None:
    chain = random_chain(1, 10)
    chain.map = [[Fraction(11, 10)]]
    lifting = functools.partial(polynomial_problem, chain, chain.phi())
    with pytest.raises(InstabilityError, match="spectral radius=1.1"):
        lifted_mean_square_error(lifting, 5)
    with pytest.raises(InstabilityError, match="spectral radius="):
        ergodic_bias(lifted(lifting), 5)


STEP = fmpq(1, 10**20)
SKEW = {
    1: {(3,): [0, 0, fmpq(5)], (4,): [0, 0, 0, fmpq(7)]},
    2: {(3, 0): [0, fmpq(1)], (1, 3): [fmpq(2), fmpq(3)]},
}


def polynomial_at(chain: SeriesChain, phi: dict[tuple[int, ...], fmpq], step: fmpq) -> Problem:
    """The lifted chain at one step size, from the evaluated matrices and cumulants."""
    n = chain.start.nrows()
    affine = chain.problem(step).chain
    cumulants = {}
    for key in multi_indices(n, 2, 2):
        i, j = (k for k, power in enumerate(key) for _ in range(power))
        cumulants[key] = affine.covariance[i, j]
    for key, values in SKEW[n].items():
        cumulants[key] = arb(sum((c * step ** (k + 1) for k, c in enumerate(values)), fmpq(0)))
    return lift(
        PolynomialProblem(
            affine.map,
            affine.shift,
            cumulants,
            affine.start_mean,
            affine.start_covariance,
            {key: arb(value) for key, value in phi.items()},
            arb(chain.target),
        )
    )


@pytest.mark.parametrize(("size", "seed"), [(1, 1), (2, 2)])
def test_the_expansion_of_a_quartic_follows_the_ball_engine(size: int, seed: int) -> None:
    chain = random_series_chain(size, seed)
    phi = {key: fmpq(value.numerator, value.denominator) for key, value in QUARTICS[size].items()}
    series, linear = lift_series(chain.series(4), SKEW[size], phi)
    bias = expand(series, linear, chain.target)
    with flint.ctx.workprec(1500):
        centred = Centred(polynomial_at(chain, phi, STEP))
        transient = expand_transient(series, linear, centred.problem.chain.start_mean)
        still = arb_mat(centred.problem.chain.size, centred.problem.chain.size)
        values = (centred.stationary_bias(), bias), (centred.transient(still) * arb(STEP), transient)
        for value, expansion in values:
            follows(value, expansion)
    assert bias.exact and bias.leading_order == 0


def follows(value: arb, expansion: Expansion) -> None:
    for k, coefficient in enumerate(expansion.coefficients[:-1]):
        later = 1 + abs(arb(expansion.coefficients[k + 1]))
        assert abs(value / arb(STEP) ** k - arb(coefficient)) < 1e-18 * later
        value -= arb(coefficient) * arb(STEP) ** k


def test_lifting_and_direct_expansion_agree_on_degree_two() -> None:
    chain = random_series_chain(2, 4)
    phi = chain.observable
    poly = {(0, 0): phi.constant, (1, 0): phi.linear[0, 0], (0, 1): phi.linear[1, 0]}
    poly |= {(2, 0): phi.quadratic[0, 0], (1, 1): 2 * phi.quadratic[0, 1], (0, 2): phi.quadratic[1, 1]}
    series, linear = lift_series(chain.series(5), {}, poly)
    direct = expand(chain.series(5), phi, chain.target)
    assert expand(series, linear, chain.target).coefficients == direct.coefficients
    with flint.ctx.workprec(300):
        balls = chain.series(5)
        balls = type(balls)(*([arb_mat(m) for m in p] for p in (balls.map, balls.shift, balls.covariance)))
        enclosed_series, enclosed_phi = lift_series(balls, {}, {k: arb(v) for k, v in poly.items()})
        enclosed = expand(enclosed_series, enclosed_phi, arb(chain.target))
        assert all(
            a.overlaps(arb(b)) for a, b in zip(enclosed.coefficients, direct.coefficients, strict=True)
        )
    start = fmpq_mat(5, 1, [*chain.start.entries(), *_second_moments(chain)])
    assert (
        expand_transient(series, linear, start).coefficients
        == expand_transient(chain.series(5), phi, chain.start, chain.start_covariance).coefficients
    )


def _second_moments(chain: SeriesChain) -> list[fmpq]:
    second = chain.start * chain.start.transpose() + chain.start_covariance
    return [second[0, 0], second[0, 1], second[1, 1]]
