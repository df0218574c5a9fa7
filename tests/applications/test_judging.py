"""A table's statements are one family, "up to" is a bound from above, and no verdict rests on an optimum that is not located."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

from reports.applications.judging import (
    LEVEL,
    Statement,
    Test,
    bounded,
    decide,
    family,
    permuted,
    signed,
    verdicts_told,
)
from reports.applications.statistics import Mean, difference, mean_of

CHANCES = st.floats(0, 1)
SPREAD = arrays.arrays(np.float64, 5, elements=st.integers(-100, 100).map(lambda n: n / 100)).filter(
    lambda values: values.std() > 0.01
)
SIGNS = st.sampled_from([-1, 1])


def asked(test: Test | str, *, open_reason: str = "") -> Statement:
    return Statement(statement="It is so", source="here", printed="1", found="1", test=test, open=open_reason)


def verdicts(tests: Sequence[Test | str]) -> list[str]:
    return [item.verdict for item in decide([asked(test) for test in tests])]


def holm(chances: Sequence[float]) -> list[bool]:
    """Holm's procedure as it is defined: from the smallest p-value on, until one is above level/(those that are left)."""
    order, rejected = np.argsort(chances, kind="stable"), [False] * len(chances)
    for place, number in enumerate(order):
        if chances[number] > LEVEL / (len(chances) - place):
            break
        rejected[number] = True
    return rejected


@given(st.lists(st.tuples(CHANCES, SIGNS), min_size=1, max_size=50))
def test_the_statements_of_a_table_are_decided_as_one_family(drawn: list[tuple[float, int]]) -> None:
    found = decide([asked(Test(p, sign, "numbers", 4)) for p, sign in drawn])
    expected = holm([p for p, _ in drawn])
    for item, (p, sign), rejected in zip(found, drawn, expected, strict=True):
        # On the edge rounding decides.
        if not math.isclose(item.corrected or 0, LEVEL, rel_tol=1e-9):
            word = ("reproduced" if sign > 0 else "not reproduced") if rejected else "undecided"
            assert item.verdict == word
        assert item.p == p and item.corrected is not None and item.corrected >= p
        assert "4 degrees of freedom" in item.reason and f"one of {len(drawn)}" in item.reason
    assert f"Of {len(drawn)} statements {len(drawn)} have a p-value" in family(found) and "Holm" in family(
        found
    )


def test_one_statement_alone_is_decided_that_is_not_as_one_of_many() -> None:
    """p = 0.029, as of the difference of two accuracies by 2.2 images of 931: alone it would be told, as one of 40 it is not."""
    assert verdicts([Test(0.029, -1, "")]) == ["not reproduced"]
    assert verdicts([Test(0.029, -1, ""), *[Test(0.5, 1, "")] * 39]) == ["undecided"] * 40
    assert verdicts([Test(1e-6, -1, ""), *[Test(0.5, 1, "")] * 39])[0] == "not reproduced"


@given(st.integers(0, 2**32 - 1))
def test_a_family_without_any_difference_is_seldom_decided(seed: int) -> None:
    """The chance of any verdict in a table of 40 is 1/20, not 1 - 0.95^40 = 0.87; 20 tables with one each have 2e-27."""
    random, decided = np.random.default_rng(seed), 0
    for _ in range(20):
        tests = [signed(mean_of(values), 1) for values in random.normal(size=(40, 5))]
        decided += set(verdicts(tests)) != {"undecided"}
    assert decided < 12


@given(SPREAD, st.floats(0.5, 100), SIGNS)
def test_a_difference_is_told_by_its_sign(spread: np.ndarray, size: float, sign: int) -> None:
    large = (spread - spread.mean()) * size / 100 / spread.std() + size
    assert verdicts([signed(mean_of(large), 1), signed(mean_of(large), -1)]) == [
        "reproduced",
        "not reproduced",
    ]
    assert verdicts([signed(mean_of(sign * (spread - spread.mean())), 1)]) == ["undecided"]
    # A bias of that size could be all of it.
    assert verdicts([signed(mean_of(sign * large), 1, margin=1.5 * size)]) == ["undecided"]


