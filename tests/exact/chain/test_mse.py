"""Mean square errors against closed forms, at any length."""

from __future__ import annotations

import functools
import time
from fractions import Fraction

import pytest
from flint import arb

from sgverify.errors import InstabilityError
from sgverify.exact.chain.chain import AffineChain, ChainProblem, QuadraticForm
from sgverify.exact.chain.mse import mean_square_error
from sgverify.exact.numbers.ball import column, matrix, number
from tests.exact.chain.test_ergodic import holds


def white(bits: int) -> ChainProblem:
    """Independent skewed draws, xi = 2 or -1 with odds 1:2."""
    chain = AffineChain(
        matrix([[0]]), column([0]), matrix([[2]]), column([5]), third=matrix([[2]]), fourth=matrix([[-6]])
    )
    return ChainProblem(chain, QuadraticForm(arb(0), column([1]), matrix([[1]])), arb(2))


@pytest.mark.parametrize("length", [1, 2, 10**12])
def test_white_noise(length: int) -> None:
    # xi^2 + xi is 6 with probability 1/3, else 0: mean 2, variance 8.
    assert holds(mean_square_error(white, length), Fraction(8, length))


def autoregression(step: Fraction, bits: int) -> ChainProblem:
    chain = AffineChain(matrix([[1 - step]]), column([0]), matrix([[2 * step]]), column([2]))
    return ChainProblem(chain, QuadraticForm(arb(0), column([1]), matrix([[0]])), arb(0))


@pytest.mark.parametrize("length", [1, 10, 10**5, 10**12])
def test_a_linear_test_function_meets_its_closed_form(length: int) -> None:
    step = Fraction(1, 10**4)
    with_bits = 256
    found = mean_square_error(lambda bits: autoregression(step, bits), length, bits=with_bits)
    r = 1 - number(step)
    # S = r (1 - r^L)/(1 - r) x_0 + sum_k (1 - r^(L-k+1))/(1 - r) xi_k
    q = 2 * number(step)
    geometric = r * (1 - r**length) / (1 - r)
    squares = r * r * (1 - r ** (2 * length)) / (1 - r * r)
    plain = (2 * geometric) ** 2 + q / (1 - r) ** 2 * (length - 2 * geometric + squares)
    # The closed form cancels about (L h)^-2 digits of the 53 bits it is evaluated at only for small L:
    # compare balls.
    assert found.ball.overlaps(plain / number(length) ** 2)
    assert found.relative_error <= 1e-12


def kinetic(step: Fraction, bits: int) -> ChainProblem:
    h = number(step)
    kick = matrix([[h], [1]])
    skew = kick * kick.transpose()
    third = matrix(
        [[kick[i, 0] * kick[j, 0] * kick[k, 0] * h**3 for j in range(2) for k in range(2)] for i in range(2)]
    )
    fourth = matrix(
        [
            [
                kick[i, 0] * kick[j, 0] * kick[k, 0] * kick[l, 0] * h**4
                for j in range(2)
                for k in range(2)
                for l in range(2)
            ]
            for i in range(2)
        ]
    )
    map_ = matrix([[1 - h * h, h * (1 - 2 * h)], [-h, 1 - 2 * h]])
    chain = AffineChain(map_, column([0, 0]), skew * (4 * h + h * h), column([2, 0]), None, third, fourth)
    return ChainProblem(chain, QuadraticForm(arb(0), column([0, 0]), matrix([[1, 0], [0, 0]])), arb(1))


def test_a_sweep_of_nine_lengths_is_fast_and_accurate() -> None:
    mean_square_error(lambda bits: kinetic(Fraction(1, 2), bits), 10)
    clock = time.process_time()
    sweep = []
    for power in range(2, 11):
        length = 10**power
        step = Fraction(repr(0.3 * length**-0.2))
        sweep.append(mean_square_error(functools.partial(kinetic, step), length))
    elapsed = time.process_time() - clock
    assert all(found.relative_error <= 1e-12 for found in sweep)
    # The bar is 200 ms on an idle machine, measured at 22 ms; a shared one gets room.
    assert elapsed < 1.0


def test_an_unstable_chain_is_refused() -> None:
    with pytest.raises(InstabilityError, match="spectral radius=1.1"):
        mean_square_error(lambda bits: autoregression(Fraction(-1, 10), bits), 10)
