"""The two ways to a mean square error against each other."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import pytest
from flint import arb

from sgverify.exact.chain.ergodic import ergodic_bias
from sgverify.exact.chain.mse import mean_square_error
from sgverify.exact.numbers.ball import Certified, column, matrix, number, refine
from sgverify.exact.numbers.matrix_series import cumulants_from_moments, gaussian_moments, multi_indices
from sgverify.exact.recursion.additive import lifted
from sgverify.exact.recursion.period import Powers, RepeatedPeriod, RunningSum
from tests.exact.affine_chains import PlainChain, Polynomial, random_chain


def of_average(chain: PlainChain, phi: Polynomial, length: int, order: int) -> Certified:
    """E (phi_hat - target)^order, by one more coordinate."""
    n, degree = chain.size, max(sum(key) for key in phi)
    moments = {
        key: chain.moment(*(i for i, power in enumerate(key) for _ in range(power)))
        for key in multi_indices(n, 0, order * degree)
    }
    cumulants = cumulants_from_moments(moments, n, order * degree)

    def evaluate(bits: int) -> arb:
        noise = {key: number(value) for key, value in cumulants.items() if sum(key) > 1}
        summand = {key: number(value) for key, value in phi.items()}
        summand[(0,) * n] = summand.get((0,) * n, arb(0)) - number(chain.target)
        asked = RunningSum(n, degree, summand, order)
        step = lifted(matrix(chain.map), column(chain.shift), noise, asked.highest)
        period = RepeatedPeriod(asked.joined(step, n))
        spread = None if chain.start_covariance is None else matrix(chain.start_covariance)
        start = column(gaussian_moments(column(chain.start), spread, asked.highest))
        return asked.moment(Powers(period.after(1)), period, start, length)

    return refine(evaluate)


@pytest.mark.parametrize("gaussian", [True, False])
@pytest.mark.parametrize("start", ["gaussian", "point"])
@pytest.mark.parametrize(("size", "seed"), [(1, 5), (2, 6)])
@pytest.mark.parametrize("length", [1, 2, 13, 10**3, 10**12])
def test_two_ways_to_degree_two_agree(size: int, seed: int, length: int, gaussian: bool, start: str) -> None:
    chain = random_chain(size, seed, gaussian=gaussian, start=start)
    agrees(chain, length)


def test_slow_chains_agree_too() -> None:
    """A spectral radius of 1 - 1e-4 and lengths on both sides of the mixing time."""
    chain = random_chain(1, 8)
    chain.map = [[Fraction(9999, 10000)]]
    for length in (10**2, 10**5, 10**9):
        agrees(chain, length)


def test_uncoupled_coordinates_come_apart_in_one_of_the_two_ways_alone() -> None:
    """Two skewed chains side by side, which the mean square error takes one by one."""
    chain = random_chain(2, 21)
    chain = replace(
        chain,
        map=[[chain.map[0][0], Fraction(0)], [Fraction(0), chain.map[1][1]]],
        # A product law: every pair of the atoms of either coordinate.
        atoms=[[a, b] for a in (Fraction(-1), Fraction(1, 2)) for b in (Fraction(3), Fraction(-1))],
        weights=[w * v for w in (Fraction(1, 3), Fraction(2, 3)) for v in (Fraction(1, 4), Fraction(3, 4))],
        start_covariance=None,
        quadratic=[[chain.quadratic[0][0], Fraction(0)], [Fraction(0), chain.quadratic[1][1]]],
    )
    for length in (1, 3, 10**4):
        agrees(chain, length)


def agrees(chain: PlainChain, length: int) -> None:
    for order, other in ((1, ergodic_bias), (2, mean_square_error)):
        one, two = of_average(chain, chain.phi(), length, order), other(chain.problem_at, length)
        assert one.ball.overlaps(two.ball)
        assert max(one.relative_error, two.relative_error) <= 1e-12
