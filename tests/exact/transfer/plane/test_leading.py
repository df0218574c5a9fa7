"""The leading coefficient of the bias from Poisson's equation: against the affine expansion, grids, and planted errors."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from sgverify.configuration import load_configuration
from sgverify.errors import Unreached
from sgverify.exact.answers import answers_for
from sgverify.exact.transfer.plane import expansion as poisson
from sgverify.exact.transfer.plane.bias import PlaneAnswers
from sgverify.exact.transfer.plane.expansion import PoissonPlane
from sgverify.exact.transfer.plane.interpreter import support
from sgverify.schemes import Alphabet, find_scheme, kinetic, sqrt
from sgverify.schemes.catalogue.chen import drift
from sgverify.schemes.catalogue.chen import friction as damped
from sgverify.subject.subject import Subject
from sgverify.targets import build_target, parse_observable
from tests.zoo.schemes import RUBBED

CASES = [
    ("double-well", "sghmc-aboba", "theta**2"),
    ("quartic", "sghmc-baoab", "p**2"),
    ("quartic", "sghmc-euler", "theta**2"),
]


def answers(name: str, scheme: str, phi: str) -> PlaneAnswers:
    target = build_target(load_configuration(settings=[f"target.name={name}"]).target)
    return PlaneAnswers(find_scheme(scheme), target, parse_observable(phi, 1), Fraction(1), Fraction(1))


def richardson(found: PlaneAnswers, order: int, steps: list[float], powers: list[int]) -> float:
    """The value at h = 0 of bias/h^order, a polynomial in h with these powers, through as many steps."""
    values = [found.stationary_bias(step).value for step in steps]
    assert None not in values
    rows = np.array([[step**power for power in powers] for step in steps])
    return float(np.linalg.solve(rows, np.array(values) / np.array(steps) ** order)[0])


@pytest.mark.by_default(
    "sghmc-aboba-theta**2", "sghmc-baoab-p**2", "sghmc-euler-theta**2", "sghmc-euler-explicit-theta**4"
)
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
    settings = [
        "target.name=gaussian",
        "target.precision=2",
        "temperature=0.75",
        "friction=0.5",
        f"test_function={phi}",
    ]
    subject = Subject(find_scheme(scheme), load_configuration(settings=settings), scheme)
    exact = answers_for(subject.model).expansion.values
    found = PlaneAnswers(
        subject.scheme, subject.target, subject.observable, Fraction(3, 4), Fraction(1, 2)
    ).expansion
    for term in found.terms:
        assert abs(term.value - float(exact[int(term.order)])) <= term.error_bound
        assert term.error_bound < 1e-10
    nonzero = [k for k, value in enumerate(exact) if value != 0]
    assert found.order == (nonzero[0] if nonzero else None)


@pytest.mark.power  # 1.9 s
@pytest.mark.parametrize(("name", "scheme", "phi"), CASES)
def test_the_leading_coefficient_is_that_of_the_grid_to_six_digits(name: str, scheme: str, phi: str) -> None:
    found = answers(name, scheme, phi)
    predicted = found.expansion
    assert predicted.order == 2
    even = scheme != "sghmc-euler"
    powers = [0, 2, 4] if even else [0, 1, 2, 3, 4, 5]
    steps = [(0.1 if even else 0.16) / (1 + k) for k in range(len(powers))]
    assert richardson(found, 2, steps, powers) == pytest.approx(predicted.constant, rel=1e-6)
    assert predicted.error_bound < 1e-9 * abs(predicted.constant) + 1e-11


def test_a_planted_error_in_the_generator_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    derivative = poisson._derivative
    monkeypatch.setattr(poisson, "_derivative", lambda points, spacing: 1.001 * derivative(points, spacing))
    found = answers(*CASES[0])
    exact = -0.4447716057513
    assert abs(found.expansion.constant - exact) > 1e-5


def test_poissons_equation_is_solved_and_the_generator_is_that_of_the_dynamics() -> None:
    target = build_target(load_configuration(settings=["target.name=double-well"]).target)
    temperature, friction = 0.8, 1.5
    plane = PoissonPlane(
        target,
        temperature,
        friction,
        ends=support(target, temperature, 66.0),
        points=128,
        modes=60,
        derivatives=2,
    )
    # L(theta^2 p) = 2 theta p^2 - theta^2 (U' + D p), written out.
    slope = plane.potential[1]
    expected = 2 * plane.power(1, 2) - friction * plane.power(2, 1)
    expected[0] -= plane.theta**2 * slope * plane.root
    assert np.allclose(plane.generate(plane.power(2, 1)), expected, atol=1e-9)
    right = plane.power(2, 0)
    left = plane.generate(plane.solve(right))
    # The modes beyond the last are missing there, and only there.
    assert np.abs(left - plane.centred(right))[:-1].max() < 1e-9
    assert plane.mean(plane.solve(right)) == pytest.approx(0.0, abs=1e-12)


def test_a_step_of_half_the_friction_has_the_law_of_twice_the_temperature() -> None:
    target = build_target(load_configuration(settings=["target.name=gaussian", "target.precision=2"]).target)
    phi = parse_observable("theta**2 + 3*p**4", 1)
    found = PlaneAnswers(RUBBED, target, phi, Fraction(1), Fraction(1)).expansion
    # theta^2: 2/2 instead of 1/2; p^4: 3 * 4 instead of 3.
    assert found.order == 0
    assert found.constant == pytest.approx(0.5 + 3 * 9, abs=1e-12)
    assert found.error_bound < 1e-11


def test_half_powers_of_h_are_refused_by_name() -> None:
    def kick(theta, p, *, t, grad, noise, D, T):
        return theta, p - t * grad(theta) + sqrt(2 * D * T * t) * (1 + sqrt(t)) * noise()

    wrong = Alphabet("wrong", kinetic, A=drift, B=damped, O=kick).word("ABOBA")
    target = build_target(load_configuration(settings=["target.name=gaussian"]).target)
    with pytest.raises(Unreached, match="half powers"):
        PlaneAnswers(wrong, target, parse_observable("theta**2", 1), Fraction(1), Fraction(1))


def test_terms_below_the_local_order_are_proved_to_vanish() -> None:
    terms = answers("quartic", "sghmc-baoab", "theta**2").expansion.terms
    assert [term.proved_zero for term in terms] == [True, True, False]
    euler = answers("quartic", "sghmc-euler", "theta**2").expansion
    # Algorithm 2 has local order 1, and yet the bias of theta^2 starts at h^2.
    assert [term.told_from_zero for term in euler.terms] == [False, False, True]
    assert euler.terms[1].error_bound < 1e-11
