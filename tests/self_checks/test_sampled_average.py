"""The agreement check: it passes the right sampler and refutes one with other noise, and chains that share theirs."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise
from typing import Any

import numpy as np
import pytest

import tests.self_checks.sampled_average as agreement
from sgverify import scheme, sqrt
from sgverify.checks import verify
from sgverify.exact.answers import QuadraticAnswers
from sgverify.exact.numbers.ball import PrecisionLostError
from sgverify.exact.readings.formula import plant
from sgverify.schemes import find_scheme, kinetic
from tests.mutants.planting import planted
from tests.mutants.registry import mutants
from tests.self_checks import running_average_law
from tests.self_checks.nulls import Nulls
from tests.self_checks.registry import self_check
from tests.zoo.schemes import WEAK, noise_then_gradient

SETTINGS = {"target": {"size": 20}, "steps": 200, "chains": 256}


def evidence_of(scheme, **settings):
    found = self_check("agreement", scheme, **{**SETTINGS, **settings})
    return found


@pytest.mark.by_default(
    *("sgld-euler-full", "sgld-euler-iid", "sgld-euler-reshuffle"),
    *("sghmc-aboba-without-replacement", "sghmc-aboba-additive", "sghmc-aboba-symmetric"),
)
@pytest.mark.parametrize("kind", ["full", "iid", "without-replacement", "additive", "reshuffle", "symmetric"])
@pytest.mark.parametrize("name", ["sgld-euler", "sghmc-aboba"])
def test_the_running_code_agrees(name: str, kind: str) -> None:
    found = evidence_of(find_scheme(name), gradient={"kind": kind, "batch": 5})
    assert (found.verdict, found.method) == ("conforms", "monte-carlo")
    assert set(found.certificate["components"]) == {agreement.MEAN, agreement.VARIANCE}
    assert found.certificate["looks"] == {"planned": [256, 1024, 4096], "taken": 1, "fresh": True}
    assert {p.kind for p in found.points} == {"exact", "sampled"}
    assert found.points[1].standard_error > 0


@pytest.mark.parametrize("name", ["sgld-euler", "sghmc-aboba"])
def test_it_agrees_on_averages_where_mean_squares_have_no_exact_rung(name: str) -> None:
    target, gradient = {"name": "linear-regression", "size": 8}, {"kind": "svrg", "batch": 2, "refresh": 10}
    found = evidence_of(find_scheme(name), target=target, gradient=gradient)
    assert (found.verdict, found.method) == ("conforms", "monte-carlo")
    assert set(found.certificate["components"]) == {agreement.MEAN}


CYCLES = {"kind": "cyclical", "cycles": 3, "threshold": 0.6}


@pytest.mark.parametrize(
    ("name", "kind"), [("sgld-euler", "iid"), ("sghmc-aboba", "full"), ("sghmc-baoab", "additive")]
)
def test_averages_over_cycles_agree_with_the_engine_of_changing_steps(name: str, kind: str) -> None:
    found = evidence_of(find_scheme(name), gradient={"kind": kind, "batch": 5}, schedule=CYCLES)
    assert (found.verdict, found.method) == ("conforms", "monte-carlo")
    assert found.certificate["schedule"].endswith("period=67, threshold=0.6, shape=cosine")


def test_the_law_over_cycles_is_not_that_of_a_fixed_step() -> None:
    """A chain that keeps the first step of the cycle is refuted by its averages alone."""
    bug = mutants()["cyclical-restarted-every-step"]
    settings = {"schedule": {**CYCLES, "scale": 0.02}, "start": 8.0}
    with planted(replace(bug, settings=settings)) as subject:
        assert agreement.check_agreement(subject).verdict == "violates"


@pytest.mark.parametrize(
    ("settings", "verdict", "told"),
    [
        ({"gradient": {"kind": "reshuffle", "batch": 5}}, "inconclusive", "blocks of a permutation"),
        ({"target": {"name": "double-well"}, "gradient": {}}, "inconclusive", "the grids take fixed steps"),
    ],
)
def test_cycles_that_no_engine_reaches_are_said_to_be_so(settings: Any, verdict: str, told: str) -> None:
    found = evidence_of(find_scheme("sgld-euler"), schedule=CYCLES, **settings)
    assert found.verdict == verdict and "cycles of steps" in found.reason and told in found.reason


def test_no_rate_in_the_length_is_asked_of_cycles() -> None:
    for claim in ("chen2015/theorem-2", "chen2015/theorem-5"):
        for found in verify(find_scheme("sgld-euler"), checks=[claim], schedule={"kind": "cyclical"}):
            assert found.verdict == "not-applicable" and "schedule.kind='cyclical'" in found.reason


@pytest.mark.parametrize("seed", range(5))
def test_at_every_seed(seed: int) -> None:
    """The level is 1e-6: five seeds raise a false alarm once in 2e5 runs."""
    found = evidence_of(
        find_scheme("sghmc-baoab"), seed=seed, test_function="theta*p + theta**2", start_momentum="stationary"
    )
    assert found.verdict == "conforms"


def test_even_a_wrong_scheme_agrees_with_its_own_law() -> None:
    assert evidence_of(WEAK).verdict == "conforms"


@pytest.mark.parametrize(
    ("name", "was", "now"),
    [
        ("sgld-euler", "sqrt(2*T*h)", "sqrt(5*T*h/2)"),
        ("sghmc-aboba", "sqrt(2*D*T*h)", "sqrt(D*T*h)"),
        ("sghmc-aboba", "h*grad(theta1)", "h*grad(theta1)*9/10"),
    ],
)
def test_a_sampler_with_other_noise_or_drift_is_refuted(
    monkeypatch: pytest.MonkeyPatch, name: str, was: str, now: str
) -> None:
    plain, other = agreement.sample, plant(find_scheme(name), was, now)
    monkeypatch.setattr(agreement, "sample", lambda scheme, *rest, **more: plain(other, *rest, **more))
    found = evidence_of(find_scheme(name), steps=2000)
    assert found.verdict == "violates" and "contradict" in found.reason


def test_chains_that_share_their_noise_are_refuted(monkeypatch: pytest.MonkeyPatch) -> None:
    plain = agreement.sample

    def shared(*rest, **more):
        found = plain(*rest, **more)
        return replace(found, values=np.broadcast_to(found.values[..., :1], found.values.shape).copy())

    monkeypatch.setattr(agreement, "sample", shared)
    found = evidence_of(find_scheme("sghmc-aboba"))
    assert found.verdict == "violates"
    assert found.certificate["components"][agreement.VARIANCE]["p"] == 0


@pytest.mark.parametrize(
    ("errors", "looks", "verdict"), [(10, 1, "violates"), (4, 2, "violates"), (1, 1, "conforms")]
)
def test_a_shift_of_the_mean_is_seen_at_the_look_that_can(
    monkeypatch: pytest.MonkeyPatch, errors: float, looks: int, verdict: str
) -> None:
    """In standard errors of the first look: 10 are beyond its bound of 5.1; 4 call for fresh ones, where they are 8."""
    plain = agreement.sample

    def shifted(*rest, **more):
        found = plain(*rest, **more)
        spread = found.values.std() / np.sqrt(SETTINGS["chains"])
        return replace(found, values=found.values + errors * spread)

    monkeypatch.setattr(agreement, "sample", shifted)
    # At this seed the mean of the first look is small against its standard error, as it stands.
    found = evidence_of(find_scheme("sghmc-aboba"), seed=0)
    assert (found.verdict, found.certificate["looks"]["taken"]) == (verdict, looks)


def test_looks_share_no_chain(monkeypatch: pytest.MonkeyPatch) -> None:
    plain, numbers = agreement.sample, []

    def noted(*rest, settings, **more):
        numbers.append((settings.first_chain, settings.first_chain + settings.chains))
        return plain(*rest, settings=settings, **more)

    # p-values between the thresholds of every look, and above that of the last.
    undecided = iter([1e-3, 3e-3, 0.01])
    monkeypatch.setattr(agreement, "sample", noted)
    monkeypatch.setattr(
        agreement, "_nulls", lambda *given: Nulls.of(agreement.MEAN, 0.1, 0.01, next(undecided))
    )
    found = evidence_of(find_scheme("sghmc-aboba"))
    assert (found.verdict, found.certificate["looks"]["taken"], len(numbers)) == ("conforms", 3, 3)
    assert all(end <= start for (_, end), (start, _) in pairwise(numbers))


def test_the_level_is_that_of_both_tests_and_all_looks() -> None:
    found = evidence_of(find_scheme("sghmc-aboba"))
    assert found.certificate["level"] == 1e-6
    beta = 1e-6 / 3
    assert found.certificate["thresholds"][0] == pytest.approx([beta, beta + beta ** (1 / 3)])


def test_long_chains_are_cut_and_say_so() -> None:
    found = evidence_of(find_scheme("sgld-euler"), steps=10**12, chains=42)
    assert {p.length for p in found.points} == {running_average_law.LONGEST}


def test_a_constant_test_function_is_not_applicable() -> None:
    found = evidence_of(find_scheme("sgld-euler"), test_function="3")
    assert (found.verdict, found.points) == ("not-applicable", ())
    assert "the test function is 3" in found.reason


def test_few_chains_are_made_more_so_that_an_agreement_means_something() -> None:
    found = evidence_of(find_scheme("sgld-euler"), chains=2)
    assert found.verdict == "conforms" and found.certificate["looks"]["planned"][0] == agreement.FEWEST


def test_too_few_chains_are_inconclusive_and_the_advised_number_is_enough(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(agreement, "FEWEST", 2)
    few = evidence_of(find_scheme("sgld-euler"), chains=8)
    assert few.verdict == "inconclusive" and "8 chains are too few" in few.reason
    advised = int(few.reason.split("take about ")[1].split()[0])
    assert 8 < advised < 256
    assert evidence_of(find_scheme("sgld-euler"), chains=advised).verdict == "conforms"
    assert evidence_of(find_scheme("sgld-euler"), chains=2).verdict == "inconclusive"


def test_memory_that_starts_from_noisy_gradients_is_left_open() -> None:
    """The sampler starts it from a minibatch; a start law from full gradients would contradict it."""

    @scheme(kinetic, memory={"g": lambda theta, p, *, grad: grad(theta)})
    def stale(theta, p, g, *, h, grad, noise, D, T):
        q = p - h * g - h * D * p + sqrt(2 * D * T * h) * noise()
        return theta + h * q, q, grad(theta)

    data = {"target": {"data": [0.1, 0.5, 1.0, 0.2]}, "steps": 3}
    noisy = self_check("agreement", stale, gradient={"kind": "iid", "batch": 2}, **data)
    full = self_check("agreement", stale, **data)
    assert [item.verdict for item in (noisy, full)] == ["inconclusive", "conforms"]


@pytest.mark.parametrize("key", ["burn_in", "thinning"])
def test_an_average_that_leaves_states_out_is_not_held_against_the_law_of_the_whole(key: str) -> None:
    found = evidence_of(find_scheme("sgld-euler"), **{key: 3})
    assert found.verdict == "not-applicable"
    assert f"{key}=3" in found.reason


@pytest.mark.parametrize(("friction", "steps"), [(3.0, 100), (100.0, 200), (300.0, 7)])
def test_a_chain_that_hardly_moves_raises_no_false_alarm(friction: float, steps: int) -> None:
    """Its mean square is its squared bias to all digits of a double: the variance is a difference of balls."""
    target = {"name": "gaussian", "precision": 8}
    found = evidence_of(
        find_scheme("sghmc-aboba"),
        friction=friction,
        target=target,
        steps=steps,
        test_function="theta**2+theta",
    )
    assert found.verdict in ("conforms", "inconclusive"), found.reason


@pytest.mark.parametrize(
    "settings",
    [
        {"target": {"name": "gaussian"}, "test_function": "theta**4", "seed": 54},
        {
            "target": {"name": "gaussian-mean", "data": [0.0] * 1999 + [1e4], "prior_precision": 1.0},
            "gradient": {"kind": "iid", "batch": 1},
        },
    ],
    ids=["heavy-tails", "outlier"],
)
def test_rare_events_that_chains_miss_are_no_violation(settings: dict[str, Any]) -> None:
    found = self_check("agreement", "sgld-euler", steps=1, start=0, **settings)
    assert found.verdict == "inconclusive", found.reason


def test_moments_of_very_different_sizes_keep_their_bounds() -> None:
    """Closed forms of this chain's variance lose every digit; the recursion of its moments, with the running sum, keeps them."""
    target = {
        "name": "linear-regression",
        "dim": 1,
        "data": [[-3.0, -2.0], [1.0, -1.7], [1.0, 2.0]],
        "prior_precision": 1.0,
        "prior_mean": 1.0,
        "noise_precision": 1.5,
    }
    found = self_check(
        "agreement",
        "sghmc-ubu-uub",
        temperature=2.0,
        friction=2.65,
        steps=200,
        start=1.0,
        test_function="2*theta + 1/2*p + 2",
        target=target,
        gradient={"kind": "iid", "batch": 2},
    )
    assert found.verdict == "conforms", found.reason


def test_a_variance_that_no_precision_holds_is_left_open(monkeypatch: pytest.MonkeyPatch) -> None:
    def lost(*_: Any) -> None:
        raise PrecisionLostError("a ball without bounds")

    monkeypatch.setattr(QuadraticAnswers, "mean_square_error", lost)
    found = self_check("agreement", "sghmc-euler", steps=200)
    assert found.verdict == "inconclusive" and "lost in rounding" in found.reason


def test_a_step_that_forgets_its_draws_raises_no_false_alarm() -> None:
    # At half the stability limit 1 - h P is 0 but for rounding: every chain is at the mean, and their spread is rounding.
    found = evidence_of(noise_then_gradient, schedule={"step": 0.047619047619047})
    assert found.verdict == "inconclusive"
    assert "rounding hides" in found.reason
    # Which a default step keeps clear of.
    assert evidence_of(noise_then_gradient).verdict == "conforms"
