"""Users' code can neither speak on stdout nor end the process with an exit code of its own."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
from pathlib import Path

import pytest

import sgverify
from sgverify.errors import UserError
from sgverify.schemes.loading import load_scheme
from sgverify.user_code import InterpreterEndedError, own_code

EULER = """
from sgverify import scheme, sqrt
from sgverify.schemes import langevin

@scheme(langevin, order=1)
def euler(theta, *, h, grad, noise, T):
    print("in a step")
    return theta - h*grad(theta) + sqrt(2*T*h)*noise()
"""


@pytest.mark.parametrize("name", ["_exit", "execv", "execve", "abort"])
def test_what_would_end_the_interpreter_raises(name: str) -> None:
    arguments = {"_exit": (0,), "abort": ()}.get(name, ("/bin/true", ["true"], {})[: 2 + (name == "execve")])
    real = getattr(os, name)
    with own_code():
        with own_code(), pytest.raises(InterpreterEndedError, match=name):
            getattr(os, name)(*arguments)
        met: list[BaseException] = []

        def elsewhere() -> None:
            try:
                getattr(os, name)(*arguments)
            except SystemExit as error:
                met.append(error)

        thread = threading.Thread(target=elsewhere)
        thread.start()
        thread.join()
        assert len(met) == 1
    assert getattr(os, name) is real


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork on this system")
def test_a_forked_process_ends_as_it_likes() -> None:
    code = "import os\nfrom sgverify.user_code import own_code\n"
    code += "with own_code():\n    child = os.fork()\n    child or os._exit(7)\n"
    code += "raise SystemExit(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))\n"
    assert subprocess.run([sys.executable, "-c", code], timeout=60, check=False).returncode == 7


def test_what_is_printed_goes_to_stderr(capsys: pytest.CaptureFixture[str]) -> None:
    with own_code():
        print("hello")
    assert capsys.readouterr() == ("", "hello\n")


def test_what_other_programs_print_goes_to_stderr(capfd: pytest.CaptureFixture[str]) -> None:
    print("before")
    with own_code():
        os.write(1, b"raw\n")
        with own_code():
            subprocess.run(["echo", "child"], check=True)
        assert sys.__stdout__ is not None
        sys.__stdout__.write("dunder\n")
    print("after")
    shown = capfd.readouterr()
    assert shown.out.splitlines() == ["before", "after"]
    assert {"raw", "child"} <= set(shown.err.splitlines())


GLOBAL = """
import builtins, decimal, os, signal, sys, warnings
import numpy
numpy.seterr(all="raise")
builtins.sum = builtins.len = None
decimal.getcontext().prec = 3
os.chdir("/")
signal.signal(signal.SIGINT, signal.SIG_IGN)
sys.setrecursionlimit(300)
sys.path.clear()
sys.stderr = None
warnings.simplefilter("error")
"""


def settings() -> list[object]:
    import decimal
    import signal
    import warnings

    import numpy

    return [
        sum,
        len,
        decimal.getcontext().prec,
        os.getcwd(),
        signal.getsignal(signal.SIGINT),
        sys.getrecursionlimit(),
        list(sys.path),
        sys.stderr,
        list(warnings.filters),
        numpy.geterr(),
    ]


@pytest.mark.parametrize("end", ["", "\n1/0\n"])
def test_a_file_leaves_the_settings_of_the_process_as_they_were(tmp_path: Path, end: str) -> None:
    before = settings()
    (tmp_path / "mine.py").write_text(EULER + GLOBAL + end)
    if not end:
        assert load_scheme(f"{tmp_path / 'mine.py'}:euler").order == 1
    else:
        with pytest.raises(UserError, match="ZeroDivisionError"):
            load_scheme(f"{tmp_path / 'mine.py'}:euler")
    assert settings() == before


def test_a_file_that_does_not_end_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("sgverify.watching.PATIENCE", 0.05)
    (tmp_path / "mine.py").write_text("import time\ntime.sleep(0.2)\n" + EULER)
    load_scheme(f"{tmp_path / 'mine.py'}:euler")
    assert "mine.py:2 (<module>) has run for 0.05 s; Ctrl-C stops it" in capsys.readouterr().err


def test_a_file_beside_that_hides_a_module_is_named(tmp_path: Path) -> None:
    (tmp_path / "glob.py").write_text("")
    (tmp_path / "mine.py").write_text("1/0\n")
    with pytest.raises(UserError, match=r"division by zero; beside it, glob\.py may hide the module"):
        load_scheme(f"{tmp_path / 'mine.py'}:euler")


@pytest.mark.parametrize(
    "line",
    [
        "import os; os._exit(0)",
        "from os import _exit; _exit(0)",
        "import os; __import__(os.name)._exit(0)",
        "import sys; sys.exit(0)",
        "quit()",
    ],
)
def test_a_file_that_leaves(tmp_path: Path, capsys: pytest.CaptureFixture[str], line: str) -> None:
    (tmp_path / "mine.py").write_text(f"print('hello')\n{line}\n{EULER}")
    with pytest.raises(UserError, match=r"mine.py:2 raised \w+"):
        load_scheme(f"{tmp_path / 'mine.py'}:euler")
    assert capsys.readouterr().out == ""


@pytest.mark.power  # 2.7 s
def test_the_exit_code_and_stdout_are_the_commands(tmp_path: Path) -> None:
    late = "import atexit, os; atexit.register(os._exit, 7); atexit.register(print, 'bye')\n"
    (tmp_path / "mine.py").write_text(f"print('hello')\n{late}{EULER}")
    root = str(Path(sgverify.__file__).resolve().parents[1])
    done = subprocess.run(
        [
            sys.executable,
            "-m",
            "sgverify",
            "verify",
            "mine.py:euler",
            "--checks",
            "local-order",
            "--json",
            "-",
        ],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": root},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["schema"] == "sgverify/evidence/1"
    assert {"hello", "in a step", "bye"} <= set(done.stderr.splitlines())
