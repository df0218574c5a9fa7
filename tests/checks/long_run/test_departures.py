"""Innovations of a known law: departures are told with their steps, and none where nothing departs."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from sgverify.checks.long_run.departures import departures, known_steps, told_steps
from sgverify.checks.long_run.innovations import CopyBlock, Innovations

BLOCKS = (
    CopyBlock("a matrix", 400),
    CopyBlock("v", 60),
    CopyBlock("w", 60),
    CopyBlock("a scalar", 1),
    CopyBlock("a long vector", 1000),
)
COPIES, STEPS, STRETCH = 1521, 1000, 50

Change = Callable[[np.ndarray, np.ndarray], np.ndarray]


def run(change: Change, *, seed: int = 0, normal: bool = True) -> Innovations:
    random = np.random.default_rng(seed)
    found = Innovations(BLOCKS, STEPS, normal=normal)
    drawn = random.standard_normal((STEPS, COPIES))
    if not normal:
        drawn = (random.random((STEPS, COPIES)) - 0.5) * 12**0.5
    drawn = change(drawn, np.arange(1, STEPS + 1))
    for start in range(0, STEPS, STRETCH):
        here = slice(start, start + STRETCH)
        found.add(drawn[here], random.standard_normal((STRETCH, COPIES)))
    return found


def scaled(factor: Callable[[np.ndarray], np.ndarray]) -> Change:
    return lambda drawn, steps: drawn * factor(steps)[:, None]


def copied(to: slice, source: slice) -> Change:
    def change(drawn: np.ndarray, steps: np.ndarray) -> np.ndarray:
        drawn[:, to] = drawn[:, source]
        return drawn

    return change


def rows(drawn: np.ndarray, steps: np.ndarray) -> np.ndarray:
    matrix = drawn[:, :400].reshape(-1, 20, 20)
    matrix[:] = matrix[:, :, :1].copy()
    return drawn


def pool(drawn: np.ndarray, steps: np.ndarray) -> np.ndarray:
    return drawn[(steps - 1) % 100]


def one_for_all(drawn: np.ndarray, steps: np.ndarray) -> np.ndarray:
    return np.repeat(drawn[:, :1], COPIES, axis=1)


@pytest.mark.parametrize("seed", range(2))
@pytest.mark.parametrize("normal", [True, False])
def test_nothing_departs_where_innovations_are_new(seed: int, normal: bool) -> None:
    assert departures(run(lambda drawn, steps: drawn, seed=seed, normal=normal)) == []


@pytest.mark.parametrize(
    ("change", "told"),
    [
        (
            scaled(lambda n: n % 300 != 0),
            "the variance of the noise is 0 where 1 is due, at step 300 and every 300 steps",
        ),
        (scaled(lambda n: n % 10 == 1), "at all steps but every 10th, from step 2 on"),
        (scaled(lambda n: n > 100), "at steps 1 to 100"),
        (scaled(lambda n: np.where(n >= 136, 1.5, 1.0)), "from step 136 on"),
        (scaled(lambda n: n % 400 > 100), "at steps 1 to 100, 400 to 500, 800 to 900"),
        (scaled(lambda n: np.full(len(n), 1.02)), "the variance of the noise is 1.0"),
        (scaled(lambda n: 1 + 0.02 * np.sin(n * 2 * np.pi / 37)), "with a period of 37"),
        (rows, "neighbours of a matrix have the correlation"),
        (copied(slice(400, 460), slice(460, 520)), "entries 60 apart have the correlation"),
        (
            copied(slice(520, 521), slice(700, 701)),
            "an entry of a scalar and one of a long vector have the correlation",
        ),
        (one_for_all, "copies have noise in common"),
        (pool, "the noise is correlated with that 100 steps before"),
        (
            lambda drawn, n: np.roll(drawn, 1, axis=0) * 0.6 + 0.8 * drawn,
            "correlated with that 1 step before",
        ),
    ],
)
def test_what_departs_is_told_with_its_steps(change: Change, told: str) -> None:
    assert any(told in str(item) for item in departures(run(change)))


def test_an_error_of_the_law_is_no_departure() -> None:
    found = run(lambda drawn, steps: drawn + 0.01)
    assert departures(found)
    found.error = 0.02
    assert not departures(found)


def test_all_steps_are_told_as_such() -> None:
    assert told_steps(np.ones(7, dtype=bool)) == "at every step"
    assert told_steps(np.zeros(7, dtype=bool)) == "at no step"


def standstill(drawn: np.ndarray, steps: np.ndarray) -> np.ndarray:
    """From step 100 on next to no noise: what is left of an innovation is of the state, which hardly moves."""
    drawn[100:] = 0.3 * drawn[100] + 0.05 * drawn[100:]
    return drawn


def test_what_another_law_repeats_is_not_told_of_copies() -> None:
    found = departures(run(standstill))
    assert any("the variance of the noise" in item.what for item in found)
    assert not any("apart" in item.what for item in found)
    assert not known_steps(found)[150:].any()
