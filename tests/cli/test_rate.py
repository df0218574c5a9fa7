"""`sgverify rate`: one question, one piece of evidence, against the printed claim."""

from __future__ import annotations

import shlex
from pathlib import Path

import pytest

from sgverify.evidence import validate
from tests.cli.conftest import Call

# Two lengths, for weighted averages are followed step by step.
DECREASING = ("schedule.kind=power", "sweep.lengths=[10,100]")


def found(call: Call, *words: str) -> dict:
    answer = call("rate", *words, "--json", "-")
    validate(answer.document)
    (item,) = answer.evidence
    assert answer.code == {"conforms": 0, "violates": 1, "inconclusive": 3}[item["verdict"]]
    return item


@pytest.mark.by_default(
    "sghmc-aboba-bias-settings1-chen2015/theorem-2",
    "sghmc-aboba-bias-settings3-chen2015/theorem-5",
    "sghmc-aboba-mse-settings4-chen2015/theorem-5",
    "sghmc-aboba-local-order-settings5-chen2015/lemma-8",
    "sghmc-euler-local-order-settings7-chen2015/lemma-12",
    "sgld-euler-local-order-settings8-chen2015/lemma-12",
    "sghmc-chen-abo-local-order-settings9-sgverify/stated-order",
    "mine.py:heun-local-order-settings10-sgverify/stated-order",
    "mine.py:wrong-local-order-settings11-sgverify/stated-order",
)
@pytest.mark.parametrize(
    ("scheme", "quantity", "settings", "claim"),
    [
        ("sghmc-aboba", "stationary-bias", (), "chen2015/theorem-4"),
        ("sghmc-aboba", "bias", (), "chen2015/theorem-2"),
        ("sghmc-aboba", "mse", (), "chen2015/theorem-3"),
        ("sghmc-aboba", "bias", DECREASING, "chen2015/theorem-5"),
        ("sghmc-aboba", "mse", DECREASING, "chen2015/theorem-5"),
        ("sghmc-aboba", "local-order", (), "chen2015/lemma-8"),
        ("mine.py:aboba", "local-order", (), "chen2015/lemma-8"),
        ("sghmc-euler", "local-order", (), "chen2015/lemma-12"),
        ("sgld-euler", "local-order", (), "chen2015/lemma-12"),
        ("sghmc-chen-abo", "local-order", (), "sgverify/stated-order"),
        ("mine.py:heun", "local-order", (), "sgverify/stated-order"),
        # Its letters do not split the dynamics, so that lemma 8 does not speak of it.
        ("mine.py:wrong", "local-order", (), "sgverify/stated-order"),
    ],
)
def test_the_claim_that_a_quantity_is_held_against(
    call: Call, scheme: str, quantity: str, settings: tuple[str, ...], claim: str
) -> None:
    options = [word for setting in settings for word in ("--set", setting)]
    item = found(call, scheme, "--quantity", quantity, *options)
    assert (item["claim"], item["check"]) == (claim, quantity)
    assert not item["refuted"] or claim != "sgverify/stated-order"


@pytest.mark.by_default(
    "sghmc-euler-explicit-stationary-bias-1",
    "sghmc-aboba-bias--0.6666666666666666",
    "sghmc-aboba-mse--0.8",
    "sghmc-euler-explicit-bias--0.5",
    "sghmc-euler-explicit-mse--0.6666666666666666",
    "sgld-euler-local-order-1",
)
@pytest.mark.parametrize(
    ("scheme", "quantity", "exponent"),
    [
        ("sghmc-aboba", "stationary-bias", 2),
        ("sghmc-euler-explicit", "stationary-bias", 1),
        ("sghmc-aboba", "bias", -2 / 3),
        ("sghmc-aboba", "mse", -4 / 5),
        ("sghmc-euler-explicit", "bias", -1 / 2),
        ("sghmc-euler-explicit", "mse", -2 / 3),
        ("sgld-euler", "local-order", 1),
    ],
)
def test_exponents_with_their_signs(call: Call, scheme: str, quantity: str, exponent: float) -> None:
    item = found(call, scheme, "--quantity", quantity)
    assert item["found"] == {"exponent": exponent, "low": exponent, "high": exponent}
    assert (item["predicted"]["exponent"], item["verdict"]) == (exponent, "conforms")
    assert item["method"] == ("proof" if quantity == "local-order" else "exact")


@pytest.mark.by_default("mse")
@pytest.mark.parametrize("quantity", ["stationary-bias", "bias", "mse"])
def test_a_refuted_printed_claim_is_judged_by_its_corrected_card_as_in_verify(
    call: Call, quantity: str
) -> None:
    noisy = ("--set", "gradient.kind=iid")
    item = found(call, "sghmc-aboba", "--quantity", quantity, *noisy)
    card = item["claim"].partition("/")[2]
    assert item["claim"].startswith("corrected/") and item["verdict"] == "conforms"
    printed = item["certificate"]["printed"]
    assert (printed["claim"], printed["verdict"], printed["refuted"]) == (
        f"chen2015/{card}",
        "violates",
        True,
    )
    assert f"chen2015/{card} as printed is refuted here" in item["reason"]
    answer = call(
        "verify", "sghmc-aboba", "--checks", f"chen2015/{card},corrected/{card}", *noisy, "--json", "-"
    )
    judged = {evidence["claim"]: evidence for evidence in answer.evidence if evidence["check"] == quantity}
    assert answer.code == 0 and judged[f"chen2015/{card}"]["refuted"]
    same = ("id", "verdict", "predicted", "found")
    assert {key: judged[item["claim"]][key] for key in same} == {key: item[key] for key in same}


