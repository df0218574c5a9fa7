"""The program as a process: streams that are closed or full, signals at any moment, code of a user's that reaches beyond itself."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

from sgverify.user_code import changed_for_all, undisturbed

pytestmark = pytest.mark.skipif(os.name == "nt", reason="signals and descriptors are those of POSIX")

OWN = """
import ctypes, numpy, torch
from sgverify import torch_step
from sgverify.schemes import langevin
{before}

@torch_step(langevin)
def step(theta, *, h, grad, T):
    {inside}
    return theta - h*grad(theta) + (2*T*h)**0.5*torch.randn_like(theta)
"""


def started(folder: Path, *words: str, shell: str = "") -> subprocess.Popen[str]:
    command = f'exec "$@" {shell}'
    environment = {**os.environ, "SGVERIFY_STORE": "off", "NO_COLOR": "1"}
    return subprocess.Popen(
        ["sh", "-c", command, "sh", sys.executable, "-m", "sgverify", *words], cwd=folder, env=environment, text=True,
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    )  # fmt: skip


def ended(folder: Path, *words: str, shell: str = "") -> tuple[int, str, list[str]]:
    process = started(folder, *words, shell=shell)
    out, err = process.communicate(timeout=200)
    return process.returncode, out, err.splitlines()


@pytest.mark.by_default("list->&-", "list-2>&-")
@pytest.mark.parametrize("closed", [">&-", "2>&-", ">/dev/full", "2>/dev/full", "<&- >&- 2>&-"])
@pytest.mark.parametrize("words", [("list", "claims"), ("verify", "sgld-euler", "--checks", "local-order"), ("--help",)],
                         ids=["list", "verify", "help"])  # fmt: skip
def test_a_stream_that_takes_nothing(tmp_path: Path, words: tuple[str, ...], closed: str) -> None:
    code, _, err = ended(tmp_path, *words, shell=closed)
    heard = ">&-" in closed.split() or ">/dev/full" in closed.split()
    assert code == (2 if heard else 0)
    if heard and "2>&-" not in closed:
        assert len(err) == 1 and "could not be written to stdout: " in err[0]


@pytest.mark.by_default("SIGINT-0.4")
@pytest.mark.parametrize("seconds", [0.4, 0.5, 0.7, 1.0, 2.0])
@pytest.mark.parametrize("name", ["SIGINT", "SIGTERM", "SIGHUP"])
def test_a_signal_is_one_line_from_the_first_moment(tmp_path: Path, name: str, seconds: float) -> None:
    process = started(tmp_path, "verify", "sghmc-aboba", "--quiet")
    time.sleep(seconds)
    number = signal.Signals[name]
    process.send_signal(number)
    _, err = process.communicate(timeout=60)
    said = "interrupted" if name == "SIGINT" else f"stopped by {name}"
    assert process.returncode == 128 + number and [line for line in err.splitlines() if line] == [said]


@pytest.mark.power
@pytest.mark.parametrize("words", [("verify", "sghmc-aboba", "--workers", "2"), ("verify", "sghmc-aboba")])
def test_sigterm_leaves_nothing_behind(tmp_path: Path, words: tuple[str, ...]) -> None:
    process = started(tmp_path, *words, "--quiet")
    time.sleep(5.0)
    process.send_signal(signal.SIGTERM)
    _, err = process.communicate(timeout=60)
    assert process.returncode == 143 and err.split() == ["stopped", "by", "SIGTERM"]


@pytest.mark.power
@pytest.mark.parametrize(
    ("before", "inside", "said"),
    [
        ("numpy.mean = None", "pass", ""),
        ("torch.set_default_device('meta')", "pass", "torch's default device to meta"),
        ("torch.set_default_device('cuda')", "pass", "torch's default device to cuda"),
        ("", "raise SystemExit(0)", "own.py:7): raised SystemExit"),
    ],
)
def test_what_code_of_a_user_changes_is_named(tmp_path: Path, before: str, inside: str, said: str) -> None:
    (tmp_path / "own.py").write_text(OWN.format(before=before, inside=inside))
    code, out, err = ended(tmp_path, "verify", "own.py:step", "--quiet")
    if said:
        assert code in (2, 3) and said in "".join([out, *err]) and "Traceback" not in "".join(err)
    else:
        assert code == 0


@pytest.mark.power
def test_a_segmentation_fault_is_named_with_its_line(tmp_path: Path) -> None:
    (tmp_path / "own.py").write_text(OWN.format(before="", inside="ctypes.string_at(0)"))
    code, _, err = ended(tmp_path, "verify", "own.py:step", "--quiet")
    assert code == -signal.SIGSEGV and err[0] == "Fatal Python error: Segmentation fault"
    assert any('own.py", line 9 in step' in line for line in err)


def test_a_function_that_code_of_a_user_replaces_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with undisturbed(tmp_path / "own.py"):
        monkeypatch.setattr(np, "mean", np.median)
    assert [*changed_for_all()] == ["numpy.mean"]
    monkeypatch.undo()
    assert [*changed_for_all()] == []
