"""Every command shows examples in its `--help`, each with a comment, and every one of them runs."""

from __future__ import annotations

import inspect
import re
import shlex
from pathlib import Path

import pytest

from sgverify.cli.main import cli
from tests.cli.conftest import Call
from tests.tables import each_row

FEW = ("steps=300", "chains=64", "sweep.lengths=[100,1000]")
"""Runs that are long enough for an exit code of 0 of what is right."""

COLUMNS = 80
"""The width of a terminal in which no example is broken."""

SLOW = (
    "verify mine.py:heun --quiet",
    "verify sghmc-aboba",
    "verify mine.py:heun --json heun.json --plot",
    "advise",
    "design kinetic --gradients 3",
    "identify",
    "report",
    "doctor",
    "sample sghmc-baoab --set chains=8",
)
"""The beginnings of examples that take seconds; other tests of these commands are quick."""

OTHER_CODES = {"sgverify identify mine.py:heun": 3}
"""Exit codes other than 0 that are right: a step that is no scheme of the catalogue."""


def examples(name: str) -> list[tuple[str, str]]:
    """The examples of a command: the comment above, and the command in one line."""
    text = inspect.cleandoc(cli.commands[name].help or "")
    (block,) = re.findall(r"\x08\nExamples:\n(.*?)(?:\n\n|\Z)", text, re.S)
    found, comment = [], ""
    for line in block.replace("\\\n", "").splitlines():
        line = " ".join(line.split())
        if line.startswith("# "):
            comment = line
        else:
            found.append((comment, line))
    return found


def runs() -> list[object]:
    """The examples of every command; those that are slow apart, behind the marker."""
    found: list[object] = []
    for name in cli.commands:
        told = [line for _, line in examples(name)]
        slow = [line for line in told if line.removeprefix("sgverify ").startswith(SLOW)]
        if quick := [line for line in told if line not in slow]:
            found.append(pytest.param(quick, id=name))
        if slow:
            found.append(pytest.param(slow, id=f"{name}, slow", marks=pytest.mark.power))
    return found


@each_row("name", cli.commands)
def test_every_command_has_two_to_four_examples_with_comments(name: str) -> None:
    found = examples(name)
    assert 2 <= len(found) <= 4
    for comment, line in found:
        assert comment and line.startswith("sgverify ")
    assert any(line.split()[1] == name for _, line in found)


@each_row("name", cli.commands)
def test_no_example_is_broken_in_a_narrow_terminal(name: str, call: Call) -> None:
    shown = call(name, "--help").out.splitlines()
    start = shown.index("  Examples:")
    block = shown[start : shown.index("", start)]
    assert max(map(len, block)) < COLUMNS
    joined = " ".join(" ".join(block).replace("\\", "").split())
    assert [line for _, line in examples(name) if line not in joined] == []


@pytest.mark.by_default(
    "schema", "new", "bch", "verify", "list", "diff", "errata", "rate", "replay", "sample"
)
@pytest.mark.parametrize("commands", runs())
def test_examples_run_one_after_the_other(commands: list[str], call: Call, tmp_path: Path) -> None:
    for line in commands:
        words = shlex.split(line)[1:]
        if words[0] == "verify" and "--checks" not in words:
            # Every check of a scheme, on short runs.
            words += [word for setting in FEW for word in ("--set", setting)]
        answer = call(*words)
        expected = next((code for start, code in OTHER_CODES.items() if line.startswith(start)), 0)
        assert answer.code == expected, line + answer.out + answer.err
        assert answer.out and "Traceback" not in answer.err
        for file in re.findall(r"--(?:json|plot|out) (\w\S*)", line):
            assert (tmp_path / file).exists(), line
