"""What a test run leaves behind: the page of its evidence, the JSON, and a baseline; also from workers, and when tests fail."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace

import pytest

from sgverify import pytest_plugin
from sgverify.evidence import read_evidence
from sgverify.evidence.recorded import BaselineFile
from tests.inner_run import run_inside

Run = Callable[..., pytest.RunResult]

SCHEMES = """
from sgverify import scheme, sqrt
from sgverify.schemes import langevin
from sgverify.strategies import configurations
from sgverify.testing import parametrize_with_checks

@scheme(langevin, order=1)
def right(theta, *, h, grad, noise, T):
    return theta - h*grad(theta) + sqrt(2*T*h)*noise()

@scheme(langevin, order=1)
def wrong(theta, *, h, grad, noise, T):
    return theta - h*grad(theta) + sqrt(T*h)*noise()

@scheme(langevin, order=1)
def worse(theta, *, h, grad, noise, T):
    return theta - 2*h*grad(theta) + sqrt(T*h)*noise()
"""

SUITE = (
    SCHEMES
    + """
@parametrize_with_checks([right, wrong], checks=["sgverify/stated-order", "chen2015/lemma-8"])
def test_conforms(scheme, check, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    check(scheme)
"""
)

PROPERTIES = (
    SCHEMES
    + """
few = configurations(dims=[1], kinds=["full"], lowest=2)

@parametrize_with_checks([right, wrong, worse], checks=["sgverify/stated-order"], configurations=few, max_examples=3)
def test_order(scheme, check):
    check(scheme)

@parametrize_with_checks([right, wrong, worse], checks=["stationary-bias"], configurations=few, max_examples=3)
def test_bias(scheme, check):
    check(scheme)

@parametrize_with_checks([right, wrong], checks=["sgverify/stated-order"], expected_failures={"wrong": {"local-order": "so"}})
def test_conforms(scheme, check):
    check(scheme)
"""
)


@pytest.fixture
def suite(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder of a suite in which one of two schemes fails."""
    monkeypatch.delenv("CI", raising=False)
    monkeypatch.chdir(tmp_path)
    (tmp_path / "test_mine.py").write_text(SUITE, encoding="utf-8")
    return tmp_path


@pytest.fixture
def run(suite: Path, capsys: pytest.CaptureFixture[str]) -> Run:
    """`run("-k", "right")` is pytest in the suite's folder."""
    return lambda *arguments: run_inside(suite, capsys, *arguments)


@pytest.mark.power  # 1.0 s
def test_the_page_of_a_run_with_failures(suite: Path, run: Run) -> None:
    result = run("--sgverify-report", "site/page", "--sgverify-json", "all.json")
    result.assert_outcomes(passed=1, failed=1, skipped=2)
    page = suite / "site" / "page"
    assert sorted(path.name for path in page.iterdir()) == [
        "evidence.html",
        "index.html",
        "junit.xml",
        "report.json",
        "report.md",
    ]
    document = read_evidence(page / "report.json")
    assert [item.outcome for item in document.evidence].count("fail") == 1 and len(document.evidence) == 4
    assert document.evidence == read_evidence(suite / "all.json").evidence
    assert (
        document.provenance.command.startswith("pytest ")
        and "--sgverify-report" in document.provenance.command
    )
    text = (page / "index.html").read_text()
    assert "test_mine.py:wrong" in text and "test_mine.py:right" in text
    # One line each, after the count.
    result.stdout.fnmatch_lines(
        [
            "4 pieces of evidence: 1 pass, 1 fail, 2 not-applicable",
            "evidence written to all.json",
            "report written to site/page/index.html",
        ]
    )


@pytest.mark.power  # 1.2 s
def test_a_question_that_two_tests_ask_counts_once(suite: Path, run: Run) -> None:
    again = SUITE[SUITE.index("@parametrize") :].replace("test_conforms", "test_again")
    (suite / "test_mine.py").write_text(SUITE + "\n\n" + again)
    result = run("--sgverify-report", "page")
    result.assert_outcomes(passed=2, failed=2, skipped=4)
    result.stdout.fnmatch_lines(["4 pieces of evidence: 1 pass, 1 fail, 2 not-applicable"])
    assert len(read_evidence(suite / "page" / "report.json").evidence) == 4


@pytest.mark.power  # 3.0 s
def test_a_run_that_is_stopped_leaves_what_it_found(suite: Path, run: Run) -> None:
    (suite / "test_mine.py").write_text(SUITE + "\n\ndef test_stopped():\n    raise KeyboardInterrupt\n")
    result = run("--sgverify-report", "page")
    assert result.ret == pytest.ExitCode.INTERRUPTED
    result.stdout.fnmatch_lines(["report written to page/index.html"])
    assert len(read_evidence(suite / "page" / "report.json").evidence) == 4
    # The first failure ends the run; the baseline keeps the rows of what was not asked.
    (suite / "test_mine.py").write_text(SUITE.replace("[right, wrong]", "[wrong, right]"))
    run("--sgverify-write-baseline", "known.json", "-x")
    assert len(BaselineFile.read("known.json").baseline.violations) == 1
    run("--sgverify-write-baseline", "known.json", "-k", "right")
    assert len(BaselineFile.read("known.json").baseline.violations) == 1


@pytest.mark.power  # 1.7 s
def test_a_run_without_evidence_has_a_page_that_says_so(suite: Path, run: Run) -> None:
    assert run("--sgverify-report", "page", "--collect-only", "-q").ret == 0
    assert list((suite / "page").iterdir()) == []
    (suite / "test_mine.py").write_text("def test_nothing(): pass\n")
    result = run("--sgverify-report", "page")
    result.stdout.fnmatch_lines(["report written to page/index.html: no check of sgverify left evidence"])
    assert result.ret == 0 and read_evidence(suite / "page" / "report.json").evidence == ()


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (
            ("--sgverify-report", "test_mine.py"),
            "sgverify-report='test_mine.py': it is a file; expected a folder",
        ),
        (
            ("--sgverify-report", "test_mine.py/x"),
            "a part of its path is a file; expected a folder to write to",
        ),
        (("--sgverify-report="), "--sgverify-report='': expected a folder to write to"),
        (
            ("--sgverify-json", "no/such.json"),
            "--sgverify-json=no/such.json: cannot be written (No such file or directory); expected a file",
        ),
        (
            ("--sgverify-write-baseline", "no/such.json"),
            "--sgverify-write-baseline=no/such.json: cannot be written",
        ),
        (("--sgverify-write-baseline", "test_mine.py"), "baseline 'test_mine.py' is not JSON"),
        (("--sgverify-baseline", "none.json"), "--sgverify-baseline: baseline 'none.json' does not exist"),
    ],
)
def test_a_wrong_place_is_a_usage_error_of_one_line(
    run: Run, words: tuple[str, ...] | str, told: str
) -> None:
    result = run(*([words] if isinstance(words, str) else words))
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    errors = [line for line in result.errlines if line.strip()]
    assert len(errors) == 1 and errors[0].startswith("ERROR: ") and told in errors[0]
    assert "Traceback" not in result.stdout.str()


