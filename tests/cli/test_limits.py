"""The time of a command: what is answered until its end is kept, the rest is named, and code that does not come back too."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from sgverify import watching
from sgverify.checks import progress
from sgverify.cli.shared import bars, output
from sgverify.keeping.stopping import late
from tests.cli.conftest import Answer
from tests.tables import each_row

Call = Callable[..., Answer]

INTERRUPTED = pytest.mark.usefixtures("own_ctrl_c")


@INTERRUPTED
def test_what_is_answered_in_time_is_kept_and_the_rest_is_named(
    call: Call, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[str] = []
    isolated = progress.isolated

    def slow(question: Any, ask: Any) -> Any:
        asked.append(question.quantity)
        # The time passes inside of the second question.
        while len(asked) > 3 and not late():
            time.sleep(0.01)
        return isolated(question, ask)

    monkeypatch.setattr("sgverify.checks.applicable_claims.isolated", slow)
    answer = call(
        "verify",
        "sgld-euler",
        "--checks",
        "local-order,stationary-bias,mse",
        "--within",
        "2.5",
        "--json",
        "-",
    )
    assert answer.code == 3
    outcomes = {item["check"]: item["outcome"] for item in answer.evidence}
    assert outcomes["local-order"] == "pass" and outcomes["mse"] == "undecided"
    reasons = {item["check"]: item["reason"] for item in answer.evidence}
    assert reasons["mse"] == "not answered within 2.5 s (--within)"


@each_row(
    "command",
    [
        "verify",
        "rate",
        "identify",
        "advise",
        "width",
        "design",
        "sample",
        "report",
        "campaign",
        "diff",
        "replay",
    ],
)
def test_every_command_that_may_take_long_has_a_limit(call: Call, command: str) -> None:
    assert "--within" in call(command, "--help").out
    wrong = call(command, "--within", "-1")
    assert wrong.code == 2 and "expected a number of seconds above 0" in wrong.err


@INTERRUPTED
def test_a_command_that_is_still_reading_ends_with_what_it_was_doing(
    call: Call, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(watching, "PATIENCE", 0.2)
    (tmp_path / "slow.py").write_text("import time\n\n\ndef wait():\n    time.sleep(60)\n\n\nwait()\n")
    began = time.monotonic()
    answer = call("verify", "slow.py:scheme", "--within", "0.8")
    assert time.monotonic() - began < 10
    assert answer.code == 3
    assert "slow.py:5 (wait) has run for 0.2 s; Ctrl-C stops it" in answer.err
    assert "not answered within 0.8 s (--within)" in answer.err


def test_a_thread_that_does_not_end_is_named_and_many_short_calls_are_not(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(watching, "PATIENCE", 0.2)
    file = tmp_path / "own.py"
    file.write_text("def serve(over):\n    over.wait()\n\n\ndef short(pause):\n    pause(0.01)\n")
    module: dict[str, Any] = {}
    exec(compile(file.read_text(), file, "exec"), module)
    over = threading.Event()
    thread = threading.Thread(target=module["serve"], args=(over,))
    try:
        thread.start()
        with watching.watched():
            # Called by a file of the package, again and again.
            loop = "end = monotonic() + 0.6\nwhile monotonic() < end:\n    short(sleep)\n"
            place = str(Path(watching.__file__).parent / "loop.py")
            exec(compile(loop, place, "exec"), {**vars(time), "short": module["short"]})
    finally:
        over.set()
        thread.join()
    told = capsys.readouterr().err
    assert "own.py:2 (serve) has run for 0.2 s" in told
    assert "short" not in told


def test_the_watch_holds_nothing_of_the_code_once_a_command_is_over() -> None:
    """What it held would be freed while the interpreter ends, which aborts the process where it is a tensor."""
    before = threading.active_count()
    for _ in range(20):
        with watching.watched(), watching.watched():
            assert threading.active_count() == before + 1
        assert threading.active_count() == before


def test_without_a_terminal_a_line_says_what_runs(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(bars, "FIRST", 0.05)
    monkeypatch.setattr(bars, "EVERY", 0.05)
    with output.progress("verifying mine.py:heun") as told:
        told("theorem-4", 3, 15)
        time.sleep(0.3)
    assert "verifying mine.py:heun: theorem-4, 3/15 (after less than 1 s)" in capsys.readouterr().err
    with output.progress("verifying mine.py:heun", quiet=True) as told:
        told("theorem-4", 3, 15)
        time.sleep(0.2)
    assert capsys.readouterr().err == ""


def test_a_quiet_call_tells_no_progress(call: Call, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bars, "FIRST", 0.0)
    question = ("verify", "sgld-euler", "--checks", "local-order")
    assert "verifying" in call(*question).err and call(*question, "--quiet").err == ""


def test_a_time_that_does_not_pass_leaves_no_trace(call: Call) -> None:
    assert call("verify", "--within", "0.3").code == 2
    assert call("diff", "nothing", "nowhere", "--within", "0.3").code == 2
    time.sleep(0.5)
    assert not late()
