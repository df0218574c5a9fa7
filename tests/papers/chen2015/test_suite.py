"""The suites: what they ask of whom."""

from __future__ import annotations

from pathlib import Path

import pytest

from sgverify.papers.chen2015.suite import BIASED, RIEMANNIAN, THERMOSTATS
from sgverify.papers.chen2015.suite import suite as chen2015
from sgverify.papers.suites import EFFORTS, SuiteCase
from sgverify.report.wording import MEANINGS


@pytest.mark.parametrize("effort", EFFORTS)
def test_thermostats_riemannian_schemes_and_biased_gradients_are_judged(effort: str) -> None:
    cases = chen2015(effort)
    for scheme in (*THERMOSTATS, *RIEMANNIAN):
        asked = {check for case in cases if case.scheme == scheme for check in case.checks}
        assert {"local-order", "stationarity"} <= asked
    biased = [case for case in cases if BIASED in case.settings]
    assert {setting for case in biased for setting in case.settings} == {
        BIASED, "gradient.kind=full", "gradient.kind=iid",
    }  # fmt: skip


@pytest.mark.parametrize(
    ("scheme", "setting", "claims"),
    [
        ("sghmc-aboba", BIASED, {"chen2015/theorem-2", "chen2015/theorem-2-biased"}),
        ("sgrld-euler", "gradient.kind=full", {"sgverify/stated-order", "sgverify/stationarity"}),
    ],
)
def test_what_was_added_is_asked_about_claims_that_speak_of_it(
    scheme: str, setting: str, claims: set[str]
) -> None:
    case = next(case for case in chen2015("quick") if case.scheme == scheme and setting in case.settings)
    found = case.run()
    assert {item.claim for item in found} == claims and {item.verdict for item in found} == {"conforms"}


def test_thermostats_are_asked_about_theorem_4_with_and_without_minibatches() -> None:
    for effort in ("default", "full"):
        asked = {
            (case.scheme, case.settings[0])
            for case in chen2015(effort)
            if case.scheme in THERMOSTATS and "stationary-bias" in case.checks
        }
        assert asked == {(s, f"gradient.kind={kind}") for s in THERMOSTATS for kind in ("full", "iid")}


def test_what_is_refuted_is_so_for_the_scheme_and_setting_shown_and_another_of_its_order_may_pass() -> None:
    found = {
        scheme: {
            item.claim: item.outcome
            for item in SuiteCase(scheme, ("schedule.kind=power", "sweep.lengths=[10, 100]"), ("bias",)).run()
        }
        for scheme in ("sgld-euler", "sghmc-euler")
    }
    assert found["sgld-euler"]["chen2015/remark-7"] == "refuted"
    assert found["sghmc-euler"]["chen2015/remark-7"] == "pass"
    page = (Path(__file__).parents[3] / "docs" / "verdict.md").read_text(encoding="utf-8")
    (row,) = (line for line in page.splitlines() if line.startswith("| `refuted`"))
    assert not any("every scheme" in said or "no scheme" in said for said in (row, MEANINGS["refuted"]))
    assert "by an error of its own" in row and "by an error of its own" in MEANINGS["refuted"]
