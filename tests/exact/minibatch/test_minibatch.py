"""Minibatch noise against the enumeration of every batch."""

from __future__ import annotations

import itertools
import math
import time
from collections.abc import Iterable
from fractions import Fraction

import numpy as np
import pytest
from flint import fmpq

from sgverify.errors import ConfigurationError
from sgverify.exact.minibatch.law import (
    MinibatchNoise,
    block_covariances,
    with_replacement,
    without_replacement,
)
from sgverify.exact.numbers.matrix_series import moments_from_cumulants, multi_indices
from tests.tables import each_row

SCALARS = [Fraction(1, 3), Fraction(-2), Fraction(7, 2), Fraction(1), Fraction(10)]
PAIRS = [
    (Fraction(1), Fraction(2)),
    (Fraction(-1, 2), Fraction(3)),
    (Fraction(4), Fraction(-1)),
    (Fraction(0), Fraction(6)),
]


def enumerated(
    vectors: list[tuple[Fraction, ...]], batches: Iterable[tuple[int, ...]], order: int
) -> dict[tuple[int, ...], Fraction]:
    """Central moments of the mean of an equally likely batch of indices."""
    size, dim = len(vectors), len(vectors[0])
    centre = [sum(v[k] for v in vectors) / size for k in range(dim)]
    chosen = list(batches)
    means = [[sum(vectors[i][k] for i in b) / len(b) - centre[k] for k in range(dim)] for b in chosen]
    return {
        index: sum((math.prod(x**p for x, p in zip(m, index, strict=True)) for m in means), Fraction(0))
        / len(chosen)
        for index in multi_indices(dim, 1, order)
    }


def check(noise: MinibatchNoise, plain: dict[tuple[int, ...], Fraction], order: int) -> None:
    found = moments_from_cumulants(noise.cumulants, noise.dim, order, one=fmpq(1))
    for index, value in plain.items():
        assert found[index] == fmpq(value.numerator, value.denominator), index


@pytest.mark.parametrize("batch", [1, 2, 3])
def test_with_replacement_in_one_dimension_to_order_eight(batch: int) -> None:
    vectors = [(x,) for x in SCALARS]
    plain = enumerated(vectors, itertools.product(range(5), repeat=batch), 8)
    check(with_replacement(SCALARS, batch, order=8), plain, 8)


@each_row("batch", [1, 2, 3, 4, 5])
def test_without_replacement_in_one_dimension_to_order_eight(batch: int) -> None:
    vectors = [(x,) for x in SCALARS]
    plain = enumerated(vectors, itertools.combinations(range(5), batch), 8)
    check(without_replacement(SCALARS, batch, order=8), plain, 8)


@pytest.mark.parametrize("batch", [1, 2, 3])
def test_two_dimensions_to_order_four(batch: int) -> None:
    with_ = enumerated(PAIRS, itertools.product(range(4), repeat=batch), 4)
    check(with_replacement(PAIRS, batch), with_, 4)
    without = enumerated(PAIRS, itertools.combinations(range(4), batch), 4)
    check(without_replacement(PAIRS, batch), without, 4)


def test_tensors_hold_every_order_of_their_slots() -> None:
    noise = without_replacement(PAIRS, 2)
    plain = enumerated(PAIRS, itertools.combinations(range(4), 2), 4)
    assert noise.covariance[0, 1] == noise.covariance[1, 0] != 0
    third = plain[(1, 2)]
    assert {noise.third[0, 3], noise.third[1, 1], noise.third[1, 2]} == {
        fmpq(third.numerator, third.denominator)
    }
    fourth = plain[(3, 1)] - 3 * plain[(2, 0)] * plain[(1, 1)]
    assert noise.fourth[0, 1] == noise.fourth[1, 0] == fmpq(fourth.numerator, fourth.denominator)


@pytest.mark.parametrize(("batch", "blocks"), [(1, 4), (2, 2), (1, 3)])
def test_blocks_of_a_permutation(batch: int, blocks: int) -> None:
    own, other = block_covariances(PAIRS, batch)
    centre = [sum(v[k] for v in PAIRS) / 4 for k in range(2)]
    draws = list(itertools.permutations(range(4)))
    for i, j in itertools.product(range(2), repeat=2):
        for first, second, found in ((0, 0, own), (0, blocks - 1, other)):
            total = Fraction(0)
            for draw in draws:
                one, two = (draw[b * batch : (b + 1) * batch] for b in (first, second))
                left = sum(PAIRS[k][i] for k in one) / batch - centre[i]
                total += left * (sum(PAIRS[k][j] for k in two) / batch - centre[j])
            total /= len(draws)
            assert found[i, j] == fmpq(total.numerator, total.denominator)


def test_the_whole_data_make_no_noise() -> None:
    assert all(value == 0 for value in without_replacement(SCALARS, 5).cumulants.values())
    own, other = block_covariances(SCALARS, 5)
    assert own[0, 0] == other[0, 0] == 0


def test_floats_are_dyadic_and_arrays_are_read() -> None:
    rows = np.array([[0.1, 0.2], [0.3, -1.5], [2.5, 0.7]])
    exact = [[Fraction(float(x)) for x in row] for row in rows]
    assert with_replacement(rows, 2).cumulants == with_replacement(exact, 2).cumulants
    flat = rows[:, 0]
    assert (
        without_replacement(flat, 2).cumulants == without_replacement([row[0] for row in exact], 2).cumulants
    )


def test_a_thousand_data_take_milliseconds() -> None:
    data = list(np.random.default_rng(0).normal(size=1000))
    clock = time.process_time()
    without_replacement(data, 10)
    # The bar is 20 ms on an idle machine, measured at 3 ms; a shared one gets room.
    assert time.process_time() - clock < 0.2


@pytest.mark.parametrize(("vectors", "batch"), [([], 1), ([1, 2], 0), ([1, 2], 2.5), ([1, 2], 3)])
def test_a_batch_that_cannot_be_drawn_is_refused(vectors: list[int], batch: int) -> None:
    with pytest.raises(ConfigurationError, match="batch=|vectors="):
        without_replacement(vectors, batch)
    assert with_replacement([1, 2], 3).dim == 1
