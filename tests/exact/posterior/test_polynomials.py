"""Posterior averages, against numerical quadrature, sympy's own integrals and brute force in numpy."""

from __future__ import annotations

import itertools
import math
import time
from collections.abc import Callable
from fractions import Fraction
from functools import cache
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import sympy
from hypothesis import given
from hypothesis import strategies as st

from sgverify.errors import ConfigurationError, DefinitionError, UnknownNameError
from sgverify.exact.posterior.polynomials import posterior_average, posterior_formula
from sgverify.schemes import dot
from sgverify.targets import Observable, Target, build_target, parse_observable

hundredths = st.integers(-300, 300).map(lambda k: k / 100)
positive = st.integers(5, 400).map(lambda k: k / 100)


def gaussian_mean(**keys: Any) -> Target:
    return build_target(SimpleNamespace(name="gaussian-mean", **keys))


def by_quadrature(target: Target, observable: Observable, temperature: float) -> float:
    """E[phi] in one dimension: quadrature of the potential's own values, normalised by itself; p by its weight."""
    centre, width = float(target.mean[0]), math.sqrt(temperature * float(target.covariance[0][0]))

    def energy(theta: float) -> float:
        point = np.array([theta])
        data = 0.0 if target.data is None else target.likelihood(point, target.data).sum()  # type: ignore[misc]
        return float(target.prior(point) + data)

    lowest = energy(centre)
    # Gauss-Hermite nodes for N(centre, width^2), reweighted by what the potential really says: exact for
    # these degrees where the potential is that Gaussian, and visibly off where it is not.
    nodes, weights = np.polynomial.hermite_e.hermegauss(24)
    total = norm = 0.0
    for z, w in zip(nodes, weights, strict=True):
        theta = centre + width * z
        weight = w * math.exp(-(energy(theta) - lowest) / temperature + z * z / 2)
        for y, v in zip(nodes, weights, strict=True):
            p = math.sqrt(temperature) * y
            total += weight * v * float(observable.evaluate([theta, p]))
            norm += weight * v
    return total / norm


ONE_DIMENSION = [
    "theta",
    "theta**2",
    "theta**4",
    "theta**3 - 2*theta",
    "p**2",
    "theta**2*p**2",
    "p",
    "1/3",
    "theta*p",
]


@pytest.mark.parametrize("text", ONE_DIMENSION)
@pytest.mark.parametrize("temperature", [1, 0.3])
def test_averages_are_those_of_quadrature(text: str, temperature: float) -> None:
    observable = parse_observable(text, 1)
    for target in (
        gaussian_mean(data=[1.0, 2.5, -0.5], prior_precision=0.5, prior_mean=1.5, noise_precision=2.0),
        build_target(SimpleNamespace(name="gaussian", precision=3, mean=-0.5)),
    ):
        exact = posterior_average(target, observable, temperature)
        # 24 nodes integrate degree 47 exactly; what is left is rounding in a sum of 576 terms of size 10.
        assert float(exact) == pytest.approx(
            by_quadrature(target, observable, temperature), rel=1e-11, abs=1e-11
        )


PLANTED: dict[str, Callable[[Target], Target]] = {
    "prior scaled by N/n": lambda t: Target(
        t.name, t.dim, lambda theta: t.prior(theta) * 2, t.likelihood, t.data
    ),
    "prior once per datum": lambda t: Target(
        t.name, t.dim, t.prior, lambda theta, x: t.likelihood(theta, x) + t.prior(theta), t.data
    ),
    "wrong sign of the data": lambda t: Target(
        t.name, t.dim, t.prior, lambda theta, x: t.likelihood(theta, -x), t.data
    ),
}


@pytest.mark.parametrize("bug", PLANTED)
def test_a_planted_bug_moves_the_average(bug: str) -> None:
    right = gaussian_mean(data=[1.0, 2.5, -0.5], prior_precision=0.5, prior_mean=1.5, noise_precision=2.0)
    observable = parse_observable("theta**2", 1)
    true = by_quadrature(right, observable, 1.0)
    assert float(posterior_average(right, observable, 1)) == pytest.approx(true, rel=1e-11)
    assert float(posterior_average(PLANTED[bug](right), observable, 1)) != pytest.approx(true, rel=1e-3)


@pytest.mark.by_default("theta**2")
@pytest.mark.parametrize("text", ["theta", "theta**2", "theta**3 + theta*p**2", "theta**4*p**2"])
def test_formulas_are_those_of_sympys_integrals(text: str) -> None:
    observable = parse_observable(text, 1)
    theta, p = sympy.symbols("theta p", real=True)
    mean, temperature, precision = (
        sympy.Symbol("mean", real=True), sympy.Symbol("T", positive=True), sympy.Symbol("precision", positive=True)
    )  # fmt: skip
    phi = sympy.sympify(text, locals={"theta": theta, "p": p})

    def integral(value: sympy.Expr) -> sympy.Expr:
        # theta is integrated from the mean, which sympy does a hundred times as fast as around it.
        shifted = sympy.expand(value.subs(theta, theta + mean))
        kernel = sympy.exp(-precision * theta**2 / (2 * temperature)), sympy.exp(-(p**2) / (2 * temperature))
        inner = sympy.integrate(shifted * kernel[0], (theta, -sympy.oo, sympy.oo))
        return sympy.integrate(sympy.expand(inner) * kernel[1], (p, -sympy.oo, sympy.oo))

    expected = integral(phi) / integral(sympy.Integer(1))
    assert sympy.simplify(posterior_formula("gaussian", observable) - expected) == 0


