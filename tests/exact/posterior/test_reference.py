"""Reference averages against mpmath at high precision and closed forms; every error must lie within its bound."""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from functools import cache
from types import SimpleNamespace
from typing import Any

import mpmath
import numpy as np
import pytest
from mpmath import mpf

from sgverify.errors import ConfigurationError
from sgverify.exact.posterior import reference
from sgverify.exact.posterior.polynomials import posterior_average
from sgverify.exact.posterior.reference import Reference, reference_average
from sgverify.targets import Target, build_target, parse_observable
from sgverify.targets.line import average_on_line, find_frame


def build(name: str, **keys: Any) -> Target:
    return build_target(SimpleNamespace(name=name, **keys))


def average(target: Target, text: str, temperature: float = 1.0) -> Reference:
    return reference_average(target, parse_observable(text, target.dim), temperature)


def by_mpmath(energy: Callable[[Any], Any], function: Callable[[Any], Any], points: list[Any]) -> Any:
    with mpmath.workdps(30):
        norm = mpmath.quad(lambda x: mpmath.exp(-energy(x)), points)
        return mpmath.quad(lambda x: function(x) * mpmath.exp(-energy(x)), points) / norm


INF = mpmath.inf
DATA = [[0.5, 1.0], [-1.5, 0.0], [2.0, 1.0], [3.0, 0.0], [0.25, 0.0]]
ENERGIES: dict[str, tuple[Target, Callable[[Any], Any]]] = {
    "double-well": (
        build("double-well", height=2.0, width=0.5, tilt=-0.75),
        lambda x: 2 * (4 * x**2 - 1) ** 2 - mpf("0.75") * x,
    ),
    "quartic": (build("quartic", strength=0.5, tilt=1.25), lambda x: x**4 / 8 + mpf("1.25") * x),
    "mixture": (
        build("mixture", weights=[0.75, 0.25], means=[-1.0, 3.0], scales=[0.5, 0.25]),
        lambda x: -mpmath.log(3 * mpmath.npdf(x, -1, 0.5) + mpmath.npdf(x, 3, 0.25)),
    ),
    "logistic-regression": (
        build("logistic-regression", data=DATA, prior_precision=0.5, prior_mean=1.0),
        lambda x: (
            (x - 1) ** 2 / 4 + sum(mpmath.log(1 + mpmath.exp(a * x if not y else -a * x)) for a, y in DATA)
        ),
    ),
}
TEXTS = ["theta", "theta**2", "theta**4 - 3*theta", "(theta - 1/2)**3", "1/3"]


def within(found: Reference, truth: Any) -> bool:
    slack = mpf("1e-16" if found.method == "exact" else "1e-22") * abs(truth)
    with mpmath.workdps(25):
        return bool(abs(mpf(float(found)) - truth) <= found.error_bound + slack)


def without_enclosures(monkeypatch: pytest.MonkeyPatch) -> None:
    """Leave quadrature as the highest rung, as it is for a black box."""
    monkeypatch.setattr(reference, "_enclosed", lambda *given: None)


@cache
def moments_by_mpmath(name: str, temperature: float) -> list[Any]:
    """E theta^k under exp(-U/T), k = 0, ..., 4; U is asked once at each node."""
    energy = ENERGIES[name][1]
    points = [-INF, -1, mpf("-0.5"), 0, mpf("0.5"), 1, mpf("2.75"), mpf("3.25"), INF]
    with mpmath.workdps(25):
        density = cache(lambda x: mpmath.exp(-energy(x) / mpf(temperature)))
        weights = [mpmath.quad(lambda x, k=k: x**k * density(x), points) for k in range(5)]
        return [weight / weights[0] for weight in weights]


