"""Calibrations as documents: they follow the published schema and come back as they were."""

from __future__ import annotations

import json
from dataclasses import fields, replace
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from reports.making.calibration.document import (
    CALIBRATION,
    Bar,
    Calibration,
    Counted,
    Tally,
    decode_calibration,
    encode_calibration,
    write_calibration,
)
from sgverify.errors import UserError
from sgverify.evidence import Provenance

CELL = Tally(
    name="order 2",
    truth="keeps",
    claim="order 2",
    sampling="independent",
    errors="Gaussian",
    looks=1,
    noise=0.003,
    replications=10,
    conforms=8,
    violates=1,
    inconclusive=1,
    habit=None,
    covered=9,
)
BAR = Bar("false violates", None, 0.01, 1, CELL.label, 1, 10, (0.0025, 0.4450), "undecided")
WHOLE = Calibration(
    1,
    0.15,
    "a slope",
    (Counted("order-2", "Order 2", "", 0.01, (CELL,)),),
    (BAR,),
    Provenance("1", "3", "2", "here", "sgverify calibrate", 1.5),
)


def test_a_calibration_comes_back(tmp_path: Path) -> None:
    write_calibration(tmp_path / "calibration.json", WHOLE)
    document = json.loads((tmp_path / "calibration.json").read_text(encoding="utf-8"))
    assert document == encode_calibration(WHOLE)
    assert decode_calibration(document) == WHOLE


def test_the_schema_is_one_and_names_every_field() -> None:
    Draft202012Validator.check_schema(CALIBRATION.schema())
    known = CALIBRATION.schema()["$defs"]
    for kind, name in ((Tally, "Tally"), (Counted, "Counted"), (Bar, "Bar")):
        assert {field.name for field in fields(kind)} == set(known[name]["properties"])
        assert set(known[name]["required"]) == set(known[name]["properties"])


@pytest.mark.parametrize(
    ("document", "message"),
    [
        ({}, 'has no "schema"'),
        ({"schema": "sgverify/calibration/1"}, "calibration of another version"),
        ({"schema": "sgverify/evidence/1"}, "is not calibration"),
        ({"schema": "sgverify/calibration/2"}, "is a required property"),
    ],
)
def test_other_documents_are_refused(document: dict[str, Any], message: str) -> None:
    with pytest.raises(UserError, match=message):
        decode_calibration(document)


def test_what_does_not_follow_the_schema_is_not_written(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="does not follow"):
        write_calibration(tmp_path / "calibration.json", replace(WHOLE, seed=-1))
    assert not list(tmp_path.iterdir())


def test_verdicts_add_up() -> None:
    with pytest.raises(ValueError, match="add up"):
        replace(CELL, violates=2)


@pytest.mark.parametrize(("truth", "wrong"), [("keeps", 1), ("breaks", 8), ("either", None)])
def test_what_is_false_depends_on_the_truth(truth: Any, wrong: int | None) -> None:
    assert replace(CELL, truth=truth).wrong == wrong
