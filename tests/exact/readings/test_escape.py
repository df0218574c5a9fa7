"""Chains that a step carries off to infinity: told from those that come back, in any dimension and any state variable."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from sgverify.checks import verify
from sgverify.checks.applicable_claims import judge_pair, run_check
from sgverify.checks.question import Question
from sgverify.checks.readings import escape_of
from sgverify.claims import find_claim
from sgverify.configuration import load_configuration
from sgverify.exact.numbers.quadrature import EXTENDED
from sgverify.exact.readings.escape import Orbits, Origin, _ReverseGradient, followed_orbits
from sgverify.exact.readings.long_double import LongDoubleGradient
from sgverify.schemes import dot, langevin, scheme, sqrt, thermostat
from sgverify.subject.binding import make_subject
from tests.zoo.schemes import nose


@scheme(langevin, order=1)
def tamed(theta, *, h, grad, noise, T):
    """theta - h g / (1 + h^2 |g|^2)^(1/2): the drift moves by less than 1, and no chain is carried off."""
    g = grad(theta)
    return theta - h * g / sqrt(1 + h * h * g * g) + sqrt(2 * T * h) * noise()


@scheme(langevin, order=1)
def repelled(theta, *, h, grad, noise, T):
    """The force points outwards from |g| = 1000 on, and grows no faster than the state."""
    g = grad(theta)
    return theta - h * g * (1 - g * g / 10**6) / (1 + g * g / 10**6) + sqrt(2 * T * h) * noise()


@scheme(langevin, order=1, memory={"m": lambda theta, *, grad: grad(theta)})
def remembering(theta, m, *, h, grad, noise, T):
    """A memory that blows up beside a position that does not."""
    return theta - h * grad(theta) + sqrt(2 * T * h) * noise(), m + h * m * dot(m, m)


@scheme(thermostat, order=1)
def implicit_friction(theta, p, xi, *, h, grad, noise, dim, D, T):
    """Beyond its pole at xi = -1/h the friction damps again, and falls without end."""
    p = (p - h * grad(theta) + sqrt(2 * D * T * h) * noise()) / (1 + h * xi)
    return theta + h * p, p, xi + h * (dot(p, p) / dim - T)


def escape(given: Any, **target: Any) -> Orbits | None:
    return escape_of(make_subject(given, load_configuration(target=target)))


@pytest.mark.parametrize("name", ["sgld-euler", "sghmc-aboba", "sghmc-euler-explicit", "sghmc-baoab"])
@pytest.mark.parametrize("dim", [1, 3])
def test_explicit_steps_escape_where_the_drift_is_cubic(name: str, dim: int) -> None:
    assert escape(name, name="double-well", dim=dim) is not None
    assert escape(name, name="quartic", dim=dim) is not None


@pytest.mark.by_default(
    "sgld-euler-target0",
    "sghmc-aboba-target1",
    "sgld-euler-target2",
    "sgld-euler-target4",
    "sgld-euler-target5",
    "sgld-euler-target6",
    "given7-target7",
)
@pytest.mark.parametrize(
    ("given", "target"),
    [
        ("sgld-euler", {"name": "mixture"}),
        ("sghmc-aboba", {"name": "mixture", "dim": 2}),
        ("sgld-euler", {"name": "gamma-poisson", "size": 20}),  # thrown out by an exponential, and back
        ("sghmc-baoab", {"name": "gamma-poisson", "size": 20}),
        ("sgld-euler", {"name": "logistic-regression", "size": 20}),
        ("sgld-euler", {"name": "griewank"}),
        ("sgld-euler", {"name": "gaussian"}),
        (tamed, {"name": "quartic"}),
    ],
)
def test_what_comes_back_does_not_escape(given: Any, target: dict[str, Any]) -> None:
    assert escape(given, **target) is None


GAUSSIAN = {"name": "gaussian"}


@pytest.mark.parametrize(
    ("given", "along"),
    [
        ("sgnht-euler", "p"),
        ("sgnht-euler-explicit", "theta"),
        ("sgrld-euler", "theta"),
        (repelled, "theta"),
        (remembering, "theta"),
        (implicit_friction, "xi"),
    ],
)
def test_steps_that_are_no_affine_map_escape_on_a_gaussian_too(given: Any, along: str) -> None:
    target = {} if isinstance(given, str) else GAUSSIAN
    found = escape(given, **target)
    assert found is not None and found.along == along


@pytest.mark.by_default(
    "1.0-1.0-given2",
    "0.01-10000.0-given2",
    "0.01-10000.0-given1",
    "1.0-1.0-given1",
    "0.01-10000.0-sgnht-aboba",
)
@pytest.mark.parametrize("given", ["sgnht-aboba", nose, tamed])
@pytest.mark.parametrize("precision", [1.0, 1e4])
@pytest.mark.parametrize("share", [1.0, 0.01])
def test_steps_that_hold_do_not_escape_on_a_gaussian(given: Any, precision: float, share: float) -> None:
    step = share * make_subject(given, load_configuration(target={**GAUSSIAN, "precision": precision})).step
    asked = load_configuration(target={**GAUSSIAN, "precision": precision}, schedule={"step": step})
    assert escape_of(make_subject(given, asked)) is None


def test_an_edge_of_a_thermostat_is_where_its_momentum_turns_over() -> None:
    """From p with h^2 p^2 > 2 on, p -> (1 - h xi) p with xi ~ h p^2 grows: tried in doublings, from somewhat nearer on."""
    found = escape_of(
        make_subject("sgnht-euler", load_configuration(target=GAUSSIAN, schedule={"step": 0.01}))
    )
    assert found is not None and found.along == "p"
    assert 2**0.5 / 0.01 / 4 <= found.distance <= 2 * 2**0.5 / 0.01


def test_the_distance_is_that_of_the_edge_within_a_factor_of_two() -> None:
    """|1 - h x^2| > 1 beyond sqrt(2/h) for U = x^4/4."""
    asked = load_configuration(target={"name": "quartic"}, schedule={"step": 1e-4})
    found = escape_of(make_subject("sgld-euler", asked))
    assert found is not None and (2 / 1e-4) ** 0.5 <= found.distance <= 2 * (2 / 1e-4) ** 0.5


def test_claims_about_ergodic_chains_do_not_speak_of_those_that_escape() -> None:
    given: dict[str, Any] = {"target": {"name": "quartic"}}
    subject = make_subject("sgld-euler", load_configuration(**given))
    for id in ("chen2015/theorem-4", "chen2015/theorem-3"):
        claim = find_claim(id)
        for quantity in claim.quantities:
            (evidence,) = judge_pair(subject, claim, quantity)
            assert evidence.verdict == "not-applicable" and "transient" in evidence.reason
    asked = run_check(Question(subject, find_claim("chen2015/theorem-3"), "mse"), ask=False)
    assert asked.verdict == "not-applicable" and "transient" in asked.reason


def test_what_is_found_of_them_says_that_it_is_quasi_stationary() -> None:
    (found,) = verify("sgld-euler", checks=["stationary-bias"], target={"name": "quartic"})
    assert (found.claim, found.verdict) == ("sgverify/quasi-stationary", "conforms")
    assert "quasi-stationary" in found.reason and "chen2015/theorem-4" in found.reason


@pytest.mark.parametrize(("friction", "step"), [(0.01, 0.01), (0.001, 0.1)])
@pytest.mark.parametrize("repelled_by", [0.0, 1e-3])
def test_a_momentum_that_keeps_its_sign_for_long_is_no_escape(
    friction: float, step: float, repelled_by: float
) -> None:
    """Of Student's law with five degrees of freedom no force is left far out; a force outwards is no chance."""
    random = np.random.default_rng(20150618)

    def move(state: list[np.ndarray]) -> list[np.ndarray]:
        theta, p = state
        kept = np.exp(-friction * step)
        force = repelled_by * theta - 6 * theta / (5 + theta**2)
        p = kept * p + step * force + np.sqrt(1 - kept**2) * random.standard_normal(theta.shape)
        return [theta + step * p, p]

    origin = Origin(("theta", "p"), (np.zeros(2), np.zeros(2)), (1.0, 1.0))
    assert bool(followed_orbits(move, origin, step).gone) == bool(repelled_by)


def test_in_many_dimensions_the_reverse_mode_gives_the_same_gradient() -> None:
    """The cheap way of the orbits against Taylor polynomials, coordinate by coordinate."""
    target = make_subject(
        "sgld-euler", load_configuration(target={"name": "logistic-regression", "dim": 9})
    ).target
    theta = np.random.default_rng(1).normal(size=(3, 9)).astype(EXTENDED)
    reverse, taylor = (
        kind(target)._at(theta, target.data) for kind in (_ReverseGradient, LongDoubleGradient)
    )
    assert reverse.dtype == EXTENDED and np.abs(reverse - taylor).max() < 1e-15 * np.abs(taylor).max() * 20
    away = 2.0**20 * theta
    reverse, taylor = (kind(target)._at(away, target.data) for kind in (_ReverseGradient, LongDoubleGradient))
    assert np.allclose(reverse, taylor, rtol=1e-14)