def test_what_the_corrected_card_does_not_allow_either_violates(call: Call) -> None:
    item = found(call, "mine.py:wrong", "--quantity", "stationary-bias", "--set", "gradient.kind=iid")
    assert (item["claim"], item["verdict"]) == ("chen2015/theorem-4", "violates")
    assert "printed" not in item["certificate"]


def test_the_fitted_exponent_stands_beside_the_exact_one(call: Call) -> None:
    words = ("sghmc-aboba", "--quantity", "mse", "--set", "gradient.kind=iid")
    line = found(call, *words)["certificate"]["regression"]
    assert line["low"] < line["exponent"] < line["high"] and line["interval"] == "range of local slopes"
    out = call("rate", *words).out
    assert f"L^({line['exponent']:.3f})" in out and "which is no confidence interval" in out
    out = call("rate", "sghmc-baoab", "--quantity", "stationary-bias").out
    assert "no exponent is fitted to the points: 0 of 5 points are told from 0" in out


def test_lengths_steps_and_relative_error_of_the_points(call: Call) -> None:
    item = found(call, "sghmc-aboba", "--quantity", "mse", "--set", "sweep.lengths=[100,1000000000000]")
    assert [point["length"] for point in item["points"]] == [100, 10**12]
    for point in item["points"]:
        assert point["standard_error"] == 0
        assert point["error_bound"] <= 1e-6 * point["value"]
    item = found(call, "sghmc-aboba", "--quantity", "bias")
    assert [point["length"] for point in item["points"]] == [10**k for k in range(2, 11)]
    steps = [point["step"] for point in item["points"]]
    # h = C L^(-1/3); both are rounded once.
    assert all(
        abs(step * length ** (1 / 3) / (steps[0] * 100 ** (1 / 3)) - 1) < 1e-14
        for step, length in zip(steps, (10**k for k in range(2, 11)), strict=True)
    )
    item = found(call, "sghmc-aboba", "--quantity", "stationary-bias", "--set", "schedule.step=0.03125")
    assert [point["step"] for point in item["points"]] == [2.0**-k for k in range(5, 10)]
    assert all(point["length"] is None for point in item["points"])


def test_biases_are_signed(call: Call) -> None:
    """Euler's invariant variance is too large; BAOAB's p^2 is too small."""

    def signs(*words: str) -> set[bool]:
        return {
            point["value"] > 0 for point in found(call, *words, "--quantity", "stationary-bias")["points"]
        }

    assert signs("sgld-euler") == {True}
    assert signs("sghmc-baoab", "--set", "test_function=p**2") == {False}


def test_an_identically_zero_bias_conforms_without_exponent(call: Call) -> None:
    item = found(call, "sghmc-baoab", "--quantity", "stationary-bias")
    assert (item["verdict"], item["found"]["exponent"]) == ("conforms", None)
    assert "identically zero" in item["reason"]
    assert all(point["value"] == 0 for point in item["points"])


def test_the_highest_rung_is_the_default(call: Call) -> None:
    words = ("sghmc-aboba", "--quantity", "bias")
    assert found(call, *words)["points"] == found(call, *words, "--method", "exact")["points"]


def test_replay_command_answers_the_same(call: Call) -> None:
    item = found(
        call, "mine.py:heun", "--quantity", "mse", "--set", "friction=3", "--set", "gradient.kind=iid"
    )
    words = item["replay"].split()
    assert words[:2] == ["sgverify", "rate"]
    again = found(call, *words[2:])
    assert {**again, "seconds": 0} == {**item, "seconds": 0}


SAMPLED = (
    "--method",
    "monte-carlo",
    "--set",
    "target.name=gaussian",
    "--set",
    "schedule.step=0.5",
    "--set",
    "chains=512",
)


@pytest.mark.by_default("mine.py:wrong-violates")
@pytest.mark.parametrize(
    ("scheme", "verdict"), [("mine.py:wrong", "violates"), ("mine.py:aboba", "inconclusive")]
)
def test_a_rate_from_samples(call: Call, scheme: str, verdict: str) -> None:
    """Too few chains for aboba to conform; the same command gives the same bits."""
    words = (scheme, "--quantity", "stationary-bias", *SAMPLED, "--set", "steps=50")
    item = found(call, *words)
    assert (item["method"], item["verdict"], item["claim"]) == ("monte-carlo", verdict, "chen2015/theorem-4")
    assert {point["kind"] for point in item["points"]} == {"sampled"}
    assert all(point["standard_error"] > 0 for point in item["points"])
    assert 0 < item["certificate"]["level"] < item["certificate"]["level_of_call"] == 0.01
    assert "--method monte-carlo" in item["replay"]
    again = found(call, *shlex.split(item["replay"])[2:])
    assert {**again, "seconds": 0} == {**item, "seconds": 0}


@pytest.mark.power  # 0.6 s
def test_stored_samples_replay(call: Call, tmp_path: Path) -> None:
    words = ("rate", "mine.py:wrong", "--quantity", "stationary-bias", *SAMPLED, "--set", "steps=50")
    assert call(*words, "--json", "kept.json").code == 1
    answer = call("replay", "kept.json", "--run-code")
    assert answer.code == 1 and answer.err.strip().endswith("the same")
