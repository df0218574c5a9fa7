"""How large the error is, against laws that are known by hand."""

from __future__ import annotations

import math

import numpy as np
import pytest

from sgverify.advice.chain_laws import ClosureLaws, ExactLaws, GridLaws
from sgverify.advice.closure.linear_chain import LinearChain
from sgverify.advice.size.finding import FACTOR, how_large, smallest_crossings
from sgverify.advice.size.model import HowLarge
from sgverify.configuration import load_configuration
from sgverify.errors import InstabilityError
from sgverify.subject.binding import make_subject

IID = {"gradient.kind": "iid"}


def found(scheme: str, **given: object) -> HowLarge:
    answer = how_large(make_subject(scheme, load_configuration(**given)))
    assert answer is not None
    return answer


def test_a_level_below_the_rounding_has_no_step() -> None:
    (level,) = smallest_crossings(lambda h: 3e-14, (2e-14,), step=0.01, rounding=3e-14)
    assert level.step is None


def test_euler_on_a_gaussian_is_as_wide_as_its_formula_says() -> None:
    # theta' = (1 - hP) theta + sqrt(2Th) xi has the variance T/(P (1 - hP/2)).
    P, h, T = 4.0, 0.01, 2.0
    answer = found(
        "sgld-euler",
        **{"target.name": "gaussian", "target.precision": P, "schedule.step": h, "temperature": T},
    )
    share = (1 - h * P / 2) ** -0.5
    assert answer.method == "exact" and answer.mean_bias == (0.0,)
    assert answer.sd_bias[0] == pytest.approx(share - 1, rel=1e-9)
    assert answer.configuration_temperature[0] == pytest.approx(T * share**2, rel=1e-9)
    assert answer.power is not None and (answer.power.order, answer.power.exact) == (1, True)
    assert answer.power.constant == pytest.approx(P / 4, rel=1e-12)
    for level in answer.levels:
        assert level.step == pytest.approx(2 / P * (1 - (1 + level.error) ** -2), rel=2e-4)
    average = answer.monte_carlo
    assert average is not None and average.power is not None
    a = (1 - h * P) ** 2
    assert average.autocorrelation_time == pytest.approx((1 + a) / (1 - a), rel=1e-9)
    variance = T / P * share**2
    assert average.bias == pytest.approx(variance - T / P, rel=1e-9)
    assert average.steps == pytest.approx(2 * variance**2 * (1 + a) / (1 - a) / average.bias**2, rel=1e-9)


def test_minibatches_and_full_gradients_are_both_told() -> None:
    answer = found("sgld-euler", **IID)
    quiet = answer.without_noise
    assert quiet is not None and quiet == found("sgld-euler").sd_bias[0]
    assert answer.sd_bias[0] > 20 * quiet
    small = found("sgld-euler", **IID, **{"schedule.step": 1e-5})
    noise = 100 * (small.error - found("sgld-euler", **{"schedule.step": 1e-5}).error)
    assert f"too wide, {noise:.2g} from noise; 1 % at h <=" in small.sentence
    assert small.details == "an independent draw costs 200 steps"
    assert answer.sentence.startswith(
        "h = 0.000999: sd 9.9 times the target's, 41 % without noise; 1 % at h <= 4.1e-07"
    )


def test_a_scheme_without_bias_keeps_within_the_level_at_every_stable_step() -> None:
    answer = found("sghmc-baoab")
    assert all(level.stability for level in answer.levels)
    assert answer.levels[0].step == pytest.approx(2 / math.sqrt(1001), rel=1e-4)
    assert "no bias" in answer.sentence and answer.momentum_temperature is not None
    # BAOAB's momentum is too cold: T (1 - h^2 P/4).
    assert answer.momentum_temperature[0] == pytest.approx(1 - answer.step**2 * 1001 / 4, rel=1e-9)


@pytest.mark.parametrize("scheme", ["sgld-euler", "sghmc-aboba", "sghmc-euler"])
@pytest.mark.parametrize("kind", ["full", "iid", "reshuffle"])
def test_the_sentence_fits_a_screen(scheme: str, kind: str) -> None:
    assert len(found(scheme, **{"gradient.kind": kind}).sentence) <= 100


