"""The suites: what they ask of whom."""

from __future__ import annotations

import pytest

from sgverify.papers.chen2015.suite import BIASED, RIEMANNIAN, THERMOSTATS
from sgverify.papers.chen2015.suite import suite as chen2015
from sgverify.papers.suites import EFFORTS


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
