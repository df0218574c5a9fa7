"""Momenta and thermostats: right in correct code, and what spoils their moments is refuted."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy import linalg

from sgverify.configuration import load_configuration
from sgverify.samplers.reading.motion import Motion
from sgverify.schemes import find_scheme, scheme
from sgverify.schemes.definition.mathematics import dot, sqrt
from sgverify.schemes.dynamics import thermostat
from sgverify.subject.subject import Subject
from tests.mutants.planting import planted
from tests.mutants.registry import find_mutant
from tests.self_checks.finding import Finding
from tests.self_checks.moments import LENGTH, _exact_momentum, _identities, check_moments

PLANE = {"name": "gaussian", "precision": [[2.0, 0.5], [0.5, 1.0]]}


def subject_of(found: Any, **settings: Any) -> Subject:
    found = find_scheme(found) if isinstance(found, str) else found
    tree = {"temperature": 0.5, "friction": 3.0, "seed": 1, "target": PLANE, **settings}
    return Subject(found, load_configuration(tree), found.name)


def ask(found: Any, **settings: Any) -> Finding:
    return check_moments(subject_of(found, **settings))


@pytest.mark.parametrize(
    ("name", "settings", "told"),
    [
        ("sghmc-obabo", {"start_momentum": "stationary"}, "after 40 steps are the exact ones"),
        (
            "sghmc-euler",
            {"target": {"size": 20}, "gradient": {"kind": "iid", "batch": 4}},
            "are the exact ones",
        ),
        ("sghmc-baoab", {"target": {"name": "double-well"}}, "starts from N(0, T I)"),
        ("sgnht-euler", {"dtype": "float32"}, "xi moves by h times its drift"),
    ],
)
def test_correct_code_conforms(name: str, settings: dict[str, Any], told: str) -> None:
    evidence = ask(name, **settings)
    assert evidence.verdict == "conforms" and told in evidence.reason, evidence.reason


def test_a_state_without_momentum_is_not_asked() -> None:
    assert ask("sgld-euler").verdict == "not-applicable"


def test_a_momentum_at_the_wrong_temperature_is_refuted_also_where_the_configured_one_hides_it() -> None:
    mutant = find_mutant("momentum-drawn-at-temperature-one")
    with planted(mutant) as subject:
        assert (
            "required T = 0.5; the momentum that chains start with at T=0.5" in check_moments(subject).reason
        )
        for temperature in (1.0, 1 / 3, 3**-0.5):
            evidence = ask("sghmc-aboba", temperature=temperature)
            assert evidence.verdict == "violates" and "required T = " in evidence.reason


def test_a_thermostat_that_is_told_another_dimension_is_refuted() -> None:
    with planted(find_mutant("thermostat-told-dimension-one")) as subject:
        evidence = check_moments(subject)
    assert evidence.verdict == "violates" and "xi does not move by its drift" in evidence.reason


@pytest.mark.parametrize("kept", ["old", "turned", "doubled"])
def test_a_momentum_that_is_not_moved_as_it_should_be_is_refuted(
    monkeypatch: pytest.MonkeyPatch, kept: str
) -> None:
    move = Motion.move

    def wrong(self: Any, state: Any, *given: Any) -> Any:
        old = state[1].clone()
        theta, p = move(self, state, *given)
        return theta, {"old": old, "turned": -p, "doubled": p + 0.4 * old}[kept]

    monkeypatch.setattr(Motion, "move", wrong)
    evidence = ask("sghmc-aboba", schedule={"step": 0.2})
    assert evidence.verdict == "violates" and "made white by their exact law" in evidence.reason


def test_the_exact_law_tends_to_the_invariant_one() -> None:
    """Forty steps of h = 0.5 forget the start; the covariance of p then solves the discrete Lyapunov equation."""
    subject = subject_of("sghmc-baoab", schedule={"step": 0.5})
    law = _exact_momentum(subject)
    assert not isinstance(law, str) and LENGTH * 0.5 == 20
    mean, root = law
    h, D, T, P = 0.5, 3.0, 0.5, np.array([[2.0, 0.5], [0.5, 1.0]])
    one, zero = np.eye(2), np.zeros((2, 2))
    kick, drift = np.block([[one, zero], [-h / 2 * P, one]]), np.block([[one, h / 2 * one], [zero, one]])
    fade = np.diag([1, 1, np.exp(-D * h), np.exp(-D * h)])
    noise = np.diag([0, 0, 1, 1]) * T * (1 - np.exp(-2 * D * h))
    after = kick @ drift
    step = after @ fade @ drift @ kick
    exact = linalg.solve_discrete_lyapunov(step, after @ noise @ after.T)[2:, 2:]
    left = np.abs(np.linalg.eigvals(step)).max() ** LENGTH
    np.testing.assert_allclose(root @ root.T, exact, atol=5 * left)
    np.testing.assert_allclose(mean, 0, atol=20 * left)


def test_the_share_of_the_new_state_is_found_on_the_definition() -> None:
    assert [i.share for i in _identities(subject_of("sgnht-euler"))] == [1.0]
    assert [i.share for i in _identities(subject_of("sgnht-aboba"))] == [0.5]

    @scheme(thermostat)
    def undivided(theta, p, xi, *, h, grad, noise, D, T):
        p = p - h * xi * p - h * grad(theta) + sqrt(2 * D * T * h) * noise()
        return theta + h * p, p, xi + h * (dot(p, p) - T)

    assert list(_identities(subject_of(undivided))) == []


@pytest.mark.parametrize("temperature", [1e-12, 1e-3, 1.0, 1e4, 1e8])
def test_a_scalar_is_said_to_move_by_its_drift_at_any_temperature_only_where_it_does(
    temperature: float,
) -> None:
    target = {"name": "gaussian", "dim": 3}
    euler = subject_of("sgnht-euler", target=target, temperature=temperature, friction=0.2)
    assert [(found.name, found.share) for found in _identities(euler)] == [("xi", 1.0)]
    # The thermostat of this splitting moves by the momentum within the step.
    split = subject_of("sgnht-chen-BAOAB", target=target, temperature=temperature, friction=0.2)
    assert not list(_identities(split))


def test_a_dynamics_whose_steps_leave_every_bound_has_no_identity_and_no_warning() -> None:
    target = {"name": "quartic", "strength": 35.5}
    found = ask("sgnht-chen-BAOAB", target=target, temperature=306000, friction=0.0335)
    assert found.verdict in ("conforms", "inconclusive"), found.reason


def test_a_datum_that_moves_both_momenta_at_once_is_no_correlation() -> None:
    data = [[0.0, 0.0]] * 396 + [[30.0, 30.0], [30.0, -30.0], [-30.0, 30.0], [-30.0, -30.0]]
    target = {"name": "gaussian-mean", "dim": 2, "data": data, "prior_precision": 1.0}
    evidence = ask(
        "sghmc-baoab",
        target=target,
        gradient={"kind": "iid", "batch": 1},
        seed=5,
        friction=2.0,
        temperature=1.0,
    )
    assert evidence.verdict == "inconclusive", evidence.reason
