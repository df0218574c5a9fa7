"""How often the level of a sampled rate is spent: on every decision that is made, and on a control's bound."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from sgverify.checks.rates.sampled import euler_control as controls
from sgverify.checks.rates.sampled import forgetting as sampled_forgetting
from sgverify.checks.rates.sampled import length_plan, stationary
from sgverify.checks.rates.sampled import lengths as sampled_lengths
from sgverify.checks.rates.sampled import plan as plans
from sgverify.checks.rates.sampled import sweep as sweeps
from sgverify.checks.rates.sampled.method import SampledAverages, share_of
from sgverify.configuration import load_configuration
from sgverify.rates import Decision, Sample
from sgverify.subject.binding import make_subject

GAUSSIAN = {"target": {"name": "gaussian"}}
FAILS = {"terms": {"a constant": {"fits": False, "interval": []}}}
HOLDS = {"terms": {"a constant": {"fits": True, "interval": []}}}


@pytest.fixture(params=[0, 1, 2], ids="moved at look {}".format)
def moved_at(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> int:
    """Nothing decides, and the expansion is seen to fail at one of the looks, at every step size."""
    monkeypatch.setattr(plans, "FIRST_WORK", 1e4)
    monkeypatch.setattr(plans, "FIRST_LOOK", (16, 16))
    monkeypatch.setattr(plans, "LOOKS", 3)
    monkeypatch.setattr(length_plan, "CHAINS", 16)
    monkeypatch.setattr(length_plan, "LOOKS", 3)
    monkeypatch.setattr(sweeps, "run_chains", noise_alone)
    monkeypatch.setattr(sampled_lengths, "run_chains", noise_alone)
    return int(request.param)


def noise_alone(subject, rows, *, count, **_):
    """Chains that were not run: what they say is not looked at."""
    values = np.random.default_rng(0).standard_normal((len(rows), len(rows[0].lengths), count))
    return [SampledAverages(values, (None,) * len(rows), count)]


def undecided(fails: bool) -> Decision:
    return Decision("inconclusive", "", certificate=FAILS if fails else HOLDS, more=2.0)


def test_a_sweep_makes_no_more_decisions_than_share_its_level(
    moved_at: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    subject = make_subject("sgld-euler", load_configuration(GAUSSIAN))
    plan = plans.plan_by_pilot(subject)
    made: list[tuple[float, int, int]] = []

    def decide(subject, sweep, order, control=None):
        made.append((sweep.steps[0], sweep.look, sweep.plan.decisions))
        return undecided(sweep.look >= moved_at)

    monkeypatch.setattr(stationary, "_decide", decide)
    stationary._settle(subject, plan, 1)
    # One share is a control's.
    assert len({step for step, *_ in made}) == plans.SHIFTS + 1 and len(plan.looks) == 3
    assert len(made) <= plan.decisions - 1 and {count for *_, count in made} == {plan.decisions}
    assert moved_at < 2 or len(made) == plan.decisions - 1


def test_a_schedule_makes_no_more_decisions_than_share_its_level(
    moved_at: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    lengths = {"lengths": [20, 40, 80, 160]}
    subject = make_subject("sgld-euler", load_configuration({**GAUSSIAN, "sweep": lengths}))
    made: list[tuple[float, int]] = []

    def decide(subject, run, sample, *rest):
        made.append((run.scale, run.decisions))
        return undecided(run.looks.index(sample.chains) >= moved_at)

    monkeypatch.setattr(sampled_lengths, "_decide", decide)
    # At every scale: otherwise the run ends at the first whose chains do not forget their start.
    monkeypatch.setattr(sampled_forgetting, "FORGOTTEN", 0)
    alpha = sampled_lengths.Fraction(1, 2)
    run, *_ = sampled_lengths._settle(subject, "bias", "horizon", alpha, 1, "the bias")
    assert len({scale for scale, _ in made}) == sampled_lengths.SHIFTS + 1 and len(run.looks) == 3
    assert len(made) <= run.decisions - 1 and {count for _, count in made} == {run.decisions}
    assert moved_at < 2 or len(made) == run.decisions - 1


def test_a_smaller_scale_that_does_not_forget_leaves_what_was_found(monkeypatch: pytest.MonkeyPatch) -> None:
    lengths = {"lengths": [24, 48, 96, 160]}
    subject = make_subject("sgld-euler", load_configuration({**GAUSSIAN, "sweep": lengths}))
    made: list[float] = []

    def decide(subject, run, sample, *rest):
        made.append(run.scale)
        return undecided(True)

    monkeypatch.setattr(sampled_lengths, "_decide", decide)
    *_, decision = sampled_lengths._settle(
        subject, "bias", "horizon", sampled_lengths.Fraction(1, 2), 1, "the bias"
    )
    assert len(set(made)) == 1 and decision.verdict == "inconclusive"


def control_in(monkeypatch: pytest.MonkeyPatch, gap: float) -> tuple[controls.Control, list[float]]:
    """A sampled control on chains of no bias whose halves differ by `gap`, and the tails that it was asked at."""
    monkeypatch.setattr(plans, "FIRST_WORK", 1e4)
    monkeypatch.setattr(plans, "FIRST_LOOK", (256, 256))
    monkeypatch.setattr(plans, "LOOKS", 2)
    item = make_subject("sghmc-euler-explicit", load_configuration(GAUSSIAN))
    tails: list[float] = []
    fitted = controls._fitted

    def noise(item, plan, stage):
        for look, chains in enumerate(plan.looks):
            halves = np.random.default_rng(look).standard_normal((len(plan.steps), 2, chains))
            halves[:, 0] += gap
            yield sweeps.Sweep(plan, plan.steps, halves, np.empty(0), {}, look)

    def counted(item, sample, steps, tail, level):
        tails.append(tail)
        fitted(item, sample, steps, tail, level)

    monkeypatch.setattr(controls, "looks_at", noise)
    monkeypatch.setattr(controls, "_fitted", counted)
    return controls._sampled(item, 1e-3), tails


def test_every_try_at_a_control_has_its_share_on_both_sides(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing fits, so that every subset of the steps is tried at every look."""
    _, tails = control_in(monkeypatch, 0.0)
    assert len(tails) == 4 and 2 * sum(tails) == pytest.approx(1e-3)


def test_a_control_that_has_not_forgotten_its_start_settles_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    control, tails = control_in(monkeypatch, 1.0)
    assert not tails and control.bound == 0 and "the start is not forgotten" in control.why


@pytest.mark.parametrize("coupled", [False, True])
def test_an_error_in_common_leaves_the_degrees_of_freedom(coupled: bool) -> None:
    errors = np.random.default_rng(1).standard_normal((5, 40))
    sample = Sample.of_chains(errors, coupled=coupled)
    shifted = sample.shifted(0.1)
    assert (shifted.coupled, shifted.chains) == (coupled, 40)
    assert np.allclose(shifted.covariance - sample.covariance, 0.01)


def test_rows_of_their_own_are_not_taken_for_coupled_where_the_reference_has_an_error() -> None:
    given = {**GAUSSIAN, "sweep": {"steps": [0.3, 0.2, 0.1, 0.05]}, "chains": 64, "steps": 20}
    subject = make_subject("sgld-euler", load_configuration(given))
    (sweep,) = sweeps.looks_at(subject, plans.plan_by_pilot(subject), "test")
    decision = stationary._decide(subject, replace(sweep, reference_error=1e-3), 1)
    assert decision.certificate["coupled"] is False and decision.certificate["chains"] == 64
    assert decision.certificate["level"] < share_of(subject).rate
