"""Every command and code block of the README is run."""

import json
import re
import shlex
import subprocess
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest

import sgverify
from sgverify.cli import main
from tests.cli.conftest import Answer
from tests.inner_run import run_inside

ROOT = Path(__file__).parents[1]
README = (ROOT / "README.md").read_text(encoding="utf-8")
FENCE = re.compile(r"^```(\w+)\n(.*?)^```$", re.M | re.S)
BLOCKS = FENCE.findall(README)
CONSOLE = [line[2:] for language, text in BLOCKS if language == "console" for line in text.splitlines()]
SHELL = [text.strip() for language, text in BLOCKS if language == "sh"]
PYTHON = [text for language, text in BLOCKS if language == "python"]
FEW = {"steps": 300, "chains": 64, "sweep.lengths": [100, 1000]}
"""Runs that are long enough for an exit code of 0 of what is right."""
SCHEME, FROM_PYTHON, TORCH, MODULE, DENSITY, SUITE = PYTHON


def run(command: list[str], folder: Path) -> subprocess.CompletedProcess[str]:
    """The command in `folder`, in a process of its own with this interpreter's sgverify."""
    assert command[0] == "sgverify"
    return subprocess.run(
        [sys.executable, "-m", "sgverify", *command[1:]],
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The working folder, with the README's schemes in it."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "mine.py").write_text(SCHEME, encoding="utf-8")
    (tmp_path / "theirs.py").write_text(TORCH, encoding="utf-8")
    return tmp_path


@pytest.fixture
def call(folder: Path, capsys: pytest.CaptureFixture[str]) -> Callable[[list[str]], Answer]:
    """The command in this process, which has loaded torch already."""

    def run_here(command: list[str]) -> Answer:
        assert command[0] == "sgverify"
        capsys.readouterr()
        code = main(command[1:])
        captured = capsys.readouterr()
        return Answer(code, captured.out, captured.err)

    return run_here


def test_all_blocks_are_of_a_kind_that_is_run():
    assert {language for language, _ in BLOCKS} == {"sh", "console", "python", "text"}
    assert README.count("```") == 2 * len(BLOCKS)
    assert len(SHELL) == 2 and len(CONSOLE) >= 5


@pytest.mark.parametrize(
    "line",
    # The rate of a thermostat is sampled, for eight seconds.
    [pytest.param(line, marks=[pytest.mark.power] if "sgnht" in line else []) for line in CONSOLE],
)
def test_console_line(line: str, call: Callable[[list[str]], Answer]):
    command = shlex.split(line)
    if command[1] == "verify":
        # Every check of a scheme, on short runs.
        command += [word for key, value in FEW.items() for word in ("--set", f"{key}={value}")]
    answer = call(command)
    assert answer.code == 0, answer.out + answer.err
    assert answer.out
    assert "Traceback" not in answer.err


@pytest.mark.power  # ten seconds of checks; the exit codes are those that the README states
@pytest.mark.parametrize("line", [line for line in CONSOLE if line.startswith("sgverify verify")])
def test_every_check_on_runs_of_full_length(line: str, call: Callable[[list[str]], Answer]):
    assert call(shlex.split(line)).code == 0


def test_the_forgotten_two_is_betrayed(folder: Path, call: Callable[[list[str]], Answer]):
    assert SCHEME.count("sqrt(2*T*h)") == 1
    (folder / "mine.py").write_text(SCHEME.replace("sqrt(2*T*h)", "sqrt(T*h)"), encoding="utf-8")
    few = [word for key, value in FEW.items() for word in ("--set", f"{key}={value}")]
    answer = call(["sgverify", "verify", "mine.py:heun", "--quiet", *few])
    assert answer.code == 1
    (shown,) = (text for language, text in BLOCKS if language == "text")
    assert answer.out.splitlines()[:3] == shown.splitlines()


def test_the_loop_from_python_prints_a_verdict_a_line(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
):
    few = {"steps": FEW["steps"], "chains": FEW["chains"], "sweep": {"lengths": FEW["sweep.lengths"]}}
    monkeypatch.setattr(sgverify, "verify", partial(sgverify.verify, **few))
    exec(compile(FROM_PYTHON, "README.md", "exec"), {})
    lines = capsys.readouterr().out.splitlines()
    assert any(line.startswith("chen2015/theorem-4 refuted 1") for line in lines)


def test_the_module_is_sampled(capsys: pytest.CaptureFixture[str]):
    exec(compile(MODULE, "README.md", "exec"), {})
    out = capsys.readouterr().out
    assert "0.weight" in out and "chain" in out


def test_the_density_is_a_target(folder: Path, call: Callable[[list[str]], Answer]):
    (folder / "banana.py").write_text(DENSITY, encoding="utf-8")
    assert "target.name=banana.py:banana" in README
    # Three steps are too few for a verdict, and enough to see that it is sampled and held against the stated average.
    few = (
        "target.name=banana.py:banana",
        "test_function=theta[0]**2",
        "chains=256",
        "sweep.steps=[0.4,0.2,0.1]",
    )
    words = [word for setting in few for word in ("--set", setting)]
    answer = call(["sgverify", "rate", "sgld-euler", "--quantity", "stationary-bias", *words, "--json", "-"])
    assert answer.code == 3, answer.out + answer.err
    (evidence,) = answer.evidence
    assert evidence["method"] == "monte-carlo" and "a rate needs 4" in evidence["reason"]
    assert len(evidence["points"]) == 3
    # At the smallest step the average is nearer to the stated 1 than to 0, what it would be if nothing were stated.
    assert abs(min(evidence["points"], key=lambda point: point["step"])["value"]) < 0.5


def test_the_test_suite_passes(folder: Path, capsys: pytest.CaptureFixture[str]):
    assert SUITE.count("max_examples=20") == 1
    # Three examples are enough to see that the property is judged.
    suite = SUITE.replace("max_examples=20", "max_examples=3")
    (folder / "test_mine.py").write_text(suite, encoding="utf-8")
    result = run_inside(folder, capsys, "test_mine.py")
    out = result.stdout.str()
    assert result.ret == 0, out
    assert "pieces of evidence: " in out and "passed" in out
    assert re.search(r"properties that held: 1, under [2-9] configurations: \d pass", out)


@pytest.mark.power  # continuous integration runs the whole line before the tests
def test_the_first_command_ends_in_the_report(tmp_path: Path):
    # What stands before the last && is installation; continuous integration runs the whole line.
    last = SHELL[0].rpartition("&&")[2].strip()
    assert last == ".venv/bin/sgverify report"
    result = run(["sgverify", "report"], tmp_path)
    assert result.returncode == 0, result.stderr
    assert {path.name for path in (tmp_path / "sgverify-report").iterdir()} == {
        "errata.json",
        "index.html",
        "junit.xml",
        "report.json",
        "report.md",
        "studies.json",
    }


def test_the_numbers_are_those_of_the_committed_reports():
    """Planted bugs, how many of them were found somewhere, and the cases that were judged for alarms."""
    planted = json.loads((ROOT / "reports" / "power" / "kill_matrix.json").read_text(encoding="utf-8"))[
        "mutants"
    ]
    cited = [mutant for mutant in planted if mutant["source"] != "constructed"]
    assert f"{len(planted)} [planted bugs]" in README and f"{len(cited)} of them" in README
    assert all(mutant["killed"] for mutant in planted) and "each\n  is killed" in README
    alarms = (ROOT / "reports" / "power" / "false_alarms.md").read_text(encoding="utf-8")
    judged = {kind: int(count) for kind, count in re.findall(r"## (\w+): (\d+) cases, 0 alarms", alarms)}
    assert f"{judged['exact']:,} for the checks" in README and f"{judged['sampled']:,} for those" in README


def test_the_commands_are_those_of_continuous_integration():
    script = (ROOT / ".ci" / "run").read_text(encoding="utf-8")
    for command in SHELL:
        assert command in script


def test_every_link_leads_somewhere():
    links = re.findall(r"\]\((?!http)([^)#]+)\)", README)
    assert links
    for link in links:
        assert (ROOT / link).exists(), link
