"""Bounds of the distance are never below the exact distance on Gaussians, and shrink with the step."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import flint
import numpy as np
import pytest
from flint import arb
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.linalg import solve_discrete_lyapunov

from sgverify.exact.certificates.contraction import BITS, CurvatureBounds, certified_contraction
from sgverify.exact.certificates.distance import INTERRUPTED, DistanceBound, distance_bound
from sgverify.exact.certificates.motion import FreeMotion, SplitMotion
from sgverify.exact.certificates.pair import read_pair
from sgverify.exact.certificates.semidefinite import closed_loop
from sgverify.exact.chain.lyapunov import floats
from sgverify.schemes import exact, find_scheme, langevin, sqrt
from sgverify.schemes import scheme as define


def bounded(
    name: str,
    given: dict[str, Fraction],
    step: Fraction,
    ratio: float,
    variance: float,
    bend: Fraction | None = None,
) -> DistanceBound:
    scheme = find_scheme(name)
    found = certified_contraction(scheme, step, given, CurvatureBounds(Fraction(1), exact(ratio)))
    return distance_bound(scheme, given, found, variance=exact(variance), hessian_lipschitz=bend)


def largest_exact(
    name: str, given: dict[str, Fraction], step: Fraction, ratio: float, variance: float
) -> float:
    """The largest W_2 on Gaussians of curvatures between 1 and `ratio`, in dimension 1, from the chain's covariance."""
    with flint.ctx.workprec(BITS):
        pair = read_pair(find_scheme(name), step, given)
    moved, places = floats(pair.step), floats(pair.places)
    n, k = pair.states, pair.gradients
    found = 0.0
    for curvature in np.geomspace(1, ratio, 30):
        # One minibatch a step: its noise is that of every gradient.
        draws = pair.step_noise.ncols()
        values = np.zeros((n + k, draws + 1))
        for i in range(k):
            asked = places[i] @ values
            asked[:draws] += floats(pair.place_noise)[i]
            values[n + i] = curvature * asked
            values[n + i, draws] += math.sqrt(variance)
        noise = moved @ values
        noise[:, :draws] += floats(pair.step_noise)
        covariance = solve_discrete_lyapunov(closed_loop(moved, places, [curvature] * k), noise @ noise.T)
        found = max(found, abs(math.sqrt(covariance[0, 0]) - math.sqrt(float(given["T"]) / curvature)))
    return found


@pytest.mark.by_default("sgld-euler", "sghmc-euler", "sghmc-ubu")
@pytest.mark.parametrize(
    "name", ["sgld-euler", "sghmc-euler", "sghmc-aboba", "sghmc-baoab", "sghmc-obabo", "sghmc-ubu"]
)
@settings(max_examples=4)
@given(
    ratio=st.floats(1.0, 100.0),
    share=st.floats(0.01, 0.4),
    damping=st.floats(1.3, 2.2),
    temperature=st.floats(0.1, 10.0),
    variance=st.sampled_from([0.0, 3.7]),
)
def test_no_gaussian_of_the_class_is_further_away(
    name: str, ratio: float, share: float, damping: float, temperature: float, variance: float
) -> None:
    given = {"T": exact(temperature), "D": exact(damping * math.sqrt(ratio))}
    step = exact(share / ratio if name == "sgld-euler" else share / math.sqrt(ratio))
    # The Hessian of a Gaussian does not change.
    reached = largest_exact(name, given, step, ratio, variance)
    for bend in (None, Fraction(0)):
        found = bounded(name, given, step, ratio, variance, bend)
        assert reached <= found.distance < math.inf


