"""Orders beyond two: what is claimed is examined, and an order is called exact only where its defect was met."""

from __future__ import annotations

from fractions import Fraction

import pytest

from sgverify import Alphabet, dynamics, scheme, sqrt
from sgverify.checks.applicable_claims import run_check
from sgverify.checks.question import Question
from sgverify.claims import find_claim
from sgverify.configuration import Configuration
from sgverify.exact.series.local_order import HIGHEST_CLAIM, HIGHEST_ORDER, local_order
from sgverify.exact.splittings.bch import bch
from sgverify.schemes import NAMED
from sgverify.schemes.catalogue.kinetic import drift, kick
from sgverify.subject.subject import Subject


@dynamics(theta="vector", p="vector")
def newton(theta, p, *, grad):
    return (p, -grad(theta)), (0, 0)


@dynamics(theta="vector")
def diffusion(theta, *, T):
    return 0 * theta, T


def runge_kutta(weight):
    """The classical method; `weight` is that of the inner slopes, 2 where it is right."""

    @scheme(newton, order=4)
    def step(theta, p, *, h, grad):
        a, b = p, -grad(theta)
        c, d = p + h / 2 * b, -grad(theta + h / 2 * a)
        e, f = p + h / 2 * d, -grad(theta + h / 2 * c)
        g, k = p + h * f, -grad(theta + h * e)
        rest = 6 - 2 * weight
        return theta + h / 6 * (rest / 2 * a + weight * c + weight * e + rest / 2 * g), p + h / 6 * (
            rest / 2 * b + weight * d + weight * f + rest / 2 * k
        )

    return step


def composition(weights):
    """A word of Stormer-Verlet steps A(w/2) B(w) A(w/2)."""
    alphabet = Alphabet("newton", newton, A=drift, B=kick)
    shares = [weights[0] / 2]
    for k, weight in enumerate(weights):
        following = weights[k + 1] if k + 1 < len(weights) else Fraction(0)
        shares += [weight, (weight + following) / 2]
    return alphabet.word("AB" * len(weights) + "A", coefficients=shares, order=4)


SIXTH = Fraction(1, 6)
FOURTH = [SIXTH] * 4 + [Fraction(-1, 3)] + [SIXTH] * 4
"""Rational, with sum w = 1 and sum w^3 = 0: what Yoshida's and Suzuki's roots achieve with fewer stages."""


@pytest.mark.parametrize("dim", [1, 2])
def test_the_classical_runge_kutta_method_is_fourth_order_exactly(dim: int) -> None:
    found = local_order(runge_kutta(2), dim)
    assert found.given_minibatch is not None
    assert (found.order, found.given_minibatch.power, found.examined) == (4, 5, 4)
    # Fresh minibatches leave (h^2/2) E (W' d_p)^2, whatever the order.
    assert found.averaged_order == 1
    assert local_order(runge_kutta(Fraction(3, 2)), dim).order == 2


def test_a_rational_composition_of_fourth_order() -> None:
    found = local_order(composition(FOURTH), 1)
    assert found.given_minibatch is not None
    assert (found.order, found.given_minibatch.power) == (4, 5)
    word = composition(FOURTH).word
    assert word is not None and bch(word.text, word.shares).order == 4
    # sum w = 1 without sum w^3 = 0.
    assert local_order(composition([SIXTH] * 6), 1).order == 2


def test_every_claim_is_examined() -> None:
    @scheme(diffusion)
    def brownian(theta, *, h, noise, T):
        return theta + sqrt(2 * T * h) * noise()

    assert local_order(brownian, 1).examined == HIGHEST_ORDER == 4
    for claim in (2, 5, 6):
        found = local_order(brownian.named("brownian", order=claim), 1)
        assert found.order == found.examined == max(4, claim)
        assert found.given_minibatch is None
    assert local_order(brownian.named("brownian", order=10**6), 1).examined == HIGHEST_CLAIM
    assert local_order(brownian, 1, highest=2).examined == 2
    # A claim costs nothing where the scheme falls short of it at h^3.
    assert local_order(NAMED["sghmc-aboba"].named("aboba", order=8), 1).examined == 2


def test_a_claim_beyond_what_was_examined_is_not_settled() -> None:
    @scheme(diffusion, order=HIGHEST_CLAIM + 1)
    def brownian(theta, *, h, noise, T):
        return theta + sqrt(2 * T * h) * noise()

    subject = Subject(brownian, Configuration(), "brownian")
    evidence = run_check(Question(subject, find_claim("sgverify/stated-order"), "local-order"))
    assert evidence.verdict == "inconclusive"
    assert f"powers beyond h^{HIGHEST_CLAIM + 1} were not examined" in evidence.reason
    fitting = Subject(brownian.named("brownian", order=6), Configuration(proof_dim=3), "brownian")
    evidence = run_check(Question(fitting, find_claim("sgverify/stated-order"), "local-order"))
    assert (evidence.verdict, evidence.sharp) == ("conforms", False)
    assert "at least 6" in evidence.reason
    assert evidence.certificate["proved_in_dimension"] == 3
