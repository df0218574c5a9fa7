"""Words with irrational shares: proved in the power-series reading, run in the sampled and the affine ones."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import mpmath
import pytest

from sgverify.checks import rate
from sgverify.errors import NotExpandableError
from sgverify.exact.readings.formula import define, formula, plant
from sgverify.exact.rings.ring import Ring
from sgverify.exact.series.local_order import local_order
from sgverify.exact.splittings.bch import bch
from sgverify.schemes import Alphabet, Scheme, dynamics
from sgverify.schemes.catalogue.kinetic import MOLECULAR, drift, kick
from sgverify.schemes.numbers.text import read_number
from sgverify.schemes.scheme import make_scheme
from sgverify.testing.conformance.reference import as_ball
from tests.zoo.commutators import compare_with_commutators


@dynamics(theta="vector", p="vector")
def hamiltonian(theta: Any, p: Any, *, grad: Any) -> Any:
    return (p, -grad(theta)), (0, 0)


VERLET = Alphabet("verlet", hamiltonian, A=drift, B=kick)
W = "1/(2-2^(1/3))"
# Yoshida's kicks and drifts between two halves of Ornstein-Uhlenbeck.
OUTSIDE = f"1/2, {W}/2,{W},1/2-{W}/2,1-2*{W},1/2-{W}/2,{W},{W}/2, 1/2"


@pytest.mark.parametrize("dim", [1, 2])
@pytest.mark.parametrize(
    ("text", "shares"),
    [("ABABABA", "yoshida4"), ("BABABAB", "yoshida4"), ("ABABABABABA", "suzuki4")],
)
def test_fourth_order_compositions_have_local_order_four(text: str, shares: str, dim: int) -> None:
    scheme = VERLET.word(text, coefficients=shares)
    found = local_order(scheme, dim)
    assert found.order == 4 == bch(text, shares).order
    assert compare_with_commutators(scheme, 1).agree


def test_a_root_of_a_cubic_runs_too() -> None:
    root = "root(48x^3-72x^2+38x-5, 0.19)"
    scheme = VERLET.word("ABABA", coefficients=f"{root},1/2,1-2*{root},1/2,{root}")
    assert local_order(scheme, 1).order == 2
    assert compare_with_commutators(scheme, 2).agree


def test_a_share_that_is_a_little_off_has_order_two() -> None:
    """Planted: the cube root of 2.000001, and a rational number next to Yoshida's."""
    for wrong in ("1/(2-2.000001^(1/3))".replace("2.000001", "(2000001/1000000)"), "13512071919596576/10^16"):
        shares = f"{wrong}/2,{wrong},(1-{wrong})/2,1-2*{wrong},(1-{wrong})/2,{wrong},{wrong}/2"
        if "2000001" in wrong:
            shares = shares.replace("(2000001/1000000)", "(2000376/1000000)")  # with small prime factors
        assert local_order(VERLET.word("ABABABA", coefficients=shares), 1).order == 2


def test_inside_ornstein_uhlenbeck_order_two_is_left() -> None:
    """Fourth order without noise; with O outermost its commutators with the rest leave second order."""
    scheme = MOLECULAR.word("OBABABABO", coefficients=OUTSIDE)
    assert scheme.word is not None and scheme.word.palindromic
    assert local_order(scheme, 2).order == 2 == bch("OBABABABO", OUTSIDE).order
    assert compare_with_commutators(scheme, 2).agree
    # What is left is what O and the exact flow of A + B leave: no commutator of A and B alone.
    leading = [term.commutator for term in bch("OBABABABO", OUTSIDE).leading]
    assert leading and all("O" in text for text in leading)


def test_the_printed_formula_reads_back_as_the_same_proof() -> None:
    scheme = VERLET.word("ABABABA", coefficients="yoshida4")
    printed = formula(scheme)
    step = make_scheme(define(printed, "verlet_abababa"), hamiltonian)
    assert local_order(step, 1).order == 4
    share = 'read_number("1/3 + 1/6*2^(1/3) + 1/12*2^(2/3)")*h*p\n'
    assert local_order(plant(scheme, share, "0.6756035960*h*p\n"), 1).order < 4
    # Sixteen digits of a root refute nothing: they may be what it rounds to. Fourteen do.
    assert local_order(plant(scheme, share, "0.675603595979829*h*p\n"), 1).order == 4
    assert local_order(plant(scheme, share, "0.67560359597983*h*p\n"), 1).order < 4


@pytest.mark.power  # 0.6 s
def test_outside_ornstein_uhlenbeck_the_target_moves_by_the_order_inside_only() -> None:
    """Bou-Rabee and Owhadi 2010: local order 2, and yet the invariant law of a Gaussian target is off by h^4."""
    inside = MOLECULAR.word("OBABABABO", coefficients=OUTSIDE)
    strang = MOLECULAR.word("OBABO")
    found = [rate(scheme, quantity="stationary-bias").found.exponent for scheme in (inside, strang)]
    assert found == [4, 2]


def test_one_step_in_floats_is_the_step_in_sixty_digits() -> None:
    scheme: Scheme = VERLET.word("ABABABA", coefficients="yoshida4")
    with mpmath.workdps(60):
        w = 1 / (2 - mpmath.cbrt(2))
        x, p, h = mpmath.mpf(1), mpmath.mpf("0.5"), mpmath.mpf("0.1")
        for a, b in [(w / 2, w), ((1 - w) / 2, 1 - 2 * w), ((1 - w) / 2, w), (w / 2, 0)]:
            x = x + a * h * p
            p = p - b * h * mpmath.sin(x)
        expected = float(x), float(p)
    import math

    found = scheme.step((1.0, 0.5), h=0.1, grad=math.sin)
    assert all(isinstance(value, float) for value in found)
    assert found == pytest.approx(expected, rel=4e-16, abs=4e-16)


def test_the_ring_reduces_powers_of_roots() -> None:
    ring = Ring(1, {"theta": "vector"}, (), depth=1, draws=0, minibatches=1, cap=4)
    a, b = ring.constant(read_number("2^(5/6)")), ring.constant(read_number("2^(1/6)"))
    assert ring.reduce(a * b) == ring.constant(2)
    x = read_number("root(x^3-3x+1, 0.3)")
    y = ring.constant(x)
    assert not ring.reduce(y**3 - y * ring.constant(3) + ring.constant(1))
    assert ring.reduce(y**3 - y * ring.constant(3))
    with pytest.raises(NotExpandableError, match=r"2\^\(1/4\) beside sqrt\(2\)"):
        ring.constant(read_number("2^(1/4)"))


def test_a_ball_encloses_what_the_float_rounds() -> None:
    for text in (W, "1/(4-4^(1/3))", "root(x^3-3x+1, 0.3)", "sqrt(2)-sqrt(3)"):
        value: Any = read_number(text)
        ball = as_ball(value)
        assert ball.contains(ball.mid()) and abs(float(ball.mid()) - float(value)) < 1e-15
        assert not as_ball(value + Fraction(1, 10**12)).overlaps(ball)
