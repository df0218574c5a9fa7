"""Answers of the commands of the reports are kept, and taken from the store."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from reports.making.calibration import plans
from tests.making.conftest import Call


@pytest.mark.power
def test_planted_bugs_and_calibrations_go_through_the_store(
    call: Call, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = ("power", "sgld-noise-by-h", "--first", "--json", "-", "--store", "kept.sqlite")
    first, second = (call(*asked) for _ in range(2))
    assert first.err == "" and second.err.startswith("1 of 1 answers were in the store")
    assert second.document["mutants"] == first.document["mutants"]
    assert second.document["provenance"]["reused"]["answers"] == 1

    monkeypatch.setattr(
        "reports.making.calibration.plans",
        lambda orders, *, quick=False: [
            replace(plan, settings=plan.settings[:1]) for plan in plans(orders, quick=quick)[:1]
        ],
    )
    asked = (
        "calibration",
        "--quick",
        "--order",
        "2",
        "--replications",
        "2",
        "--json",
        "-",
        "--store",
        "kept.sqlite",
    )
    first, second = (call(*asked) for _ in range(2))
    assert first.err == "" and second.err.startswith("1 of 1 answers were in the store")
    assert second.document["tables"] == first.document["tables"]
