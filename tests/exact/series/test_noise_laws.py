"""Bounded draws in the power series, against the average over every outcome written out in exact numbers."""

from __future__ import annotations

from fractions import Fraction
from itertools import product
from typing import Any

import pytest

from sgverify.exact.rings.ring import Ring
from sgverify.exact.series.letters import prove_alphabet
from sgverify.exact.series.local_order import local_order
from sgverify.exact.series.operators import transition_of
from sgverify.schemes import LAWS, Alphabet, NoiseLaw, Scheme, kinetic, langevin, scheme, sqrt
from sgverify.schemes.catalogue.kinetic import drift, friction
from tests.zoo.carriers import InS
from tests.zoo.schemes import bounded_heun

T = Fraction(3, 4)


@scheme(langevin)
def coin_heun(theta, *, h, grad, noise, T):
    kick = sqrt(2 * T * h) * noise.two_point()
    guess = theta - h * grad(theta) + kick
    return theta - h / 2 * (grad(theta) + grad(guess)) + kick


@scheme(langevin)
def mixed_heun(theta, *, h, grad, noise, T):
    kick = sqrt(T * h) * noise.two_point() + sqrt(T * h) * noise.three_point()
    guess = theta - h * grad(theta) + kick
    return theta - h / 2 * (grad(theta) + grad(guess)) + kick


def bounded_kick(theta, p, *, t, grad, noise, D, T):
    return theta, p - t * grad(theta) + sqrt(2 * D * T * t) * noise.three_point()


def coin_kick(theta, p, *, t, grad, noise, D, T):
    return theta, p - t * grad(theta) + sqrt(2 * D * T * t) * noise.two_point()


def words(kick: Any) -> Alphabet:
    return Alphabet("bounded", kinetic, A=drift, B=friction, O=kick)


@pytest.mark.parametrize("dim", [1, 2])
def test_three_points_are_enough_for_weak_order_two(dim: int) -> None:
    assert local_order(bounded_heun, dim).order == 2
    assert local_order(words(bounded_kick).word("ABOBA"), dim).order == 2


@pytest.mark.parametrize("dim", [1, 2])
def test_two_points_are_enough_for_weak_order_one_alone(dim: int) -> None:
    assert local_order(coin_heun, dim).order == 1
    wrong = local_order(words(coin_kick).word("ABOBA"), dim)
    assert wrong.order == 1
    # E z^4 = 1 in place of 3: (1 - 3)/4! (2DT)^2 d_p^4.
    assert "[-(1/3) D^2 T^2] d_p" in wrong.given_minibatch.text


def test_a_bounded_letter_is_no_exact_flow_of_its_generator() -> None:
    proof = prove_alphabet(words(bounded_kick), dim=1)
    assert any(fault.startswith("letter O") and "t^3" in fault for fault in proof.faults)


@pytest.mark.parametrize("found", [bounded_heun, coin_heun, mixed_heun], ids=lambda s: s.name)
def test_expectations_are_those_over_every_outcome(found: Scheme) -> None:
    for degree in range(1, 7):
        assert by_series(found, degree) == by_enumeration(found, degree, found.laws)


def test_the_comparison_catches_wrong_probabilities() -> None:
    quarter = Fraction(1, 4)
    root = sqrt(3)
    wrong = object.__new__(NoiseLaw)
    for name, value in (
        ("name", "wrong"),
        ("atoms", ((-root, quarter), (0, Fraction(1, 2)), (root, quarter))),
    ):
        object.__setattr__(wrong, name, value)
    assert by_series(bounded_heun, 2) != by_enumeration(bounded_heun, 2, [wrong])
    assert by_series(bounded_heun, 4) != by_enumeration(bounded_heun, 4, [LAWS["two_point"]])


def by_series(found: Scheme, degree: int) -> dict[int, Fraction]:
    """E (X_1 - x)^degree at x = 0 for U' = 1 + x, coefficients of s^1, ..., s^6."""
    ring = Ring(1, {"theta": "vector"}, ("T",), depth=9, draws=found.draws, minibatches=1, cap=8)
    transition = transition_of(found, ring, 6)
    values: dict[int, Any] = {ring.position("theta", 0): 0}
    values |= {ring.position("U", 0, a): int(sum(a) <= 2) for a in ring.derivatives}
    found_at = {}
    for j in range(1, 7):
        total = Fraction(0)
        for exponents, factor in transition.at(j).get((degree,), ring.zero).to_dict().items():
            term = Fraction(int(factor.p), int(factor.q))
            for place, times in enumerate(exponents):
                if not times:
                    continue
                if place == ring.position("root", "T"):
                    assert times % 2 == 0
                    term *= T ** (int(times) // 2)
                else:
                    # E over the draws has no roots: an opaque one would stay here.
                    term *= values[place] ** int(times)
            total += term
        for k in range(2, degree + 1):
            total *= k
        if total:
            found_at[j] = total
    return found_at


def by_enumeration(found: Scheme, degree: int, laws: Any) -> dict[int, Fraction]:
    """The same by running the definition on polynomials in s over Q(sqrt 2, ...), outcome by outcome."""
    total: dict[int, Any] = {}
    for outcome in product(*(law.atoms for law in laws)):
        draws = iter([value for value, _ in outcome])
        weight = Fraction(1)
        for _, chance in outcome:
            weight *= chance
        s = InS({1: Fraction(1)})
        given = {"h": s * s, "grad": lambda x: x + 1, "noise": Answers(draws), "T": T}
        (moved,) = found.step((InS({}),), **given)
        for k, value in (moved**degree).terms.items():
            if 1 <= k <= 6:
                total[k] = total.get(k, Fraction(0)) + weight * value
    return {k: value for k, value in total.items() if value != 0}


class Answers:
    """Every draw, of whatever law, is the next value."""

    def __init__(self, draws: Any) -> None:
        self.three_point = self.two_point = lambda: next(draws)