def test_a_motion_that_is_interrupted_often_is_the_dynamics() -> None:
    """Friction and noise at 64 times in equal shares: what remains is of the second order in their distance."""
    with flint.ctx.workprec(BITS):
        step, temperature, friction = arb(1), arb(2), arb(3)
        times = [Fraction(2 * k + 1, 128) for k in range(64)]
        split = SplitMotion(step, temperature, friction, times, [Fraction(1, 64)] * 64)
        free = FreeMotion(step, temperature, friction)
        a, b = arb(1) / 4, arb(3) / 4
        for name in ("reach", "response", "deviation"):
            near = getattr(split, name)(b)
            assert float(near) == pytest.approx(float(getattr(free, name)(b)), rel=1e-3)
        for name in ("weights", "weighted_reach"):
            near = floats(getattr(split, name)(a, b))
            assert near == pytest.approx(floats(getattr(free, name)(a, b)), rel=1e-3)
        assert floats(split.covariance()) == pytest.approx(floats(free.covariance()), rel=1e-3)
        # In the middle between two interruptions, half of one is ahead of the dynamics.
        for ours, theirs in zip(split.weight(b).entries(), free.weight(b).entries(), strict=True):
            assert float(ours) == pytest.approx(float(theirs), rel=0.03)


@pytest.mark.parametrize(
    ("name", "where"), [("sghmc-baoab", INTERRUPTED[0]), ("sghmc-obabo", INTERRUPTED[1])]
)
def test_an_interrupted_motion_has_the_draws_of_a_splitting(name: str, where: Any) -> None:
    given = {"T": Fraction(2), "D": Fraction(3)}
    with flint.ctx.workprec(BITS):
        pair = read_pair(find_scheme(name), Fraction(1, 3), given)
        motion = SplitMotion(arb(1) / 3, arb(2), arb(3), *where)
        drawn = floats(pair.step_noise * pair.step_noise.transpose())
        assert floats(motion.covariance()) == pytest.approx(drawn, rel=1e-12)
        assert [float(motion.reach(arb(1) / 3)), float(motion.damping)] == pytest.approx(
            floats(pair.step)[:, 1]
        )


def test_wrong_steps_are_bounded_by_their_error() -> None:
    """Noise 10 % too strong stands in sigma, a pull 10 % too strong in e: bounds hold, and do not vanish with the step."""

    @define(langevin)
    def warm_euler(theta, *, h, grad, noise, T):  # type: ignore[no-untyped-def]
        return theta - h * grad(theta) + sqrt(2 * T * h * 11 / 10) * noise()

    @define(langevin)
    def strong_euler(theta, *, h, grad, noise, T):  # type: ignore[no-untyped-def]
        return theta - h * 11 / 10 * grad(theta) + sqrt(2 * T * h) * noise()

    given, bounds = {"T": Fraction(1)}, CurvatureBounds(Fraction(1), Fraction(5))
    for scheme, error in ((warm_euler, math.sqrt(1.1) - 1), (strong_euler, 1 - 1 / math.sqrt(1.1))):
        step = Fraction(1, 10**5)
        found = distance_bound(scheme, given, certified_contraction(scheme, step, given, bounds))
        assert found.distance >= error


@pytest.mark.parametrize(
    ("name", "bend", "order"),
    [
        ("sgld-euler", None, 0.5),
        ("sgld-euler", Fraction(1), 1.0),
        ("sghmc-ubu", None, 1.0),
        ("sghmc-ubu", Fraction(1), 2.0),
        ("sghmc-baoab", None, 1.0),
        ("sghmc-baoab", Fraction(1), 2.0),
        ("sghmc-aboba", Fraction(1), 2.0),
        ("sghmc-obabo", Fraction(1), 2.0),
        ("sghmc-md-abo", Fraction(1), 1.0),
    ],
)
def test_the_distance_has_the_order_of_the_proof(name: str, bend: Fraction | None, order: float) -> None:
    given = {"T": Fraction(1), "D": Fraction(4)}
    # The norm that the solver finds is one of many, and changes from step to step: a factor of 1.6 in two decades.
    steps = (Fraction(1, 10**3), Fraction(1, 10**5))
    far, near = (bounded(name, given, step, 3.0, 0.0, bend).distance for step in steps)
    assert math.log10(far / near) / 2 == pytest.approx(order, abs=0.1)


def test_a_step_at_which_everything_is_forgotten_has_a_bound() -> None:
    found = bounded("sgld-euler", {"T": Fraction(1)}, Fraction(1), 1.0, 0.0)
    assert math.isfinite(found.distance)
