"""Noisy properties: how often a right one alarms and a faulty one is found, and that shrinking asks a steady oracle."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from sgverify.configuration import Configuration, TargetTable, load_configuration
from sgverify.errors import ConfigurationError, MomentsDivergeError, Unreached
from sgverify.exact.readings.formula import plant
from sgverify.samplers import Settings, fixed, sample
from sgverify.schemes import NAMED, Scheme
from sgverify.strategies import configurations
from sgverify.subject.subject import Subject
from sgverify.testing import note_replay
from tests.screening import (
    CONFIRM,
    FACTOR,
    SCREEN,
    Faulty,
    Unconfirmed,
    assert_sampled,
    screen_and_confirm,
    seed_of,
)
from tests.self_checks.running_average_law import law_of_average

ABOBA = NAMED["sghmc-aboba"]
WEAK = plant(ABOBA, "sqrt(2*D*T*h)", "sqrt(D*T*h)")


def normal(shift: float) -> Any:
    """An oracle whose z is normal, `shift` standard errors off at a budget of 1."""

    def z(seed: int, budget: int) -> float:
        return float(np.random.default_rng(seed).standard_normal() + shift * math.sqrt(budget))

    return z


def share(shift: float, count: int, verdict: str = "fails") -> float:
    found = [screen_and_confirm(normal(shift), example=k, budget=1).verdict for k in range(count)]
    return found.count(verdict) / count  # type: ignore[arg-type]


def test_right_examples_pass_and_one_in_a_hundred_is_looked_at_again() -> None:
    found = [screen_and_confirm(normal(0.0), example=k, budget=1) for k in range(4000)]
    assert {one.verdict for one in found} == {"passes"}
    again = sum(one.confirmed is not None for one in found)
    low, high = stats.binom.interval(1 - 1e-6, len(found), stats.norm.sf(SCREEN))
    assert low <= again <= high


def test_what_is_well_above_the_screen_is_found() -> None:
    chance = stats.norm.sf(SCREEN - 4.66) * stats.norm.sf(CONFIRM - math.sqrt(FACTOR) * 4.66)
    assert chance > 0.99
    low, high = stats.binom.interval(1 - 1e-6, 1000, chance)
    assert low <= 1000 * share(4.66, 1000) <= high


@pytest.mark.power
def test_the_error_rates_are_those_that_are_stated() -> None:
    """A level of 1e-8 is beyond counting: the two stages are counted apart, and together nothing is seen of a million."""
    assert share(0.0, 200_000) == 0
    for shift in (1.0, 2.0, 3.0):
        chance = stats.norm.sf(SCREEN - shift) * stats.norm.sf(CONFIRM - math.sqrt(FACTOR) * shift)
        low, high = stats.binom.interval(1 - 1e-6, 20_000, chance)
        assert low <= 20_000 * share(shift, 20_000) <= high


def test_the_same_example_has_the_same_answer_and_stages_share_no_seed() -> None:
    asked: list[tuple[int, int]] = []

    def z(seed: int, budget: int) -> float:
        asked.append((seed, budget))
        return 3.0

    assert screen_and_confirm(z, example={"b": 1, "a": 2.0}).verdict == "passes"
    assert screen_and_confirm(z, example={"a": 2, "b": 1.0}).verdict == "passes"
    first, second, *again = asked
    assert again == [first, second] and first[0] != second[0] and second[1] == FACTOR * first[1]
    assert seed_of({"a": 2, "b": 2}, "screen") != first[0]


def test_a_screen_that_reuses_its_seed_would_confirm_whatever_it_stopped() -> None:
    """The planted bug: the second sample begins with the first one's numbers, or is as small."""
    z = normal(0.0)
    stopped = [k for k in range(2000) if z(seed_of(k, "screen"), 1) > SCREEN]
    assert len(stopped) > 5
    assert all(z(seed_of(k, "confirm"), 1) < CONFIRM for k in stopped)
    assert all(z(seed_of(k, "screen"), FACTOR) > SCREEN for k in stopped)


