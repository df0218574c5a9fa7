"""Expansions at h = 0 against the ball engine at a tiny step: every coefficient in turn."""

from __future__ import annotations

from collections.abc import Callable

import flint
import pytest
from flint import arb, arb_mat, fmpq, fmpq_mat

from sgverify.errors import NotExpandableError
from sgverify.exact.chain.chain import QuadraticForm
from sgverify.exact.chain.ergodic import Centred
from sgverify.exact.chain.expansion import AffineSeries, Expansion, asymptotic_variance
from sgverify.exact.chain.lyapunov import EXACT_SIZE
from sgverify.exact.chain.mse import mean_square_error
from tests.exact.series_chains import SeriesChain, expand, expand_transient, random_series_chain

STEP = fmpq(1, 10**20)


def follows(quantity: Callable[[fmpq], arb], expansion: Expansion) -> None:
    """(quantity - partial sum) / h^k is b_k + h b_{k+1} + ..., at h = 1e-20."""
    with flint.ctx.workprec(2000):
        value = quantity(STEP)
        for k, coefficient in enumerate(expansion.coefficients[:-1]):
            found = value / arb(STEP) ** k
            assert abs(found - arb(coefficient)) < 1e-18 * (1 + abs(arb(expansion.coefficients[k + 1])))
            value -= arb(coefficient) * arb(STEP) ** k


@pytest.mark.parametrize(("size", "seed"), [(1, 1), (2, 2), (3, 3), (4, 4)])
def test_stationary_bias(size: int, seed: int) -> None:
    chain = random_series_chain(size, seed)
    expansion = expand(chain.series(5), chain.observable, chain.target)
    assert expansion.exact and len(expansion.coefficients) == 5
    follows(lambda h: Centred(chain.problem(h)).stationary_bias(), expansion)


@pytest.mark.parametrize("spread", [True, False])
@pytest.mark.parametrize(("size", "seed"), [(1, 5), (2, 6), (3, 7)])
def test_transient(size: int, seed: int, spread: bool) -> None:
    chain = random_series_chain(size, seed)
    if not spread:
        chain.start_covariance = chain.start_covariance * 0
    expansion = expand_transient(
        chain.series(5), chain.observable, chain.start, chain.start_covariance if spread else None
    )
    assert expansion.exact
    follows(lambda h: Centred(chain.problem(h)).transient(arb_mat(size, size)) * arb(h), expansion)


@pytest.mark.parametrize(("size", "seed"), [(1, 8), (2, 9), (3, 10)])
def test_asymptotic_variance(size: int, seed: int) -> None:
    chain = random_series_chain(size, seed)
    length = 10**18

    def scaled(step: fmpq) -> arb:
        def problem_at(bits: int) -> object:
            return chain.problem(step, target=Centred(chain.problem(step)).stationary_bias() + chain.target)

        return mean_square_error(problem_at, length).ball * length * arb(step)

    with flint.ctx.workprec(192):
        # V(h) = sigma_0 + O(h) + O(1 / (L h)): the extrapolation leaves O(h^2) and O(1e-12), with h = 1e-6.
        found = 2 * scaled(fmpq(1, 2 * 10**6)) - scaled(fmpq(1, 10**6))
        exact = arb(asymptotic_variance(chain.series(1).steady(chain.observable)))
        assert abs(found / exact - 1) < 1e-9


def langevin(orders: int) -> AffineSeries:
    """theta' = (1 - 3 h) theta + sqrt(2 h) z: stationary variance (1/3) / (1 - 3h/2)."""
    zero = fmpq_mat([[0]])
    rest = [zero] * (orders - 1)
    return AffineSeries([fmpq_mat([[-3]]), *rest], [zero, *rest], [fmpq_mat([[2]]), *rest])


def square(size: int = 1) -> QuadraticForm:
    form = fmpq_mat(size, size, [int(i == j == 0) for i in range(size) for j in range(size)])
    return QuadraticForm(fmpq(0), fmpq_mat(size, 1), form)


