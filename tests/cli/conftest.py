"""The command line, driven in this process: exit code, stdout and stderr of one call."""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from sgverify.cli import main
from sgverify.cli.shared import bars

# The example file of the contract, letter for letter.
MINE = """\
from sgverify import dynamics, scheme, Alphabet, exp, sqrt
from sgverify.schemes import langevin, kinetic          # ready-made dynamics

@scheme(langevin, order=1)                               # order: the claim; leave it out and it is only measured
def heun(theta, *, h, grad, noise, T):
    kick = sqrt(2*T*h)*noise()
    guess = theta - h*grad(theta) + kick
    return theta - h/2*(grad(theta) + grad(guess)) + kick

def drift(theta, p, *, t):                          return theta + t*p, p
def friction(theta, p, *, t, D):                    return theta, exp(-D*t)*p
def kick(theta, p, *, t, grad, noise, D, T):        return theta, p - t*grad(theta) + sqrt(2*D*T*t)*noise()
def weak_kick(theta, p, *, t, grad, noise, D, T):   return theta, p - t*grad(theta) + sqrt(D*T*t)*noise()

aboba = Alphabet("mine", kinetic, A=drift, B=friction, O=kick).word("ABOBA", order=2)
wrong = Alphabet("wrong", kinetic, A=drift, B=friction, O=weak_kick).word("ABOBA", order=2)
"""


GRID = """\
schemes = ["sgld-euler", "sghmc-aboba"]
targets = ["gaussian"]
checks = ["local-order"]
[grid]
temperature = [0.5, 2.0]
"""


@dataclass(frozen=True)
class Answer:
    """What one call left behind."""

    code: int
    out: str
    err: str

    @property
    def document(self) -> dict[str, Any]:
        return json.loads(self.out)

    @property
    def evidence(self) -> list[dict[str, Any]]:
        return self.document["evidence"]


Call = Callable[..., Answer]


@pytest.fixture
def undiagnosed(monkeypatch: pytest.MonkeyPatch) -> None:
    """A failure is told without the search for the edit that mends it."""
    monkeypatch.setattr("sgverify.advice.diagnosis.diagnosing.diagnose", lambda *_: None)


@pytest.fixture
def call(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Call:
    """`call("verify", "mine.py:heun")` in a folder of its own that holds mine.py and grid.toml."""
    monkeypatch.chdir(tmp_path)
    # A machine under load adds no lines to stderr.
    monkeypatch.setattr(bars, "FIRST", math.inf)
    (tmp_path / "mine.py").write_text(MINE, encoding="utf-8")
    (tmp_path / "grid.toml").write_text(GRID, encoding="utf-8")

    def run(*words: str) -> Answer:
        capsys.readouterr()
        code = main(list(words))
        captured = capsys.readouterr()
        return Answer(code, captured.out, captured.err)

    return run
