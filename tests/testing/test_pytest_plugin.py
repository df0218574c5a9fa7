"""The pytest plugin, tried in suites of its own: failures that can be read, skips with reasons, evidence in a file."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace

import pytest

from sgverify.cli import main
from sgverify.pytest_plugin import TALLIES, _Run
from sgverify.testing import parametrize_with_checks
from sgverify.testing.references import reference_of
from tests.inner_run import run_inside

Run = Callable[..., pytest.RunResult]

SUITE = """
from sgverify import Alphabet, exp, sqrt
from sgverify.schemes import kinetic
from sgverify.strategies import configurations
from sgverify.testing import parametrize_with_checks

def drift(theta, p, *, t): return theta + t*p, p
def friction(theta, p, *, t, D): return theta, exp(-D*t)*p
def kick(theta, p, *, t, grad, noise, D, T): return theta, p - t*grad(theta) + sqrt(2*D*T*t)*noise()
def weak(theta, p, *, t, grad, noise, D, T): return theta, p - t*grad(theta) + sqrt(D*T*t)*noise()

right = Alphabet("right", kinetic, A=drift, B=friction, O=kick).word("ABOBA", order=2)
wrong = Alphabet("wrong", kinetic, A=drift, B=friction, O=weak).word("ABOBA", order=2)

@parametrize_with_checks([right, wrong], checks=["chen2015/theorem-4", "stated-order", "chen2015/lemma-12"])
def test_conforms(scheme, check):
    check(scheme)

few = configurations(dims=[1], kinds=["full"], lowest=2)

@parametrize_with_checks([right, wrong], checks=["chen2015/theorem-3"], configurations=few, max_examples=3)
def test_property(scheme, check):
    check(scheme)

def test_of_something_else():
    assert 1 + 1 == 3
""".replace('"stated-order"', '"sgverify/stated-order"')


@pytest.fixture
def suite(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder of a suite."""
    monkeypatch.delenv("CI", raising=False)
    monkeypatch.chdir(tmp_path)
    (tmp_path / "test_mine.py").write_text(SUITE, encoding="utf-8")
    return tmp_path


@pytest.fixture
def run(suite: Path, capsys: pytest.CaptureFixture[str]) -> Run:
    """`run("-k", "right")` is pytest in the suite's folder."""
    return lambda *arguments: run_inside(suite, capsys, *arguments)


def test_a_violation_is_told_in_words_and_with_a_replay_that_runs(
    run: Run, capsys: pytest.CaptureFixture[str]
) -> None:
    result = run("-m", "sgverify", "-k", "wrong and stationary-bias", "-rs")
    result.assert_outcomes(failed=1, deselected=result.parseoutcomes()["deselected"])
    text = result.stdout.str()
    assert "fail: test_mine.py:wrong, chen2015/theorem-4 (stationary-bias)" in text
    told = text[text.index("FAIL  test_mine.py:wrong: stationary-bias: ") :].splitlines()
    assert [line[:14].strip() for line in told[1:] if line[2:3].strip()][:2] == ["cause", "mend"]
    assert "parametrize.py" not in text and "Traceback" not in text and "certificate" not in text
    assert "predicted" in text and "h = " in text
    replay = next(line.split("replay")[1].strip() for line in text.splitlines() if "  replay " in line)
    assert replay.startswith("sgverify verify test_mine.py:wrong --checks chen2015/theorem-4")
    assert main(replay.split()[1:]) == 1 and "✗ fail" in capsys.readouterr().out


@pytest.mark.power  # 2.4 s
def test_what_is_not_settled_is_skipped_with_its_reason_and_counted(run: Run) -> None:
    result = run("-k", "right and (lemma-12 or theorem-4-stationary)", "-rs")
    result.stdout.fnmatch_lines(["*SKIPPED*not-applicable: *lemma-12*"])
    result.stdout.fnmatch_lines(["*= sgverify =*", "2 pieces of evidence: 1 pass, 1 not-applicable"])
    assert result.ret == 0


@pytest.mark.power  # 1.2 s
def test_other_tests_keep_their_tracebacks_and_the_summary_stays_away(run: Run) -> None:
    result = run("-m", "not sgverify")
    result.stdout.fnmatch_lines(["*assert (1 + 1) == 3*"])
    assert "pieces of evidence" not in result.stdout.str() and "= sgverify =" not in result.stdout.str()


