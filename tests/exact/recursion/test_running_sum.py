"""The two ways to a mean square error against each other, and expansions of lifted moments."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from typing import Any

import flint
import pytest
from flint import arb, arb_mat, fmpq, fmpq_mat

from sgverify.exact.chain.ergodic import ergodic_bias
from sgverify.exact.chain.mse import mean_square_error
from sgverify.exact.numbers.ball import Certified, column, matrix, number, refine
from sgverify.exact.numbers.matrix_series import cumulants_from_moments, gaussian_moments, multi_indices
from sgverify.exact.recursion.additive import lifted, lifted_series
from sgverify.exact.recursion.period import Powers, RepeatedPeriod, RunningSum, stationary_series
from tests.exact.affine_chains import PlainChain, Polynomial, random_chain
from tests.exact.series_chains import SeriesChain, expand, random_series_chain


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


def law_series(series: Any, higher: Any, phi: dict[tuple[int, ...], fmpq]) -> list[fmpq]:
    """phi's average in the invariant law, in powers of h."""
    n, degree = series.map[0].nrows(), max(map(sum, phi))
    laws = stationary_series(lifted_series(series, higher, degree))
    row = fmpq_mat([[phi.get(key, fmpq(0)) for key in multi_indices(n, 0, degree)]])
    return [(row * law)[0, 0] for law in laws]


def test_lifting_and_direct_expansion_agree_on_degree_two() -> None:
    chain: SeriesChain = random_series_chain(2, 4)
    phi = chain.observable
    poly = {(0, 0): phi.constant, (1, 0): phi.linear[0, 0], (0, 1): phi.linear[1, 0]}
    poly |= {(2, 0): phi.quadratic[0, 0], (1, 1): 2 * phi.quadratic[0, 1], (0, 2): phi.quadratic[1, 1]}
    direct = expand(chain.series(5), phi, fmpq(0))
    assert law_series(chain.series(5), {}, poly) == list(direct.coefficients)


@pytest.mark.parametrize(("size", "key"), [(1, (4,)), (2, (1, 3))])
def test_the_expansion_of_a_quartic_follows_the_balls(size: int, key: tuple[int, ...]) -> None:
    """phi_h less its expansion to h^3 is of order h^4, with cumulants of order three and four in the noise."""
    chain, step = random_series_chain(size, size), fmpq(1, 10**20)
    higher = {
        1: {(3,): [0, 0, fmpq(5)], (4,): [0, 0, 0, fmpq(7)]},
        2: {(3, 0): [0, fmpq(1)], (1, 3): [fmpq(2)]},
    }[size]
    padded = {k: [*values, *([fmpq(0)] * (4 - len(values)))] for k, values in higher.items()}
    series = law_series(chain.series(4), padded, {key: fmpq(1)})
    with flint.ctx.workprec(1500):
        affine = chain.problem(step).chain
        noise = {
            k: arb(sum((c * step ** (i + 1) for i, c in enumerate(v)), fmpq(0))) for k, v in padded.items()
        }
        for k in multi_indices(size, 2, 2):
            i, j = (place for place, power in enumerate(k) for _ in range(power))
            noise[k] = affine.covariance[i, j]
        operator = lifted(affine.map, affine.shift, noise, 4)
        inner = arb_mat([row[1:] for row in operator.tolist()[1:]])
        shift = arb_mat([row[:1] for row in operator.tolist()[1:]])
        unit = arb_mat(
            inner.nrows(),
            inner.nrows(),
            [int(i == j) for i in range(inner.nrows()) for j in range(inner.nrows())],
        )
        value = (unit - inner).solve(shift)[multi_indices(size, 1, 4).index(key), 0]
        for k, coefficient in enumerate(series[:-1]):
            later = 1 + abs(arb(series[k + 1]))
            assert abs(value / arb(step) ** k - arb(coefficient)) < 1e-18 * later
            value -= arb(coefficient) * arb(step) ** k
