"""`sgverify replay`: stored evidence computed anew."""

from __future__ import annotations

import json
import shlex
from pathlib import Path

import pytest

from sgverify.evidence import canonical
from tests.cli.conftest import Call

SHORT = ("--set", "steps=100", "--set", "chains=64", "--set", "seed=7", "--set", "sweep.lengths=[100,1000]")


@pytest.mark.usefixtures("undiagnosed")
@pytest.mark.by_default("words2", "words3")
@pytest.mark.parametrize(
    "words",
    [
        # Eleven seconds of every check; the next line has a verdict of each kind too.
        pytest.param(
            ("verify", "mine.py:aboba", *SHORT, "--set", "gradient.kind=iid"), marks=pytest.mark.power
        ),
        ("verify", "mine.py:wrong", *SHORT, "--set", "friction=3"),
        (
            "rate",
            "mine.py:heun",
            "--quantity",
            "bias",
            "--set",
            "gradient.kind=iid",
            "--set",
            "schedule.alpha=0.4",
            "--set",
            "schedule.kind=horizon",
        ),
        ("rate", "sghmc-aboba", "--quantity", "local-order"),
    ],
)
def test_a_file_comes_out_the_same(call: Call, tmp_path: Path, words: tuple[str, ...]) -> None:
    first = call(*words, "--json", "e.json")
    again = call("replay", "e.json", "--run-code", "--json", "-")
    stored = json.loads((tmp_path / "e.json").read_text())
    assert again.code == first.code
    assert canonical(again.document) == canonical(stored)
    notes = again.err.splitlines()
    assert notes == [f"{item['id']}: the same" for item in stored["evidence"]]


@pytest.mark.power  # 1.7 s
def test_one_piece_by_its_id(call: Call, tmp_path: Path) -> None:
    call("verify", "mine.py:wrong", *SHORT, "--json", "e.json")
    stored = json.loads((tmp_path / "e.json").read_text())["evidence"]
    assert len({item["id"] for item in stored}) == len(stored) > 2
    for item in (stored[0], stored[-1]):
        answer = call("replay", f"e.json#{item['id']}", "--run-code", "--json", "-")
        (again,) = answer.evidence
        assert {**again, "seconds": 0} == {**item, "seconds": 0}
        assert answer.code == {"conforms": 0, "violates": 1}[item["verdict"]]
        assert answer.err == f"{item['id']}: the same\n"


def test_evidence_is_replayed_from_any_folder(
    call: Call, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "left").mkdir()
    (tmp_path / "other").mkdir()
    call("verify", "mine.py:aboba", "--checks", "local-order", "--json", "left/e.json")
    monkeypatch.chdir(tmp_path / "other")
    answer = call("replay", "../left/e.json", "--run-code")
    assert answer.code == 0, answer.err
    first, second = answer.err.splitlines()
    assert first == f"mine.py:aboba: taken from {tmp_path}" and second.endswith(": the same")
    assert Path.cwd() == tmp_path / "other"
    (tmp_path / "mine.py").unlink()
    assert call("replay", "../left/e.json", "--run-code").code == 2


def test_the_default_test_function_of_a_vector_is_replayed(call: Call) -> None:
    call(
        "verify", "mine.py:aboba", "--set", "target.dim=2", "--checks", "stationary-bias", "--json", "e.json"
    )
    answer = call("replay", "e.json", "--run-code")
    assert answer.code == 0 and answer.err.endswith(": the same\n"), answer.err


