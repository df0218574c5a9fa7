"""Stationary biases from samples: against exact ones, with planted bugs, and where no chain can speak."""

from __future__ import annotations

import math
from dataclasses import replace
from functools import cache, partial

import numpy as np
import pytest

from sgverify.checks import rate
from sgverify.checks.applicable_claims import run_check
from sgverify.checks.question import Question
from sgverify.checks.rates.sampled import pilot, plan, rates
from sgverify.checks.rates.sampled.pilot import affine_time
from sgverify.checks.rates.sampled.rates import sampled_stationary_bias
from sgverify.claims import find_claim
from sgverify.configuration import load_configuration
from sgverify.evidence import Evidence
from sgverify.exact.affine.model import fixed_step
from sgverify.exact.answers import answers_for
from sgverify.exact.readings.formula import plant
from sgverify.rates.decision import Decision, decide_order
from sgverify.rates.sample import CALL, LevelShare
from sgverify.schemes import Scheme, find_scheme
from sgverify.subject.binding import make_subject
from sgverify.subject.seeds import run_seed
from sgverify.subject.subject import Subject
from tests.zoo.schemes import WEAK, nose

GAUSSIAN = {"target": {"name": "gaussian"}, "temperature": 1.5, "start": 1.0}
SHORT = {**GAUSSIAN, "chains": 512, "steps": 100}
BROAD = {**GAUSSIAN, "chains": 2048, "steps": 200}


def asked(scheme: Scheme | str, **configuration) -> Evidence:
    return rate(scheme, quantity="stationary-bias", method="monte-carlo", **configuration)


@cache
def broadly(name: str, step: float) -> Subject:
    """A subject whose chains are run once, whoever asks for its evidence or its sweep."""
    return make_subject(name, load_configuration({**BROAD, "schedule": {"step": step}}), "monte-carlo")


@pytest.mark.by_default("sghmc-aboba-1.0-2-conforms")
@pytest.mark.parametrize(
    ("name", "step", "exponent", "verdict"),
    [
        ("sgld-euler", 0.25, 1, "conforms"),
        # Its h^2 is so large that the level of the error at the largest step would take more chains.
        ("sghmc-euler-explicit", 0.25, 1, "inconclusive"),
        ("sghmc-aboba", 1.0, 2, "conforms"),
    ],
)
def test_right_schemes_conform_and_their_points_are_the_exact_ones(
    name: str, step: float, exponent: int, verdict: str
) -> None:
    question = Question(broadly(name, step), find_claim("chen2015/theorem-4"), "stationary-bias")
    evidence = run_check(question)
    assert (evidence.verdict, evidence.method) == (verdict, "monte-carlo"), evidence.reason
    assert evidence.predicted.exponent == exponent
    assert evidence.found.low <= exponent + 0.3 and evidence.found.high >= exponent - 0.3
    answers = answers_for(make_subject(name, load_configuration(evidence.configuration)).model)
    assert len(evidence.points) == 5 and [p.step for p in evidence.points] == [step / 2**k for k in range(5)]
    for point in evidence.points:
        exact = answers.stationary_bias(fixed_step(point.step)).value
        assert point.kind == "sampled" and abs(point.value - exact) < 5 * point.standard_error
    assert evidence.certificate["reference_average"] == {"value": 1.5, "error_bound": 0.0, "method": "exact"}
    assert evidence.certificate["chains"] == 2048


@pytest.mark.by_default("sgld-euler-sqrt(2*T*h)-sqrt(T*h)", "sghmc-aboba-sqrt(2*D*T*h)-sqrt(2*D*h)")
@pytest.mark.parametrize(
    ("name", "was", "now"),
    [
        ("sgld-euler", "sqrt(2*T*h)", "sqrt(T*h)"),
        ("sghmc-aboba", "sqrt(2*D*T*h)", "sqrt(2*D*h)"),
        ("sghmc-euler-explicit", "h*D*p", "h*p"),
    ],
)
def test_planted_bugs_of_order_zero_are_refuted(name: str, was: str, now: str) -> None:
    evidence = asked(plant(find_scheme(name), was, now), schedule={"step": 0.25}, **SHORT)
    assert evidence.verdict == "violates", evidence.reason
    assert evidence.reason.startswith("h^0 carries")


