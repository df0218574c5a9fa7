"""A step of another size than h: its pace, its order, and steps that are none of one size."""

from __future__ import annotations

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

import sgverify
from sgverify import scheme, sqrt
from sgverify.exact.series.dimensions import prove_order
from sgverify.exact.series.local_order import local_order
from sgverify.exact.series.pace import pace_of
from sgverify.schemes import constants, find_scheme, kinetic, langevin

PACES = st.fractions(min_value=Fraction(1, 50), max_value=20, max_denominator=97)


@given(PACES)
def test_the_euler_step_of_size_c_h_is_of_order_1(c: Fraction) -> None:
    @scheme(langevin)
    def slowed(theta, *, h, grad, noise, T):
        return theta - c * h * grad(theta) + sqrt(2 * c * T * h) * noise()

    assert pace_of(slowed) == c
    assert local_order(slowed).order == 1


@given(PACES)
def test_a_kinetic_step_has_one_pace_for_both_parts(c: Fraction) -> None:
    @scheme(kinetic)
    def slowed(theta, p, *, h, grad, noise, D, T):
        p = p - c * h * (grad(theta) + D * p) + sqrt(2 * c * D * T * h) * noise()
        return theta + c * h * p, p

    @scheme(kinetic)
    def torn(theta, p, *, h, grad, noise, D, T):
        p = p - h * (grad(theta) + D * p) + sqrt(2 * D * T * h) * noise()
        return theta + (1 + c) * h * p, p

    assert (pace_of(slowed), local_order(slowed).order) == (c, 1)
    assert (pace_of(torn), local_order(torn).order) == (1, 0)


@scheme(langevin)
def hot_by_half(theta, *, h, grad, noise, T):
    return theta - h / 2 * grad(theta) + sqrt(2 * T * h) * noise()


@scheme(langevin)
def backward(theta, *, h, grad, noise, T):
    return theta + h / 2 * grad(theta) + sqrt(T * h) * noise()


@scheme(langevin)
def slower_with_heat(theta, *, h, grad, noise, T):
    return theta - T * h * grad(theta) + T * sqrt(2 * h) * noise()


@pytest.mark.parametrize("wrong", [hot_by_half, backward, slower_with_heat], ids=lambda item: item.name)
def test_drift_and_noise_have_one_pace_and_a_number(wrong) -> None:
    assert pace_of(wrong) == 1
    assert local_order(wrong).order == 0


def test_every_coordinate_has_the_pace_of_the_first_ones() -> None:
    @scheme(langevin)
    def third_slow(theta, *, h, grad, noise, T):
        pace = constants((1, 1, Fraction(1, 2)), theta)
        return theta - h * pace * grad(theta) + sqrt(2 * T * h) * sqrt(pace) * noise()

    proved = prove_order(third_slow, 2, 1)
    assert (proved.order.order, proved.dim) == (0, 3)


def test_the_catalogue_has_pace_1() -> None:
    assert {pace_of(find_scheme(name)) for name in ("sgld-euler", "sghmc-aboba", "sgnht-aboba")} == {1}


def test_an_answer_names_the_size_of_the_step() -> None:
    @scheme(langevin, order=1)
    def welling_teh(theta, *, h, grad, noise, T):
        return theta - h / 2 * grad(theta) + sqrt(T * h) * noise()

    answer = str(sgverify.verify(welling_teh, checks=["local-order"]))
    assert "PASS  welling_teh: order 1 proved; its step is h/2" in answer
