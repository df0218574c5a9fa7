"""What fails is found and made small: each planted condition ends at the minimum that the docstrings state, in few calls."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import find
from hypothesis.strategies import SearchStrategy

from sgverify.configuration import TargetTable
from sgverify.strategies import configurations, gradients, schedules, schemes, targets, words
from sgverify.targets import build_target

MOST_CALLS = 1500
"""Of the condition, searching and shrinking together; what is measured stays below 900."""

DATA = TargetTable(data=[0.0, 0.0, 1.0, 5.0, 2.0, 0.5])


def shrunk(strategy: SearchStrategy[Any], fails: Callable[[Any], bool]) -> Any:
    calls = 0

    def counted(value: Any) -> bool:
        nonlocal calls
        calls += 1
        return fails(value)

    smallest = find(strategy, counted)
    assert calls <= MOST_CALLS
    return smallest


def test_a_bug_of_two_dimensions_ends_in_two() -> None:
    table = shrunk(targets(), lambda table: build_target(table).dim >= 2)
    assert table.model_dump(exclude_unset=True) in (
        {"name": "gaussian", "dim": 2, "precision": 1.0, "mean": 0.0},
        {"name": "gaussian", "dim": 2, "precision": [1.0, 1.0], "mean": 0.0},
    )


@pytest.mark.power  # thousands of examples, as the shrinking of off-diagonal entries below
def test_a_bug_of_the_data_ends_in_three_of_them() -> None:
    table = shrunk(targets(dims=[1]), lambda table: table.data is not None)
    assert (table.dim, sorted(table.data), table.prior_precision) == (1, [0.0, 0.0, 1.0], 1.0)


def test_a_bug_of_off_diagonal_entries_ends_in_one_rotation() -> None:
    def dense(table: TargetTable) -> bool:
        rows = table.precision
        return isinstance(rows, list) and isinstance(rows[0], list) and rows[0][1] != 0

    assert shrunk(targets(data=False, dims=[2, 3]), dense).dim == 2


@pytest.mark.parametrize("kind", ["iid", "without-replacement", "reshuffle", "symmetric", "svrg"])
def test_a_bug_of_minibatches_ends_in_the_smallest_batch(kind: str) -> None:
    found = shrunk(gradients(target=DATA, kinds=[kind]), lambda gradient: gradient.batch >= 2)
    assert found.batch == 2 and found.refresh is None


def test_a_bug_of_palindromes_ends_in_the_shortest() -> None:
    word = shrunk(words(), lambda scheme: scheme.word.palindromic and len(scheme.word.text) > 3).word
    assert len(word.text) in (5, 7) and word.shares == word.shares[::-1]


def test_a_bug_of_unequal_shares_ends_in_a_word_with_one_letter_twice() -> None:
    def unequal(scheme: Any) -> bool:
        word = scheme.word
        return any(
            len({s for c, s in zip(word.text, word.shares, strict=True) if c == name}) > 1
            for name in word.text
        )

    word = shrunk(words(), unequal).word
    assert len(word.text) == len(word.alphabet.letters) + 1


def test_a_bug_of_memory_or_of_a_thermostat_ends_in_the_first_of_these() -> None:
    every = schemes(dynamics=["langevin", "kinetic", "thermostat"], memory=True)
    assert shrunk(every, lambda scheme: bool(scheme.memory)).name == "averaged_noise"
    assert shrunk(every, lambda scheme: "xi" in scheme.state).name == "sgnht-euler"


def test_a_bug_of_decreasing_steps_ends_in_the_simple_exponent() -> None:
    found = shrunk(schedules(), lambda table: table.kind == "power" and table.alpha is not None)
    assert found.alpha == 0.5


@pytest.mark.power  # 0.7 s
def test_a_bug_of_burn_in_or_of_float32_keeps_all_else_at_the_minimum() -> None:
    bare = targets(dims=[1], data=False)
    every = configurations(target=bare, kinds=["full"], averaging=True, dtypes=["float64", "float32"])
    found = shrunk(every, lambda c: c.burn_in >= 3)
    assert (found.burn_in, found.thinning, found.temperature, found.dtype) == (3, 1, 2.0, "float64")
    assert shrunk(every, lambda c: c.dtype == "float32").thinning == 1