def test_the_formula_of_the_papers_model() -> None:
    """phi = theta^2 with prior and noise of precision 1: the known posterior N(N xbar/(N + 1), T/(N + 1))."""
    formula = posterior_formula(
        "gaussian-mean", parse_observable("theta**2", 1), prior_precision=1, prior_mean=0, noise_precision=1
    )
    symbols = {symbol.name: symbol for symbol in formula.free_symbols}
    assert set(symbols) == {"N", "xbar", "T"}
    n, average, temperature = symbols["N"], symbols["xbar"], symbols["T"]
    assert sympy.simplify(formula - (n * average / (n + 1)) ** 2 - temperature / (n + 1)) == 0


@given(st.data())
def test_formula_and_number_agree_on_every_configuration(data: st.DataObject) -> None:
    dim = data.draw(st.integers(1, 2))
    prior, noise, start = data.draw(positive), data.draw(positive), data.draw(hundredths)
    rows = data.draw(st.lists(st.lists(hundredths, min_size=dim, max_size=dim), min_size=1, max_size=5))
    temperature = data.draw(positive)
    text = data.draw(st.sampled_from(["theta[0]", "theta[0]**2", "theta[0]**3*p[0]**2"]))
    observable = parse_observable(text if dim == 2 else text.replace("[0]", ""), dim)
    target = gaussian_mean(data=rows, prior_precision=prior, noise_precision=noise, prior_mean=start)
    formula = _formula(str(observable), dim)
    values: dict[str, Any] = {"prior_precision": prior, "noise_precision": noise, "prior_mean": start}
    values |= {f"prior_mean_{i}": start for i in range(dim)} | {"T": temperature}
    numbers = {name: sympy.Rational(str(value)) for name, value in values.items()}
    numbers |= {"N": sympy.Integer(len(rows))}
    for i in range(dim):
        total = target.power_sum(tuple(int(k == i) for k in range(dim)))
        average = sympy.Rational(total.numerator, total.denominator) / len(rows)
        numbers |= {f"xbar_{i}": average, "xbar": average}
    exact = posterior_average(target, observable, temperature)
    found = formula.subs({symbol: numbers[symbol.name] for symbol in formula.free_symbols})
    assert found == sympy.Rational(exact.numerator, exact.denominator)


@cache
def _formula(text: str, dim: int) -> sympy.Expr:
    return posterior_formula("gaussian-mean", parse_observable(text, dim))


@given(st.integers(1, 4), st.integers(0, 10**6), st.sampled_from([1, 0.5, 2.25]))
def test_any_polynomial_in_any_dimension_agrees_with_float_linear_algebra(
    dim: int, seed: int, temperature: float
) -> None:
    generator = np.random.default_rng(seed)
    half = generator.integers(-9, 10, size=(dim, dim)) / 10
    precision = (half + half.T) / 2 + dim * np.eye(dim)
    mean = generator.integers(-20, 21, size=dim) / 10
    target = build_target(
        SimpleNamespace(name="gaussian", precision=precision.round(3).tolist(), mean=mean.tolist())
    )
    size = 2 * dim
    places = [generator.integers(0, size, size=k).tolist() for k in (0, 1, 2, 3, 4)]
    terms = {tuple(p.count(k) for k in range(size)): Fraction(int(generator.integers(1, 9))) for p in places}
    observable = Observable(dim, ("theta", "p"), terms)
    covariance = np.zeros((size, size))
    covariance[:dim, :dim] = np.linalg.inv(precision.round(3))
    covariance[dim:, dim:] = np.eye(dim)
    centre = np.concatenate([mean, np.zeros(dim)])
    expected = sum(
        float(c)
        * isserlis([k for k, power in enumerate(e) for _ in range(power)], centre, temperature * covariance)
        for e, c in terms.items()
    )
    # Condition numbers below 10 and at most 10 pairings of numbers below 100: ten digits are safe.
    assert float(posterior_average(target, observable, temperature)) == pytest.approx(
        expected, rel=1e-9, abs=1e-9
    )


