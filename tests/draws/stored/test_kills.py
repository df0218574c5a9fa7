"""Runs that are killed at random moments go on to the bytes of those that were left alone."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

from reports.making import killed_runs as kills


@pytest.mark.campaign  # kills processes
@pytest.mark.parametrize("name", ["overdamped, SVRG", "netCDF at the end"])
def test_killed_runs_end_as_if_they_had_been_left_alone(name: str) -> None:
    code = f"import json; from reports import killed_runs as kills; kills.load(); print(json.dumps(kills.killed({name!r}, 4, 1)))"
    found = subprocess.run(
        [sys.executable, "-c", code], cwd=kills.FOLDER.parents[1], capture_output=True, text=True, check=True
    )
    row = json.loads(found.stdout)
    assert row["kills"] == 4
    assert row["complete"] and not row["differing"]


def test_the_last_result_has_twenty_kills_of_each_run_and_no_other_bytes() -> None:
    folder = kills.FOLDER
    rows = json.loads((folder / "killed_runs.json").read_text(encoding="utf-8"))
    assert rows.keys() == kills.RUNS.keys()
    for row in rows.values():
        assert row["kills"] >= 20
        assert row["resumed"] > 0
        assert row["complete"] > 0
        assert row["differing"] == 0
    assert (folder / "killed_runs.md").read_text(encoding="utf-8") == kills.page(rows)
