"""Data given and data drawn."""

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sgverify.errors import ConfigurationError
from sgverify.targets.data import draw_data, read_data
from sgverify.targets.power_sums import PowerSums
from tests.tables import each_row

finite = st.floats(-1e100, 1e100, allow_nan=False)


def test_the_same_seed_draws_the_same_data_and_another_one_others() -> None:
    assert np.array_equal(draw_data(50, 2, 7), draw_data(50, 2, 7))
    assert not np.array_equal(draw_data(50, 2, 7), draw_data(50, 2, 8))


def test_more_data_begin_with_fewer() -> None:
    assert np.array_equal(draw_data(20, 3, 1)[:5], draw_data(5, 3, 1))


def test_drawn_data_scatter_by_one_around_a_centre_that_scatters_by_one() -> None:
    sets = np.stack([draw_data(100, 1, seed)[:, 0] for seed in range(400)])
    # Both statistics are sums over independent normals: chi-square with 400 * 99 and about 400 degrees of
    # freedom, whose relative deviations are sqrt(2/k); five of them are 3e-7 two-sided.
    within = sets.var(axis=1, ddof=1).mean()
    assert abs(within - 1) < 5 * math.sqrt(2 / (400 * 99))
    between = (sets.mean(axis=1) ** 2).mean() / (1 + 1 / 100)
    assert abs(between - 1) < 5 * math.sqrt(2 / 400)


def test_the_default_data_are_pinned() -> None:
    # The report's numbers hang on this stream; a change of numpy's generator must not pass unseen.
    centre, first = np.random.default_rng(0).standard_normal(2)
    assert draw_data(1000, 1, 0)[0, 0] == centre + first
    assert draw_data(1000, 1, 0)[0, 0] == -0.006374642197908592


def test_drawn_data_cannot_be_written_to() -> None:
    with pytest.raises(ValueError, match="read-only"):
        draw_data(3, 1, 0)[0] = 1


@given(st.lists(finite, min_size=1, max_size=30))
def test_the_sum_is_exact(values: list[float]) -> None:
    data = read_data(values, None)
    assert PowerSums(data)[(1,)] == sum(map(Fraction, values))
    assert PowerSums(data)[(3,)] == sum(Fraction(value) ** 3 for value in values)


def test_the_sum_of_many_data_does_not_overflow() -> None:
    sums = PowerSums(np.full((50_000, 2), 0.1))
    assert sums[(1, 0)] == 50_000 * Fraction(0.1)
    assert sums[(4, 4)] == 50_000 * Fraction(0.1) ** 8


def test_lists_of_lists_give_the_dimension() -> None:
    assert read_data([[1, 2], [3, 4], [5, 6]], None).shape == (3, 2)
    assert read_data([1, 2, 3], None).shape == (3, 1)


@each_row(
    ("value", "dim", "message"),
    [
        ([], None, "data=\\[\\] is empty"),
        ([1.0, math.nan], None, "data\\[1\\] holds nan: expected finite"),
        ([math.inf], None, "data\\[0\\] holds inf: expected finite"),
        ([1e200], None, "size up to 1e100"),
        ([10**400], None, "size up to 1e100"),
        (["a"], None, "holds 'a'"),
        ([True], None, "holds True"),
        ([[]], None, "at least one number"),
        ([[1, 2], [3]], None, "data\\[1\\]=\\[3\\]: expected 2 numbers, as in the first datum"),
        ([1, 2], 3, "expected 3 numbers, because target.dim"),
        (1.5, None, "expected a list"),
        ("12", None, "expected a list"),
    ],
)
def test_bad_data_are_refused(value: object, dim: int | None, message: str) -> None:
    with pytest.raises(ConfigurationError, match=message):
        read_data(value, dim)


def test_data_beyond_memory_are_refused() -> None:
    with pytest.raises(ConfigurationError, match="at most 10000000 numbers"):
        draw_data(10**7, 2, 0)
