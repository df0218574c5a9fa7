"""Epochs of given covariances: long sums, split coordinates, expansions, and what is refused."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction

import flint
import pytest
from flint import arb, arb_mat, fmpq, fmpq_mat

from sgverify.errors import ConfigurationError, InstabilityError
from sgverify.exact.chain.chain import AffineChain, ChainProblem, QuadraticForm
from sgverify.exact.chain.ergodic import ergodic_bias, stationary_bias
from sgverify.exact.chain.expansion import SteadyExpansion, expand_bias, expand_decay
from sgverify.exact.minibatch.epochs import Epoch, EpochLaw, epoch_ergodic_bias, epoch_stationary_bias
from sgverify.exact.numbers.ball import column, matrix
from sgverify.exact.numbers.matrix_series import MatrixSeries
from tests.exact.series_chains import SeriesChain, expand, random_series_chain


def slow(bits: int, length: int = 7) -> tuple[ChainProblem, Epoch]:
    h = arb(1) / 1000
    blocks = matrix([[3]]), matrix([[Fraction(-3, length - 1)]])
    map_, drawn = matrix([[1 - h]]), matrix([[2 * h]])
    epoch = Epoch.of(map_, drawn, [matrix([[h]])], blocks, length, backward=False)
    chain = AffineChain(map_, column([0]), epoch.free + epoch.across, column([2]))
    return ChainProblem(chain, QuadraticForm(arb(0), column([0]), matrix([[1]])), arb(1)), epoch


@pytest.mark.parametrize("length", [10**3, 10**6 + 3, 10**12 + 5])
def test_long_sums_are_sums_over_positions(length: int) -> None:
    with flint.ctx.workprec(256):
        problem, epoch = slow(256)
        law = EpochLaw(problem, epoch)
        values = [law.bias_at(i) for i in range(1, epoch.steps + 1)]
        epochs, rest = divmod(length, epoch.steps)
        r2 = (1 - arb(1) / 1000) ** 2
        gone = (4 - epoch.covariance_at(0)[0, 0]) * r2 * (1 - r2**length) / (1 - r2)
        plain = (epochs * sum(values) + sum(values[:rest], arb(0)) + gone) / length
        found = epoch_ergodic_bias(slow, length)
        assert found.ball.overlaps(plain) and found.relative_error <= 1e-12
        assert epoch.covariance_at(0).overlaps(epoch.covariance_at(epoch.steps))


def test_independent_blocks_are_the_ordinary_chain() -> None:
    def epochs(bits: int) -> tuple[ChainProblem, Epoch]:
        problem, epoch = slow(bits)
        return problem, replace(epoch, free=epoch.free + epoch.across, across=epoch.across * 0)

    def plain(bits: int) -> ChainProblem:
        return slow(bits)[0]

    assert epoch_stationary_bias(epochs).ball.overlaps(stationary_bias(plain).ball)
    for length in (1, 30, 10**9):
        assert epoch_ergodic_bias(epochs, length).ball.overlaps(ergodic_bias(plain, length).ball)


def test_uncoupled_coordinates_are_split_with_their_shared_noise() -> None:
    def pair(bits: int) -> tuple[ChainProblem, Epoch]:
        one = slow(bits)[1]
        map_ = matrix([[one.map[0, 0], 0], [0, Fraction(1, 2)]])
        free = matrix([[one.free[0, 0], 0], [0, Fraction(10, 9)]])
        chain = AffineChain(map_, column([0, 1]), free, column([2, 0]))
        phi = QuadraticForm(arb(0), column([0, 0]), matrix([[1, 0], [0, 0]]))
        across = matrix([[one.across[0, 0], 0], [0, Fraction(-1, 9)]])
        return ChainProblem(chain, phi, arb(1)), Epoch(map_, free, across, 7)

    for length in (5, 10**7):
        assert epoch_ergodic_bias(pair, length).ball.overlaps(epoch_ergodic_bias(slow, length).ball)
    assert epoch_stationary_bias(pair, position=2).ball.overlaps(epoch_stationary_bias(slow, position=2).ball)


def test_a_covariance_that_only_two_steps_share() -> None:
    def apart(bits: int) -> tuple[ChainProblem, Epoch]:
        map_, across = matrix([[0.5, 0], [0, 0.25]]), matrix([[0, 0.5], [0.5, 0]])
        chain = AffineChain(map_, column([0, 0]), matrix([[1, 0], [0, 1]]), column([0, 0]))
        phi = QuadraticForm(arb(0), column([0, 0]), matrix([[0, 1], [1, 0]]))
        return ChainProblem(chain, phi, arb(0)), Epoch(map_, matrix([[1, 0], [0, 1]]) - across, across, 2)

    def blind(bits: int) -> tuple[ChainProblem, Epoch]:
        problem, epoch = apart(bits)
        phi = QuadraticForm(arb(0), column([0, 0]), matrix([[1, 0], [0, 1]]))
        return ChainProblem(problem.chain, phi, arb(0)), epoch

    # From 0, x_2 = M w_1 + w_2 has the covariance M O + O M^T off the diagonal: (1/2 + 1/4) / 2, twice in
    # phi, over L.
    assert epoch_ergodic_bias(apart, 2).ball.contains(0.375)
    # The diagonal sees the noise of one step alone: 1, 1 + 1/4 and 1, 1 + 1/16.
    assert epoch_ergodic_bias(blind, 2).ball.contains((2 + 2 + 0.25 + 0.0625) / 2)


def test_bad_epochs_and_unstable_steps_are_refused() -> None:
    problem, epoch = slow(192)
    with pytest.raises(ConfigurationError, match="steps=0"):
        replace(epoch, steps=0)
    # There is no way back that is not half of the epoch.
    with pytest.raises(ConfigurationError, match="steps=3: .*even number"):
        replace(epoch, steps=3, mirrored=epoch.across)

    def unstable(bits: int) -> tuple[ChainProblem, Epoch]:
        map_ = matrix([[-1.5]])
        chain = AffineChain(map_, column([0]), matrix([[1]]), column([0]))
        return ChainProblem(chain, problem.observable, arb(1)), Epoch(map_, matrix([[1]]), matrix([[0]]), 3)

    for compute in (epoch_stationary_bias, lambda p: epoch_ergodic_bias(p, 5)):
        with pytest.raises(InstabilityError, match="spectral radius=1.5"):
            compute(unstable)


STEP = fmpq(1, 10**20)
OWN = fmpq_mat([[fmpq(3)]])


def follows(value: arb, coefficients: Sequence[fmpq], within: float = 1e-18) -> None:
    for k, coefficient in enumerate(coefficients[:-1]):
        later = 1 + abs(arb(coefficients[k + 1]))
        assert abs(value / arb(STEP) ** k - arb(coefficient)) < within * later
        value -= arb(coefficient) * arb(STEP) ** k


def as_series(terms: Sequence[fmpq_mat], first: fmpq_mat) -> MatrixSeries:
    return MatrixSeries([first, *terms])


def epoch_series(chain: SeriesChain, injections: list[list[fmpq_mat]], other: fmpq_mat, steps: int) -> Epoch:
    """The same epoch in powers of h, in fractions."""
    series = chain.series(4)
    n = series.map[0].nrows()
    unit = fmpq_mat(n, n, [int(i == j) for i in range(n) for j in range(n)])
    return Epoch.of(
        as_series(series.map, unit),
        as_series(series.covariance, unit * 0),
        [as_series(b, b[0] * 0) for b in injections],
        (MatrixSeries.constant(OWN, 4), MatrixSeries.constant(other, 4)),
        steps,
        backward=False,
    )


def epoch_at(chain: SeriesChain, injections: list[list[fmpq_mat]], other: fmpq_mat, steps: int) -> EpochLaw:
    """It at one small step size, in balls."""
    problem = chain.problem(STEP)

    def value(terms: Sequence[fmpq_mat]) -> arb_mat:
        return arb_mat(sum((m * STEP ** (k + 1) for k, m in enumerate(terms)), terms[0] * 0))

    blocks = arb_mat(OWN), arb_mat(other)
    drawn, moved = value(chain.covariances), [value(b) for b in injections]
    return EpochLaw(problem, Epoch.of(problem.chain.map, drawn, moved, blocks, steps, backward=False))


def expanded(chain: SeriesChain, law: MatrixSeries) -> Sequence[fmpq]:
    steady = SteadyExpansion.of(chain.series(4), chain.observable, law.terms)
    return expand_bias(steady, chain.target).coefficients


@pytest.mark.parametrize(("size", "seed"), [(1, 1), (2, 2), (3, 3)])
def test_expansions_follow_the_ball_engine(size: int, seed: int) -> None:
    chain, steps, other = random_series_chain(size, seed), 5, fmpq_mat([[fmpq(-3, 4)]])
    first = fmpq_mat(size, 1, [fmpq(k + 1) for k in range(size)])
    second = fmpq_mat(size, 1, [fmpq(2 - k) for k in range(size)])
    zero = first * 0
    injections = [[first, second, zero, zero], [second, zero, zero, zero]]
    epoch = epoch_series(chain, injections, other, steps)
    whole, third = (expanded(chain, law) for law in (epoch.average(), epoch.covariance_at(3)))
    steady = SteadyExpansion.of(chain.series(4), chain.observable, epoch.covariance_at(steps).terms)
    transient = expand_decay(steady, chain.start, chain.start_covariance).coefficients
    assert all(isinstance(c, fmpq) for c in (*whole, *third, *transient)) and len(whole) == 4
    with flint.ctx.workprec(1500):
        law = epoch_at(chain, injections, other, steps)
        follows(law.sum_to(steps) / steps, whole)
        follows(law.bias_at(3), third)
        follows(law.transient(arb_mat(size, size)) * arb(STEP), transient)


@pytest.mark.parametrize("steps", [1, 2, 6, 7, 12])
def test_the_average_over_an_epoch_is_that_over_its_positions(steps: int) -> None:
    chain, injection = random_series_chain(2, 5), fmpq_mat([[fmpq(1)], [fmpq(-2)]])
    injections = [[injection, injection * 3, injection * 0, injection]]
    epoch = epoch_series(chain, injections, fmpq_mat([[-1]]), steps)
    each = [expanded(chain, epoch.covariance_at(i + 1)) for i in range(steps)]
    mean = [sum(values, fmpq(0)) / steps for values in zip(*each, strict=True)]
    assert list(expanded(chain, epoch.average())) == mean


def test_an_epoch_of_a_hundred_thousand_steps() -> None:
    """The work grows with the logarithm of the epoch; the balls know the same law at a small step."""
    chain, steps, injection = random_series_chain(1, 1), 100_003, fmpq_mat([[fmpq(1)]])
    other, zero = fmpq_mat([[fmpq(-3, steps - 1)]]), injection * 0
    injections = [[injection, zero, zero, zero]]
    found = expanded(chain, epoch_series(chain, injections, other, steps).average())
    with flint.ctx.workprec(3000):
        law = epoch_at(chain, injections, other, steps)
        follows(law.sum_to(steps) / steps, found, 1e-15)


def test_no_shared_noise_is_the_ordinary_expansion() -> None:
    chain = random_series_chain(2, 9)
    series, n = chain.series(4), 2
    unit = fmpq_mat(n, n, [int(i == j) for i in range(n) for j in range(n)])
    noise = as_series(series.covariance, unit * 0)
    epoch = Epoch(as_series(series.map, unit), noise, noise * 0, 3)
    plain = expand(series, chain.observable, chain.target)
    assert list(expanded(chain, epoch.average())) == list(plain.coefficients)
