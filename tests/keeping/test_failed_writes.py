"""Every write of a command fails in turn: one message, and the old answer or a new one."""

from __future__ import annotations

import json
import shutil

import pytest

from reports.making import failed_writes, forced_runs


@pytest.mark.skipif(shutil.which("cc") is None, reason="the library that lets calls fail is compiled")
@pytest.mark.parametrize(
    "names",
    [
        failed_writes.QUICK,
        pytest.param(
            [name for name in failed_writes.COMMANDS if name not in failed_writes.QUICK],
            marks=pytest.mark.campaign,
        ),
    ],
    ids=["quick", "others"],
)
def test_every_write_of_a_command_fails_in_turn(names: list[str]) -> None:
    rows = failed_writes.run(names)
    for name, row in rows.items():
        assert row["wrong"] == [], name
        assert row["calls"] >= 4 and row["failures"] >= 3 * row["calls"] - 3
    assert all(rows[name]["answered"] == 0 for name in names if name in failed_writes.QUICK)


def test_what_is_left_half_written_is_found(
    monkeypatch: pytest.MonkeyPatch, tmp_path_factory: pytest.TempPathFactory
) -> None:
    server = failed_writes.Server(None, tmp_path_factory.mktemp("work"))
    server._old, server._before = {"a.json": "old"}, server._work.with_name("before")
    server._before.mkdir(exist_ok=True)
    ended, whole = failed_writes.Ended(2, "error: no room\n", 1), failed_writes.Ended(0, "", 1)

    def faults(**how: object) -> str:
        return server._faults(
            failed_writes.Ended(**{**vars(ended), **how}), whole, ("a.json",), {"a.json": "}}\n"}
        )

    place = server._work / "a.json"
    place.write_text("old")
    assert faults() == ""
    assert (
        "0 messages" in faults(said="no room")
        and "traceback" in faults(said="Traceback")
        and "exit code" in faults(code=4)
    )
    (server._work / ".a.json.00000000.part").touch()
    assert "left: ['.a.json.00000000.part']" in faults()
    (server._work / ".a.json.00000000.part").unlink()
    place.write_text('{"half": ')
    assert "neither the old one nor a new one" in faults()
    place.unlink()
    assert (
        "neither" in faults() and faults(said="error: x\nremoved: a.json, which an earlier call wrote") == ""
    )


def test_the_last_results_are_of_twelve_commands_and_nothing_is_lost() -> None:
    rows = json.loads((failed_writes.FOLDER / "failed_writes.json").read_text(encoding="utf-8"))
    assert rows.keys() <= failed_writes.COMMANDS.keys() and len(rows) >= 12
    assert [name for name, row in rows.items() if row["wrong"] or row["failures"] < row["calls"]] == []
    assert (failed_writes.FOLDER / "failed_writes.md").read_text(encoding="utf-8") == failed_writes.page(rows)
    runs = json.loads((forced_runs.FOLDER / "forced_runs.json").read_text(encoding="utf-8"))
    assert sum(row.get("rounds", 0) for row in runs.values()) >= 50
    assert sum(row.get("kills", 0) for row in runs.values()) >= 20
    for name, row in runs.items():
        lost = ("lost", "other files left", "old draws lost", "with other bytes", "ended otherwise")
        assert not any(row.get(key) for key in lost), name
    assert (forced_runs.FOLDER / "forced_runs.md").read_text(encoding="utf-8") == forced_runs.page(runs)