def test_a_scheme_of_the_first_order_is_not_of_the_second() -> None:
    """Held to K = 2, explicit Euler is refuted by its h^1; ABOBA is not."""
    for name, step, verdict in (("sghmc-euler-explicit", 0.25, "violates"), ("sghmc-aboba", 1.0, "conforms")):
        subject = broadly(name, step)
        question = Question(subject, find_claim("chen2015/theorem-4"), "stationary-bias")
        run = plan.plan_sweep(subject)
        (found,) = rates._looks_at(subject, run)
        decision = rates._decided(question, subject, run, found, partial(decide_order, order=2))
        assert decision.verdict == verdict, decision.reason
        assert verdict == "conforms" or decision.reason.startswith("h^1 carries")


@pytest.mark.by_default("weak-1.0-2.0-2")
@pytest.mark.parametrize(
    ("name", "temperature", "friction", "seed"),
    [
        ("sgld-euler", 3.0, 1.0, 0),
        ("sghmc-baoab", 0.5, 4.0, 1),
        ("weak", 1.0, 2.0, 2),
        # A bias of higher order than predicted is sampled until the last look.
        pytest.param("sghmc-euler", 0.5, 1.0, 3, marks=pytest.mark.power),
        pytest.param("sghmc-aboba", 3.0, 4.0, 1, marks=pytest.mark.power),
    ],
)
def test_samples_never_contradict_the_exact_rung(
    name: str, temperature: float, friction: float, seed: int
) -> None:
    scheme = WEAK if name == "weak" else find_scheme(name)
    more = {"temperature": temperature, "friction": friction, "seed": seed, "chains": 256}
    configuration = {**SHORT, **more}
    sampled = asked(scheme, **configuration)
    exact = rate(scheme, quantity="stationary-bias", **configuration)
    assert sampled.verdict in (exact.verdict, "inconclusive"), (sampled.reason, exact.reason)
    assert name != "weak" or sampled.verdict == "violates"


@pytest.mark.power  # 1.2 s
def test_a_thermostat_is_sampled_where_asked_and_proved_where_not() -> None:
    small = {
        "target": {"name": "gaussian"},
        "chains": 16,
        "steps": 40,
        "sweep": {"steps": [0.2, 0.1]},
    }
    evidence = asked(nose, **small)
    assert evidence.method == "monte-carlo" and len(evidence.points) == 2
    assert "pilot run" in evidence.certificate["relaxation"]["how"]
    proved = rate(nose, quantity="stationary-bias", **small)
    assert (proved.verdict, proved.method, tuple(proved.points)) == ("conforms", "proof", ())
    assert proved.found.low == proved.predicted.exponent
    exact = rate(nose, quantity="stationary-bias", method="exact", **small)
    assert (exact.verdict, exact.method, exact.points) == ("inconclusive", "exact", ())
    assert "no exact law" in exact.reason and "--method exact" in exact.replay


@pytest.mark.power  # 0.5 s
def test_the_same_configuration_gives_the_same_bits_and_another_seed_others() -> None:
    few = {**SHORT, "chains": 64, "schedule": {"step": 0.25}}
    first, again = (asked("sgld-euler", **few) for _ in range(2))
    assert first == replace(again, seconds=first.seconds)
    assert asked("sgld-euler", **{**few, "seed": 1}).points != first.points
    subject = make_subject("sgld-euler", load_configuration(SHORT))
    assert len({run_seed(subject, *stage) for stage in ((), ("a",), ("b",), ("a", "b"), ("a", 1.0))}) == 5
    assert run_seed(subject, "a") == run_seed(make_subject("sghmc-aboba", load_configuration(SHORT)), "a")


def test_looks_join_what_one_run_of_all_chains_gives() -> None:
    subject = make_subject(
        "sghmc-aboba", load_configuration({**GAUSSIAN, "steps": 30, "schedule": {"step": 0.5}})
    )
    run = plan.plan_sweep(subject)
    *_, last = rates._looks_at(subject, replace(run, looks=(64, 128)))
    (once,) = rates._looks_at(subject, replace(run, looks=(128,)))
    assert np.array_equal(last.values, once.values)


