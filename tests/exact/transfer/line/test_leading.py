"""The predicted expansion at h = 0 against grids extrapolated to h = 0, exact Gaussian laws, and itself another way."""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import pairwise

import numpy as np
import pytest

from sgverify.exact.numbers.quadrature import EXTENDED
from sgverify.exact.transfer.line.bias import LineAnswers
from sgverify.exact.transfer.line.defects import expand_defects
from sgverify.exact.transfer.line.operator import StepMap
from sgverify.schemes import Scheme, dot, find_scheme, langevin, sqrt
from sgverify.schemes.scheme import make_scheme
from tests.exact.transfer.line.test_bias import answers, build
from tests.zoo.schemes import bounded_heun, coins, half_kicks, heun, planted_drift, weak_noise

EULER = find_scheme("sgld-euler")


def extrapolated(found: LineAnswers, order: int, first: float, count: int = 5) -> float:
    """The limit of bias/h^order from grids at steps first, first/2, ...: polynomial extrapolation to h = 0."""
    steps = [first / 2**k for k in range(count)]
    values = []
    for step in steps:
        value = found.stationary_bias(step).value
        assert value is not None
        values.append(value / step**order)
    for level in range(1, count):
        values = [(2**level * b - a) / (2**level - 1) for a, b in pairwise(values)]
    return values[0]


CASES = [
    (EULER, "double-well", "theta**2", 1, 0.004),
    (EULER, "quartic", "theta**2", 1, 0.01),
    (EULER, "mixture", "theta**3", 1, 0.02),
    (EULER, "logistic-regression", "theta", 1, 0.01),
    (half_kicks, "quartic", "theta**2", 1, 0.01),
    (coins, "double-well", "theta**2", 1, 0.004),
    (heun, "double-well", "theta**2", 2, 0.004),
    (bounded_heun, "double-well", "theta**2", 2, 0.004),
]


@pytest.mark.by_default(
    "scheme0-double-well-theta**2-1-0.004",
    "scheme1-quartic-theta**2-1-0.01",
    "scheme5-double-well-theta**2-1-0.004",
)
@pytest.mark.parametrize(("scheme", "name", "text", "order", "first"), CASES)
def test_the_predicted_constant_agrees_with_the_grids_to_six_digits(
    scheme: Scheme, name: str, text: str, order: int, first: float
) -> None:
    found = answers(scheme, build(name), text)
    leading = found.expansion
    assert leading.order == order
    assert leading.proved_order == order
    assert all(term.proved_zero for term in leading.terms[:order])
    assert leading.error_bound < 1e-10 * abs(leading.constant)
    assert leading.constant == pytest.approx(extrapolated(found, order, first), rel=1e-6)


def test_the_temperature_is_followed() -> None:
    found = answers(EULER, build("double-well"), "theta**4", Fraction(1, 2))
    leading = found.expansion
    assert leading.constant == pytest.approx(extrapolated(found, 1, 0.002), rel=1e-6)


@pytest.mark.parametrize("temperature", [Fraction(1), Fraction(3)])
def test_on_a_gaussian_the_terms_are_those_of_the_exact_law(temperature: Fraction) -> None:
    """Euler's variance is T/(1 - h/2) = T (1 + h/2 + ...), so E theta^4 = 3 T^2 (1 + h + 3 h^2/4 + ...)."""
    leading = answers(EULER, build("gaussian"), "theta**4", temperature).expansion
    assert leading.order == 1
    assert abs(leading.constant - 3 * float(temperature) ** 2) <= leading.error_bound < 1e-12


def test_heun_on_a_gaussian_has_its_exact_second_term() -> None:
    """(1 - h/2)^2 2h/(1 - (1 - h + h^2/2)^2) = 1 - h^2/4 + ..."""
    leading = answers(heun, build("gaussian")).expansion
    assert leading.order == 2
    assert abs(leading.constant + 0.25) <= leading.error_bound < 1e-13


@pytest.mark.power  # 0.7 s
def test_a_term_that_vanishes_numerically_alone_is_passed_over_and_not_called_proved() -> None:
    """Stationarity of Euler's step gives E U' = 0 at every h: on a quartic E theta^3 has no bias, and no algebra says so."""
    leading = answers(EULER, build("quartic"), "theta**3").expansion
    assert leading.order is None
    assert [term.proved_zero for term in leading.terms] == [True, False, False, False, False]
    assert all(abs(term.value) <= term.error_bound < 1e-9 for term in leading.terms)
    assert leading.proved_order == 1


