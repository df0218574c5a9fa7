"""Functions of the state in power series: their Taylor coefficients, derivatives, relations and signs."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from sgverify import cos, dynamics, erf, exp, log, logistic, scheme, sin, softplus, sqrt, tanh
from sgverify.exact.numbers.ball import FLOATS
from sgverify.exact.numbers.jets import Jet
from sgverify.exact.rings.evaluation import Values, by_key
from sgverify.exact.rings.power_series import EXACT, TruncatedSeries
from sgverify.exact.rings.ring import Ring
from sgverify.exact.series.invariant_order import invariant_order
from sgverify.exact.series.local_order import local_order
from sgverify.exact.series.operators import derivative_along
from tests.tables import each_row

PLACE = 0.37

SMOOTH: dict[str, Callable[[Any], Any]] = {
    "exp": lambda x: exp(x) * exp(-x / 2),
    "log": lambda x: log(1 + x * x),
    "sin": lambda x: sin(3 * x) * sin(-3 * x),
    "cos": lambda x: cos(x * x),
    "tanh": tanh,
    "logistic": lambda x: logistic(-2 * x),
    "softplus": softplus,
    "erf": lambda x: erf(x / 2),
    "sqrt": lambda x: sqrt(2 + sin(x)),
    "rational power": lambda x: (1 + x * x) ** -0.7 * (1 + x * x) ** 0.05,
    "real power": lambda x: (1 + exp(x)) ** 0.31830988618379067,
    "quotient": lambda x: 1 / (3 - tanh(x) + x * x),
}


def made() -> tuple[Ring, TruncatedSeries]:
    ring = Ring(1, {"theta": "vector"}, ("T",), depth=2, draws=1, minibatches=1, cap=7)
    return ring, TruncatedSeries(ring, {0: ring.generator("theta", 0), 1: ring.one}, EXACT)


@each_row("name", SMOOTH)
def test_a_function_near_a_state_is_its_taylor_series(name: str) -> None:
    ring, moved = made()
    found = SMOOTH[name](moved)
    jet = np.zeros((6, 1))
    jet[:2, 0] = PLACE, 1
    at = Values(ring, by_key(ring, {("theta", 0): PLACE}.__getitem__), FLOATS)
    values = [float(at(found.coefficient(k))) for k in range(6)]
    assert values == pytest.approx(SMOOTH[name](Jet(jet)).c[:, 0].tolist(), rel=1e-9, abs=1e-12)
    # Each coefficient is the derivative of the one before, exactly.
    for k in range(3):
        slope = derivative_along(found.coefficient(k), 0, ring)
        assert not ring.reduce(slope - (k + 1) * found.coefficient(k + 1))


@pytest.mark.parametrize(
    "left_and_right",
    [
        lambda x: (sin(x) ** 2 + cos(x) ** 2, 1),
        lambda x: (tanh(x) + 1, 2 * logistic(2 * x)),
        lambda x: (exp(x / 3) ** 3 * exp(-x), 1),
        lambda x: (exp(softplus(x)), 1 + exp(x)),
        lambda x: ((1 + x * x) ** 0.3 * (1 + x * x) ** -1.3, 1 / (1 + x * x)),
        lambda x: ((2 + erf(x)) ** 0.123456789, (2 + erf(x)) ** 1.123456789 / (2 + erf(x))),
        lambda x: (((2 + erf(x)) ** 0.061728394) ** 2, (2 + erf(x)) ** 0.123456788),
    ],
)
def test_relations(left_and_right: Callable[[Any], tuple[Any, Any]]) -> None:
    _, x = made()
    left, right = left_and_right(x)
    assert not (left - right).reduced().terms
    assert (left - right - x * x / 10**9).reduced().terms


def test_signs() -> None:
    ring, x = made()
    of = ring.signs_of.of
    positive = (2 + sin(x), exp(x), softplus(x), 1.2345678901234567 + tanh(x), 1 + x * x * (1 + cos(x)))
    assert [of(value.coefficient(0)) for value in positive] == [2] * len(positive)
    assert of((1 + sin(x)).coefficient(0)) == 1
    unknown = (x + sin(x) * x, 0.999 + sin(x), x, 1 - softplus(x), 0.9 + tanh(x), x - x * cos(x))
    assert [of(value.coefficient(0)) for value in unknown] == [0] * len(unknown)


@dynamics(theta="vector")
def turning(theta, *, grad, T):
    square = 1.3718281828459045 + tanh(theta) / 2
    return -square * grad(theta) + T * (1 - tanh(theta) ** 2) / 2, square * T


@pytest.mark.parametrize(("share", "order"), [(1, 1), (0.9999, 0), (0, 0)])
def test_a_coefficient_of_the_state_and_its_divergence(share: float, order: int) -> None:
    @scheme(turning, order=1)
    def step(theta, *, h, grad, noise, T):
        square = 1.3718281828459045 + tanh(theta) / 2
        drift = T * (1 - tanh(theta) ** 2) / 2 * share - square * grad(theta)
        return theta + h * drift + sqrt(2 * square * T * h) * noise()

    assert local_order(step, 1, 1).order == order
    assert invariant_order(step, 1, 1).order == order


def test_a_function_of_a_minibatch_has_no_average() -> None:
    @scheme(turning)
    def clipped(theta, *, h, grad, noise, T):
        square = 1.3718281828459045 + tanh(theta) / 2
        drift = T * (1 - tanh(theta) ** 2) / 2 - square * grad(theta)
        return theta + h * drift + h * h * tanh(grad(theta)) + sqrt(2 * square * T * h) * noise()

    found = local_order(clipped, 1, 2)
    assert found.order == found.averaged_order == 1
