"""Studies are data: they survive JSON, refuse numbers that are none, and say what is wrong with a file."""

from __future__ import annotations

import dataclasses
import json
import math

import pytest

from sgverify.errors import UserError
from sgverify.evidence import (
    Panel,
    Provenance,
    Series,
    Study,
    Table,
    encode_studies,
    read_studies,
    studies_schema,
    validate_studies,
    write_studies,
)
from sgverify.evidence.study import Studies

PROVENANCE = Provenance("0.0.0", "3.11", "2.13", "a machine", "sgverify report", 1.5)
STUDY = Study(
    id="paper/figure-1",
    title="A figure",
    source="paper Figure 1",
    summary="What is shown.",
    panels=(
        Panel(
            "one", "h", "bias",
            (
                Series("a", "exact", (0.1, 0.2, 0.4), (1e-3, -2e-3, None), note="diverged at h = 0.4"),
                Series("a", "sampled", (0.1, 0.2), (1.1e-3, None), (1e-4, None)),
            ),
        ),
    ),
    tables=(Table("t", ("what", "how many"), (("x", 1), ("y", 0.5), ("z", None))),),
    notes=("a note",),
    seconds=0.25,
)  # fmt: skip


def test_studies_survive_a_file(tmp_path):
    path = tmp_path / "studies.json"
    write_studies(path, [STUDY], PROVENANCE)
    assert read_studies(path) == Studies((STUDY,), PROVENANCE)


def test_the_same_studies_give_the_same_bytes(tmp_path):
    for name in ("a", "b"):
        write_studies(tmp_path / name, [STUDY], PROVENANCE)
    assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes()


def test_the_schema_is_a_schema_and_knows_every_field():
    from jsonschema import Draft202012Validator

    Draft202012Validator.check_schema(studies_schema())
    for name, kind in (("Study", Study), ("Panel", Panel), ("Series", Series), ("Table", Table)):
        fields = {field.name for field in dataclasses.fields(kind)}
        assert set(studies_schema()["$defs"][name]["properties"]) == fields


@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf])
def test_numbers_that_are_none_are_refused_by_name(value):
    with pytest.raises(ValueError, match=r"'a'.*None with a note"):
        Series("a", "exact", (1.0,), (value,))
    with pytest.raises(ValueError, match="'a'"):
        Series("a", "exact", (value,), (1.0,))
    with pytest.raises(ValueError, match="'a'"):
        Series("a", "sampled", (1.0,), (1.0,), (value,))
    with pytest.raises(ValueError, match="'t'"):
        Table("t", ("x",), ((value,),))


def test_two_studies_of_one_name_are_refused(tmp_path):
    with pytest.raises(ValueError, match="'paper/figure-1' occurs twice"):
        write_studies(tmp_path / "studies.json", [STUDY, STUDY], PROVENANCE)
    assert not (tmp_path / "studies.json").exists()


BROKEN = [
    (lambda tree: tree.update(schema="sgverify/evidence/1"), "sgverify/evidence/1"),
    (lambda tree: tree.pop("schema"), 'has no "schema"'),
    (lambda tree: tree["studies"][0].pop("summary"), "summary"),
    (lambda tree: tree["studies"][0]["panels"][0]["series"][0].update(kind="guessed"), "guessed"),
    (lambda tree: tree["studies"][0]["panels"][0]["series"][0].update(y=["1"]), "series"),
    (lambda tree: tree["studies"][0].update(id="no suite"), "no suite"),
    (lambda tree: tree["studies"][0].update(extra=1), "extra"),
]


@pytest.mark.parametrize(("change", "named"), BROKEN)
def test_a_file_that_does_not_follow_the_schema_is_refused_in_one_line(tmp_path, change, named):
    tree = encode_studies(Studies((STUDY,), PROVENANCE))
    validate_studies(tree)
    change(tree)
    path = tmp_path / "studies.json"
    path.write_text(json.dumps(tree))
    with pytest.raises(UserError) as error:
        read_studies(path)
    assert named in str(error.value) and "\n" not in str(error.value)


@pytest.mark.parametrize("text", ["{", "", "[1, 2"])
def test_a_file_that_is_no_json_is_refused(tmp_path, text):
    (tmp_path / "studies.json").write_text(text)
    with pytest.raises(UserError, match="not JSON"):
        read_studies(tmp_path / "studies.json")


def test_a_missing_file_is_refused(tmp_path):
    with pytest.raises(UserError, match=r"missing\.json.*does not exist"):
        read_studies(tmp_path / "missing.json")
