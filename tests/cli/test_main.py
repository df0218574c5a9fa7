"""The entry point: exit codes in a process of its own, internal errors, Ctrl-C."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

import sgverify
from tests.cli.conftest import MINE, Call


def run(folder: Path, *words: str, **more: str) -> subprocess.CompletedProcess[str]:
    (folder / "mine.py").write_text(MINE, encoding="utf-8")
    root = str(Path(sgverify.__file__).resolve().parents[1])
    environment = {**os.environ, "OMP_NUM_THREADS": "1", "PYTHONPATH": root, **more}
    command = [sys.executable, "-m", "sgverify", *words]
    return subprocess.run(
        command, cwd=folder, env=environment, capture_output=True, text=True, timeout=120, check=False
    )


def test_a_process_exits_with_the_code_and_keeps_its_streams_apart(tmp_path: Path) -> None:
    good = run(tmp_path, "verify", "mine.py:aboba", "--checks", "stationary-bias", "--json", "-")
    assert (good.returncode, good.stderr) == (0, "")
    assert json.loads(good.stdout)["evidence"][0]["verdict"] == "conforms"
    bad = run(tmp_path, "verify", "mine.py:wrong", "--checks", "stationary-bias", "--json", "-")
    assert bad.returncode == 1
    wrong_call = run(tmp_path, "verify", "mine.py:huen")
    assert (wrong_call.returncode, wrong_call.stdout) == (2, "")
    assert "did you mean 'heun'" in wrong_call.stderr


def test_the_same_bits_in_two_processes(tmp_path: Path) -> None:
    words = ("verify", "mine.py:heun", "--checks", "local-order,stationary-bias,mse", "--json", "-")
    documents = [json.loads(run(tmp_path, *words, PYTHONHASHSEED=seed).stdout) for seed in ("1", "2")]
    for document in documents:
        del document["provenance"]
        for item in document["evidence"]:
            del item["seconds"]
    assert documents[0] == documents[1]


def test_version_and_help(call: Call) -> None:
    answer = call("--version")
    assert (answer.code, answer.out.strip()) == (0, f"sgverify, version {sgverify.__version__}")
    answer = call("--help")
    assert answer.code == 0
    for command in ("verify", "rate", "bch", "list", "report", "replay"):
        assert command in answer.out
        assert call(command, "--help").code == 0


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

    monkeypatch.setattr("sgverify.checks.local_order.check_local_order.__code__", broken.__code__)
    answer = call("verify", "sghmc-aboba", "--checks", "local-order")
    assert (answer.code, answer.out) == (4, "")
    assert "Traceback (most recent call last)" in answer.err and "somewhere deep" in answer.err
    assert "report" in answer.err
    assert "sgverify verify sghmc-aboba --checks local-order" in answer.err
    assert sgverify.__version__ in answer.err


def test_an_error_of_ours_that_is_no_users_mistake_is_internal(
    call: Call, monkeypatch: pytest.MonkeyPatch
) -> None:
    def lost(*_: object, **__: object) -> None:
        raise sgverify.errors.NotAffineError("nobody caught this")

    monkeypatch.setattr("sgverify.checks.judging.judge_pair", lost)
    answer = call("verify", "sghmc-aboba", "--checks", "local-order")
    assert answer.code == 4 and "nobody caught this" in answer.err


def test_interrupted(call: Call, monkeypatch: pytest.MonkeyPatch) -> None:
    def pressed(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("sgverify.checks.judging.judge_pair", pressed)
    answer = call("verify", "sghmc-aboba")
    assert (answer.code, answer.out, answer.err.strip()) == (130, "", "interrupted")
