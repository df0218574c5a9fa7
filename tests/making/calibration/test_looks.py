"""Looks: when they stop, what level each gets, and that the levels are needed."""

from __future__ import annotations

import numpy as np
import pytest

from reports.making.calibration.simulations import decide_in_looks
from sgverify.errors import UserError
from sgverify.rates.decision import Decision, decide_order
from sgverify.rates.sample import Sample

H = 2.0 ** -np.arange(5)


def draw(chains: int) -> Sample:
    return Sample.of(H**2, np.full(5, 0.3 / chains**0.5), chains)


def test_looks_stop_at_the_first_verdict() -> None:
    asked: list[tuple[int, float]] = []

    def decide(sample: Sample, level: float) -> Decision:
        assert sample.chains is not None
        asked.append((sample.chains, level))
        return Decision("conforms" if sample.chains >= 400 else "inconclusive", "")

    found = decide_in_looks(draw, [100, 400, 1600], decide, level=0.03)
    assert found.verdict == "conforms"
    assert asked == [(100, pytest.approx(0.01)), (400, pytest.approx(0.01))]
    assert found.certificate == {"looks": [100, 400, 1600], "last_look": 400, "level_of_all_looks": 0.03}


def test_a_bias_comes_out_of_the_noise() -> None:
    def decide(sample: Sample, level: float) -> Decision:
        return decide_order(H, sample, order=2, level=level)

    found = decide_in_looks(draw, [256, 1024, 4096, 16384], decide, level=0.01)
    assert found.verdict == "conforms"
    assert found.certificate["last_look"] == 4096
    assert decide_in_looks(draw, [256, 1024], decide, level=0.01).verdict == "inconclusive"


@pytest.mark.parametrize("looks", [[], [256, 256], [1024, 256]])
def test_looks_grow(looks: list[int]) -> None:
    with pytest.raises(UserError, match="growing numbers of chains"):
        decide_in_looks(draw, looks, lambda sample, level: Decision("conforms", ""), level=0.01)


@pytest.mark.power  # 2.5 s
def test_false_verdicts_over_looks_stay_below_the_level() -> None:
    """A share that lies on the margin: every verdict is false on one side; looks without correction err twice as often."""
    rng = np.random.default_rng(11)
    truth = 0.15 + 0.85 * H
    looks, level, runs = [16 * 2**k for k in range(6)], 0.2, 150

    def wrong(correct: bool) -> int:
        count = 0
        for _ in range(runs):
            errors = truth[:, None] + 0.3 * rng.standard_normal((5, looks[-1]))

            def take(chains: int, errors: np.ndarray = errors) -> Sample:
                return Sample.of_chains(errors[:, :chains], coupled=False)

            def decide(sample: Sample, given: float) -> Decision:
                return decide_order(H, sample, order=1, level=given if correct else level)

            count += decide_in_looks(take, looks, decide, level=level).verdict != "inconclusive"
        return count

    bound = level * runs + 3 * (runs * level * (1 - level)) ** 0.5
    corrected, uncorrected = wrong(True), wrong(False)
    print(corrected, uncorrected, bound)
    assert corrected <= bound < uncorrected
