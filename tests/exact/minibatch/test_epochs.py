"""Epochs of given covariances: long sums, split coordinates, and what is refused."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import flint
import pytest
from flint import arb

from sgverify.errors import ConfigurationError, InstabilityError
from sgverify.exact.chain.chain import AffineChain, ChainProblem, QuadraticForm
from sgverify.exact.chain.ergodic import ergodic_bias, stationary_bias
from sgverify.exact.minibatch.epochs import Epoch, EpochLaw, epoch_ergodic_bias, epoch_stationary_bias
from sgverify.exact.numbers.ball import column, matrix


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
