"""The entry point: exit codes in a process of its own, internal errors, Ctrl-C."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

import sgverify
from sgverify.cli.main import MOVED, cli
from sgverify.errors import ConfigurationError, Unreached
from sgverify.evidence import canonical
from tests.cli.conftest import MINE, Call


def run(folder: Path, *words: str, **more: str) -> subprocess.CompletedProcess[str]:
    (folder / "mine.py").write_text(MINE, encoding="utf-8")
    root = str(Path(sgverify.__file__).resolve().parents[1])
    environment = {**os.environ, "OMP_NUM_THREADS": "1", "PYTHONPATH": root, **more}
    command = [sys.executable, "-m", "sgverify", *words]
    return subprocess.run(
        command, cwd=folder, env=environment, capture_output=True, text=True, timeout=120, check=False
    )


def test_a_process_exits_with_the_code_keeps_its_streams_apart_and_gives_the_bits_of_another(
    call: Call, tmp_path: Path
) -> None:
    words = ("verify", "mine.py:heun", "--checks", "local-order", "--json", "-")
    good = run(tmp_path, *words, PYTHONHASHSEED="1")
    # On a machine that takes more than 2 s the lines say what runs, and nothing else.
    assert good.returncode == 0
    assert all(line.startswith("verifying mine.py:heun") for line in good.stderr.splitlines()), good.stderr
    # Another process: this one, whose strings hash otherwise and which has judged much before.
    assert canonical(json.loads(good.stdout)) == canonical(call(*words).document)
    wrong_call = call("verify", "mine.py:huen")
    assert (wrong_call.code, wrong_call.out) == (2, "")
    assert "did you mean 'heun'" in wrong_call.err


def test_version_and_help(call: Call) -> None:
    answer = call("--version")
    assert (answer.code, answer.out.strip()) == (0, f"sgverify, version {sgverify.__version__}")
    answer = call("--help")
    assert answer.code == 0
    for command in ("verify", "rate", "bch", "list", "report", "replay"):
        assert command in answer.out
        assert call(command, "--help").code == 0


def test_the_help_says_what_each_command_is_for_in_a_line_of_its_own(call: Call) -> None:
    text = call("--help").out
    listed = dict(line.split(None, 1) for line in text.partition("Commands:\n")[2].splitlines())
    assert list(listed) == list(cli.commands) and "verify" == next(iter(listed))
    for name, said in listed.items():
        assert said == cli.commands[name].short_help and (said[-1] in ".?" or said.endswith(" ...")), name


@pytest.mark.parametrize("name", MOVED)
def test_a_command_that_has_moved_names_the_one_in_its_place(name: str, call: Call) -> None:
    answer = call(name, "one", "--quick")
    assert answer.code == 2 and not answer.out and answer.err.count("\n") == 1
    assert f"`{MOVED[name]} one --quick`" in answer.err


def test_no_command_shows_the_help(call: Call) -> None:
    answer = call()
    assert answer.code == 2
    assert "verify" in answer.out + answer.err
    assert "Traceback" not in answer.err


def test_an_internal_error_has_a_traceback_and_says_how_to_report_it(
    call: Call, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*_: object, **__: object) -> None:
        raise ZeroDivisionError("somewhere deep")

    monkeypatch.setattr("sgverify.subject.subject.Subject.validate", broken)
    answer = call("verify", "sghmc-aboba", "--checks", "local-order")
    assert (answer.code, answer.out) == (4, "")
    assert "Traceback (most recent call last)" in answer.err and "somewhere deep" in answer.err
    assert "report" in answer.err
    assert "sgverify verify sghmc-aboba --checks local-order" in answer.err
    assert sgverify.__version__ in answer.err


def broken_check(monkeypatch: pytest.MonkeyPatch, error: BaseException) -> None:
    """Let a check raise, and what it raises be an answer, as it is for users."""

    def broken(*_: object) -> None:
        raise type(error)(*error.args)

    monkeypatch.delenv("SGVERIFY_RAISE")
    monkeypatch.setattr("sgverify.checks.order.stationarity.check_stationarity", broken)


@pytest.mark.by_default(
    "error2-memory ran out, nothing was answered; MemoryError",
    "error5-SystemExit: 0",
)
@pytest.mark.parametrize(
    ("error", "says"),
    [
        (ZeroDivisionError("somewhere deep"), "ZeroDivisionError: somewhere deep"),
        (RecursionError("maximum recursion depth exceeded"), "RecursionError"),
        (MemoryError(), "memory ran out, nothing was answered; MemoryError"),
        (RuntimeError("[enforce fail] DefaultCPUAllocator: can't allocate memory"), "memory ran out"),
        (Unreached("nobody caught this"), "nobody caught this"),
        (SystemExit(0), "SystemExit: 0"),
    ],
)
def test_an_exception_in_one_check_is_one_inconclusive_answer(
    call: Call, monkeypatch: pytest.MonkeyPatch, error: BaseException, says: str
) -> None:
    asked = ("--checks", "local-order,stationarity", "--json", "-")
    whole = call("verify", "mine.py:heun", *asked).evidence
    broken_check(monkeypatch, error)
    answer = call("verify", "mine.py:heun", *asked)
    assert answer.code == 3, answer.err
    found = {item["check"]: item for item in answer.evidence}
    crashed = found.pop("stationarity")
    assert crashed["verdict"] == "inconclusive" and says in crashed["reason"]
    written = Path(crashed["certificate"]["traceback"]).read_text()
    assert "Traceback (most recent call last)" in written and sgverify.__version__ in written
    kept = {item["check"]: item for item in whole if item["check"] != "stationarity"}
    assert {name: {**item, "seconds": 0} for name, item in found.items()} == {
        name: {**item, "seconds": 0} for name, item in kept.items()
    }


@pytest.mark.power  # 1.0 s
def test_an_exception_leaves_the_same_bits_again_and_what_violates_outranks_it(
    call: Call, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = ("--checks", "local-order,stationarity", "--json", "-")
    broken_check(monkeypatch, ZeroDivisionError("somewhere deep"))
    first, again = (call("verify", "mine.py:heun", *asked).evidence[-1] for _ in range(2))
    # The reason names the file of the traceback.
    assert first["reason"] == again["reason"] and "ZeroDivisionError" in first["reason"]
    assert call("verify", "mine.py:wrong", *asked).code == 1


def test_the_tests_of_the_package_itself_raise_it(monkeypatch: pytest.MonkeyPatch) -> None:
    broken_check(monkeypatch, ZeroDivisionError("somewhere deep"))
    asked = {"checks": ["stationarity"]}
    (found,) = sgverify.verify("sgld-euler", **asked)
    assert found.exception == "ZeroDivisionError: somewhere deep"
    monkeypatch.setenv("SGVERIFY_RAISE", "1")
    with pytest.raises(ZeroDivisionError):
        sgverify.verify("sgld-euler", **asked)


def test_a_derivation_that_fails_takes_only_what_needs_it(
    call: Call, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*_: object, **__: object) -> None:
        raise ValueError("no series")

    monkeypatch.delenv("SGVERIFY_RAISE")
    monkeypatch.setattr("sgverify.exact.series.dimensions.prove_order", broken)
    found = call(
        "verify", "mine.py:heun", "--checks", "local-order,stationary-bias,stationarity", "--json", "-"
    ).evidence
    crashed = {item["check"] for item in found if item["certificate"].get("exception")}
    assert {"local-order", "stationary-bias"} <= crashed
    assert {"stationarity"} <= {item["check"] for item in found if item["verdict"] == "conforms"}


def test_a_users_mistake_that_shows_late_loses_nothing(
    call: Call, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    broken_check(monkeypatch, ConfigurationError("chains=3: expected more"))
    words = ("verify", "mine.py:heun", "--checks", "local-order,stationarity", "--json", "e.json")
    answer = call(*words)
    assert answer.code == 2 and "local-order" in answer.out and "chains=3: expected more" in answer.err
    (kept,) = json.loads((tmp_path / "e.json").read_text())["evidence"]
    assert kept["check"] == "local-order"


def test_ctrl_c_keeps_the_answers_so_far(call: Call, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    broken_check(monkeypatch, KeyboardInterrupt())
    words = ("verify", "mine.py:heun", "--checks", "local-order,stationarity", "--json", "e.json")
    answer = call(*words)
    assert answer.code == 130 and "local-order" in answer.out
    (kept,) = json.loads((tmp_path / "e.json").read_text())["evidence"]
    assert kept["check"] == "local-order"


@pytest.mark.usefixtures("undiagnosed")
@pytest.mark.parametrize(
    ("words", "code"),
    [(("verify", "mine.py:wrong", "--checks", "local-order"), 1), (("list", "schemes"), 141)],
)
def test_a_reader_that_goes_away_is_no_error(
    call: Call, monkeypatch: pytest.MonkeyPatch, words: tuple[str, ...], code: int
) -> None:
    read, write = os.pipe()
    os.close(read)
    # As a console script has it: the answer stands in a buffer until somebody flushes.
    with open(write, "w", encoding="utf-8") as gone:
        monkeypatch.setattr("sys.stdout", gone)
        answer = call(*words)
        monkeypatch.undo()
    assert (answer.code, answer.err) == (code, "")


@pytest.mark.parametrize(
    "words",
    [
        ("verify", "mine.py:heun", "--checks", "local-order"),
        ("list", "schemes"),
        ("schema", "evidence"),
        ("--help",),
    ],
)
def test_a_full_disk_behind_stdout(
    call: Call, monkeypatch: pytest.MonkeyPatch, words: tuple[str, ...]
) -> None:
    if not Path("/dev/full").exists():
        pytest.skip("no full device on this system")
    with open("/dev/full", "w", encoding="utf-8") as full:
        monkeypatch.setattr("sys.stdout", full)
        answer = call(*words)
        monkeypatch.undo()
    assert (
        answer.code == 2
        and answer.err.count("\n") == 1
        and "could not be written to stdout: No space left" in answer.err
    )


def test_interrupted(call: Call, monkeypatch: pytest.MonkeyPatch) -> None:
    def pressed(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("sgverify.checks.applicable_claims.judge_question", pressed)
    answer = call("verify", "sghmc-aboba")
    assert (answer.code, answer.out, answer.err.strip()) == (130, "", "interrupted")
