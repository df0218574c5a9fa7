"""Bias and mean square error along a schedule from samples."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from sgverify.checks import judge, rate, verify
from sgverify.checks.progress import Interrupted, listening
from sgverify.checks.rates.sampled import method, plan
from sgverify.configuration import load_configuration
from sgverify.errors import ConfigurationError
from sgverify.evidence import Evidence
from sgverify.exact.affine.model import horizon_step
from sgverify.exact.answers import answers_for
from sgverify.samplers import Fixed, Row
from sgverify.schemes import Scheme, find_scheme
from sgverify.subject.binding import make_subject
from tests.zoo.schemes import WEAK, nose

SHORT = {
    "target": {"name": "gaussian"},
    "temperature": 1.5,
    "chains": 1024,
    "sweep": {"lengths": [30, 60, 120, 240, 480, 960]},
    "schedule": {"scale": 1.0},
}


def asked(scheme: Scheme | str, quantity: str, **configuration) -> Evidence:
    return rate(scheme, quantity=quantity, method="monte-carlo", **{**SHORT, **configuration})


def test_the_bias_is_the_exact_one_and_its_rate_conforms() -> None:
    evidence = asked("sghmc-euler-explicit", "bias", chains=4096)
    assert (evidence.verdict, evidence.claim) == ("conforms", "chen2015/theorem-2"), evidence.reason
    assert evidence.predicted.exponent == -1 / 2
    model = make_subject("sghmc-euler-explicit", load_configuration(evidence.configuration)).model
    answers = answers_for(model)
    for point in evidence.points:
        exact = answers.bias(horizon_step(1.0, Fraction(1, 2), point.length), point.length)
        assert abs(point.value - exact.value) < 5 * point.standard_error
        assert point.kind == "sampled" and point.step == point.length**-0.5


@pytest.mark.parametrize("kind", ["horizon", "power"])
def test_wrong_noise_leaves_a_constant(kind: str) -> None:
    evidence = asked(WEAK, "bias", schedule={"scale": 1.0, "kind": kind})
    assert evidence.verdict == "violates" and evidence.reason.startswith("a constant carries"), (
        evidence.reason
    )
    assert evidence.certificate["coupling"] == ("none" if kind == "horizon" else "one chain for all lengths")


def test_a_mean_square_error_that_is_variance_is_not_timed() -> None:
    evidence = asked("sghmc-aboba", "mse")
    assert evidence.verdict == "inconclusive"
    assert "bias^2/variance" in evidence.reason and "raise schedule.scale" in evidence.reason
    assert max(evidence.certificate["bias^2/variance"]) < 1
    values = [point.value for point in evidence.points]
    assert all(value > 0 for value in values) and values == sorted(values, reverse=True)


def test_a_fixed_step_and_too_few_lengths_say_why_they_settle_nothing() -> None:
    fixed = asked("sghmc-aboba", "bias", schedule={"step": 0.1})
    assert fixed.verdict == "inconclusive" and "need not fall with L" in fixed.reason
    few = asked("sghmc-aboba", "bias", sweep={"lengths": [10, 20, 40]})
    assert few.verdict == "inconclusive" and "at least 4 lengths" in few.reason
    long = {key: value for key, value in SHORT.items() if key != "chains"}
    far = rate(
        "sghmc-aboba",
        quantity="bias",
        method="monte-carlo",
        **{**long, "sweep": {"lengths": [100, 200, 300, 10**9]}},
    )
    assert far.verdict == "inconclusive" and "or shorter sweep.lengths" in far.reason
    assert "2.6e+11 steps in all, about 7 hours" in far.reason


@pytest.mark.power  # 0.7 s
def test_open_lengths_are_those_that_forget_the_start_or_their_cost_is_told(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """What a default run cannot reach it does not ask for without its price."""
    dear = rate("sghmc-aboba", quantity="bias", method="monte-carlo", friction=0.01)
    assert dear.verdict == "inconclusive" and not dear.points
    assert "steps in all, about" in dear.reason and "give chains to run them all the same" in dear.reason
    monkeypatch.setattr(plan, "CHAINS", (16, 16))
    monkeypatch.setattr(plan, "most_steps", lambda subject: 4 * 16 * 15 * 2000)
    found = rate("sghmc-aboba", quantity="bias", method="monte-carlo")
    lengths = [point.length for point in found.points]
    assert len(lengths) == 5 and lengths[0] > 100 and lengths == [lengths[0] * 2**k for k in range(5)]
    # The shortest covers five relaxation times, of 1/A = 1 each on this target.
    first = found.points[0]
    assert first.step is not None and 5 <= first.length * first.step < 5.1
    assert "steps in all, about" in found.reason


def test_what_is_proved_or_exact_alone_is_not_sampled() -> None:
    for quantity in ("local-order", "covariance", "wasserstein-2"):
        with pytest.raises(ConfigurationError, match="leave --method out"):
            rate("sghmc-aboba", quantity=quantity, method="monte-carlo")


def test_progress_is_told_in_order_and_ends_at_the_whole() -> None:
    told: list[float] = []
    subject = make_subject("sgld-euler", load_configuration({**SHORT, "chains": 32}))
    rows = [Row(Fixed(0.1), (200,))]
    with listening(told.append):
        method.run_chains(subject, rows, seed=1, first=0, count=32, progress=(0.5, 1.0))
    assert told and told == sorted(told) and told[0] > 0.5 and told[-1] == 1.0


def test_an_interrupted_list_of_checks_keeps_what_was_settled(monkeypatch: pytest.MonkeyPatch) -> None:
    def stop(*arguments, **settings):
        raise KeyboardInterrupt

    monkeypatch.setattr(method, "sample", stop)
    given = load_configuration({"target": {"name": "gaussian"}})
    subject = make_subject(nose, given, method="monte-carlo")
    with pytest.raises(Interrupted) as caught:
        judge(subject, ["local-order", "stationary-bias"])
    assert [(e.check, e.verdict) for e in caught.value.evidence] == [("local-order", "conforms")]


def test_half_a_run_is_no_evidence(monkeypatch: pytest.MonkeyPatch) -> None:
    subject = make_subject(find_scheme("sgld-euler"), load_configuration({**SHORT, "chains": 32}))

    def cut(share: float) -> None:
        raise KeyboardInterrupt

    rows = [Row(Fixed(0.1), (2000,))]
    with listening(cut), pytest.raises(KeyboardInterrupt):
        method.run_chains(subject, rows, seed=1, first=0, count=32)


def test_chains_do_not_depend_on_how_many_run_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    subject = make_subject("sghmc-aboba", load_configuration(SHORT))
    rows = [Row(Fixed(0.1), (10, 20))]
    (whole,) = method.run_chains(subject, rows, seed=7, first=5, count=40)
    monkeypatch.setattr(method, "WIDEST", 16)
    (parts,) = method.run_chains(subject, rows, seed=7, first=5, count=40)
    assert parts.chains == whole.chains == 40 and np.array_equal(parts.values, whole.values)


def test_averages_that_leave_states_out_are_not_what_the_claims_speak_of() -> None:
    with pytest.raises(ConfigurationError, match="burn_in=5, thinning=1"):
        rate("sgld-euler", quantity="bias", burn_in=5)
    found = verify("sgld-euler", checks=["chen2015/theorem-3"], thinning=2)
    assert [item.verdict for item in found] == ["not-applicable"]
    assert "thinning=2 leaves states out" in found[0].reason


def test_a_transient_is_no_rate() -> None:
    """L = 3 steps of about 1/sqrt(3) cover less than two relaxation times; wrong noise must not pass by its start."""
    early = asked(WEAK, "bias", sweep={"lengths": [3, 6, 12, 24]})
    assert early.verdict == "inconclusive" and "do not forget their start within L=3" in early.reason
    assert not early.points
