"""Digits that cancel at a small step are computed in more, and a memory that moves nothing is no variable of a chain."""

from __future__ import annotations

import pytest

from sgverify import exp, scheme, sqrt
from sgverify.checks import verify
from sgverify.configuration import load_configuration
from sgverify.schemes import Scheme, kinetic, langevin
from sgverify.subject.binding import make_subject


def exponential(louder: float = 1) -> Scheme:
    """Cheng et al. 2018, with variances written as differences of exponentials, which cancel to h^3."""

    @scheme(kinetic, order=1)
    def step(theta, p, *, h, grad, noise, D, T):
        c = exp(-D * h)
        a = (1 - c) / D
        vv = T * (1 - c * c)
        xx = 2 * T / D * (h - 2 * a + (1 - c * c) / (2 * D))
        xv = T / D * (1 - c) * (1 - c)
        z, y, g = noise(), noise(), grad(theta)
        moved = theta + a * p - (h - a) / D * g + xv / sqrt(vv) * z + sqrt(xx - xv * xv / vv) * y
        return moved, c * p - a * g + louder * sqrt(vv) * z

    return step


@pytest.mark.by_default("2.3949436547772383")
@pytest.mark.parametrize("friction", [2.0, 2.3949436547772383])
def test_variances_that_cancel_in_floats_are_read(friction: float) -> None:
    found = verify(exponential(), checks=["local-order", "covariance"], friction=friction)
    assert {item.verdict for item in found} == {"conforms"}
    (wrong,) = verify(exponential(1.01), checks=["local-order"], friction=friction)
    assert wrong.verdict == "violates"


def counting(moved: int = 0) -> Scheme:
    """Euler with two counters, of which the second moves the state by `moved` times its first increment."""

    @scheme(langevin, order=1, memory={"k": lambda theta: 0 * theta, "m": lambda theta: 1 + 0 * theta})
    def step(theta, k, m, *, h, grad, noise, T):
        drift = -h * grad(theta) + (h * m if moved else 0)
        return theta + drift + sqrt(2 * T * h) * noise(), k + m, m + 1

    return step


def test_a_memory_that_moves_nothing_counts_for_nothing() -> None:
    idle = counting().without_idle_memory
    assert (idle.state, idle.dynamics, idle.census) == (("theta",), langevin, counting().census)
    assert make_subject(counting(), load_configuration()).affine
    found = verify(counting(), checks=["local-order", "stationary-bias"])
    assert {item.verdict for item in found} == {"conforms"}


def test_a_memory_that_moves_the_state_is_kept() -> None:
    assert counting(1).without_idle_memory.state == ("theta", "m")
    (found,) = verify(counting(1), checks=["local-order"])
    assert found.verdict != "conforms"
