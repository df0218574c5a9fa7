"""The leading power of a bias from proof and grids: against exact Gaussian laws, the affine expansion, and planted errors."""

from __future__ import annotations

import math
from dataclasses import replace
from fractions import Fraction
from typing import Any

import pytest

from sgverify.checks.rates.engines import transfer_answers
from sgverify.checks.rates.leading_bias import LeadingBias, leading_bias
from sgverify.configuration import load_configuration
from sgverify.errors import Unreached
from sgverify.exact.answers import answers_for
from sgverify.exact.transfer.line.bias import LineAnswers
from sgverify.exact.transfer.result import GridBias
from sgverify.schemes import Alphabet, Scheme, find_scheme, kinetic, langevin, sqrt
from sgverify.schemes.catalogue.kinetic import drift
from sgverify.schemes.catalogue.kinetic import friction as damped
from sgverify.schemes.scheme import make_scheme
from sgverify.subject.subject import Subject
from tests.zoo.schemes import RUBBED, bounded_heun, coins, half_kicks, heun, planted_drift, weak_noise

EULER = find_scheme("sgld-euler")


def subject_of(scheme: Scheme, name: str, phi: str = "theta**2", **given: Any) -> Subject:
    target = given.pop("target", {})
    return Subject(
        scheme, load_configuration(target={"name": name, **target}, test_function=phi, **given), scheme.name
    )


def found(scheme: Scheme, name: str, first: float, phi: str = "theta**2", **given: Any) -> LeadingBias:
    subject = subject_of(scheme, name, phi, **given)
    return leading_bias(subject, transfer_answers(subject), [first / 2**k for k in range(4)])


@pytest.mark.by_default("scheme0-double-well-theta**2-1-0.004", "scheme5-double-well-theta**2-1-0.004")
@pytest.mark.parametrize(
    ("scheme", "name", "phi", "order", "first"),
    [
        (EULER, "double-well", "theta**2", 1, 0.004),
        (EULER, "quartic", "theta**2", 1, 0.01),
        (EULER, "mixture", "theta**3", 1, 0.02),
        (EULER, "logistic-regression", "theta", 1, 0.01),
        (half_kicks, "quartic", "theta**2", 1, 0.01),
        (coins, "double-well", "theta**2", 1, 0.004),
        (heun, "double-well", "theta**2", 2, 0.004),
        (bounded_heun, "double-well", "theta**2", 2, 0.004),
    ],
)
def test_powers_below_the_order_are_proved_to_vanish_and_the_next_is_told(
    scheme: Scheme, name: str, phi: str, order: int, first: float
) -> None:
    leading = found(scheme, name, first, phi)
    assert leading.leading is not None and leading.leading.order == leading.proved_order == order
    assert all(term.proved_zero for term in leading.terms[:order])
    assert leading.share < 1e-3
    assert leading.denied is None


def test_the_constant_of_euler_on_a_double_well_is_that_of_poissons_equation() -> None:
    """-0.682043395691047: int D_2 psi d pi by Taylor polynomials on a grid in long double."""
    term = found(EULER, "double-well", 0.004).leading
    assert term is not None
    assert abs(term.value + 0.682043395691047) <= term.error_bound < 1e-3


@pytest.mark.parametrize("temperature", [1.0, 3.0])
def test_on_a_gaussian_the_terms_are_those_of_the_exact_law(temperature: float) -> None:
    """Euler's variance is T/(1 - h/2) = T (1 + h/2 + ...), so E theta^4 = 3 T^2 (1 + h + 3 h^2/4 + ...)."""
    term = found(EULER, "gaussian", 0.05, "theta**4", temperature=temperature).leading
    assert term is not None and term.order == 1
    assert abs(term.value - 3 * temperature**2) <= term.error_bound < 1e-2


def test_heun_on_a_gaussian_has_its_exact_second_term() -> None:
    """(1 - h/2)^2 2h/(1 - (1 - h + h^2/2)^2) = 1 - h^2/4 + ..."""
    term = found(heun, "gaussian", 0.05).leading
    assert term is not None and term.order == 2
    assert abs(term.value + 0.25) <= term.error_bound < 1e-3


def test_a_term_that_vanishes_numerically_alone_is_passed_over_and_not_called_proved() -> None:
    """Stationarity of Euler's step gives E U' = 0 at every h: on a quartic E theta^3 has no bias, and no algebra says so."""
    leading = found(EULER, "quartic", 0.01, "theta**3")
    assert leading.leading is None and leading.share == math.inf
    assert [term.proved_zero for term in leading.terms][:2] == [True, False]
    assert all(abs(term.value) <= term.error_bound for term in leading.terms)
    assert leading.proved_order == 1


