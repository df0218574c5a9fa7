"""The laws of noise that a definition can ask for, and what a definition sees of them."""

from __future__ import annotations

import pickle
from fractions import Fraction

import pytest

from sgverify.errors import DefinitionError
from sgverify.exact.numbers.matrix_series import cumulants_from_moments
from sgverify.schemes import LAWS, NoiseLaw, langevin, scheme, sqrt
from sgverify.schemes.definition.mathematics import NORMAL, THREE_POINT, TWO_POINT, UNIFORM, Noise


@scheme(langevin)
def mixed(theta, *, h, grad, noise, T):
    kick = noise() + noise.three_point() / 2 - noise()
    return theta - h * grad(theta) + sqrt(2 * T * h) * kick


def test_moments_are_those_of_the_normal_law_through_the_degree_that_is_claimed() -> None:
    assert [NORMAL.moment(k) for k in range(9)] == [1, 0, 1, 0, 3, 0, 15, 0, 105]
    assert [THREE_POINT.moment(k) for k in range(9)] == [1, 0, 1, 0, 3, 0, 9, 0, 27]
    assert [TWO_POINT.moment(k) for k in range(9)] == [1, 0, 1, 0, 1, 0, 1, 0, 1]


@pytest.mark.parametrize("law", LAWS.values(), ids=str)
def test_cumulants_are_those_of_the_moments(law: NoiseLaw) -> None:
    moments = {(k,): law.moment(k) for k in range(9)}
    expected = cumulants_from_moments(moments, 1, 8)
    assert [law.cumulant(k) for k in range(1, 9)] == [expected[(k,)] for k in range(1, 9)]


@pytest.mark.parametrize("law", [law for law in LAWS.values() if law.atoms], ids=str)
def test_an_evenly_drawn_place_of_the_table_has_the_law(law: NoiseLaw) -> None:
    for power in range(9):
        total = sum((value**power for value in law.table), Fraction(0))
        assert total / len(law.table) == law.moment(power)


def test_a_law_that_is_not_standardised_is_refused() -> None:
    root = sqrt(3)
    quarter = Fraction(1, 4)
    # The planted bug of the three-point law: probability 1/4 in place of 1/6.
    with pytest.raises(DefinitionError, match=r"E z\^2 = 3/2"):
        NoiseLaw("wrong", ((-root, quarter), (0, Fraction(1, 2)), (root, quarter)))
    with pytest.raises(DefinitionError, match=r"E z\^0 = 5/6"):
        NoiseLaw("wrong", ((-root, Fraction(1, 6)), (0, Fraction(1, 2)), (root, Fraction(1, 6))))
    with pytest.raises(DefinitionError, match=r"E z\^1 = 1/2"):
        NoiseLaw("wrong", ((0, Fraction(1, 2)), (1, Fraction(1, 2))))


def test_a_step_knows_the_laws_of_its_draws_in_order() -> None:
    assert mixed.laws == (NORMAL, THREE_POINT, NORMAL)
    assert mixed.draws == 3


def test_an_unknown_law_is_refused_with_the_nearest_one() -> None:
    with pytest.raises(DefinitionError, match=r"test_noise.py:\d+.*'three_points'.*'three_point'"):

        @scheme(langevin)
        def wrong(theta, *, h, grad, noise, T):
            return theta - h * grad(theta) + sqrt(2 * T * h) * noise.three_points()


def test_every_law_but_the_normal_one_is_a_method_by_its_name() -> None:
    noise = Noise(lambda law: law)
    assert noise() is NORMAL
    assert [getattr(noise, name)() for name in LAWS if name != "normal"] == [THREE_POINT, TWO_POINT, UNIFORM]


def test_a_law_survives_a_journey_to_another_process() -> None:
    assert pickle.loads(pickle.dumps(THREE_POINT)) == THREE_POINT
    assert {THREE_POINT: 1}[pickle.loads(pickle.dumps(THREE_POINT))] == 1