def test_what_was_changed_is_noticed(call: Call, tmp_path: Path) -> None:
    call("verify", "mine.py:aboba", "--checks", "stationary-bias", "--json", "e.json")
    document = json.loads((tmp_path / "e.json").read_text())
    document["evidence"][0]["points"][0]["value"] *= 1 + 1e-15
    (tmp_path / "e.json").write_text(json.dumps(document))
    answer = call("replay", "e.json", "--run-code")
    assert answer.err.endswith(": DIFFERENT from what is stored in points\n")
    assert answer.code == 1
    mine = (tmp_path / "mine.py").read_text()
    (tmp_path / "mine.py").write_text(mine.replace("sqrt(2*D*T*t)*noise()", "sqrt(3*D*T*t)*noise()"))
    answer = call("replay", "e.json", "--run-code")
    assert "DIFFERENT" in answer.err and all(field in answer.err for field in ("points", "verdict", "reason"))
    assert answer.code == 1


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("verify", "mine.py:aboba", *SHORT, "--checks", "stationary-bias"), "the same"),
        (
            ("rate", "mine.py:aboba", *SHORT, "--quantity", "stationary-bias", "--method", "monte-carlo"),
            "DIFFERENT from what is stored in points",
        ),
    ],
    ids=["exact", "sampled"],
)
def test_points_that_only_illustrate_are_not_compared(
    call: Call, tmp_path: Path, words: tuple[str, ...], said: str
) -> None:
    """Sampled points are what a sampled rate is judged by, and nothing else is."""
    document = call(*words, "--json", "-").document
    (item,) = document["evidence"]
    shown = {"step": 0.5, "value": 0.25, "standard_error": 0.125, "kind": "sampled"}
    item["points"].append({**item["points"][0], **shown})
    (tmp_path / "e.json").write_text(json.dumps(document))
    answer = call("replay", "e.json", "--run-code")
    assert answer.err.splitlines()[-1] == f"{item['id']}: {said}"
    assert answer.code == int(said != "the same")


@pytest.mark.power  # 1.5 s
def test_every_replay_command_gives_its_evidence(call: Call, tmp_path: Path) -> None:
    options = (
        "--set",
        "gradient.kind=iid",
        "--set",
        "test_function=theta**2 + theta",
        "--set",
        "sweep.lengths=[100,1000]",
    )
    some = ("--checks", "stationary-bias,agreement,chen2015/theorem-3,chen2015/remark-10")
    for item in call("verify", "mine.py:aboba", *SHORT, *options, *some, "--json", "-").evidence:
        program, *words = shlex.split(item["replay"])
        assert program == "sgverify"
        again = [other for other in call(*words, "--json", "-").evidence if other["id"] == item["id"]]
        assert [{**other, "seconds": 0} for other in again] == [{**item, "seconds": 0}]


def test_nothing_to_replay_is_no_success(call: Call, tmp_path: Path) -> None:
    call("verify", "mine.py:heun", "--checks", "local-order", "--json", "e.json")
    document = json.loads((tmp_path / "e.json").read_text())
    (tmp_path / "e.json").write_text(json.dumps({**document, "evidence": []}))
    (tmp_path / "r.jsonl").write_text("\n")
    for name in ("e.json", "r.jsonl"):
        answer = call("replay", name, "--run-code")
        assert (answer.code, answer.out) == (2, "") and name in answer.err and "at least one" in answer.err


def test_what_an_exception_ended_is_undecided_and_keeps_the_rest(
    call: Call, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    call("verify", "mine.py:heun", "--checks", "stationarity,local-order", "--json", "e.json")

    def broken(*_: object) -> None:
        raise ZeroDivisionError("somewhere deep")

    monkeypatch.delenv("SGVERIFY_RAISE")
    monkeypatch.setattr("sgverify.checks.order.stationarity.check_stationarity", broken)
    answer = call("replay", "e.json", "--run-code")
    assert answer.code == 3, answer
    assert "not computed anew" in answer.err and "the same" in answer.err and "2 answers" in answer.out
    # A mistake in the second piece does not take the first along.
    document = json.loads((tmp_path / "e.json").read_text())
    document["evidence"][-1]["scheme"] = "gone.py:heun"
    (tmp_path / "e.json").write_text(json.dumps(document))
    answer = call("replay", "e.json", "--run-code")
    assert answer.code == 2 and "mine.py:heun" in answer.out and "gone.py" in answer.err
