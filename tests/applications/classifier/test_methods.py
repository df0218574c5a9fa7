"""At the paper's sizes the scaled settings are those that are printed; replicas have the printed ratios; cycles their steps."""

from __future__ import annotations

import math

import pytest

from reports.applications.classifier.methods import (
    TABLE,
    Scaled,
    long_method,
    methods,
    variant,
)
from reports.applications.printed import printed_settings

PAPER = Scaled(50_000, 256, 500)
SMALL = Scaled(512, 16, 100)


def test_the_paper_s_sizes_give_the_printed_settings() -> None:
    assert PAPER.epoch == 196 and PAPER.steps == 98_000 and PAPER.long == 196_000
    assert PAPER.correction == pytest.approx(1.5e5) and PAPER.cooling == pytest.approx(1.02)
    assert PAPER.precision == pytest.approx(25) and PAPER.burn_in == 300 and PAPER.early == 200 * 196
    # 50 and 392 iterations, where an epoch of 195.3 is rounded up to 196.
    assert PAPER.refreshes == (50, 393) and PAPER.thinning == 257
    of = {method.label: method for method in methods(PAPER)}
    steps = of["SGHMC"].rows[0].step
    assert [steps.at(number) ** 2 for number in (1, 200 * 196)] == pytest.approx([2e-6, 2e-6])
    assert steps.at(200 * 196 + 1) ** 2 == pytest.approx(2e-6 * 0.984)
    cold, warm = of["reSGHMC"].rows
    assert cold.temperature.at(1) == 0.01 and cold.temperature.at(196 + 1) == pytest.approx(0.01 / 1.02)
    assert cold.temperature.at(98_000) == pytest.approx(0.01 / 1.02**300)
    for number in (1, 60_000):
        assert warm.temperature.at(number) == pytest.approx(5 * cold.temperature.at(number))
        assert warm.step.at(number) ** 2 == pytest.approx(1.5 * cold.step.at(number) ** 2)
    cyclical = long_method(PAPER)
    assert cyclical.rows[0].step.at(1) ** 2 == pytest.approx(1e-5)
    assert cyclical.rows[0].temperature.at(150_000) == 0.001
    # 1000 epochs in 5 cycles; the last 30 % of each cycle count.
    period = 200 * 196
    assert cyclical.rows[0].step.at(period + 1) ** 2 == pytest.approx(1e-5)
    assert not cyclical.samples(int(0.7 * period)) and cyclical.samples(int(0.7 * period) + 1)
    assert of["M-SGD"].rows[0].temperature == 0.0


def test_the_momentum_is_kept_at_every_step() -> None:
    for method in (*methods(SMALL), long_method(SMALL)):
        for row in method.rows:
            for number in (1, 900, SMALL.steps):
                assert 1 - row.friction.at(number) * row.step.at(number) == pytest.approx(0.9)


def test_fewer_images_and_epochs_keep_what_they_are_to_keep() -> None:
    label = "SGHMC"
    small, paper = (
        next(method for method in methods(scaled) if method.label == label) for scaled in (SMALL, PAPER)
    )
    assert small.rows[0].step.at(1) ** 2 * 512 == pytest.approx(paper.rows[0].step.at(1) ** 2 * 50_000)
    ends = [
        (method.rows[0].step.at(scaled.steps), method.rows[0].temperature.at(scaled.steps))
        for method, scaled in ((small, SMALL), (paper, PAPER))
    ]
    assert ends[0][1] == pytest.approx(ends[1][1])
    # One factor of 0.984 more or less at the end, of 500 or of 100 epochs.
    assert math.log(ends[0][0] ** 2 * 512 / (ends[1][0] ** 2 * 50_000)) == pytest.approx(
        0, abs=5 * -math.log(0.984)
    )
    assert SMALL.refreshes == (8, 64) and SMALL.thinning == 42


def test_all_methods_of_the_table_are_run() -> None:
    labels = {method.label for method in (*methods(SMALL), long_method(SMALL))}
    assert set(TABLE) <= labels and variant("adaptive VR", 8) in labels
    assert set(printed_settings("vr_resgld", "classifier")["accuracy"]) == set(TABLE)
