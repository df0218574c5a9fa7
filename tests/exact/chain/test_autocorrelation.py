"""Autocorrelation times against closed forms, sums over lags of moments carried step by step, and long averages."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from typing import Any

import flint
import numpy as np
import pytest
from flint import arb, arb_mat

from sgverify.errors import InstabilityError
from sgverify.exact.affine.model import fixed_step
from sgverify.exact.answers import QuadraticAnswers
from sgverify.exact.chain.chain import AffineChain, ChainProblem, QuadraticForm
from sgverify.exact.chain.ergodic import ergodic_bias
from sgverify.exact.chain.expansion import asymptotic_variance
from sgverify.exact.chain.mse import (
    long_run_variance,
    mean_square_error,
    stationary_variance,
)
from sgverify.exact.numbers.ball import column, matrix, number
from tests.exact.affine_chains import random_chain
from tests.zoo.affine_models import gaussian, model_of


def scalar(a: Fraction, phi: tuple[int, int], mean: Fraction = Fraction(0)) -> Any:
    """X' = a X + (1 - a) mean + N(0, 1) with phi = b x + c x^2."""

    def at(bits: int) -> ChainProblem:
        one = matrix([[1]])
        chain = AffineChain(matrix([[a]]), column([(1 - a) * mean]), one, column([5]))
        return ChainProblem(
            chain, QuadraticForm(arb(0), column([phi[0]]), matrix([[phi[1]]])), number(Fraction(0))
        )

    return at


def autocorrelation_time(problem_at: Any) -> float:
    """IAT(h) = sigma^2(h) / gamma_0, a number of steps."""
    return long_run_variance(problem_at).value / stationary_variance(problem_at).value


@pytest.mark.parametrize("a", [Fraction(1, 3), Fraction(-3, 4), Fraction(99, 100), Fraction(0)])
def test_autoregressions_have_closed_forms(a: Fraction) -> None:
    gamma = 1 / (1 - a**2)
    linear, square = autocorrelation_time(scalar(a, (1, 0))), autocorrelation_time(scalar(a, (0, 1)))
    assert linear == pytest.approx(float((1 + a) / (1 - a)), rel=1e-14)
    assert square == pytest.approx(float((1 + a**2) / (1 - a**2)), rel=1e-14)
    assert stationary_variance(scalar(a, (1, 0))).value == pytest.approx(float(gamma), rel=1e-14)
    assert stationary_variance(scalar(a, (0, 1))).value == pytest.approx(float(2 * gamma**2), rel=1e-14)
    # Around a mean m, x^2 is a mixture: covariances 4 m^2 gamma a^k + 2 gamma^2 a^(2k).
    m = Fraction(3, 2)
    shares = 4 * m**2 * gamma, 2 * gamma**2
    mixed = (shares[0] * (1 + a) / (1 - a) + shares[1] * (1 + a**2) / (1 - a**2)) / sum(shares)
    assert autocorrelation_time(scalar(a, (0, 1), m)) == pytest.approx(float(mixed), rel=1e-13)


@pytest.mark.parametrize(("size", "seed"), [(1, 4), (2, 5), (3, 6)])
def test_the_long_run_variance_is_that_of_long_averages(size: int, seed: int) -> None:
    """Skew noise and any start: L Var(phi_hat) differs by a constant over L, which two lengths remove."""
    chain = random_chain(size, seed)
    length = 10**6

    def spread(steps: int) -> arb:
        with flint.ctx.workprec(192):
            bias = ergodic_bias(chain.problem_at, steps).ball
            return (mean_square_error(chain.problem_at, steps).ball - bias * bias) * steps**2

    with flint.ctx.workprec(192):
        slope = (spread(2 * length) - spread(length)) / length
    assert long_run_variance(chain.problem_at).value == pytest.approx(float(slope.mid()), rel=1e-9)


@pytest.mark.parametrize(("size", "seed"), [(1, 7), (2, 8)])
def test_both_are_sums_over_the_lags_of_a_recursion(size: int, seed: int) -> None:
    """Cov(phi(X_0), phi(X_k)) = E phi (P^k phi) - phi_h^2 by sampling the discrete noise, to four standard errors."""
    chain = random_chain(size, seed)
    rng = np.random.default_rng(1)
    runs, steps, lags = 50_000, 80, 40
    m, c = np.array(chain.map, dtype=float), np.array(chain.shift, dtype=float)
    atoms, weights = np.array(chain.atoms, dtype=float), np.array(chain.weights, dtype=float)
    x = np.zeros((runs, size))
    values = []
    for step in range(steps):
        x = x @ m.T + c + atoms[rng.choice(len(weights), size=runs, p=weights)]
        if step >= steps - lags:
            b, a = np.array(chain.linear, dtype=float), np.array(chain.quadratic, dtype=float)
            values.append(x @ b + np.einsum("ri,ij,rj->r", x, a, x))
    first = values[0] - values[0].mean()
    products = [first * (value - value.mean()) for value in values]
    total = products[0] + 2 * sum(products[1:])
    for found, sampled in (
        (stationary_variance(chain.problem_at), products[0]),
        (long_run_variance(chain.problem_at), total),
    ):
        assert abs(sampled.mean() - found.value) <= 4 * sampled.std() / np.sqrt(runs)


def test_independent_parts_add_up() -> None:
    def at(bits: int) -> ChainProblem:
        chain = AffineChain(
            matrix([[Fraction(1, 2), 0], [0, Fraction(-1, 3)]]),
            arb_mat(2, 1),
            matrix([[1, 0], [0, 2]]),
            arb_mat(2, 1),
        )
        return ChainProblem(chain, QuadraticForm(arb(0), column([1, 1]), arb_mat(2, 2)), arb(0))

    # Variances 4/3 and 9/4, times 3 and 1/2 for their autocorrelation times.
    assert stationary_variance(at).value == pytest.approx(4 / 3 + 9 / 4, rel=1e-14)
    assert long_run_variance(at).value == pytest.approx(4 + 9 / 8, rel=1e-14)


def test_the_diffusion_s_constant_is_the_limit_and_not_the_value() -> None:
    """h sigma^2(h) -> sigma_0^2; at steps that a sampler takes it is far off, and taking it for sigma^2(h) is a bug."""
    for name, step, factor in (("sgld-euler", Fraction(3, 10), 8), ("sghmc-aboba", Fraction(1, 2), 1)):
        model = model_of(name, target=gaussian(4.0), friction=2.0)
        answers = QuadraticAnswers(model)
        with flint.ctx.workprec(128):
            limit = float(arb(asymptotic_variance(answers.series.steady(answers.exact_observable))).mid())
        small = long_run_variance(model.problem_at(fixed_step(Fraction(1, 10**6)))).value * 1e-6
        assert small == pytest.approx(limit, rel=1e-4)
        large = long_run_variance(model.problem_at(fixed_step(step))).value * float(step)
        assert abs(large / limit - 1) > 0.01 and large / limit == pytest.approx(factor, rel=0.1)


def test_a_constant_has_no_variance_and_an_unstable_chain_is_refused() -> None:
    constant = scalar(Fraction(1, 2), (0, 0))
    assert long_run_variance(constant).value == stationary_variance(constant).value == 0
    with pytest.raises(InstabilityError):
        long_run_variance(scalar(Fraction(5, 4), (1, 0)))


def test_the_start_does_not_matter() -> None:
    chain = random_chain(2, 9)
    moved = replace(chain, start=[value + 3 for value in chain.start])
    assert long_run_variance(chain.problem_at).value == long_run_variance(moved.problem_at).value