def test_a_default_sweep_halves_its_steps_where_the_expansion_does_not_hold(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Every decision that may be made has its share of the level."""
    made: list[tuple[float, float]] = []

    def undecided(steps, sample, *, level, **given):
        made.append((steps[0], level))
        return Decision(
            "inconclusive", "rough", certificate={"terms": {"h^0": {"fits": False, "interval": []}}}
        )

    monkeypatch.setattr(rates, "decide_order", undecided)
    monkeypatch.setattr(plan, "FIRST_WORK", 1e4)
    monkeypatch.setattr(plan, "CHAINS", (16, 16))
    asked("sgld-euler", **GAUSSIAN)
    steps = [step for step, _ in made]
    assert len(steps) == plan.HALVED + 1 and steps == [steps[0] / 2**k for k in range(plan.HALVED + 1)]
    assert sum(level for _, level in made) <= LevelShare(CALL).rate


@pytest.mark.power  # 0.9 s
def test_a_start_that_is_not_forgotten_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    """Two modes far apart: chains from either side average their own, and no bias is read from that."""
    apart = {"target": {"name": "mixture", "weights": [0.3, 0.7], "means": [-9.0, 9.0], "scales": [1.0, 1.0]}}
    subject = make_subject("sgld-euler", load_configuration({**apart, "test_function": "theta"}))
    monkeypatch.setattr(pilot, "LENGTHS", (512,))
    evidence = sampled_stationary_bias(Question(subject, find_claim("chen2015/theorem-4"), "stationary-bias"))
    assert (evidence.verdict, evidence.points) == ("inconclusive", ())
    assert "the start is not forgotten" in evidence.reason
    assert "from both sides of the target differ" in evidence.reason


def test_a_transient_in_the_average_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(plan, "FORGOTTEN", 0.1)
    evidence = asked("sgld-euler", schedule={"step": 0.1}, **{**SHORT, "start": 20.0})
    assert evidence.verdict == "inconclusive" and "the start is not forgotten" in evidence.reason


@pytest.mark.power  # 1.1 s
def test_a_step_at_which_chains_diverge_is_named_and_left_out() -> None:
    steep = {"target": {"name": "quartic"}, "chains": 64, "steps": 40}
    evidence = asked("sgld-euler", sweep={"steps": [3.0, 0.08, 0.04, 0.02, 0.01]}, **steep)
    diverged = [point for point in evidence.points if point.diverged]
    assert [point.step for point in diverged] == [3.0] and "diverged at step" in diverged[0].note
    assert all(np.isfinite(point.value) for point in evidence.points if not point.diverged)
    assert evidence.points[1].step == 0.08 and evidence.verdict in ("conforms", "inconclusive")
    nowhere = asked("sgld-euler", sweep={"steps": [8.0, 4.0, 3.0, 2.0]}, **steep)
    assert nowhere.verdict == "inconclusive" and "diverged at every step" in nowhere.reason
    few = asked("sgld-euler", sweep={"steps": [0.08, 0.04, 0.02]}, **steep)
    assert few.verdict == "inconclusive" and "too few steps without divergence; a rate needs 4" in few.reason


def test_a_sweep_without_halvings_is_sampled_with_independent_rows() -> None:
    evidence = asked("sgld-euler", sweep={"steps": [0.3, 0.2, 0.1, 0.05]}, **SHORT)
    assert evidence.certificate["coupling"] == "none"


def test_what_chains_and_steps_mean() -> None:
    evidence = asked("sgld-euler", schedule={"step": 0.25}, **{**SHORT, "chains": 300, "steps": 50})
    certificate = evidence.certificate
    assert certificate["looks"]["planned"] == [300] and certificate["chains"] == 300
    assert certificate["averaged_time"] == pytest.approx(50 * 0.25)


def test_claims_that_ask_the_same_share_the_chains(monkeypatch: pytest.MonkeyPatch) -> None:
    subject = make_subject("sgld-euler", load_configuration(SHORT), "monte-carlo")
    first = sampled_stationary_bias(Question(subject, find_claim("chen2015/theorem-4"), "stationary-bias"))
    monkeypatch.setattr(rates, "run_chains", None)
    corrected = Question(subject, find_claim("corrected/theorem-4"), "stationary-bias")
    assert sampled_stationary_bias(corrected).points == first.points


def test_an_affine_step_relaxes_at_its_spectral_radius() -> None:
    """SGLD on precision 1: r = 1 - h, so that the time is h / -log(1 - h), about 1; and never below one step."""
    subject = make_subject("sgld-euler", load_configuration(None, target={"name": "gaussian", "dim": 1}))
    assert affine_time(subject, 0.01) == pytest.approx(0.01 / -math.log(0.99), rel=1e-12)
    assert affine_time(subject, 0.9) == pytest.approx(0.9, rel=1e-12)


@pytest.mark.power  # the planted bugs above, at a slower chain
def test_a_wrong_scheme_is_refuted_where_the_chains_relax_slowly() -> None:
    wrong = plant(find_scheme("sghmc-aboba"), "sqrt(2*D*T*h)", "sqrt(D*T*h)")
    evidence = rate(wrong, quantity="stationary-bias", method="monte-carlo")
    assert evidence.verdict == "violates", evidence.reason
    assert evidence.certificate["burn_in"] > 5