def isserlis(places: list[int], mean: np.ndarray, covariance: np.ndarray) -> float:
    """E[x_a x_b ...] by the sum over all ways to pair some places and take the mean of the others."""
    total = 0.0
    for chosen in itertools.product([False, True], repeat=len(places)):
        paired = [place for place, flag in zip(places, chosen, strict=True) if flag]
        rest = math.prod(mean[place] for place, flag in zip(places, chosen, strict=True) if not flag)
        total += rest * sum(math.prod(covariance[a, b] for a, b in pairing) for pairing in pairings(paired))
    return total


def pairings(places: list[int]) -> list[list[tuple[int, int]]]:
    if not places:
        return [[]]
    if len(places) % 2:
        return []
    first, rest = places[0], places[1:]
    return [
        [(first, other), *pairing]
        for i, other in enumerate(rest)
        for pairing in pairings(rest[:i] + rest[i + 1 :])
    ]


def test_sympys_derivatives_and_second_differences_find_the_same_law() -> None:
    generator = np.random.default_rng(5)
    half = generator.integers(-9, 10, size=(3, 3)) / 10
    matrix = ((half + half.T) / 2 + 3 * np.eye(3)).round(3).tolist()
    target = gaussian_mean(
        dim=3, size=40, prior_precision=matrix, noise_precision=[1, 2, 0.5], prior_mean=0.25
    )
    for i in range(3):
        first = posterior_average(target, parse_observable(f"theta[{i}]", 3), 1)
        assert first == target.mean[i]
        for j in range(3):
            second = posterior_average(target, parse_observable(f"theta[{i}]*theta[{j}]", 3), 1)
            assert second - target.mean[i] * target.mean[j] == target.covariance[i][j]


def test_the_temperature_is_the_decimal_that_was_written() -> None:
    target = build_target(SimpleNamespace(name="gaussian"))
    assert posterior_average(target, parse_observable("theta**2", 1), 0.1) == Fraction(1, 10)
    assert posterior_average(target, parse_observable("theta*p", 1, ("theta", "p")), 0.1) == 0


def test_the_momentum_has_variance_t_in_every_dimension() -> None:
    target = build_target(SimpleNamespace(name="gaussian", dim=2, precision=[3, 4]))
    assert posterior_average(target, parse_observable("p[0]**2 + p[1]**2 + p[0]*p[1]", 2), 0.3) == Fraction(
        6, 10
    )


def test_a_scheme_without_momentum_has_its_averages() -> None:
    target = build_target(SimpleNamespace(name="gaussian", precision=2))
    assert posterior_average(target, parse_observable("theta**2", 1, ("theta",)), 1) == Fraction(1, 2)


def test_mistakes_are_refused() -> None:
    target, observable = build_target(SimpleNamespace(name="gaussian")), parse_observable("theta", 1)
    for bad in (0, -1.0, math.nan, math.inf, "1", True):
        with pytest.raises(ConfigurationError, match="temperature="):
            posterior_average(target, observable, bad)
    with pytest.raises(ConfigurationError, match="has dim=2 and the target 'gaussian' has dim=1"):
        posterior_average(target, parse_observable("theta[0]", 2), 1)
    with pytest.raises(UnknownNameError, match="did you mean 'gaussian-mean'"):
        posterior_formula("gausian-mean", observable)
    with pytest.raises(UnknownNameError, match="did you mean 'prior_mean'"):
        posterior_formula("gaussian-mean", observable, prior_men=1)
    with pytest.raises(ConfigurationError, match="prior_mean=\\[1\\]"):
        posterior_formula("gaussian-mean", observable, prior_mean=[1])


def test_potentials_without_a_gaussian_law_are_refused() -> None:
    quartic = Target("quartic", 1, lambda theta: dot(theta, theta) * dot(theta, theta))
    with pytest.raises(DefinitionError, match="not quadratic"):
        posterior_average(quartic, parse_observable("theta", 1), 1)
    odd = Target("odd", 1, quartic.prior, lambda theta, x: dot(theta, x) * dot(x, x), np.ones((2, 1)))
    with pytest.raises(DefinitionError, match="not quadratic"):
        posterior_average(odd, parse_observable("theta", 1), 1)


def test_twenty_dimensions_take_no_time() -> None:
    generator = np.random.default_rng(4)
    half = np.round(generator.normal(size=(20, 20)), 4)
    matrix = ((half + half.T) / 2 + 20 * np.eye(20)).round(4).tolist()
    target = gaussian_mean(dim=20, prior_precision=matrix, noise_precision=matrix, prior_mean=0.1)
    observable = parse_observable("+".join(f"theta[{i}]*theta[{j}]" for i in range(20) for j in range(i)), 20)
    start = time.process_time()
    average = posterior_average(target, observable, 1)
    # Measured 0.045 s, of which the most is spent on the first average of a target.
    assert time.process_time() - start < 0.4
    mean, covariance = target.mean_float64(), target.covariance_float64()
    expected = sum(mean[i] * mean[j] + covariance[i, j] for i in range(20) for j in range(i))
    # 190 terms below 10 in float64.
    assert float(average) == pytest.approx(expected, abs=190 * 10 * 2**-50)
