"""Alphabets proved and refuted, and the defect that gradient noise leaves behind every scheme of order two."""

from __future__ import annotations

import pytest

from sgverify import Alphabet, exp, sqrt
from sgverify.exact.series.letters import prove_alphabet
from sgverify.exact.series.local_order import local_order
from sgverify.exact.series.noise_terms import noise_defect
from sgverify.schemes import ALPHABETS, NAMED, find_scheme, kinetic, langevin, thermostat
from sgverify.schemes.catalogue.kinetic import drift, friction, kick, noisy_kick, ornstein_uhlenbeck
from tests.zoo.schemes import (
    THERMOSTAT,
    WITHOUT_DIM,
    euler_of_two_minibatches,
    heun,
    heun_of_two_minibatches,
    weak_kick,
)


def linear_friction(theta, p, *, t, D):
    return theta, (1 - D * t) * p


def late_friction(theta, p, *, t, D):
    """Right through t^3."""
    return theta, (exp(-D * t) + t**4) * p


def other_noise(theta, p, *, t, grad, noise, D, T):
    """A draw that scales like t: no flow has odd powers of sqrt(t)."""
    return theta, p - t * grad(theta) + (sqrt(2 * D * T * t) + t) * noise()


@pytest.mark.parametrize("dim", [1, 2])
@pytest.mark.parametrize("alphabet", [*ALPHABETS.values(), THERMOSTAT], ids=lambda a: a.name)
def test_proved(alphabet: Alphabet, dim: int) -> None:
    found = prove_alphabet(alphabet, dim)
    assert found.proved and found.faults == () and found.degree == 4
    assert set(found.generators) == set(alphabet.letters)


def test_generators_as_text() -> None:
    assert prove_alphabet(ALPHABETS["sghmc-chen"], 1).generators == {
        "A": "[p] d_theta",
        "B": "[-p D] d_p",
        "O": "[-U'] d_p + [D T] d_p^2",
    }


@pytest.mark.parametrize(
    ("letters", "says"),
    [
        ({"A": drift, "B": friction, "O": weak_kick}, ["sum to L plus [-(1/2) D T] d_p^2"]),
        ({"A": drift, "B": linear_friction, "O": noisy_kick}, ["letter B is not the flow", "t^2"]),
        ({"A": drift, "B": late_friction, "O": noisy_kick}, ["letter B is not the flow", "t^4"]),
        ({"A": drift, "B": friction, "O": other_noise}, ["letter O is not the flow", "t^3/2"]),
        ({"A": drift, "B": friction, "O": ornstein_uhlenbeck}, ["sum to L plus"]),
        ({"A": drift, "B": kick, "O": noisy_kick}, ["sum to L plus"]),
    ],
)
def test_refuted(letters: dict, says: list[str]) -> None:
    found = prove_alphabet(Alphabet("mine", kinetic, **letters), 1)
    assert not found.proved
    for part in says:
        assert any(part in fault for fault in found.faults), found.faults


def test_a_thermostat_without_dim_is_refuted_in_two_dimensions() -> None:
    assert prove_alphabet(WITHOUT_DIM, 1).proved
    found = prove_alphabet(WITHOUT_DIM, 2)
    assert not found.proved and "d_xi" in found.faults[0]


def test_bch_cannot_see_what_the_proof_sees() -> None:
    """The reason for the proof: the word of the weak kick is ABOBA, too."""
    wrong = Alphabet("wrong", kinetic, A=drift, B=friction, O=weak_kick).word("ABOBA")
    assert wrong.word is not None and wrong.word.palindromic
    assert local_order(wrong, 1).order == 0


@pytest.mark.parametrize("dim", [1, 2])
@pytest.mark.parametrize(
    "name", ["sghmc-aboba", "sghmc-baoab", "sghmc-obabo", "sghmc-chen-bAOAb", "sghmc-md-AOBOA"]
)
def test_every_word_of_order_two_has_the_noise_defect_and_no_other(name: str, dim: int) -> None:
    averaged = local_order(find_scheme(name), dim).averaged
    shared = noise_defect(kinetic, dim)
    assert averaged is not None and shared is not None
    assert (averaged.power, averaged.text) == (shared.power, shared.text)


def test_so_does_heun() -> None:
    averaged, shared = local_order(heun, 2).averaged, noise_defect(langevin, 2)
    assert averaged is not None and shared is not None and averaged.text == shared.text


def test_schemes_that_have_another_defect() -> None:
    shared = {1: noise_defect(langevin, 1), 2: noise_defect(kinetic, 1)}
    for scheme in (
        NAMED["sgld-euler"],
        heun_of_two_minibatches,
        euler_of_two_minibatches,
        NAMED["sghmc-euler"],
    ):
        averaged, expected = local_order(scheme, 1).averaged, shared[len(scheme.dynamics.state)]
        assert averaged is not None and expected is not None
        assert averaged.text != expected.text
    wrong = Alphabet("wrong", kinetic, A=drift, B=friction, O=weak_kick).word("ABOBA")
    averaged = local_order(wrong, 1).averaged
    assert averaged is not None and averaged.power == 1


def test_noise_defects_of_the_dynamics() -> None:
    """(E L_l^2 - L^2)/2 by hand: (dV' d_p)^2/2 for kinetic dynamics; langevin's own derivative acts on dV' too."""
    found = noise_defect(kinetic, 1)
    assert found is not None and found.text == "E[(W')^2] * ( h^2 ( [1/2] d_p^2 ) )"
    found = noise_defect(langevin, 1)
    assert found is not None
    assert found.text == "E[(W')^2] * ( h^2 ( [1/2] d_theta^2 ) ) + E[W' W''] * ( h^2 ( [1/2] d_theta ) )"
    found = noise_defect(thermostat, 1)
    assert found is not None and found.text == "E[(W')^2] * ( h^2 ( [1/2] d_p^2 ) )"
