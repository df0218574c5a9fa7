"""Independent parts of a chain."""

from __future__ import annotations

from dataclasses import replace

import pytest
from flint import arb, arb_mat

from sgverify.errors import ConfigurationError
from sgverify.exact.chain.chain import (
    AffineChain,
    ChainProblem,
    QuadraticForm,
    checked_length,
    components,
    restricted,
    split,
)
from sgverify.exact.numbers.ball import column, matrix
from tests.tables import each_row


def diagonal(size: int) -> ChainProblem:
    unit = matrix([[int(i == j) for j in range(size)] for i in range(size)])
    chain = AffineChain(unit / 2, column(range(size)), unit, column([1] * size))
    return ChainProblem(chain, QuadraticForm(arb(7), column(range(size)), 0 * unit), arb(3))


def test_uncoupled_coordinates_come_apart_and_the_constant_goes_once() -> None:
    parts = split(diagonal(3))
    assert [part.chain.size for part in parts] == [1, 1, 1]
    assert [part.chain.shift[0, 0] for part in parts] == [0, 1, 2]
    assert [part.constant for part in parts] == [True, False, False]
    assert sum(part.target for part in parts) == 3 and sum(part.observable.constant for part in parts) == 7


@each_row("field", ["map", "covariance", "start_covariance", "third", "fourth"])
def test_every_kind_of_coupling_joins(field: str) -> None:
    problem = diagonal(3)
    columns = {"third": 9, "fourth": 27}.get(field, 3)
    values = [[arb(0)] * columns for _ in range(3)]
    # kappa_02, kappa_002 or kappa_0002: coordinates 0 and 2 in every case, 1 stays alone.
    values[0][2] = arb(1)
    coupled = replace(problem, chain=replace(problem.chain, **{field: arb_mat(values)}))
    assert sorted(part.chain.size for part in split(coupled)) == [1, 2]


def test_the_quadratic_form_joins_and_tensors_are_restricted() -> None:
    problem = diagonal(2)
    form = matrix([[0, 1], [1, 0]])
    assert len(split(replace(problem, observable=replace(problem.observable, quadratic=form)))) == 1
    third = arb_mat(3, 9, list(range(27)))
    assert restricted(third, [0, 2]).entries() == [0, 2, 6, 8, 18, 20, 24, 26]


def test_components_of_a_tensor_join_all_its_indices() -> None:
    tensor = [[0] * 16 for _ in range(4)]
    tensor[0][1 * 4 + 3] = 1
    assert components(4, [arb_mat(tensor)]) == [[0, 1, 3], [2]]
    assert components(1, [arb_mat([[1]])]) == [[0]]


def test_a_coupling_that_may_be_zero_still_joins() -> None:
    assert components(2, [arb_mat([[1, arb(0, 1e-50)], [0, 1]])]) == [[0, 1]]


@pytest.mark.parametrize("length", [0, -3, 2.0, True])
def test_a_length_is_a_positive_integer(length: object) -> None:
    with pytest.raises(ConfigurationError, match="length="):
        checked_length(length)  # type: ignore[arg-type]