def test_a_limit_with_another_law_is_a_bias_of_order_zero() -> None:
    """Noise of half the variance samples exp(-2U): on a Gaussian half the variance is missing."""
    term = found(weak_noise, "gaussian", 0.05).leading
    assert term is not None and term.order == 0
    assert abs(term.value + 0.5) <= term.error_bound < 1e-3
    # Half the friction heats to T = 2: theta^2 is 2/2 instead of 1/2, and p^4 3 * 4 instead of 3.
    rubbed = found(RUBBED, "gaussian", 0.16, "theta**2 + 3*p**4", target={"precision": 2.0}, friction=1.0)
    assert rubbed.leading is not None and rubbed.leading.order == 0
    assert abs(rubbed.leading.value - (0.5 + 3 * 9)) <= rubbed.leading.error_bound < 0.3


def test_a_planted_weight_loses_the_order() -> None:
    """Heun with 0.51 and 0.49 has a coefficient of h, which Heun has not."""
    wrong = found(planted_drift, "quartic", 0.004).leading
    assert wrong is not None and wrong.order == 1


@pytest.mark.by_default("sghmc-aboba-theta**2", "sghmc-euler-theta**2")
@pytest.mark.parametrize(
    ("scheme", "phi"),
    [
        ("sghmc-aboba", "theta**2"),
        ("sghmc-baoab", "theta**2"),
        ("sghmc-baoab", "p**2"),
        ("sghmc-euler", "theta**2"),
        ("sghmc-euler-explicit", "theta**4"),
    ],
)
def test_gaussian_targets_give_the_coefficients_that_the_affine_engine_proves(scheme: str, phi: str) -> None:
    given = {"target": {"precision": 2.0}, "temperature": 0.75, "friction": 0.5}
    subject = subject_of(find_scheme(scheme), "gaussian", phi, **given)
    exact = answers_for(subject.model).expansion.values
    leading = found(find_scheme(scheme), "gaussian", 0.16, phi, **given)
    for term in leading.terms:
        assert abs(term.value - float(exact[int(term.order)])) <= term.error_bound
    nonzero = [k for k, value in enumerate(exact) if value != 0]
    if nonzero:
        assert leading.leading is not None and leading.leading.order == nonzero[0]
    else:
        assert leading.leading is None


@pytest.mark.power  # 3.8 s
def test_the_kink_of_a_tamed_step_enters_its_constant_as_it_is() -> None:
    """h g/(1 + h |g|) on N(m, 1/k): b_1 of theta^2 is 1/2 + 2 sqrt(2/(pi k)), and the mean stays where it is.

    D_2 is Euler's, which gives 1/2, and |g| g d; psi' = (theta + m)/k up to its even part, so pi(|g| g psi') =
    E |X|^3 k with X ~ N(0, 1/k), which is 2 sqrt(2/(pi k)).
    """
    scheme = make_scheme(_tamed, langevin, order=1)
    term = found(scheme, "gaussian", 0.005, target={"precision": 4.0, "mean": 3.0}).leading
    assert term is not None and term.order == 1
    assert abs(term.value - (0.5 + 2 * math.sqrt(2 / (4 * math.pi)))) < term.error_bound < 0.1


def _tamed(theta, *, h, grad, noise, T):  # type: ignore[no-untyped-def]
    g = grad(theta)
    return theta - h * g / (1 + h * sqrt(g * g)) + sqrt(2 * T * h) * noise()


def test_half_powers_of_h_are_refused_by_name() -> None:
    def kick(theta, p, *, t, grad, noise, D, T):  # type: ignore[no-untyped-def]
        return theta, p - t * grad(theta) + sqrt(2 * D * T * t) * (1 + sqrt(t)) * noise()

    wrong = Alphabet("wrong", kinetic, A=drift, B=damped, O=kick).word("ABOBA")
    with pytest.raises(Unreached, match="half powers"):
        found(wrong, "gaussian", 0.1)


def test_grids_that_contradict_the_proof_are_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    """A bias of 1e-6 at every step, where every term of order 0 is proved to vanish."""
    true = LineAnswers.stationary_bias

    def planted(self: LineAnswers, step: float) -> GridBias:
        bias = true(self, step)
        assert bias.value is not None
        return replace(bias, value=bias.value + 1e-6)

    monkeypatch.setattr(LineAnswers, "stationary_bias", planted)
    denied = found(EULER, "double-well", 0.004).denied
    assert denied is not None and denied.order == Fraction(0)
    assert abs(denied.value - 1e-6) <= denied.error_bound
