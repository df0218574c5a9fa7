"""Rates of samples whose reference average is estimated: right and wrong steps, provenance, and its error in every point."""

from __future__ import annotations

from pathlib import Path

import pytest

from sgverify.checks import rate
from sgverify.checks.rates.sampled.method import reference_of, truth_of, with_resolution
from sgverify.configuration import load_configuration
from sgverify.evidence import Evidence
from sgverify.exact.readings.formula import plant
from sgverify.rates.decision import Decision
from sgverify.schemes import Scheme, find_scheme
from sgverify.subject.binding import make_subject

BENT = """
import sgverify

@sgverify.log_density(dim=2)
def bent(theta):
    x, y = theta.unbind(-1)
    return -x**2/2 - (y - 0.05*x**2)**2
"""


@pytest.fixture
def bent(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    (tmp_path / "bent.py").write_text(BENT)
    # The name is part of the configuration, from which the seeds of chains come.
    monkeypatch.chdir(tmp_path)
    return "bent.py:bent"


def asked(scheme: Scheme | str, target: str, **settings) -> Evidence:
    given = {"chains": 512, "steps": 100, "schedule": {"step": 0.25}, **settings}
    return rate(scheme, quantity="stationary-bias", target={"name": target}, **given)


def test_a_wrong_step_is_refuted_and_a_right_one_is_not(bent: str) -> None:
    right = asked("sgld-euler", bent)
    assert right.verdict in ("conforms", "inconclusive") and right.method == "monte-carlo", right.reason
    found = right.certificate["reference_average"]
    assert found["method"] == "importance sampling" and abs(found["value"] - 1) < 5 * found["standard_error"]
    assert found["standard_error"] < found["error_in_tests"] < 2 * found["standard_error"]
    assert 0.8 < found["effective"] < 1 and found["draws"] >= 8192 and "Student" in found["law"]
    for point in right.points:
        assert point.standard_error is not None and point.standard_error > found["standard_error"]
    wrong = asked(plant(find_scheme("sgld-euler"), "sqrt(2*T*h)", "sqrt(T*h)"), bent)
    assert wrong.verdict == "violates" and wrong.reason.startswith("h^0 carries"), wrong.reason


def test_stated_averages_win_and_momenta_are_exact(bent: str) -> None:
    table = {"name": bent, "averages": {"theta[0]**2": 1.5}}

    def subject(phi: str):
        configuration = load_configuration(target=table, test_function=phi, temperature=2.0)
        return make_subject("sghmc-baoab", configuration)

    assert reference_of(subject("theta[0]**2")).method == "stated"
    mixed = reference_of(subject("theta[0]**2 + 10*theta[1]*p[0] + p[1]**2"))
    # The part with a factor p[0] has the average 0, and is not looked for.
    assert (mixed.method, float(mixed), mixed.standard_error) == ("stated", 3.5, 0.0)
    both = reference_of(subject("theta[0]**2 + theta[1]"))
    # At temperature T, theta[0] has the variance T = 2, and theta[1] the mean 0.05 T.
    assert both.method == "importance sampling" and abs(float(both) - 1.6) < 5 * both.standard_error


def test_no_reference_says_why(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "two.py").write_text(
        "import sgverify, torch\n\n@sgverify.log_density(dim=2, location=[3.0, 0.0])\ndef two(theta):\n"
        "    shift = torch.tensor([30.0, 0.0], dtype=theta.dtype)\n"
        "    return torch.logaddexp(-((theta - shift/10)**2).sum(-1)/2, 1 - ((theta + shift)**2).sum(-1)/2)\n"
    )
    evidence = asked("sgld-euler", "two.py:two")
    assert evidence.verdict == "inconclusive" and "another minimum" in evidence.reason, evidence.reason


def test_what_the_reference_does_not_resolve_is_said(bent: str) -> None:
    subject = make_subject("sgld-euler", load_configuration(target={"name": bent}))
    error = truth_of(subject)[1]
    open_ = Decision("inconclusive", "too uncertain")
    assert "the reference average is known within" in with_resolution(subject, open_, error**2).reason
    assert with_resolution(subject, open_, 100 * error**2) == open_