def test_a_closed_form_to_every_order() -> None:
    expansion = expand(langevin(6), square(), fmpq(1, 3))
    assert expansion.coefficients == tuple(fmpq(1, 3) * fmpq(3, 2) ** k if k else fmpq(0) for k in range(6))
    assert expansion.coefficients[:2] == (0, fmpq(1, 2))
    # psi = theta^2 / 6 solves L psi = 1/3 - theta^2, so sigma_0 = 2 E (theta / 3)^2 = 2/27.
    assert asymptotic_variance(langevin(1).steady(square())) == fmpq(2, 27)
    # The integral of E theta_t^2 - 1/3 from 2 is (4 - 1/3) / 6.
    assert expand_transient(langevin(1), square(), fmpq_mat([[2]])).coefficients == (fmpq(11, 18),)


def test_an_expansion_that_vanishes_says_so() -> None:
    expansion = expand(langevin(4), QuadraticForm(fmpq(0), fmpq_mat([[1]]), fmpq_mat([[0]])), fmpq(0))
    assert not any(expansion.coefficients) and len(expansion.coefficients) == 4
    wrong = expand(langevin(4), square(), fmpq(1, 4))
    assert wrong.coefficients[0] == fmpq(1, 12)


def in_balls(chain: SeriesChain) -> SeriesChain:
    phi = chain.observable
    return SeriesChain(
        *([arb_mat(m) for m in part] for part in (chain.maps, chain.shifts, chain.covariances)),
        QuadraticForm(arb(phi.constant), arb_mat(phi.linear), arb_mat(phi.quadratic)),
        arb(chain.target),
        arb_mat(chain.start),
        arb_mat(chain.start_covariance),
    )


def test_balls_hold_the_fractions() -> None:
    chain = random_series_chain(3, 12)
    with flint.ctx.workprec(300):
        balls = in_balls(chain)
        pairs = [
            (
                expand(chain.series(4), chain.observable, chain.target),
                expand(balls.series(4), balls.observable, balls.target),
            ),
            (
                expand_transient(chain.series(4), chain.observable, chain.start, chain.start_covariance),
                expand_transient(chain.series(4), chain.observable, balls.start, balls.start_covariance),
            ),
        ]
        for exact, enclosed in pairs:
            assert exact.exact and not enclosed.exact
            for a, b in zip(exact.coefficients, enclosed.coefficients, strict=True):
                assert b.overlaps(arb(a)) and b.rad() < 1e-60
        assert asymptotic_variance(balls.series(1).steady(balls.observable)).overlaps(
            arb(asymptotic_variance(chain.series(1).steady(chain.observable)))
        )


@pytest.mark.power  # 0.6 s
def test_many_uncoupled_coordinates_stay_exact_and_many_coupled_ones_are_enclosed() -> None:
    size = EXACT_SIZE + 2
    apart = random_series_chain(size, 13, coupled=False)
    assert expand(apart.series(4), apart.observable, apart.target).exact
    together = random_series_chain(size, 13)
    with flint.ctx.workprec(300):
        enclosed = expand(together.series(3), together.observable, together.target)
    assert not enclosed.exact
    follows(lambda h: Centred(together.problem(h)).stationary_bias(), enclosed)


def test_a_step_that_goes_nowhere_has_no_expansion() -> None:
    frozen = AffineSeries([fmpq_mat([[0]])], [fmpq_mat([[0]])], [fmpq_mat([[2]])])
    with pytest.raises(NotExpandableError, match="does not decay"):
        expand(frozen, square(), fmpq(1))


def test_a_ball_that_holds_zero_is_no_leading_coefficient() -> None:
    with flint.ctx.workprec(200):
        series = langevin(3)
        enclosed = AffineSeries(
            *([arb_mat(m) for m in p] for p in (series.map, series.shift, series.covariance))
        )
        expansion = expand(enclosed, square(), arb(1) / 3)
    assert not expansion.exact
    assert expansion.coefficients[0].contains(0) and not expansion.coefficients[1].contains(0)
