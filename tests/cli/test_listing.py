"""`sgverify list`: the catalogues, as text and as JSON."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from sgverify.checks import CHECKS
from sgverify.claims import claims
from sgverify.schemes.catalogue import NAMED, PATTERNS
from sgverify.schemes.composites import COMPOSITES
from sgverify.targets import TARGETS
from tests.cli.conftest import Call


@pytest.mark.parametrize(
    ("kind", "names"),
    [
        ("schemes", [*NAMED, *PATTERNS, *COMPOSITES]),
        ("targets", list(TARGETS)),
        ("claims", list(claims())),
        ("checks", list(CHECKS)),
    ],
)
def test_every_name_with_summary_and_source(call: Call, kind: str, names: list[str]) -> None:
    answer = call("list", kind, "--json", "-")
    assert (answer.code, answer.err) == (0, "")
    document = answer.document
    assert set(document) == {"schema", "kind", "items"} and document["kind"] == kind
    assert [item["name"] for item in document["items"]] == names
    assert all(
        set(item) == {"name", "summary", "source"} and all(item.values()) for item in document["items"]
    )
    text = call("list", kind).out
    assert len(text.splitlines()) == len(names)
    assert all(name in text for name in names)


def test_into_a_file(call: Call, tmp_path: Path) -> None:
    answer = call("list", "claims", "--json", str(tmp_path / "claims.json"))
    assert "chen2015/theorem-4" in answer.out
    assert (
        json.loads((tmp_path / "claims.json").read_text()) == call("list", "claims", "--json", "-").document
    )


@pytest.mark.parametrize(("kind", "nearest"), [("sceme", "schemes"), ("claim", "claims"), ("CHECKS", "")])
def test_another_kind(call: Call, kind: str, nearest: str) -> None:
    answer = call("list", kind)
    assert (answer.code, answer.out) == (2, "")
    assert repr(kind) in answer.err and nearest in answer.err
    assert answer.err.count("\n") == 1
