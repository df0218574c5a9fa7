"""Derivatives of potentials by Taylor polynomials, against mpmath's numerical differentiation in 40 digits."""

from __future__ import annotations

import mpmath
import numpy as np
import pytest

from sgverify.configuration import load_configuration
from sgverify.errors import DefinitionError
from sgverify.exact.numbers import jets
from sgverify.exact.numbers.jets import derivatives_of
from sgverify.schemes.definition.mathematics import exp, expm1, sqrt
from sgverify.targets import Target, build_target
from sgverify.targets.potential import coordinate

HIGHEST = 6
POINTS = (-1.3, 0.2, 2.1)


def _well(x):
    return ((x / 1) ** 2 - 1) ** 2 + x / 4


def _quartic(x):
    return x**4 / 4 + x / 2


def _mixture(x):
    first = mpmath.mpf(7) / 10 * mpmath.exp(-((x + 1) ** 2) / 2)
    scale = mpmath.mpf(6) / 10
    return -mpmath.log(first + mpmath.mpf(3) / 10 / scale * mpmath.exp(-((x - 2) ** 2) / (2 * scale**2)))


def _logistic(x, data):
    return x**2 / 2 + sum(mpmath.log(1 + mpmath.exp(a * x)) - y * a * x for a, y in data)


def _error(found: np.ndarray, potential) -> float:
    with mpmath.workdps(40):
        exact = [
            [c * mpmath.factorial(k) for k, c in enumerate(mpmath.taylor(potential, mpmath.mpf(x), HIGHEST))]
            for x in POINTS
        ]
    expected = np.array([[float(mpmath.re(value)) for value in row] for row in exact]).T
    return float(np.max(np.abs(found - expected) / (1 + np.abs(expected))))


def _found(name: str) -> tuple[Target, np.ndarray]:
    target = build_target(load_configuration(settings=[f"target.name={name}"]).target)
    return target, derivatives_of(target, np.array(POINTS), HIGHEST)


@pytest.mark.parametrize(
    ("name", "potential"), [("double-well", _well), ("quartic", _quartic), ("mixture", _mixture)]
)
def test_derivatives_of_a_potential_are_right_to_rounding(name: str, potential) -> None:
    assert _error(_found(name)[1], potential) < 1e-11


def test_derivatives_of_a_sum_over_data_are_right_to_rounding() -> None:
    target, found = _found("logistic-regression")
    data = [(mpmath.mpf(float(a)), int(y)) for a, y in target.data]
    assert _error(found, lambda x: _logistic(x, data)) < 1e-11


def test_the_functions_of_definitions_have_taylor_polynomials() -> None:
    def prior(theta):
        x = coordinate(theta, 0)
        return exp(x / 2) + expm1(-x) / sqrt(3 + x * x) + 2 / (4 + x) - (1 - x) ** 3

    def potential(x):
        return mpmath.exp(x / 2) + mpmath.expm1(-x) / mpmath.sqrt(3 + x * x) + 2 / (4 + x) - (1 - x) ** 3

    found = derivatives_of(Target("own", 1, prior), np.array(POINTS), HIGHEST)
    assert _error(found, potential) < 1e-11


def test_a_planted_error_in_the_product_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    product = jets._product

    def planted(a: np.ndarray, b: np.ndarray) -> np.ndarray:
        found = product(a, b)
        found[3] = found[3] - a[1] * b[2]
        return found

    monkeypatch.setattr(jets, "_product", planted)
    assert _error(_found("double-well")[1], _well) > 1e-3


def test_a_potential_that_forgets_its_argument_is_refused() -> None:
    with pytest.raises(DefinitionError, match="Taylor"):
        derivatives_of(Target("flat", 1, lambda theta: 1.0), np.array(POINTS), 2)