def test_the_later_terms_describe_the_grids_too() -> None:
    """nu_2 of Euler, past the leading term, from the recursion of functionals."""
    found = answers(EULER, build("double-well"))
    prediction = found._prediction
    facts: dict[str, object] = {}
    first = found.expansion.constant
    second = prediction._coefficient(2, expand_defects(EULER, 3, prediction.parameters), facts).value
    step = 0.0005
    value, half = (found.stationary_bias(h).value for h in (step, step / 2))
    assert value is not None
    assert half is not None
    remainder = [(b / h - first) / h for b, h in ((value, step), (half, step / 2))]
    assert 2 * remainder[1] - remainder[0] == pytest.approx(second, rel=1e-4)


@pytest.mark.parametrize(("scheme", "order"), [(EULER, 1), (heun, 2), (half_kicks, 1)])
def test_partial_integration_gives_the_same_constant(scheme: Scheme, order: int) -> None:
    """int D psi d pi from derivatives of psi, int psi D^* 1 d pi from psi alone."""
    leading = answers(scheme, build("mixture")).expansion
    assert leading.facts[f"h^{order}"]["by_the_adjoint"] == pytest.approx(leading.constant, rel=1e-12)


def test_a_limit_with_another_law_is_a_bias_of_order_zero() -> None:
    """Noise of half the variance samples exp(-2U): on a Gaussian half the variance is missing."""
    leading = answers(weak_noise, build("gaussian")).expansion
    assert leading.order == 0
    assert abs(leading.constant + 0.5) <= leading.error_bound < 1e-13
    well = answers(weak_noise, build("double-well"))
    assert well.expansion.constant == pytest.approx(extrapolated(well, 0, 0.002, 4), rel=1e-8)


def test_a_planted_weight_is_seen_by_the_prediction_and_the_grids_alike() -> None:
    """Heun with 0.51 and 0.49 loses its order, and both ways agree on by how much; Heun's constant they deny."""
    wrong, right = answers(planted_drift, build("quartic")), answers(heun, build("quartic"))
    leading = wrong.expansion
    assert leading.order == 1
    seen = extrapolated(wrong, 1, 0.004, 4)
    assert leading.constant == pytest.approx(seen, rel=1e-6)
    assert abs(extrapolated(right, 1, 0.004, 4)) < 1e-4 * abs(seen)


def test_a_wrong_sign_of_the_poisson_equation_would_be_seen() -> None:
    """Euler overestimates the variance of a Gaussian; with the other sign the constant would be -1/2."""
    found = answers(EULER, build("gaussian"))
    value = found.stationary_bias(0.01).value
    assert value is not None
    assert math.copysign(1, value) == math.copysign(1, found.expansion.constant)


def test_the_kink_of_a_tamed_step_enters_its_constant_as_it_is() -> None:
    """h g/(1 + h |g|) on N(m, 1/k): b_1 of theta^2 is 1/2 + 2 sqrt(2/(pi k)), and the mean stays where it is.

    D_2 is Euler's, which gives 1/2, and |g| g d; psi' = (theta + m)/k up to its even part, so pi(|g| g psi') =
    E |X|^3 k with X ~ N(0, 1/k), which is 2 sqrt(2/(pi k)).
    """
    engine = answers(
        make_scheme(_tamed, langevin, order=1), build("gaussian", precision=4, mean=3), "theta**2"
    )
    leading = engine.expansion.leading
    assert leading is not None and leading.order == 1
    assert abs(leading.value - (0.5 + 2 * math.sqrt(2 / (4 * math.pi)))) < leading.error_bound < 1e-6


def test_a_scalar_product_moves_the_points_of_the_line_one_by_one() -> None:
    """A state of one coordinate is a vector all the same: dot(g, g) is a number for each point and each node."""

    def step(theta, *, h, grad, noise, T):  # type: ignore[no-untyped-def]
        g = grad(theta)
        return theta - h * g / (1 + h * sqrt(dot(g, g))) + sqrt(2 * T * h) * noise()

    motion = StepMap(make_scheme(step, langevin, order=1), build("gaussian", precision=4, mean=3), {"T": 1.0})
    x = np.array([0.0, 3.0, 5.0], dtype=EXTENDED)
    slope = 4 * (x - 3)
    mean = x - slope / 10 / (1 + np.abs(slope) / 10)
    moved, weights = motion.after(x, 0.1, 5)
    assert moved.shape == (3, 5) and weights.shape == (5,)
    assert np.abs(moved @ weights - mean).max() < 1e-15
    assert np.abs(motion.without_noise(x, 0.1) - mean).max() < 1e-15


def _tamed(theta, *, h, grad, noise, T):  # type: ignore[no-untyped-def]
    g = grad(theta)
    return theta - h * g / (1 + h * sqrt(g * g)) + sqrt(2 * T * h) * noise()
