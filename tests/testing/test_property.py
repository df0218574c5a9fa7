"""Properties: what fails ends in a minimal configuration, a command, files and a row that is tried first ever after."""

from __future__ import annotations

import re
import shlex
import subprocess
from pathlib import Path
from typing import Any

import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st

from sgverify.checks.applicable_claims import run_check
from sgverify.checks.question import Question
from sgverify.claims import find_claim
from sgverify.cli import main
from sgverify.configuration import Configuration, load_configuration, settings_of
from sgverify.errors import UserError
from sgverify.evidence import read_evidence, read_regressions
from sgverify.schemes.loading import load_scheme
from sgverify.strategies import configurations
from sgverify.subject.subject import Subject
from sgverify.testing import Violation, note_replay, parametrize_with_checks
from sgverify.testing import property as property_module
from sgverify.testing.places import places_for
from sgverify.testing.recording import take, take_remarks, take_tallies
from sgverify.testing.shrinking.counterexample import subject_under
from tests.testing.properties import check_property

MINE = """
from sgverify import scheme, sqrt
from sgverify.schemes import langevin

@scheme(langevin, order=1)
def right(theta, *, h, grad, noise, T):
    return theta - h*grad(theta) + sqrt(2*T*h)*noise()

@scheme(langevin, order=1)
def warm(theta, *, h, grad, noise, T):
    return theta - h*grad(theta) + sqrt(2*h)*noise()
"""

