"""Lines of 100 columns hold whole sentences: of everything that the committed reports found, and of a user's scheme."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

import pytest

from sgverify.configuration import load_configuration
from sgverify.evidence import Evidence, read_evidence
from sgverify.schemes import langevin, scheme, sqrt
from sgverify.verdict.asking import enquire
from sgverify.verdict.block import few
from sgverify.verdict.lines import Lines
from sgverify.verdict.results import Results

REPORTS = Path(__file__).resolve().parents[2] / "reports"


def lines_of(evidence: Iterable[Evidence], asked: str) -> list[str]:
    found = Lines(asked, everything=True)
    return [*found.tell(list(evidence)), *found.end()]


def cut(lines: Iterable[str]) -> list[str]:
    return [
        line for text in lines for line in text.splitlines() if "…" in line or "—" in line or len(line) > 100
    ]


@pytest.mark.parametrize("suite", ["chen2015", "vr-resgld", "awsgld"])
def test_no_finding_of_a_report_is_cut(suite: str) -> None:
    evidence = read_evidence(REPORTS / suite / "report.json").evidence
    by_scheme: dict[str, list[Evidence]] = {}
    for item in evidence:
        by_scheme.setdefault(item.scheme, []).append(item)
    assert len(by_scheme) > 1
    for name, items in by_scheme.items():
        assert cut(lines_of(items, name)) == []
    # Each finding alone, under its own gradient.
    assert cut(line for item in evidence for line in lines_of([item], item.scheme)) == []


@scheme(langevin, order=1)
def heun(theta, *, h, grad, noise, T):
    kick = sqrt(2 * T * h) * noise()
    guess = theta - h * grad(theta) + kick
    return theta - h / 2 * (grad(theta) + grad(guess)) + kick


@scheme(langevin, order=1)
def weak(theta, *, h, grad, noise, T):
    return theta - h * grad(theta) + sqrt(T * h) * noise()


def test_no_line_about_a_users_scheme_is_cut() -> None:
    enquiry = enquire(heun, load_configuration(target={"size": 20}), brief=True)
    results = Results(enquiry.ask(), enquiry)
    lines = results.text(100).splitlines()
    assert sum(line.startswith("  ✓") for line in lines) > 15
    assert cut(lines) == []
    assert cut(lines_of(results, "heun")) == []


def test_no_line_about_a_wrong_scheme_is_cut_or_reads_as_required() -> None:
    enquiry = enquire(weak, load_configuration(target={"size": 20}), brief=True)
    lines = lines_of(enquiry.ask(None, None, "method"), "weak")
    assert cut(lines) == [] and sum(line.startswith("  ✗") for line in lines) > 4
    assert not [line for line in lines if line.startswith("  ✗") and "as required" in line]


def test_a_list_that_does_not_fit_says_how_many_are_left_out() -> None:
    text = (
        "  not tested  rates beyond Gaussians (--set target.name=double-well); float32; assumed: ergodicity"
    )
    assert few(text, 200) == text
    assert few(text, 80).endswith("(--set target.name=double-well); 2 more")
    assert few(text, 30) == ""