def test_the_smallest_crossing_is_found_where_the_error_is_not_monotone() -> None:
    # 0.05 is crossed upwards at 0.05, downwards at 0.1, and upwards again at 1.05.
    def error(h: float) -> float:
        return h if h <= 0.08 else max(0.16 - h, 0.01) if h < 1 else h - 1 if h < 3 else math.inf

    level, never = smallest_crossings(error, (0.05, 2.5), step=2.0, limit=3.0)
    assert level.step == pytest.approx(0.05, rel=1e-3) and not level.stability
    assert never.step == 3.0 and never.stability


@pytest.mark.parametrize("rounding", [0.0, 3e-3])
def test_an_error_of_the_computation_does_not_end_the_search(rounding: float) -> None:
    """The error of the computation is the same at every step: halving does not reduce it, and the search has to be told so."""

    def error(h: float) -> float:
        return 6e-4 + 0.1 * h**2

    (level,) = smallest_crossings(error, (0.05,), step=0.01, rounding=rounding)
    assert (level.step is None) == (rounding == 0.0)
    if level.step is not None:
        assert level.step == pytest.approx(math.sqrt((0.05 - 6e-4) / 0.1), rel=1e-3)


def test_a_linear_chain_sums_its_autocovariances() -> None:
    random = np.random.default_rng(0)
    move = random.standard_normal((3, 3)) * 0.4
    noise = random.standard_normal((3, 3))
    chain = LinearChain.of(move, noise @ noise.T, 2, 0.1)
    s = chain.covariance
    later = [s @ np.linalg.matrix_power(move.T, k) for k in range(200)]
    linear = [2 * sum(c[i, i] for c in later) - s[i, i] for i in range(2)]
    squares = [4 * sum(c[i, i] ** 2 for c in later) - 2 * s[i, i] ** 2 for i in range(2)]
    np.testing.assert_allclose(chain.mean_variance, linear, rtol=1e-9)
    np.testing.assert_allclose(chain.square_variance, squares, rtol=1e-9)
    # A coordinate that turns by a right angle a step, and shrinks by r: rho_2k = (-r^2)^k. Its mean knows more than that of
    # independent draws, its square less.
    r = 0.9
    turning = LinearChain.of(np.array([[0.0, r], [-r, 0.0]]), np.eye(2), 1, 0.1)
    assert turning.mean_variance[0] < turning.covariance[0, 0] / 9
    assert turning.independent_draw == pytest.approx((1 + r**4) / (1 - r**4))
    with pytest.raises(InstabilityError, match="does not contract"):
        LinearChain.of(np.eye(2), np.eye(2), 1, 0.1)


@pytest.mark.parametrize("scheme", ["sgld-euler", "sghmc-euler"])
def test_the_gaussian_approximation_is_the_exact_law_where_the_target_is_gaussian(scheme: str) -> None:
    given = {
        "target.name": "linear-regression",
        "target.size": 20,
        "target.dim": 2,
        "schedule.step": 0.01,
        **IID,
    }
    subject = make_subject(scheme, load_configuration(**given))
    exact, closed = ExactLaws(subject), ClosureLaws(subject)
    for law in (exact, closed):
        np.testing.assert_allclose(law.target.sd, subject.target.spread_float64(1.0), rtol=1e-5)
    one, other = exact.at(0.01), closed.at(0.01)
    np.testing.assert_allclose(one.sd, other.sd, rtol=1e-4)
    np.testing.assert_allclose(one.mean, other.mean, atol=1e-5)
    if one.momentum is not None and other.momentum is not None:
        np.testing.assert_allclose(one.momentum, other.momentum, rtol=1e-4)


@pytest.mark.parametrize("scheme", ["sghmc-baoab", "sghmc-aboba", "sghmc-ubu"])
def test_with_a_momentum_the_approximation_is_exact_on_gaussian_targets_with_full_gradients(
    scheme: str,
) -> None:
    given = {"target.name": "linear-regression", "target.size": 20, "target.dim": 2, "friction": 2.0}
    subject = make_subject(scheme, load_configuration(**given))
    exact, closed = ExactLaws(subject).at(0.1), ClosureLaws(subject).at(0.1)
    np.testing.assert_allclose(closed.sd, exact.sd, rtol=1e-9)
    np.testing.assert_allclose(closed.momentum, exact.momentum, rtol=1e-9)
    np.testing.assert_allclose(closed.mean, exact.mean, atol=1e-9)


