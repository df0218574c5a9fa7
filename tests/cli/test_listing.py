"""`sgverify list`: the catalogues, as text and as JSON."""

from __future__ import annotations

import json
from pathlib import Path
from typing import get_args

import pytest

from sgverify.checks import CHECKS
from sgverify.claims import claims
from sgverify.configuration import load_configuration
from sgverify.configuration.keys import keys
from sgverify.configuration.model import SCHEDULES, Configuration, GradientTable, ScheduleTable
from sgverify.gradients import ESTIMATORS
from sgverify.schemes.catalogue import APART, NAMED, PATTERNS
from sgverify.schemes.composites import COMPOSITES
from sgverify.targets import TARGETS
from tests.cli.conftest import Call


@pytest.mark.parametrize(
    ("kind", "names"),
    [
        ("schemes", [*NAMED, *APART, *PATTERNS, *COMPOSITES]),
        ("targets", list(TARGETS)),
        ("claims", list(claims())),
        ("checks", list(CHECKS)),
        ("gradients", list(ESTIMATORS)),
        ("schedules", list(SCHEDULES)),
        ("config", [key.name for key in keys()]),
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


def test_every_key_is_listed_with_its_default() -> None:
    listed = {key.name: key for key in keys()}
    # Defaults read back as the configuration that has none of its keys set.
    given = {key.name: key.default for key in keys() if key.default != "left open"}
    optional = {name for name, field in Configuration.model_fields.items() if field.default is None}
    tree: dict[str, object] = {}
    for name, default in given.items():
        table, _, last = name.rpartition(".")
        if table not in optional:
            (tree.setdefault(table, {}) if table else tree)[last] = json.loads(default)  # type: ignore[index]
    assert load_configuration(tree) == Configuration()
    assert listed["friction"].type == "number, above 0"
    assert listed["steps"].type == "whole number, 1 or more, at most 1e+12"
    assert listed["sweep.steps"].type == "list of (number, above 0), 1 or more"
    assert listed["gradient.covariance"].kinds == ("additive",)
    assert len(listed) == len(keys()) > 60


def test_the_kinds_are_those_of_the_configuration() -> None:
    for table, listed in ((GradientTable, ESTIMATORS), (ScheduleTable, SCHEDULES)):
        assert set(get_args(table.model_fields["kind"].annotation)) == set(listed)
