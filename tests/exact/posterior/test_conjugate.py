"""Conjugate posteriors against mpmath's integrals of the densities as a book writes them, and the wrong laws that fall."""

from __future__ import annotations

from fractions import Fraction
from functools import cache
from types import SimpleNamespace
from typing import Any

import flint
import mpmath
import pytest
from flint import arb
from mpmath import mpf

from sgverify.exact.posterior.conjugate import ConjugateLaw, conjugate_law
from sgverify.exact.posterior.reference import reference_average
from sgverify.exact.posterior.tails import enclosed_average
from sgverify.targets import Target, build_target, coordinate, parse_observable

COUNTS = [3.0, 0.0, 4.0, 2.0, 2.0]
TOSSES = [1.0, 0.0, 1.0, 1.0]
CATEGORIES = [[3, 0, 1], [1, 2, 4]]


def build(name: str, **keys: Any) -> Target:
    return build_target(SimpleNamespace(name=name, **keys))


def law_of(target: Target, temperature: Any = 1) -> ConjugateLaw:
    found = conjugate_law(target, temperature)
    assert found is not None
    return found


def close(ball: arb, truth: Any, digits: int = 25) -> bool:
    with flint.ctx.workprec(128), mpmath.workdps(40):
        return bool(abs(ball - arb(mpmath.nstr(mpmath.re(truth), 38))) < arb(10) ** -digits)


def by_integral(density: Any, function: Any, points: list[Any]) -> Any:
    with mpmath.workdps(35):
        norm = mpmath.quad(density, points)
        return mpmath.quad(lambda x: function(x) * density(x), points) / norm


def test_gamma_poisson_by_integrals_over_the_rate() -> None:
    target = build("gamma-poisson", data=COUNTS, shape=1.5, rate=0.75)
    law = law_of(target)
    assert law.laws == ("exp(theta_0) ~ Gamma(25/2, 23/4)",)

    @cache
    def density(rate: Any) -> Any:
        prior = rate ** mpf("0.5") * mpmath.exp(-mpf("0.75") * rate)
        return prior * mpmath.fprod(mpmath.exp(-rate) * rate ** int(x) for x in COUNTS)

    points = [0, 1, 2, 3, 5, mpmath.inf]
    for power in (1, 2, 3, 4):
        truth = by_integral(density, lambda rate, k=power: mpmath.log(rate) ** k, points)
        assert close(law.average({(power,): Fraction(1)}), truth)


def test_beta_bernoulli_by_integrals_over_the_chance() -> None:
    target = build("beta-bernoulli", data=TOSSES, alpha=1.5, beta=2)
    law = law_of(target)
    assert law.laws == ("Beta(9/2, 3)",)

    @cache
    def density(pi: Any) -> Any:
        prior = pi ** mpf("0.5") * (1 - pi)
        return prior * mpmath.fprod(pi if x else 1 - pi for x in TOSSES)

    for power in (1, 2, 3):
        truth = by_integral(
            density, lambda pi, k=power: mpmath.log(pi / (1 - pi)) ** k, [0, 0.25, 0.5, 0.75, 1]
        )
        assert close(law.average({(power,): Fraction(1)}), truth, 20)


def test_the_law_of_a_dirichlet_multinomial_is_named() -> None:
    # Counts (4, 2, 5) on the concentrations.
    law = law_of(build("dirichlet-multinomial", data=CATEGORIES, concentration=[1, 2, 3]))
    assert law.laws == ("Dirichlet(5, 4, 8)",)


@pytest.mark.power  # 0.8 s
def test_log_ratios_of_a_dirichlet_law_by_an_integral_in_the_plane() -> None:
    target = build("dirichlet-multinomial", data=CATEGORIES, concentration=[1, 2, 3])
    law = law_of(target)

    def inner(x: Any, i: int, j: int) -> Any:
        def density(y: Any) -> Any:
            return (
                mpmath.log(x / (1 - x - y)) ** i
                * mpmath.log(y / (1 - x - y)) ** j
                * x**4
                * y**3
                * (1 - x - y) ** 7
            )

        return mpmath.quad(density, [0, (1 - x) / 3, 1 - x])

    with mpmath.workdps(15):
        norm = mpmath.gamma(5) * mpmath.gamma(4) * mpmath.gamma(8) / mpmath.gamma(17)
        truth = mpmath.quad(lambda x: inner(x, 1, 1), [0, 0.3, 1]) / norm
    assert close(law.average({(1, 1): Fraction(1)}), truth, 9)


@pytest.mark.parametrize("name", ["gamma-poisson", "beta-bernoulli", "dirichlet-multinomial"])
@pytest.mark.parametrize("temperature", [Fraction(1), Fraction(2, 3)])
def test_polygammas_lie_in_the_enclosures_of_the_integrals(name: str, temperature: Fraction) -> None:
    target = build(name, data_seed=4)
    terms = {(4,): Fraction(1, 3), (3,): Fraction(-2), (1,): Fraction(1)}
    assert law_of(target, temperature).average(terms).overlaps(enclosed_average(target, terms, temperature))


def test_a_wrong_law_is_outside_the_enclosure() -> None:
    target = build("gamma-poisson", data=COUNTS)
    terms = {(1,): Fraction(1)}
    truth = enclosed_average(target, terms, Fraction(1))
    assert law_of(target).average(terms).overlaps(truth)
    # The temperature forgotten, and the Jacobian: Gamma(a - 1, b).
    assert not law_of(target, Fraction(9, 8)).average(terms).overlaps(truth)
    shifted = Target(
        "shifted", 1, lambda theta: target.prior(theta) + coordinate(theta, 0), target.likelihood, target.data
    )
    assert law_of(shifted).laws == ("exp(theta_0) ~ Gamma(12, 6)",)
    assert not law_of(shifted).average(terms).overlaps(truth)


def test_independent_rates_of_several_coordinates_factor() -> None:
    data = [[1, 4], [0, 6], [2, 5]]
    law = law_of(build("gamma-poisson", data=data, shape=[1, 2]))
    alone = [law_of(build("gamma-poisson", data=[row[k] for row in data], shape=k + 1.0)) for k in range(2)]
    both = law.average({(1, 2): Fraction(1)})
    product = alone[0].average({(1,): Fraction(1)}) * alone[1].average({(2,): Fraction(1)})
    assert both.overlaps(product) and close(both, mpf(str(float(product))), 12)


def test_the_reference_average_takes_them_in_any_dimension() -> None:
    target = build("dirichlet-multinomial", dim=3)
    found = reference_average(target, parse_observable("theta[0]*theta[2] + p[1]**2", 3), Fraction(1, 2))
    assert found.method == "exact" and found.error_bound < 1e-15
    with flint.ctx.workprec(128):
        law = law_of(target, Fraction(1, 2)).average({(1, 0, 1): Fraction(1)}) + arb(0.5)
    assert abs(float(found) - float(law)) < 1e-15


def test_what_is_not_conjugate_is_left_alone() -> None:
    for name in ("logistic-regression", "mixture", "quartic", "double-well", "gaussian"):
        assert conjugate_law(build(name)) is None