@pytest.mark.parametrize("kind", ["iid", "control-variate"])
def test_data_that_move_theta_before_they_are_asked_again_are_followed(kind: str) -> None:
    # BAOAB evaluates two gradients on one minibatch: the data that make the first move theta to where the second is evaluated.
    given = {
        "target.name": "linear-regression",
        "target.size": 20,
        "target.dim": 1,
        "friction": 2.0,
        "gradient.kind": kind,
        "gradient.batch": 5,
    }
    subject = make_subject("sghmc-baoab", load_configuration(**given))
    exact, closed = ExactLaws(subject), ClosureLaws(subject)
    one, other, target = exact.at(0.05), closed.at(0.05), exact.target
    assert abs(one.mean - target.mean)[0] > 1e-3 * target.sd[0] or kind == "control-variate"
    np.testing.assert_allclose(other.mean - target.mean, one.mean - target.mean, atol=1e-6)
    # The covariance leaves out what is quadratic in the differences of the data's Hessians: the share h^2 of the bias here.
    np.testing.assert_allclose(other.sd / target.sd - 1, one.sd / target.sd - 1, rtol=0.02)


@pytest.mark.by_default("14")
@pytest.mark.parametrize("dim", [14, 32])
def test_calls_on_one_minibatch_share_their_noise_in_many_coordinates(dim: int) -> None:
    # BAOAB evaluates two gradients on one minibatch, ABOBA one: to first order in h both are widened by the same noise.
    given = {"target.name": "linear-regression", "target.size": 60, "target.dim": dim, "gradient.kind": "iid"}
    h, shares = 5e-4, []
    for scheme in ("sghmc-baoab", "sghmc-aboba"):
        subject = make_subject(scheme, load_configuration(**given, **{"friction": 4.0, "schedule.step": h}))
        laws = ClosureLaws(subject)
        shares.append(laws.at(h).sd / laws.target.sd - 1)
    assert shares[1].min() > 1e-3
    np.testing.assert_allclose(shares[0], shares[1], rtol=0.05)


@pytest.mark.parametrize("scheme", ["sgld-euler", "sghmc-aboba"])
def test_noise_that_is_added_on_a_line_is_as_exact_as_on_gaussians(scheme: str) -> None:
    given = {"target.name": "gaussian", "target.precision": 2.0, "target.mean": 0.3, "schedule.step": 0.1}
    subject = make_subject(
        scheme, load_configuration(**given, **{"gradient.kind": "additive", "gradient.covariance": 3.0})
    )
    grid, exact = GridLaws(subject), ExactLaws(subject)
    one, other = grid.at(0.1), exact.at(0.1)
    assert other.biases(exact.target)[1][0] > 0.03
    np.testing.assert_allclose(one.sd, other.sd, rtol=1e-7)
    assert grid.independent_draw(0.1) == pytest.approx(exact.independent_draw(0.1), rel=1e-7)


@pytest.mark.power  # 0.9 s
def test_a_line_beyond_gaussians_is_told_by_grids() -> None:
    answer = found("sgld-euler", **{"target.name": "double-well", "schedule.step": 0.01})
    assert answer.method == "grid" and answer.monte_carlo is not None and answer.power is not None
    # The leading term and the value at a small step agree to the next power of h.
    assert answer.power.order == 1
    assert answer.sd_bias[0] == pytest.approx(answer.power.constant * 0.01, rel=0.15)
    assert answer.levels[0].step is not None


def test_what_no_method_reaches_is_not_told() -> None:
    for scheme, given in (
        ("sgnht-euler", {}),
        ("sgld-euler", {"schedule.kind": "power"}),
        ("resgld", {}),
    ):
        assert how_large(make_subject(scheme, load_configuration(**given))) is None


def test_an_error_that_jumps_at_a_step_that_was_compared_is_crossed_there() -> None:
    """exp(log(h)) may lie below h, where the law still holds: the ends of the search are taken as they are."""
    before = next(h for h in np.linspace(0.1, 1, 100) if math.exp(math.log(h * FACTOR)) < h * FACTOR)
    jump = before * FACTOR

    def error(step: float) -> float:
        return 0.01 * step if step < jump else math.inf

    (found,) = smallest_crossings(error, (10.0,), step=before)
    assert found.step == pytest.approx(jump, rel=1e-3)
    assert found.step < jump
