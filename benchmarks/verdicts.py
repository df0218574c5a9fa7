"""Benchmark: a whole verdict, and the command line's start, in CPU time beside the imports and beside Python alone.

Every call is a process of its own. A first one tells which modules a verdict loads; they are loaded before the clock of the others
starts, and the time that this takes is the floor of a verdict.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path

from benchmarks.measuring import Row, Setting, Timing

QUESTIONS: dict[str, tuple[str, tuple[str, ...], float]] = {
    "sgld-euler": ("sgld-euler", (), 1.3),
    "sghmc-aboba": ("sghmc-aboba", (), 1.1),
    "sgnht-euler": ("sgnht-euler", (), 0.25),
    "a file of one's own": ("FILE:heun", (), 1.25),
    "sghmc-aboba, double well": ("sghmc-aboba", ("target.name=double-well",), 0.5),
    "sghmc-aboba, double well, dim 2": ("sghmc-aboba", ("target.name=double-well", "target.dim=2"), 0.1),
    "sghmc-aboba, logistic regression": ("sghmc-aboba", ("target.name=logistic-regression",), 0.1),
}
"""By name: the scheme, the settings, and the least ratio of the imports' time to that of the verdict: half of what was measured."""

HEUN = """
from sgverify import scheme, sqrt
from sgverify.schemes import langevin


@scheme(langevin, order=1)
def heun(theta, *, h, grad, noise, T):
    kick = sqrt(2*T*h)*noise()
    guess = theta - h*grad(theta) + kick
    return theta - h/2*(grad(theta) + grad(guess)) + kick
"""

STARTS = ("--help", "--version", "list schemes", "list claims", "list checks", "list face")
STARTS_OF_CONFIGURATIONS = ("list targets", "list gradients", "list schedules", "list config")

START, START_OF_CONFIGURATIONS = 0.3, 0.8
"""The most seconds of CPU; lists that read the configuration load numpy, flint and pydantic."""

# `verify` as on a terminal: points that only illustrate are computed where somebody sees them.
_ANSWER = """
import importlib, json, sys, time
arguments, modules = json.loads(sys.stdin.read())
for name in modules:
    try:
        importlib.import_module(name)
    except Exception:
        pass
from sgverify.cli.main import main
loaded = time.process_time()
code = main(arguments)
assert code in (0, 1, 3), code
print()
print(json.dumps([loaded, time.process_time() - loaded, sorted(sys.modules)]))
"""


def run(setting: Setting) -> Iterator[Row]:
    """Verdicts on schemes of the catalogue, on a user's file and beyond Gaussians; then the starts of the command line."""
    names = list(QUESTIONS)[:1] if setting.tiny else list(QUESTIONS)
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "own.py"
        file.write_text(HEUN, encoding="utf-8")
        for name in names:
            scheme, settings, least = QUESTIONS[name]
            yield _verdict(name, scheme.replace("FILE", str(file)), settings, least, setting)
    starts = {
        **dict.fromkeys(STARTS, START),
        **dict.fromkeys(STARTS_OF_CONFIGURATIONS, START_OF_CONFIGURATIONS),
    }
    for arguments, bar in list(starts.items())[: 1 if setting.tiny else None]:
        yield _start(arguments.split(), bar, setting)


def _verdict(name: str, scheme: str, settings: Sequence[str], least: float, setting: Setting) -> Row:
    *_, modules = _answered(scheme, settings, [])
    found = [_answered(scheme, settings, modules) for _ in range(setting.repeats)]
    return Row(
        f"verify {name}, CPU after imports",
        Timing(tuple(seconds for _, seconds, _ in found)),
        None,
        "the imports, CPU",
        Timing(tuple(loaded for loaded, _, _ in found)),
        least=None if setting.tiny else least,
    )


def _answered(scheme: str, settings: Sequence[str], modules: Sequence[str]) -> tuple[float, float, list[str]]:
    """The CPU seconds of the imports and of the verdict, and the modules that are loaded in the end."""
    arguments = ["verify", scheme, *(part for setting in settings for part in ("--set", setting))]
    given = json.dumps([arguments, list(modules)])
    made = subprocess.run(
        [sys.executable, "-c", _ANSWER], input=given, capture_output=True, text=True, check=True
    )
    loaded, seconds, names = json.loads(made.stdout.splitlines()[-1])
    return loaded, seconds, names


def _start(arguments: Sequence[str], bar: float, setting: Setting) -> Row:
    ours, floor = [], []
    for _ in range(setting.repeats):
        ours.append(_cpu(["-m", "sgverify", *arguments]))
        floor.append(_cpu(["-c", "pass"]))
    return Row(
        f"sgverify {' '.join(arguments)}, CPU",
        Timing(tuple(ours)),
        bar,
        "python -c pass, CPU",
        Timing(tuple(floor)),
    )


def _cpu(arguments: Sequence[str]) -> float:
    """The CPU seconds, user and system, of a process of Python."""
    before = os.times()
    subprocess.run([sys.executable, *arguments], stdout=subprocess.DEVNULL, check=True)
    after = os.times()
    return after.children_user - before.children_user + after.children_system - before.children_system
