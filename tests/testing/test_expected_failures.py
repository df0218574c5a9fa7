"""`expected_failures`: an xfail with its reason where a scheme violates, a failure where it does not."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from sgverify.errors import UnknownNameError, UserError
from sgverify.evidence import Evidence, Found, Predicted
from sgverify.testing import Violation, parametrize_with_checks, recording, scheme_tests
from sgverify.testing.scheme_tests import (
    Conclusion,
    ExpectedFailure,
    SchemeCheck,
    conclude,
    expected,
    expected_failures,
)
from tests.inner_run import run_inside
from tests.tables import each_row

WRONG = """
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

"""

SUITE = (
    WRONG
    + """
known = {"wrong": {"sgverify/stated-order": "the factor 2 is missing", "chen2015/theorem-4-stationary-bias": "so is its bias"}}

@parametrize_with_checks([right, wrong], checks=["local-order", "chen2015/theorem-4"], expected_failures=known)
def test_conforms(scheme, check):
    check(scheme)

few = configurations(dims=[1], kinds=["full"])

@parametrize_with_checks(
    [wrong], checks=["sgverify/stated-order"], configurations=few, max_examples=2, expected_failures={"local-order": "as above"}
)
def test_everywhere(scheme, check):
    check(scheme)
"""
)

FIXED = (
    WRONG
    + """
known = {
    "local-order": "it once was wrong",
    "chen2015/lemma-8": "it is not known to be a splitting",
    "swap-balance": "it has no swaps",
}

@parametrize_with_checks([right], checks=["local-order", "chen2015/lemma-8"], expected_failures=known)
def test_conforms(scheme, check):
    check(scheme)
"""
)


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("CI", "true")
    return tmp_path


def test_an_expected_failure_is_an_xfail_with_its_reason(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (folder / "test_mine.py").write_text(SUITE)
    result = run_inside(folder, capsys, "-rxf")
    # Of theorem 4 two more quantities fail, which no entry names.
    result.assert_outcomes(passed=4, xfailed=3, failed=2)
    result.stdout.fnmatch_lines(
        [
            "XFAIL *wrong-sgverify/stated-order-local-order* - the factor 2 is missing",
            "XFAIL *wrong-chen2015/theorem-4-stationary-bias* - so is its bias",
            "XFAIL *test_everywhere*wrong-sgverify/stated-order-local-order* - as above",
        ]
    )
    result.stdout.fnmatch_lines(["FAILED *wrong-chen2015/theorem-4-covariance*"])


@pytest.mark.power  # 2.0 s
def test_what_passes_or_does_not_apply_fails_the_suite(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (folder / "test_mine.py").write_text(FIXED)
    result = run_inside(folder, capsys)
    result.assert_outcomes(failed=3)
    result.stdout.fnmatch_lines(["*expected to fail because it once was wrong, and passes: remove it*"])
    result.stdout.fnmatch_lines(
        [
            "*expected to fail because it is not known to be a splitting, and does not apply (not-applicable: *): remove it*"
        ]
    )
    result.stdout.fnmatch_lines(
        ["*?expected_failures-swap-balance?*", "UserError: expected_failures: 'swap-balance' names no test *"]
    )
    assert "Traceback" not in result.stdout.str()


def outcome_of(*verdicts: str) -> Conclusion:
    """What a test of one claim concludes from answers with these verdicts."""
    evidence = [
        replace(UNDECIDED, verdict=verdict, reason=f"Reason {number}.")  # type: ignore[arg-type]
        for number, verdict in enumerate(verdicts)
    ]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(scheme_tests, "judge_pair", lambda *_: evidence)
        found = SchemeCheck("sgverify/stated-order", "local-order").judge("sgld-euler")
    recording.take()
    return found


UNDECIDED = Evidence(
    scheme="sgld-euler", claim="sgverify/stated-order", check="local-order", method="exact", verdict="inconclusive",
    configuration={}, predicted=Predicted(1), found=Found(), reason="Reason.",
)  # fmt: skip


def ended(judged: Conclusion, expected: ExpectedFailure | None) -> str:
    """How a test with this conclusion ends: an exception of pytest that escaped a test would end that test in its own way."""
    try:
        conclude(judged, expected)
    except (pytest.skip.Exception, pytest.fail.Exception, pytest.xfail.Exception, Violation) as error:
        return f"{type(error).__name__}: {error}"
    return "passed"


def test_undecided_is_neither_the_failure_nor_its_end() -> None:
    reason = ExpectedFailure("local-order", "it is wrong")
    for verdicts in (("inconclusive",), ("not-applicable", "inconclusive"), ("conforms", "inconclusive")):
        told = ended(outcome_of(*verdicts), reason)
        assert told.startswith("Skipped: expected to fail because it is wrong, and undecided: Reason ")
        assert ended(outcome_of(*verdicts), None).startswith("Skipped: undecided: Reason ")
    for verdicts in (("conforms",), ("not-applicable",), ()):
        told = ended(outcome_of(*verdicts), reason)
        assert told.startswith("Failed: expected to fail because it is wrong, and ") and "remove it" in told
    assert ended(outcome_of("inconclusive", "violates"), reason) == "XFailed: it is wrong"


def test_a_new_violation_is_not_hidden_by_a_known_one_of_the_same_claim(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(scheme_tests, "_known", lambda item: None if item.reason == "Reason 1." else "known")
    assert ended(outcome_of("violates", "violates"), None).startswith(
        "Violation: sgverify/stated-order: Reason 1."
    )
    assert ended(outcome_of("violates", "conforms", "violates"), None) == "XFailed: known"


def test_the_narrowest_entry_counts() -> None:
    labels = ["heun", "aboba"]
    given = {
        "mse": "a check",
        "chen2015/theorem-3": "a claim",
        "chen2015/theorem-3-mse": "both",
        "heun": {"mse": "one scheme"},
    }
    entries = expected_failures(given, labels)

    def reason(label: str, claim: str, quantity: str) -> str | None:
        found = expected(entries, label, claim, quantity)
        return None if found is None else found.reason

    assert reason("heun", "chen2015/theorem-3", "mse") == "one scheme"
    assert reason("aboba", "chen2015/theorem-3", "mse") == "both"
    assert reason("aboba", "chen2015/theorem-5", "mse") == "a check"
    assert reason("aboba", "chen2015/theorem-5", "bias") is None
    without = {key: value for key, value in given.items() if key != "chen2015/theorem-3-mse"}
    entries = expected_failures(without, labels)
    assert reason("aboba", "chen2015/theorem-3", "mse") == "a claim"


@each_row(
    ("given", "told"),
    [
        ({"chen2015/theorem-44": "x"}, "'chen2015/theorem-44'; did you mean 'chen2015/theorem-4'"),
        ({"chen2015/theorem-4-mse": "x"}, "unknown claim, check or claim-check in expected_failures"),
        ({"sgld-eular": {"mse": "x"}}, "'sgld-eular'; did you mean 'sgld-euler'"),
        ({"sgld-euler": {"msee": "x"}}, "'msee'; did you mean 'mse'"),
        ({"sgld-euler": "x"}, "unknown claim"),
        ({"mse": ""}, "expected a sentence that says why it fails"),
        ({"mse": 3}, "expected a mapping"),
        (["mse"], "expected_failures=\\['mse'\\]: expected a mapping"),
    ],
)
def test_names_and_reasons_are_checked_at_once(given: Any, told: str) -> None:
    with pytest.raises(UserError, match=told):
        parametrize_with_checks(["sgld-euler"], expected_failures=given)
    assert issubclass(UnknownNameError, UserError)
