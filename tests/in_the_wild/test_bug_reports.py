"""Is every code with a reported fault told to be wrong, and right with the fault mended?"""

from __future__ import annotations

from pathlib import Path

import pytest

from sgverify import verify
from sgverify.verdict import Results
from tests.in_the_wild.bug_reports import REPORTS, BugReport

ALL = pytest.mark.parametrize("report", REPORTS, ids=lambda report: report.name)
FAST = ("local-order",)
"""The check that decides of one step alone."""


def verdict(report: BugReport, folder: Path, *, mended: bool, checks: tuple[str, ...] = ()) -> Results:
    file = folder / f"{report.name.replace('-', '_')}_{'mended' if mended else 'faulty'}.py"
    file.write_text(report.text(mended=mended), encoding="utf-8")
    name = "Sampler" if "class Sampler" in report.code else "sampler"
    return verify(f"{file}:{name}", {"gradient": {"kind": "full"}, **report.settings}, checks=checks)


@pytest.mark.power
@ALL
def test_a_reported_fault_is_found(report: BugReport, tmp_path: Path) -> None:
    # A friction of another size leaves the density alone: it is told, and no failure.
    expected = "undecided" if report.name == "openmm-friction" else "fail"
    assert verdict(report, tmp_path, mended=False).outcome == expected


@pytest.mark.power
@ALL
def test_the_mended_code_is_right(report: BugReport, tmp_path: Path) -> None:
    assert verdict(report, tmp_path, mended=True).outcome == "pass"


@pytest.mark.parametrize("report", REPORTS[:1], ids=lambda report: report.name)
def test_a_fault_of_one_step_is_told_from_its_mend(report: BugReport, tmp_path: Path) -> None:
    found = [verdict(report, tmp_path, mended=mended, checks=FAST).outcome for mended in (False, True)]
    assert found == ["fail", "pass"]