@pytest.mark.parametrize("value", [None, math.nan])
def test_an_oracle_that_cannot_say_is_inconclusive_and_no_failure(value: float | None) -> None:
    assert assert_sampled(lambda seed, budget: value, example=1).verdict == "inconclusive"

    def refuses(seed: int, budget: int) -> float:
        raise Unconfirmed("there is no exact law")

    assert assert_sampled(refuses, example=1).reason == "there is no exact law"
    second = [3.0, value]
    assert assert_sampled(lambda seed, budget: second.pop(0), example=1).verdict == "inconclusive"


def test_a_budget_that_is_none_is_refused() -> None:
    with pytest.raises(ConfigurationError, match="budget=0"):
        screen_and_confirm(normal(0.0), example=1, budget=0)


SHORT = {"steps": 20}


def agreement(subject: Subject) -> Any:
    """How far the sampled average lies from its exact law, in the errors of so many chains."""

    def z(seed: int, budget: int) -> float:
        try:
            law = law_of_average(subject)
        except (Unreached, MomentsDivergeError) as error:
            raise Unconfirmed(str(error)) from None
        rows = fixed([law.step], [law.length])
        found = sample(
            subject.scheme,
            subject.target,
            rows,
            observables=[subject.observable],
            settings=Settings.of(subject.configuration, seed=seed, chains=budget),
        )
        if law.variance is None or found.diverged[0] is not None or not law.variance[0] > 0:
            raise Unconfirmed("the average has no variance to compare")
        values = found.values[0, 0, 0]
        # The variance sees noise that is too weak where the mean of theta does not.
        spread = math.sqrt(law.variance[0] / budget)
        mean = abs(float(values.mean()) - law.mean - law.origin) / spread
        kurtosis = max(0.0, law.kurtosis or 0.0, float(stats.kurtosis(values)))
        ratio = float(values.var(ddof=1)) / law.variance[0]
        return max(mean, abs(math.log(ratio)) / math.sqrt((2 + kurtosis) / budget))

    return z


def subject_of(scheme: Scheme, configuration: Configuration) -> Subject:
    return Subject(scheme, load_configuration(configuration, **SHORT), "sghmc-aboba")


FEW = {"dims": [1], "kinds": ["full", "iid"], "sizes": [3, 4], "names": ["gaussian-mean"]}


@pytest.mark.power  # 0.7 s
@settings(max_examples=8)
@given(configurations(scheme=ABOBA, **FEW))  # type: ignore[arg-type]
def test_the_running_code_has_the_exact_law_on_generated_configurations(configuration: Configuration) -> None:
    subject = subject_of(ABOBA, configuration)
    note_replay("sghmc-aboba", subject.configuration, "sgverify/stated-order")
    assert_sampled(agreement(subject), example=subject, budget=256)


def test_a_planted_bug_is_found_and_what_is_left_of_the_example_is_truly_faulty() -> None:
    failing: list[Configuration] = []

    @settings(max_examples=15, database=None, derandomize=True, report_multiple_bugs=False)
    @given(configurations(scheme=ABOBA, target=st.just(TargetTable(name="gaussian", dim=1)), kinds=["full"]))
    def right(configuration: Configuration) -> None:
        # The code that runs is the weak one; the law is that of the right one.
        running = subject_of(WEAK, configuration)
        law = law_of_average(subject_of(ABOBA, configuration))

        def z(seed: int, budget: int) -> float:
            found = sample(
                running.scheme,
                running.target,
                fixed([law.step], [law.length]),
                observables=[running.observable],
                settings=Settings.of(running.configuration, seed=seed, chains=budget),
            )
            assert law.variance is not None
            ratio = float(found.values[0, 0, 0].var(ddof=1)) / law.variance[0]
            return -math.log(ratio) / math.sqrt(2 / budget)

        try:
            assert_sampled(z, example=running, budget=128)
        except Faulty:
            failing.append(configuration)
            raise

    with pytest.raises(Faulty):
        right()
    smallest = failing[-1]
    due, found = (law_of_average(subject_of(scheme, smallest)).variance for scheme in (ABOBA, WEAK))
    assert due is not None and found is not None and found[0] < 0.9 * due[0]