def test_no_difference_without_a_spread_has_a_p_value() -> None:
    for gap, told in (
        (None, "diverged"),
        (Mean(1.0, None, 1), "one chain"),
        (difference([1.25, 2.25, 3.25], [1.0, 2.0, 3.0]), "no standard error"),
        (Mean(0.0, 0.0, 5), "no standard error"),
    ):
        for test in (signed(gap, 1), bounded(gap, 10)):
            (found,) = decide([asked(test)])
            assert found.verdict == "undecided" and told in found.reason and found.p is None
    assert "No statement has a p-value" in family(decide([asked("one chain")]))


@given(SPREAD, st.floats(2, 50), st.floats(1.5, 1000))
def test_up_to_is_a_bound_from_above(spread: np.ndarray, most: float, beyond: float) -> None:
    """However large a gain, one above the bound never reproduces "up to"."""
    around = (spread - spread.mean()) / spread.std() / 1000

    def verdict(factor: float) -> str:
        return verdicts([bounded(mean_of(math.log(factor) + around), most)])[0]

    assert verdict(most * beyond) == "not reproduced"
    assert verdict(math.sqrt(most)) == "reproduced"
    # What has grown has no gain of any size.
    assert verdict(1 / beyond) == "not reproduced"
    assert {verdict(most), verdict(1.0)} == {"undecided"}


@given(SPREAD, st.floats(-5, 5), st.floats(1.1, 50))
def test_a_bound_never_holds_of_a_mean_outside(spread: np.ndarray, centre: float, most: float) -> None:
    logs = mean_of(spread + centre)
    test = bounded(logs, most)
    assert logs is not None and isinstance(test, Test)
    assert (test.speaks == 1) == (0 <= logs.value <= math.log(most))
    assert 0 <= test.p <= 1


def test_a_variance_that_grew_refutes_a_reduction_of_at_most_37_per_cent() -> None:
    grew = mean_of(-np.log([1.7, 1.9, 2.0, 1.8, 2.1]))
    fell = mean_of(-np.log([0.8, 0.79, 0.81, 0.8, 0.82]))
    more = mean_of(-np.log([0.1, 0.09, 0.11, 0.1, 0.12]))
    (first, second, third) = decide([asked(bounded(logs, 1 / 0.63)) for logs in (grew, fell, more)])
    assert [item.verdict for item in (first, second, third)] == [
        "not reproduced",
        "reproduced",
        "not reproduced",
    ]
    assert third.reason.startswith("exceeded") and not first.reason.startswith("exceeded")
    assert verdicts_told([first, second, third]) == (
        "Of 3 statements of the paper: 1 reproduced, 2 not reproduced (1 of them exceeded by what was found), 0 undecided, "
        "0 not tried."
    )


@given(st.integers(4, 6), SIGNS)
def test_chains_are_permuted(count: int, sign: int) -> None:
    ours, theirs = np.full(count, 6.0), np.zeros(count)
    test = permuted(*((ours, theirs) if sign > 0 else (theirs, ours)), "told")
    assert test.p == pytest.approx(2 / math.comb(2 * count, count)) and test.speaks == sign
    assert permuted(ours, ours, "told").p == 1 and permuted(ours, ours, "told").speaks == 0
    assert verdicts([permuted(ours, ours, "told")]) == ["undecided"]


def test_what_rests_on_an_open_optimum_is_undecided_and_counts_in_the_family() -> None:
    strong = Test(1e-9, 1, "")
    first, second = decide([asked(strong, open_reason="the best setting is not located"), asked(strong)])
    assert (first.verdict, second.verdict) == ("undecided", "reproduced")
    assert first.reason.startswith("the best setting is not located; ") and second.corrected == 2e-9