ROWS = "sgverify-regressions.jsonl"
OPTIONS: Any = {"checks": ["chen2015/theorem-3"], "max_examples": 4}
"""The mean square error: one quantity, a rate in L."""


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder whose name a shell would take apart, with a right and a wrong scheme."""
    folder = tmp_path / "it's a folder"
    folder.mkdir()
    (folder / "mine.py").write_text(MINE)
    monkeypatch.chdir(folder)
    monkeypatch.delenv("CI", raising=False)
    take(), take_remarks(), take_tallies()
    return folder


@pytest.fixture
def judged(monkeypatch: pytest.MonkeyPatch) -> list[list[str]]:
    """The configurations that properties judge, in their order."""
    seen: list[list[str]] = []
    ask = property_module.ask

    def counting(subject: Any, configuration: Configuration, *rest: Any) -> Any:
        seen.append(settings_of(configuration))
        return ask(subject, configuration, *rest)

    monkeypatch.setattr(property_module, "ask", counting)
    return seen


def one_dimension(**options: Any) -> Any:
    return configurations(dims=[1], kinds=["full"], **options)


def violation_of(scheme: str, **options: Any) -> Violation:
    with pytest.raises(Violation) as caught:
        check_property(scheme, configurations=one_dimension(), **{**OPTIONS, **options})
    return caught.value


def test_a_violation_leaves_a_minimal_configuration_its_evidence_a_plot_and_a_row(folder: Path) -> None:
    found = violation_of("mine.py:warm", regressions=ROWS)
    kept = found.counterexample
    assert kept is not None and kept.plot is not None and kept.stored is not None
    assert settings_of(kept.configuration) == ["temperature=2.0"]
    stored = read_evidence(kept.stored).evidence
    assert stored == (found.evidence,) and kept.stored.parent.name == "sgverify-counterexamples"
    assert (kept.stored.parent / ".gitignore").read_text() == "*\n"
    drawn = re.sub("<[^>]+>", "", kept.plot.read_text())
    assert "found: L⁰" in drawn and "claimed: L-2/3" in drawn
    (row,) = read_regressions(ROWS)
    assert (row.scheme, row.claim, row.check) == ("mine.py:warm", "chen2015/theorem-3", "mse")
    assert row.configuration == {"temperature": 2.0} and row.reason == found.evidence.reason
    for text in (found.text, str(found)):
        assert f"    {row.text}" in text and "    temperature = 2.0" in text and str(kept.plot) in text
        assert re.search(r"judged +\d+ generated, [1-5] to make", text)
    # The commands that the text names run.
    assert main(["replay", f"{kept.stored}#{found.evidence.id}", "--run-code"]) == 1
    assert main(["replay", ROWS, "--run-code"]) == 1


@pytest.mark.power  # 0.7 s
def test_the_printed_command_runs_in_a_shell_and_fails_again(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (folder / "my code").mkdir()
    (folder / "mine.py").rename(folder / "my code" / "it's.py")
    found = violation_of("my code/it's.py:warm")
    (line,) = [line for line in found.text.splitlines() if line.startswith("  replay")]
    command = line.removeprefix("  replay").strip()
    # The shell takes the line apart; the words that it hands on are those of the command.
    told = subprocess.run(
        command.replace("sgverify", "printf '%s\\0'", 1),
        shell=True,
        capture_output=True,
        text=True,
        check=True,
    )
    words = told.stdout.split("\0")[:-1]
    assert words[1] == "my code/it's.py:warm"
    assert main(words) == 1 and "✗ fail" in capsys.readouterr().out
    with pytest.raises(ValueError, match="quotation"):
        shlex.split(" ".join(shlex.split(command)))


@pytest.mark.power  # 0.7 s
def test_a_row_is_tried_first_and_stays(folder: Path, judged: list[list[str]]) -> None:
    first = violation_of("mine.py:warm", regressions=ROWS)
    assert len(judged) > 2
    text = Path(ROWS).read_text()
    judged.clear()
    again = violation_of("mine.py:warm", regressions=ROWS)
    assert judged == [["temperature=2.0"]]
    assert again.evidence.id == first.evidence.id and f"{ROWS}:1" in again.text
    assert Path(ROWS).read_text() == text


@pytest.mark.power  # 0.9 s
def test_a_row_that_no_longer_fails_is_told_and_left(folder: Path) -> None:
    violation_of("mine.py:warm", regressions=ROWS)
    text = Path(ROWS).read_text()
    (folder / "mine.py").write_text(MINE.replace("sqrt(2*h)", "sqrt(2*T*h)"))
    take_remarks(), take_tallies()
    held = check_property("mine.py:warm", configurations=one_dimension(), regressions=ROWS, **OPTIONS)
    assert {evidence.verdict for evidence in held} == {"conforms"} and len(held) == 5
    assert take_remarks() == [
        f"{ROWS}:1: fixed, may be removed: mine.py:warm chen2015/theorem-3 (mse), now pass"
    ]
    assert take_tallies() == [{"pass": 5}]
    assert Path(ROWS).read_text() == text
    assert main(["replay", ROWS, "--run-code"]) == 0


@pytest.mark.power  # 1.2 s
def test_rows_of_other_schemes_and_checks_are_not_tried(folder: Path, judged: list[list[str]]) -> None:
    violation_of("mine.py:warm", regressions=ROWS)
    judged.clear()
    check_property("mine.py:right", configurations=st.just(load_configuration()), regressions=ROWS, **OPTIONS)
    assert judged == [[]]
    judged.clear()
    violation_of("mine.py:warm", checks=["corrected/theorem-4"], regressions=ROWS)
    assert judged[0] != ["temperature=2.0"]


@pytest.mark.by_default(
    '"mse"-"stationary-bias"-does not speak of it', '"temperature"-"temprature"-temprature.*temperature'
)
@pytest.mark.parametrize(
    ("was", "now", "said"),
    [
        ("chen2015/theorem-3", "chen2015/theorem-33", "theorem-33.*theorem-3"),
        ('"mse"', '"stationary-bias"', "does not speak of it"),
        ('"temperature"', '"temprature"', "temprature.*temperature"),
        ('{"temperature": 2.0}', '{"temperature": -2.0}', "greater than 0"),
    ],
)
def test_a_row_that_cannot_be_read_is_refused_by_file_and_line(
    folder: Path, capsys: pytest.CaptureFixture[str], was: str, now: str, said: str
) -> None:
    violation_of("mine.py:warm", regressions=ROWS)
    (row,) = Path(ROWS).read_text().splitlines()
    Path(ROWS).write_text(f"\n{row.replace(was, now)}\n")
    with pytest.raises(UserError, match=f"{ROWS}:2: .*{said}"):
        check_property("mine.py:right", configurations=one_dimension(), regressions=ROWS, **OPTIONS)
    assert main(["replay", ROWS, "--run-code"]) == 2
    assert re.search(f"error: {ROWS}:2: .*{said}", capsys.readouterr().err)


def test_a_claim_without_a_rate_has_no_plot(folder: Path) -> None:
    found = violation_of("mine.py:warm", checks=["sgverify/stated-order"], regressions=ROWS)
    assert found.counterexample is not None and found.counterexample.plot is None
    assert settings_of(found.counterexample.configuration) == []
    assert [path.suffix for path in Path("sgverify-counterexamples").iterdir() if path.suffix] == [".json"]


def test_a_scheme_that_no_command_line_loads_gets_no_row(folder: Path) -> None:
    from sgverify.exact.readings.formula import plant
    from sgverify.schemes import find_scheme

    nowhere = plant(find_scheme("sgld-euler"), "sqrt(2*T*h)", "sqrt(2*h)")
    with pytest.raises(Violation) as caught:
        check_property(nowhere, configurations=one_dimension(), regressions=ROWS, **OPTIONS)
    assert "no row: " in str(caught.value) and "give it a name there" in str(caught.value)
    assert not Path(ROWS).exists()


def test_continuous_integration_shows_the_row_and_does_not_write_it(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    module = {"__file__": str(folder / "tests" / "test_mine.py")}
    assert places_for(module).regressions is not None and places_for(module).regressions.writes
    monkeypatch.setenv("CI", "true")
    places = places_for(module)
    assert places.regressions is not None and not places.regressions.writes
    assert places.regressions.path == Path("tests") / ROWS
    monkeypatch.setattr("sgverify.pytest_plugin.chosen_places", lambda: ("mine.jsonl", "left"))
    asked = places_for(module)
    assert asked.regressions is not None and asked.regressions.writes
    assert (asked.regressions.path, asked.counterexamples) == (Path("mine.jsonl"), Path("left"))
    monkeypatch.setattr("sgverify.pytest_plugin.chosen_places", lambda: ("off", None))
    assert places_for(module).regressions is None


@pytest.mark.power  # 1.2 s
def test_a_property_of_a_correct_scheme_holds_by_the_librarys_own_strategy(folder: Path) -> None:
    held = check_property(
        "sghmc-baoab", checks=["sgverify/stated-order"], configurations=configurations(), max_examples=3
    )
    assert {(evidence.claim, evidence.verdict) for evidence in held} == {
        ("sgverify/stated-order", "conforms")
    }
    assert not Path(ROWS).exists() and not Path("sgverify-counterexamples").exists()


def test_one_configuration_and_a_strategy_for_them_exclude_each_other() -> None:
    with pytest.raises(UserError, match="leave one out"):
        parametrize_with_checks(["sgld-euler"], config={"friction": 3.0}, configurations=one_dimension())


def test_a_place_that_cannot_be_written_does_not_hide_the_violation(folder: Path) -> None:
    (folder / "file").write_text("")
    found = violation_of("mine.py:warm", regressions="no/such/rows.jsonl", folder="file")
    kept = found.counterexample
    assert kept is not None and kept.plot is kept.stored is None and kept.row is not None
    assert "files       none: " in found.text and "regression  not written: " in found.text
    assert f"    {kept.row.text}" in found.text and "replay      sgverify verify" in found.text


def test_a_hypothesis_test_of_ones_own_notes_its_command(folder: Path) -> None:
    claim = find_claim("chen2015/theorem-4")
    base = Subject(load_scheme("mine.py:warm"), load_configuration(), "mine.py:warm")

    # Finding is what matters here; that strategies shrink well is tested with them.
    @settings(max_examples=20, phases=[Phase.generate])
    @given(one_dimension())
    def mine(configuration: Configuration) -> None:
        note_replay("mine.py:warm", configuration, claim.id)
        one_step = load_configuration(configuration, sweep={"steps": [2.0**-20]})
        found = run_check(Question(subject_under(base, one_step), claim, "stationary-bias"))
        assert found.verdict == "conforms"

    with pytest.raises(AssertionError) as caught:
        mine()
    (line,) = re.findall(r"replay: (sgverify .*)", "\n".join(caught.value.__notes__))
    words = shlex.split(line)
    assert main(words[1:]) == 1
