"""The Poisson equation on Gaussian targets: psi by hand, the bounds by V at many points, and what has neither."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from flint import fmpq

from sgverify import dynamics, scheme, sqrt
from sgverify.checks import verify
from sgverify.checks.applicable_claims import pairs_of
from sgverify.claims import claims
from sgverify.configuration import load_configuration
from sgverify.errors import NotExpandableError
from sgverify.evidence import Evidence
from sgverify.exact.stationarity.generator import (
    degree_of,
    derivatives,
    in_state,
    lyapunov_of,
    read_generator,
    solve_poisson,
)
from sgverify.subject.binding import make_subject
from tests.zoo.schemes import frictionless

BARE = {"target": {"name": "gaussian", "precision": 3.0, "mean": 0.5}}
PLANE = {
    "target": {"name": "gaussian", "dim": 2, "precision": [[2.0, 0.5], [0.5, 1.0]], "mean": [1.0, -0.5]},
    "temperature": 0.5,
}


def evidence_of(given: object, **settings: object) -> Evidence:
    (evidence,) = verify(given, checks=["chen2015/assumption-1"], **settings)
    return evidence


@dynamics(theta="vector")
def warm(theta, *, grad, T):
    """Its law is exp(-U/(2T))."""
    return -grad(theta), 2 * T


@scheme(warm)
def warm_euler(theta, *, h, grad, noise, T):
    return theta - h * grad(theta) + 2 * sqrt(T * h) * noise()


@dynamics(theta="vector", p="vector")
def newton(theta, p, *, grad, T):
    """No friction and no noise."""
    return (p, -grad(theta)), (0, 0 * T)


@scheme(newton)
def leap(theta, p, *, h, grad, noise):
    p = p - h * grad(theta) + 0 * noise()
    return theta + h * p, p


def read(name: str, text: str, settings: dict):
    subject = make_subject(name, load_configuration(settings, test_function=text))
    parameters = {key: subject.model_parameters[key] for key in subject.scheme.dynamics.parameters}
    generator = read_generator(subject.scheme.dynamics, subject.target, parameters)
    return subject, generator, in_state(subject.observable.terms, generator.size)


def test_psi_by_hand() -> None:
    """L theta = -3 (theta - 1/2), L theta^2 = -6 theta^2 + 3 theta + 2: psi = -theta^2/6 - theta/6, phi_bar = 1/4 + 1/3."""
    _, generator, phi = read("sgld-euler", "theta**2", BARE)
    psi, average = solve_poisson(generator, phi)
    assert psi.to_dict() == {(2,): fmpq(-1, 6), (1,): fmpq(-1, 6)} and average == Fraction(7, 12)


@pytest.mark.parametrize(
    "text", ["theta[0]**2", "theta[0]*p[1] - p[0]", "theta[0]*theta[1]**2*p[0] + theta[1]"]
)
def test_psi_solves_the_equation_and_v_bounds_it(text: str) -> None:
    subject, generator, phi = read("sghmc-aboba", text, PLANE)
    psi, average = solve_poisson(generator, phi)
    assert average == subject.truth
    assert generator(psi) == phi - fmpq(average.numerator, average.denominator)
    lyapunov = lyapunov_of(generator)
    precision = np.array([[float(x) for x in row] for row in lyapunov.precision.tolist()])
    centre = np.array([float(x) for x in lyapunov.centre.entries()])
    draw = np.random.default_rng(0)
    x = centre + np.concatenate([draw.normal(size=(400, 4)) * s for s in (0.1, 1, 10, 1000)])
    away = x - centre
    v = 1 + np.einsum("ni,ij,nj->n", away, precision, away)
    drift, _, _ = (
        np.array([[float(c) for c in row] for row in part.tolist()]) for part in generator.matrices()
    )
    falls = 2 * np.einsum("ni,ij,nj->n", away, precision, away @ drift.T)
    np.testing.assert_allclose(falls, -(away**2).sum(1), rtol=1e-9)
    assert (falls <= float(lyapunov.rate) * (1 - v) + 1e-9 * v).all()
    degree = degree_of(psi)
    for order in range(4):
        power = max(1, degree - order)
        for form in derivatives(psi, order):
            at = sum(
                float(c) * np.prod(x ** np.array([int(n) for n in m]), axis=1)
                for m, c in form.to_dict().items()
            )
            most = float(lyapunov.constant(form, power).upper())
            assert (np.abs(at) <= most * v ** (power / 2) * (1 + 1e-12)).all()


@pytest.mark.parametrize("name", ["sgld-euler", "sghmc-aboba", "sghmc-euler"])
def test_the_assumption_holds_on_the_model_of_the_paper(name: str) -> None:
    found = evidence_of(name, gradient={"kind": "iid"}, test_function="theta**3 - theta")
    assert found.verdict == "conforms" and "(17) to (19)" in found.reason and "up to 3" in found.reason


@pytest.mark.parametrize(
    ("given", "settings", "said"),
    [
        (leap, BARE, "no V falls along the drift; of `newton`"),
        (leap, PLANE, "no V falls along the drift; of `newton`"),
        (frictionless, BARE, "sup_l E V^p is infinite"),
        (warm_euler, BARE, "it asks for phi_bar = 0.916667"),
        ("sgld-euler", {**BARE, "schedule": {"kind": "horizon", "scale": 0.7}}, "sup_l E V^p is infinite"),
    ],
)
def test_what_has_no_such_function_is_refuted(given: object, settings: dict, said: str) -> None:
    found = evidence_of(given, **settings)
    assert found.verdict == "violates" and said in found.reason


@pytest.mark.parametrize(
    ("name", "settings", "verdict", "said"),
    [
        ("sgnht-euler", BARE, "not-applicable", "is of degree 2"),
        ("sgld-euler", {"target": {"name": "double-well"}}, "not-applicable", "is of degree 3"),
        ("sgld-euler", {"schedule": {"kind": "power"}}, "inconclusive", "steps of one size"),
    ],
)
def test_what_is_not_computed_says_why(name: str, settings: dict, verdict: str, said: str) -> None:
    found = evidence_of(name, **settings)
    assert found.verdict == verdict and said in found.reason


@pytest.mark.parametrize("bend", [Fraction(0), Fraction(1, 10**30)])
def test_what_rounds_to_decay_and_does_not_has_no_such_function(
    bend: Fraction, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An oscillator that stays or grows, taken for one that decays."""
    _, generator, _ = read("sghmc-aboba", "theta", BARE)
    force, p = generator.drift[1], generator.drift[1].context().gen(1)
    still = force + (fmpq(bend.numerator, bend.denominator) - force[0, 1]) * p
    monkeypatch.setattr("sgverify.exact.chain.lyapunov.require_decay", lambda drift: None)
    with pytest.raises(NotExpandableError, match="sum to 0|not positive definite"):
        lyapunov_of(replace(generator, drift=(generator.drift[0], still)))


def test_assumptions_are_judged_where_they_are_asked_for() -> None:
    """No scheme is at fault where the model breaks them."""
    asked = {id for id, claim in claims().items() if claim.on_request}
    assert asked == {
        "chen2015/assumption-1", "chen2015/assumption-2", "chen2015/assumption-3", "chen2015/definition-11",
        "vr-resgld/assumption-1", "vr-resgld/assumption-2", "vr-resgld/assumption-3",
        "awsgld/assumption-2", "awsgld/assumption-4",
    }  # fmt: skip
    held = {claim.id for claim, _ in pairs_of(make_subject("sghmc-aboba", load_configuration(None)))}
    assert "chen2015/theorem-4" in held and not held & asked