def test_a_mistake_of_the_user_is_one_message(suite: Path, run: Run) -> None:
    lines = [
        "from sgverify.testing import parametrize_with_checks",
        "",
        '@parametrize_with_checks(["sghmc-abobo"], checks=["chen2015/theorem-4"])',
        "def test_conforms(scheme, check):",
        "    check(scheme)",
    ]
    (suite / "test_mine.py").write_text("\n".join(lines), encoding="utf-8")
    result = run()
    text = result.stdout.str()
    assert "sghmc-abobo" in text and "Traceback" not in text and "parametrize.py" not in text
    # Once, with the line that made it, and not in each of the tests.
    assert "test_mine.py:3: UnknownNameError: " in text
    result.assert_outcomes(errors=1)
    assert result.ret == pytest.ExitCode.INTERRUPTED


@pytest.mark.power  # 0.9 s
def test_a_row_that_cannot_be_read_fails_the_module_once(suite: Path, run: Run) -> None:
    (suite / "sgverify-regressions.jsonl").write_text('{"a": 1\n')
    lines = [
        "from sgverify.strategies import configurations",
        "from sgverify.testing import parametrize_with_checks",
        "",
        '@parametrize_with_checks(["sgld-euler"], configurations=configurations())',
        "def test_conforms(scheme, check):",
        "    check(scheme)",
    ]
    (suite / "test_mine.py").write_text("\n".join(lines), encoding="utf-8")
    # Without the summary, which tells the error once more.
    result = run("-rN")
    result.assert_outcomes(errors=1)
    assert result.stdout.str().count("UserError: ") == 1
    result.stdout.fnmatch_lines(["*.py:4: UserError: *sgverify-regressions.jsonl:1*"])


def test_a_property_that_settles_nothing_did_not_hold() -> None:
    lines: list[str] = []
    terminal = SimpleNamespace(section=lines.append, write_line=lines.append)
    config = SimpleNamespace(getoption=lambda name: None)
    run = _Run(config)  # type: ignore[arg-type]
    unsettled = {"undecided": 13, "not-applicable": 26}
    for tallies in ({"pass": 2, "undecided": 1}, unsettled, unsettled):
        run.pytest_runtest_logreport(SimpleNamespace(**{TALLIES: [tallies]}))  # type: ignore[arg-type]
    run.pytest_terminal_summary(terminal)
    assert lines[1:] == [
        "properties that held: 1, under 3 configurations: 2 pass, 1 undecided",
        "properties that settled nothing: 2, under 78 configurations: 26 undecided, 52 not-applicable",
    ]


def test_a_file_that_cannot_be_written_is_refused_before_the_tests_run(run: Run) -> None:
    result = run("--sgverify-json", "no/such/folder.json")
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines(
        ["*cannot be written (No such file or directory); expected a file in a folder that exists*"]
    )


@pytest.mark.power  # 1.3 s
def test_the_plugin_brings_nothing_heavy_into_runs_that_do_not_use_it(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(
        """
        import sys

        def test_nothing_heavy():
            assert "sgverify.pytest_plugin" in sys.modules
            for name in ("torch", "sympy", "numpy", "flint", "matplotlib", "sgverify.evidence"):
                assert name not in sys.modules, name
        """
    )
    # In a process of its own, as a user has it: the plugin comes from the entry point. zarr, which draws may be saved
    # with, has a plugin of its own that loads numpy.
    arguments = ("-p", "no:cacheprovider", "-p", "no:zarr")
    pytester.runpytest_subprocess(*arguments, timeout=120).assert_outcomes(passed=1)


def test_schemes_are_named_as_a_command_line_loads_them() -> None:
    from sgverify.schemes import find_scheme

    aboba = find_scheme("sghmc-aboba")
    renamed = aboba.named("mine")
    assert reference_of(aboba, {}) == "sghmc-aboba"
    assert reference_of(renamed, {}) == "mine"
    assert (
        reference_of(renamed, {"best": renamed, "__file__": "some/folder/mine.py"})
        == "some/folder/mine.py:best"
    )


def test_unknown_checks_and_things_that_are_no_schemes_are_refused() -> None:
    with pytest.raises(Exception, match="nearest|theorem-4"):
        parametrize_with_checks(["sgld-euler"], checks=["chen2015/theorem-44"])
    with pytest.raises(Exception, match="expected a Scheme, an optimizer"):
        parametrize_with_checks([3])  # type: ignore[list-item]
