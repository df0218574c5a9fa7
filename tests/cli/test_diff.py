"""`sgverify diff`: exit codes, lines, JSON."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from sgverify.keeping import identity
from sgverify.keeping.identity import key_of
from sgverify.keeping.store import Store
from tests.cli.conftest import Call

ASKED = ("rate", "mine.py:heun", "--quantity", "local-order", "--json")


def test_a_definition_before_and_after_an_edit(call: Call, tmp_path: Path) -> None:
    assert call(*ASKED, "old.json").code == 0
    file = tmp_path / "mine.py"
    file.write_text(file.read_text(encoding="utf-8").replace("2*T*h", "T*h", 1), encoding="utf-8")
    assert call(*ASKED, "new.json").code == 1
    same = call("diff", "old.json", "old.json")
    assert (same.code, same.err) == (0, "") and same.out.startswith("SAME: 1 question")
    answer = call("diff", "old.json", "new.json")
    assert answer.code == 1 and answer.out.startswith(
        "worse: pass -> fail, mine.py:heun sgverify/stated-order (local-order)"
    )
    assert "exponent at found/exponent 2 -> 0" in answer.out and "DIFFERENT: 1 question" in answer.out
    document = call("diff", "old.json", "new.json", "--json", "-").document
    assert document["changes"][0]["changes"][0] == {
        "what": "outcome", "where": "outcome", "old": "pass", "new": "fail", "decided": "the outcomes are not the same",
    }  # fmt: skip


def test_a_wrong_call_is_one_line(call: Call, tmp_path: Path) -> None:
    (tmp_path / "later.json").write_text(json.dumps({"schema": "sgverify/evidence/99", "evidence": []}))
    for words, says in (
        (("none.json", "none.json"), "does not exist"),
        (("later.json", "later.json"), "evidence of another version: schema='sgverify/evidence/99'"),
        ((".", "."), "has no report.json"),
    ):
        answer = call("diff", *words)
        assert (answer.code, answer.out, answer.err.count("\n")) == (2, "", 1) and says in answer.err


def test_two_stores(call: Call, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    # A file of the package that somebody edits meanwhile is no matter here.
    monkeypatch.setattr(identity, "changed_since_start", lambda state: False)
    identity._KEPT.clear()
    for name, count in (("old.sqlite", 1), ("new.sqlite", 2)):
        with Store(tmp_path / name) as store:
            assert store.keep(key_of("example", {"cell": 1}), {"wrong": count}, 1.0)
    assert call("diff", "old.sqlite", "old.sqlite").code == 0
    answer = call("diff", "old.sqlite", "new.sqlite")
    assert answer.code == 1 and "changed: example cell=1: constant at value/wrong 1 -> 2" in answer.out
    (tmp_path / "other.sqlite").write_bytes(b"SQLite format 3\0" + bytes(200))
    answer = call("diff", "old.sqlite", "other.sqlite")
    assert (answer.code, answer.out, answer.err.count("\n")) == (
        2,
        "",
        1,
    ) and "no store of sgverify" in answer.err
