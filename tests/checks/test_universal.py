"""Whether a scheme's averaged defect is the one that gradient noise alone leaves behind every scheme of order two."""

from __future__ import annotations

from dataclasses import replace

import pytest

from sgverify.checks import applicable_claims, verify
from sgverify.checks.applicable_claims import universal_defect
from sgverify.configuration import load_configuration
from sgverify.schemes import find_scheme
from sgverify.strategies.schemes import kept_force
from sgverify.subject.binding import make_subject
from tests.zoo.schemes import WEAK, heun_of_two_minibatches, nose, unreadable

NOISY = {"target": {"data": [0.1, 0.5, 1.0, 0.2]}, "gradient": {"kind": "iid", "batch": 2}}


@pytest.mark.by_default(
    "scheme0-True",
    "scheme1-True",
    "scheme2-False",
    "scheme3-False",
    "scheme4-False",
    "scheme5-True",
    "scheme7-False",
)
@pytest.mark.parametrize(
    ("scheme", "universal"),
    [
        (find_scheme("sghmc-aboba"), True),
        (find_scheme("sghmc-obabo"), True),
        (find_scheme("sgld-euler"), False),
        (WEAK, False),
        (nose, False),
        (heun_of_two_minibatches, True),
        (kept_force, True),
        (unreadable, False),
    ],
)
def test_universal_defect(scheme, universal: bool) -> None:
    assert universal_defect(make_subject(scheme, load_configuration(None))) is universal


def test_the_noise_refutes_the_theorem_for_several_minibatches_a_step_too() -> None:
    for scheme in (find_scheme("sghmc-aboba"), heun_of_two_minibatches):
        found = verify(scheme, checks=["stationary-bias"], **NOISY)
        assert [(item.verdict, item.refuted) for item in found] == [("violates", True), ("conforms", False)]


def test_a_wrong_scheme_is_not_excused_by_the_noise() -> None:
    found = verify(WEAK, checks=["stationary-bias"], **NOISY)
    assert [(item.verdict, item.refuted) for item in found] == [("violates", False)]


@pytest.mark.parametrize("corrected", ["inconclusive", "violates"])
def test_a_theorem_that_falls_for_all_is_not_held_against_a_scheme_whose_corrected_claim_is_open(
    monkeypatch: pytest.MonkeyPatch, corrected: str
) -> None:
    """Few samples may refute the printed h^2 long before they show the h that holds in its place."""
    plain = applicable_claims.run_check

    def run(question, **options):
        found = plain(question, **options)
        return replace(found, verdict=corrected) if question.claim.id.startswith("corrected/") else found

    monkeypatch.setattr(applicable_claims, "run_check", run)
    found = verify(find_scheme("sghmc-aboba"), checks=["stationary-bias"], **NOISY)
    printed = [("violates", corrected == "inconclusive")]
    assert [(item.verdict, item.refuted) for item in found] == (
        [*printed, ("inconclusive", False)] if corrected == "inconclusive" else printed
    )