@pytest.mark.by_default(
    "0.5-double-well-quadrature",
    "0.5-quartic-certified",
    "0.5-logistic-regression-certified",
    "2.0-double-well-certified",
    "2.0-quartic-quadrature",
)
@pytest.mark.parametrize("method", ["certified", "quadrature"])
@pytest.mark.parametrize("name", ENERGIES)
@pytest.mark.parametrize("temperature", [0.5, 2.0])
def test_the_error_lies_within_its_bound(
    name: str, temperature: float, method: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    if method == "quadrature":
        without_enclosures(monkeypatch)
    target, moments = ENERGIES[name][0], moments_by_mpmath(name, temperature)
    for text in TEXTS:
        found = average(target, text, temperature)
        terms = parse_observable(text, 1).terms.items()
        with mpmath.workdps(25):
            truth = sum(mpf(c.numerator) / c.denominator * moments[power] for (power, _), c in terms)
        assert found.method == ("exact" if text == "1/3" else method)
        # Sharp too: a bound that is far above what quadrature promises would hide a wrong rule.
        assert found.error_bound < (1e-15 if method == "certified" else 1e-11) * (1 + abs(truth))
        assert within(found, truth), (text, float(found) - float(truth), found.error_bound)


def test_a_wrong_rule_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    without_enclosures(monkeypatch)
    target, energy = ENERGIES["double-well"]
    truth = by_mpmath(energy, lambda x: x**2, [-INF, -1, 0, 1, INF])
    assert within(average(target, "theta**2"), truth)
    kept = reference.average_on_peaks
    monkeypatch.setattr(
        reference, "average_on_peaks", lambda e, f, *at: kept(lambda x: 1.0001 * e(x), f, *at)
    )
    assert not within(average(target, "theta**2"), truth)


def test_moments_of_the_quartic_by_gamma_functions() -> None:
    target = build("quartic", strength=1.5, tilt=0.0)
    for temperature in (0.25, 1.0):
        for k in (1, 2, 3):
            shape = mpmath.gamma(mpf(2 * k + 1) / 4) / mpmath.gamma(mpf(1) / 4)
            truth = (4 * mpf(temperature) / mpf("1.5")) ** (mpf(k) / 2) * shape
            assert within(average(target, f"theta**{2 * k}", temperature), truth)


def test_partial_integration_of_the_quartic_in_three_coordinates() -> None:
    # E d_i f = E f d_i U / T with f = theta_0 theta_1^2: an identity of four averages, no integral is trusted.
    target, temperature = build("quartic", strength=2.0, tilt=[0.5, -1.0, 0.25]), 0.75
    left = average(target, "theta[1]**2", temperature)
    right = average(target, "theta[0]*theta[1]**2*(2*theta[0]**3 + 0.5)", temperature)
    assert left.method == right.method == "certified"
    assert abs(float(left) - float(right) / temperature) <= left.error_bound + right.error_bound / temperature


def test_coordinates_of_a_double_well_are_independent() -> None:
    target = build("double-well", dim=3, precision=4.0)
    well = build("double-well")
    found = average(target, "theta[0]**2*theta[2]**4 + theta[1]", 0.5)
    # theta_2 ~ N(0, T/4): E theta_2^4 = 3 (T/4)^2
    assert float(found) == pytest.approx(float(average(well, "theta**2", 0.5)) * 3 / 64, rel=1e-13)


def test_momenta_factor_out_exactly() -> None:
    target = ENERGIES["double-well"][0]
    alone = average(target, "theta**2", 0.5)
    assert float(average(target, "theta**2*p**4", 0.5)) == pytest.approx(0.75 * float(alone), rel=1e-15)
    assert average(target, "p**2", 0.5) == Reference(Fraction(1, 2), 0.0, "exact")
    assert average(target, "theta*p", 0.5) == Reference(Fraction(0), 0.0, "exact")
    both = average(target, "theta**2 + 3*p**2 - 1", 0.5)
    assert float(both) == pytest.approx(float(alone) + 0.5, rel=1e-15)


def test_quadratic_targets_are_exact() -> None:
    target, observable = build("gaussian-mean", data=[1.0, 4.0]), parse_observable("theta**2*p**2", 1)
    expected = posterior_average(target, observable, Fraction(1, 2))
    assert reference_average(target, observable, 0.5) == Reference(expected, 0.0, "exact")


def test_a_mixture_is_exact_at_temperature_one_in_every_dimension() -> None:
    target = build("mixture", weights=[3, 1], means=[[-1.0, 0.5], [2.0, 0.0]], scales=[0.5, 1.5])
    found = average(target, "theta[0]**2*theta[1] + p[0]**2")
    # E = 3/4 (1 + 1/4)/2 + 1/4 (4 + 9/4) 0 + 1
    assert found == Reference(Fraction(3, 4) * Fraction(5, 8) + 1, 0.0, "exact")
    line, energy = ENERGIES["mixture"]
    truth = by_mpmath(energy, lambda x: x**3, [-INF, -3, -1, 0, 2, 3, 4, INF])
    assert abs(float(average(line, "theta**3")) - float(truth)) < 1e-13


def test_elsewhere_it_is_stated_or_asked_for() -> None:
    keys: dict[str, Any] = {"data": [[0.5, 1.0, 1.0], [2.0, -1.0, 0.0]]}
    with pytest.raises(
        ConfigurationError, match=r"neither exact.*target.averages=\{\"theta\[0\]\*\*2\" = 1.3\}"
    ):
        average(build("logistic-regression", **keys), "theta[0]**2")
    told = build("logistic-regression", **keys, averages={"theta[0]**2": 1.25, "2*theta[1]": 0.5})
    assert average(told, "theta[0]**2") == Reference(1.25, 0.0, "stated")
    assert average(told, "3*theta[0]**2 - theta[1] + p[0]**2", 2.0) == Reference(
        3.75 - 0.25 + 2, 0.0, "stated"
    )
    with pytest.raises(ConfigurationError, match="theta\\[1\\]\\*\\*2"):
        average(told, "theta[1]**2 + theta[0]**2")


def test_stated_averages_are_checked_when_a_target_is_made() -> None:
    with pytest.raises(ConfigurationError, match="test_function='theta\\[2\\]'"):
        build("quartic", dim=2, averages={"theta[2]": 1.0})
    with pytest.raises(ConfigurationError, match="target.averages.theta='1'"):
        build("quartic", averages={"theta": "1"})
    with pytest.raises(
        ConfigurationError, match="target.averages=.*does not belong to target.name='gaussian'"
    ):
        build("gaussian", averages={"theta": 1.0})


# The rule itself, on densities that no target here has.
LINES: dict[str, tuple[Any, Any, list[Any]]] = {
    "narrow and far": (
        lambda x: (x - 1000.0) ** 2 / 2e-4,
        lambda x: (x - 1000) ** 2 / mpf("2e-4"),
        [999.8, 999.95, 1000, 1000.05, 1000.2],
    ),
    "kink": (lambda x: abs(x - 0.25), lambda x: abs(x - mpf("0.25")), [-INF, 0.25, INF]),
    "heavy tails": (
        lambda x: 5 * np.log1p(x * x / 9),
        lambda x: 5 * mpmath.log1p(x * x / 9),
        [-INF, -50, -5, 0, 5, 50, INF],
    ),
    "far apart and unequal": (
        lambda x: -np.logaddexp(-((x + 20) ** 2) / 2, -50 * (x - 20) ** 2),
        lambda x: -mpmath.log(mpmath.exp(-((x + 20) ** 2) / 2) + mpmath.exp(-50 * (x - 20) ** 2)),
        [-35, -25, -20, -15, 0, 19, 19.8, 20, 20.2, 21],
    ),
    "wall": (lambda x: np.where(x > 0, x, math.inf), lambda x: x, [0, INF]),
}


@pytest.mark.by_default("narrow and far", "kink", "heavy tails", "wall")
@pytest.mark.parametrize("name", LINES)
def test_the_rule_knows_its_error(name: str) -> None:
    energy, exact, points = LINES[name]
    found = average_on_line(energy, lambda x: np.stack([x, x**2, x**4]), find_frame(energy))
    for value, bound, power in zip(found.values, found.error_bounds, (1, 2, 4), strict=True):
        truth = by_mpmath(exact, lambda x, k=power: x**k, points)
        assert abs(value - truth) <= bound + 1e-15 * abs(truth), (power, float(value - truth), bound)


@pytest.mark.parametrize(
    ("energy", "message"),
    [
        (lambda x: np.log1p(x * x), "mass of the density was not found|variance"),
        (lambda x: np.zeros_like(x), "mass of the density was not found"),
        (lambda x: np.full_like(x, math.inf), "density is 0 at every one"),
        (lambda x: np.where(x > 1, math.nan, x * x), "log density is NaN at theta="),
    ],
)
def test_what_has_no_average_is_refused(energy: Any, message: str) -> None:
    with pytest.raises(ConfigurationError, match=message):
        average_on_line(energy, lambda x: x[None, :], find_frame(energy))


def test_a_moment_that_does_not_exist_is_refused() -> None:
    def student(x: np.ndarray) -> np.ndarray:
        return np.asarray(2.0 * np.log1p(x * x / 3))

    with pytest.raises(ConfigurationError, match="does not exist"):
        average_on_line(student, lambda x: np.stack([x**4]), find_frame(student))


def test_a_stated_average_that_quadrature_contradicts_is_refused() -> None:
    with pytest.raises(ConfigurationError, match="stated as 5, and quadrature gives"):
        reference_average(
            build("quartic", averages={"theta**2": 5.0}), parse_observable("theta**2", 1, ("theta",)), 1.0
        )
