"""Errata as documents: they follow the published schema and come back as they were."""

from __future__ import annotations

import json
from dataclasses import fields
from pathlib import Path

import pytest
from jsonschema import Draft202012Validator

from sgverify.errors import UserError
from sgverify.evidence import ERRATA, Erratum, Provenance, decode_errata, encode_errata, write_errata

WRONG = Erratum(
    id="chen2015/equation-8",
    where="(8)",
    printed="2D",
    read_as="2D",
    holds="D",
    severity="typographical",
    root="chen2015/second-derivatives",
    affects="nothing",
    because="a factor",
    fails=True,
    method="proof",
    certificate={"difference": "D"},
)
RIGHT = Erratum(
    id="chen2015/equation-40-lower",
    where="(40)",
    printed="<",
    read_as="<",
    fails=False,
    method="exact",
    certificate={"lengths": [1, 2]},
)
MADE = Provenance.gather(command="sgverify errata", seconds=1.0)


def test_the_schema_is_one_and_names_every_field() -> None:
    Draft202012Validator.check_schema(ERRATA.schema())
    properties = set(ERRATA.schema()["$defs"]["Erratum"]["properties"])
    assert properties == {field.name for field in fields(Erratum)} - {"fails"}


def test_a_document_comes_back(tmp_path: Path) -> None:
    path = tmp_path / "errata.json"
    write_errata(path, [RIGHT, WRONG], MADE)
    document = json.loads(path.read_text())
    assert [item["id"] for item in document["errata"]] == [WRONG.id]
    assert decode_errata(document) == (WRONG, RIGHT)
    assert encode_errata([WRONG, RIGHT], MADE) == document


@pytest.mark.parametrize(
    ("document", "message"),
    [
        ({}, 'has no "schema"'),
        ({"schema": "sgverify/errata/1"}, "errata of another version"),
        ({"schema": "sgverify/evidence/1"}, "is not errata"),
        ({"schema": "sgverify/errata/2"}, "'provenance' is a required property"),
    ],
)
def test_another_document_is_refused_by_name(document: dict[str, str], message: str) -> None:
    with pytest.raises(UserError, match=message):
        decode_errata(document)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"holds": ""}, "say what holds instead"),
        ({"read_as": ""}, "needs a read_as"),
        ({"severity": ""}, "say its severity"),
        ({"severity": "grave"}, "severity='grave'"),
        ({"root": ""}, "say its root"),
        ({"affects": ""}, "say its affects"),
        ({"because": ""}, "say its because"),
        ({"certificate": {}}, "needs a certificate"),
        ({"method": "guess"}, "method='guess'"),
        ({"certificate": {"x": float("nan")}}, "is finite"),
    ],
)
def test_an_erratum_without_its_reasons_is_refused(change: dict[str, object], message: str) -> None:
    given = {field.name: getattr(WRONG, field.name) for field in fields(Erratum)}
    with pytest.raises(ValueError, match=message):
        Erratum(**{**given, **change})


def test_the_schema_refuses_a_failure_without_its_weight() -> None:
    document = encode_errata([WRONG], MADE)
    for name in ("severity", "root", "affects", "because", "read_as"):
        (item,) = document["errata"]
        without = {**document, "errata": [{key: value for key, value in item.items() if key != name}]}
        with pytest.raises(UserError, match=name):
            decode_errata(without)
