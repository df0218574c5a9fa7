"""Expansions of schemes with memory against the exact laws at small steps."""

from __future__ import annotations

from fractions import Fraction

import pytest

from sgverify import scheme, sqrt
from sgverify.configuration import load_configuration
from sgverify.errors import NotExpandableError
from sgverify.exact.affine.model import fixed_step
from sgverify.exact.answers import answers_for
from sgverify.schemes import kinetic, langevin
from sgverify.subject.subject import Subject
from tests.zoo.schemes import adams, kept_increment, leimkuhler_matthews

DRAW = {"z": lambda theta, *, noise: noise()}
STEP = 1 / 64


@scheme(langevin, memory={"v": lambda theta: 0 * theta})
def heavy_ball(theta, v, *, h, grad, noise, T):
    v = Fraction(3, 4) * v + (sqrt(2 * T * h) * noise() - h * grad(theta)) / 4
    return theta + v, v


@scheme(langevin, memory={"before": lambda theta: theta, "earlier": lambda theta: theta})
def lagging(theta, before, earlier, *, h, grad, noise, T):
    return theta - h * grad(theta) + sqrt(2 * T * h) * noise() + (before - earlier) / 10, theta, before


@scheme(kinetic, memory={"g": lambda theta, p, *, grad: grad(theta)})
def kept_gradient(theta, p, g, *, h, grad, noise, D, T):
    p = (p - h / 2 * g) * (1 - h * D) + sqrt(2 * D * T * h) * noise()
    theta = theta + h * p
    g = grad(theta)
    return theta, p - h / 2 * g, g


REMEMBERING = (leimkuhler_matthews, kept_increment, adams, heavy_ball, lagging, kept_gradient)


def answers(item, **target):
    target = {"name": "gaussian", "precision": 2.0, "mean": 1.0, **target}
    settings = load_configuration(target=target, temperature=1.5)
    return answers_for(Subject(item, settings, item.name).model)


@pytest.mark.parametrize("item", REMEMBERING, ids=lambda item: item.name)
def test_stationary_bias_is_its_expansion(item) -> None:
    """Five coefficients leave O(h^5): a 32nd of it at half the step, to 1 in 8."""
    found = answers(item)
    left = [
        found.stationary_bias(fixed_step(h)).value
        - sum(c * h**k for k, c in enumerate(found.expansion.values))
        for h in (STEP, STEP / 2)
    ]
    assert abs(left[1]) <= abs(left[0]) / 28 + 1e-14


@pytest.mark.parametrize("item", REMEMBERING, ids=lambda item: item.name)
def test_what_the_start_adds_to_an_average(item) -> None:
    """sum_l (E phi(X_l) - phi_h) = (1/h) sum_k tau_k h^k, up to O(h^4)."""
    found, length = answers(item), 10**6
    left = []
    for h in (STEP, STEP / 2):
        whole = found.bias(fixed_step(h), length).value - found.stationary_bias(fixed_step(h)).value
        left.append(length * whole - sum(c * h ** (k - 1) for k, c in enumerate(found.transient.values)))
    assert abs(left[1]) <= abs(left[0]) / 14 + 1e-7


@pytest.mark.parametrize("item", REMEMBERING, ids=lambda item: item.name)
def test_the_variance_of_a_long_average(item) -> None:
    """L h Var(phi_hat) -> sigma_0^2 with an error O(h) + O(1/(L h))."""
    found, length = answers(item), 10**8
    errors = []
    for h in (STEP, STEP / 2):
        mean = found.bias(fixed_step(h), length).value
        spread = found.mean_square_error(fixed_step(h), length).value - mean**2
        errors.append(abs(length * h * spread - found.variance))
    assert errors[1] <= 0.55 * errors[0] + 1e-4


def test_a_law_that_is_right_at_every_step() -> None:
    """Leimkuhler and Matthews 2013: no bias of theta^2 on a Gaussian target; Adams-Bashforth has (hP)^2 of it."""
    for item in (leimkuhler_matthews, kept_increment):
        assert set(answers(item).expansion.values) == {0.0}
    assert answers(adams).expansion.values[:3] == (0.0, 0.0, 1.5)


def test_in_the_plane() -> None:
    target = {"precision": [[2.0, 1.0], [1.0, 3.0]], "mean": [0.0, 1.0], "dim": 2}
    assert set(answers(leimkuhler_matthews, **target).expansion.values) == {0.0}


def test_a_memory_that_never_forgets_has_no_expansion() -> None:
    @scheme(langevin, memory={"sum": lambda theta: 0 * theta})
    def summing(theta, sum, *, h, grad, noise, T):
        return theta - h * grad(theta) + sqrt(2 * T * h) * noise(), sum + h * theta

    with pytest.raises(NotExpandableError, match="forget"):
        _ = answers(summing).expansion