@pytest.mark.power  # 0.8 s
def test_a_page_that_cannot_be_written_at_the_end_is_told(
    suite: Path, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    test = "def test_that_breaks_the_place():\n    import os\n    os.rmdir('page')\n    open('page', 'w').close()\n"
    (suite / "test_mine.py").write_text(test)
    result = run("--sgverify-report", "page")
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.assert_outcomes(passed=1)
    result.stdout.fnmatch_lines(["ERROR: *page*expected*"])
    assert "Traceback" not in result.stdout.str() + result.stderr.str()


def test_known_violations_are_expected_and_new_ones_fail(suite: Path, run: Run) -> None:
    written = run("--sgverify-write-baseline", "known.json")
    # Writing excuses nothing.
    written.assert_outcomes(passed=1, failed=1, skipped=2)
    written.stdout.fnmatch_lines(["1 violation written to known.json, which has 1 in all"])
    (row,) = BaselineFile.read("known.json").baseline.violations
    assert (row.scheme, row.claim) == ("test_mine.py:wrong", "sgverify/stated-order")
    # The tests leave the folder in which pytest was started; rows are about files there.
    name = str(suite / "known.json")
    known = run("--sgverify-baseline", name, "-rx")
    assert known.ret == 0
    known.assert_outcomes(passed=1, xfailed=1, skipped=2)
    known.stdout.fnmatch_lines([f"XFAIL *known violation (baseline {name}): local order 0*"])
    known.stdout.fnmatch_lines([f"PASS against the baseline {name}: 1 known violation, 0 new"])
    new = SUITE.replace("[right, wrong]", "[right, wrong, worse]")
    (suite / "test_mine.py").write_text(new)
    failing = run("--sgverify-baseline", "known.json")
    failing.assert_outcomes(passed=1, xfailed=1, failed=1, skipped=3)
    failing.stdout.fnmatch_lines(["FAIL against the baseline known.json: 1 known violation, 1 new"])
    failing.stdout.fnmatch_lines(["FAILED *worse-sgverify/stated-order-local-order*"])
    (suite / "test_mine.py").write_text(SUITE.replace("sqrt(T*h)", "sqrt(2*T*h)"))
    gone = run("--sgverify-baseline", "known.json", "--sgverify-write-baseline", "known.json")
    assert gone.ret == 0
    gone.stdout.fnmatch_lines(
        [
            "PASS against the baseline known.json: 0 known violations, 0 new; 1 known violation no longer occurs",
            "no longer occurs, may be removed: test_mine.py:wrong local-order (sgverify/stated-order), now pass",
            "0 violations written to known.json, which has 0 in all",
        ]
    )


@pytest.mark.power  # 2.7 s
def test_what_no_row_can_hold_is_new(suite: Path, run: Run) -> None:
    """Generated configurations, and schemes that no command line can load; what is expected to fail has its own reason."""
    (suite / "test_mine.py").write_text(
        PROPERTIES
        + """
def made():
    @scheme(langevin, order=1)
    def nameless(theta, *, h, grad, noise, T):
        return theta - h*grad(theta) + sqrt(T*h)*noise()
    return nameless

@parametrize_with_checks([made()], checks=["sgverify/stated-order"])
def test_made(scheme, check):
    check(scheme)
"""
    )
    asked = ("-k", "test_made or test_conforms or (test_order and wrong)", "--sgverify-regressions", "off")
    written = run(*asked, "--sgverify-write-baseline", "known.json")
    written.assert_outcomes(passed=1, xfailed=1, failed=2, deselected=written.parseoutcomes()["deselected"])
    assert json.loads(Path("known.json").read_text())["violations"] == []
    # Not even a row with the same question excuses them.
    row = {
        "claim": "sgverify/stated-order", "check": "local-order", "configuration": {}, "reason": "So.",
        "found": {"exponent": 0, "low": 0, "high": 0},
    }  # fmt: skip
    names = ("test_mine.py:wrong", "nameless")
    document = {"schema": "sgverify/baseline/1", "violations": [{"scheme": name, **row} for name in names]}
    Path("known.json").write_text(json.dumps(document))
    result = run(*asked, "--sgverify-baseline", "known.json")
    result.assert_outcomes(passed=1, xfailed=1, failed=2, deselected=result.parseoutcomes()["deselected"])
    result.stdout.fnmatch_lines(["FAIL against the baseline known.json: 0 known violations, 2 new*"])


def test_of_tests_that_ask_one_question_the_worst_answer_is_kept() -> None:
    run = pytest_plugin._Run(None)  # type: ignore[arg-type]
    for outcomes in (("pass", "fail", "undecided"), ("fail", "undecided", "pass")):
        run._found = [({"id": "x", "outcome": outcome}, "row") for outcome in outcomes]
        assert run._answers() == [({"id": "x", "outcome": "fail"}, "row")]


def test_a_worker_writes_nothing() -> None:
    config = SimpleNamespace(workerinput={}, option=SimpleNamespace(collectonly=False))
    run = pytest_plugin._Run(config)  # type: ignore[arg-type]
    # Without the rest of a configuration it could not even be asked for its options.
    run.pytest_sessionfinish(None)  # type: ignore[arg-type]
    del config.workerinput
    with pytest.raises(AttributeError, match="getoption"):
        run.pytest_sessionfinish(None)  # type: ignore[arg-type]


def answers(path: Path) -> list[object]:
    return [
        (item.id, item.scheme, item.claim, item.outcome, item.found, item.points, item.reason)
        for item in read_evidence(path).evidence
    ]


@pytest.mark.power  # several runs of pytest with two workers
def test_workers_give_the_same_outcomes_page_and_regressions(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.delenv("CI", raising=False)
    runs: dict[str, list[pytest.RunResult]] = {}
    for workers in ("0", "2"):
        folder = tmp_path / workers
        folder.mkdir()
        (folder / "test_mine.py").write_text(PROPERTIES)
        runs[workers] = [
            run_inside(folder, capsys, "-n", workers, "--sgverify-report", f"page{number}", "-rx")
            for number in (1, 2)
        ]
    alone, shared = tmp_path / "0", tmp_path / "2"
    for one, other in zip(runs["0"], runs["2"], strict=True):
        outcomes = one.parseoutcomes()
        assert {**outcomes, "warnings": 0} == {**other.parseoutcomes(), "warnings": 0}
        assert outcomes["passed"] > 0 and outcomes["failed"] > 3 and outcomes["xfailed"] == 1
        assert one.ret == other.ret == pytest.ExitCode.TESTS_FAILED
    for page in ("page1", "page2"):
        assert answers(alone / page / "report.json") == answers(shared / page / "report.json") != []
        assert (shared / page / "index.html").stat().st_size > 10_000
    # Every failing property added its row, whichever worker it ran in; the second run judges the rows and adds none.
    rows = (alone / "sgverify-regressions.jsonl").read_text()
    assert rows == (shared / "sgverify-regressions.jsonl").read_text()
    assert rows.count("\n") >= 4 and "test_mine.py:wrong" in rows and "test_mine.py:worse" in rows
    for second in (runs["0"][1], runs["2"][1]):
        assert "row added to" not in second.stdout.str()
        second.stdout.fnmatch_lines(["*1, the last is the row at *sgverify-regressions.jsonl:*"])
    left = {path.name for path in (shared / "sgverify-counterexamples").iterdir()}
    assert left == {path.name for path in (alone / "sgverify-counterexamples").iterdir()}
    # The baseline is known to the workers too, and the controller compares and writes what they found.
    (shared / "test_mine.py").write_text(SUITE)
    written = run_inside(shared, capsys, "-n", "2", "--sgverify-write-baseline", "known.json")
    written.assert_outcomes(passed=1, failed=1, skipped=2)
    known = run_inside(shared, capsys, "-n", "2", "--sgverify-baseline", "known.json")
    known.assert_outcomes(passed=1, xfailed=1, skipped=2)
    known.stdout.fnmatch_lines(["PASS against the baseline known.json: 1 known violation, 0 new"])
    refused = run_inside(shared, capsys, "-n", "2", "--sgverify-report", "test_mine.py")
    assert refused.ret == pytest.ExitCode.USAGE_ERROR and len(refused.errlines) <= 2
