"""Exact answers on definitions with floats that stand for no simple number: up to their rounding, which the answers say."""

from __future__ import annotations

import math

import pytest

from sgverify import verify
from sgverify.exact.readings.step_switches import intervals_of
from sgverify.schemes import Alphabet, Scheme, dot, dynamics, exp, kinetic, sqrt
from sgverify.schemes.catalogue.kinetic import drift, kick
from sgverify.schemes.scheme import make_scheme

EXACT = [
    "local-order",
    "stationary-bias",
    "covariance",
    "wasserstein-2",
    "chen2015/theorem-2",
    "chen2015/theorem-3",
]


def heat(theta, p, *, t, noise, D, T):  # type: ignore[no-untyped-def]
    return theta, exp(-D * t) * p + sqrt(T * (1 - exp(-2 * D * t))) * noise()


ALPHABET = Alphabet("langevin", kinetic, B=kick, A=drift, O=heat)


def baoab(off: float) -> Scheme:
    """BAOAB, whose stationary variance of theta is exact, with the draw of its O in two."""
    c, s = math.cos(0.3), math.sin(0.3) * (1 + off)

    def bath(theta, p, *, t, noise, D, T):  # type: ignore[no-untyped-def]
        return theta, exp(-D * t) * p + sqrt(T * (1 - exp(-2 * D * t))) * (c * noise() + s * noise())

    return Alphabet("in two draws", kinetic, B=kick, A=drift, O=bath).word("BAOAB", order=2)


@pytest.mark.power  # 0.7 s
def test_a_right_definition_conforms_and_says_up_to_what() -> None:
    found = [e for e in verify(baoab(0.0), checks=EXACT) if e.verdict != "not-applicable"]
    assert {e.verdict for e in found} == {"conforms"} and len(found) >= 6
    assert all("up to the rounding of the floats in the definition (0.95" in e.reason for e in found)
    assert all(len(e.certificate["floats_read_as_intervals"]) == 2 for e in found)
    (bias,) = (e for e in found if e.check == "stationary-bias")
    assert bias.found.exponent is None and all(point.value == 0 for point in bias.points)


def test_what_is_wrong_by_more_violates() -> None:
    found = [e for e in verify(baoab(1e-12), checks=EXACT[:3]) if e.verdict != "not-applicable"]
    assert {e.verdict for e in found} == {"violates"}


@pytest.mark.parametrize(("off", "verdict"), [(0.0, "conforms"), (1e-12, "violates")])
def test_a_word_has_order_two_up_to_the_rounding_of_its_shares(off: float, verdict: str) -> None:
    a = math.cos(1.2)
    b = 0.5 / (1 - a) + off
    halves = ALPHABET.word("OABABO", order=2, coefficients=[0.5, a, b, 1 - a, 1 - b, 0.5])
    (found,) = verify(halves, checks=["local-order"])
    assert (found.verdict, found.method) == (verdict, "proof")
    assert off or "up to the rounding of the floats in the definition (0.36" in found.reason
    # A word that reads the same backwards meets the conditions exactly.
    mirrored = ALPHABET.word("ABOBA", order=2, coefficients=[0.5, 0.5, 1.0, 0.5, 0.5])
    assert mirrored.word is not None and not mirrored.word.floats


def test_a_definition_without_such_floats_says_nothing_of_them() -> None:
    def step(theta, p, *, h, grad, noise, D, T):  # type: ignore[no-untyped-def]
        p = p - 0.5 * h * grad(theta) - h / 2 * grad(theta) - h * D * p
        return theta + h * p, p + math.sqrt(2) * sqrt(D * T * h) * noise()

    euler = make_scheme(step, kinetic, order=1)
    assert intervals_of(euler, 2) == ()
    (found,) = verify(euler, checks=["local-order"])
    assert found.verdict == "conforms" and "rounding" not in found.reason


@pytest.mark.parametrize(("off", "verdict"), [(0.0, "conforms"), (1e-12, "violates")])
def test_a_dynamics_with_floats_keeps_its_density_up_to_their_rounding(off: float, verdict: str) -> None:
    c, s = math.cos(0.3), math.sin(0.3)

    def law(theta, p, *, U, T):  # type: ignore[no-untyped-def]
        return -(U(theta) + dot(p, p) / 2) / T

    @dynamics(theta="vector", p="vector", density=law)
    def mine(theta, p, *, grad, D, T):  # type: ignore[no-untyped-def]
        return (p, -grad(theta) - D * p * (c * c) - D * p * s * s), (0, D * T * (c * c + s * s * (1 + off)))

    def step(theta, p, *, h, grad, noise, D, T):  # type: ignore[no-untyped-def]
        p = p - h * grad(theta) - h * D * p + sqrt(2 * D * T * h) * noise()
        return theta + h * p, p

    (found,) = verify(make_scheme(step, mine, order=1), checks=["stationarity"])
    assert found.verdict == verdict and found.method == "proof"
