"""Errata as documents: they follow the published schema and come back as they were."""

from __future__ import annotations

import json
from dataclasses import fields, replace
from pathlib import Path

import pytest
from jsonschema import Draft202012Validator

from sgverify.errors import UserError
from sgverify.evidence import ERRATA, Erratum, Provenance, decode_errata, encode_errata, write_errata
from sgverify.evidence.erratum import RefutingFamily, asymptotic, powers
from tests.tables import each_row

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
    along = replace(WRONG, printed="1 + o(1)", family=powers("h", 1, 2, "for every smooth U"))
    assert decode_errata(encode_errata([along], MADE)) == (along,)
    assert "family" not in document["errata"][0]
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


@each_row(
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
    with pytest.raises(UserError, match=message):
        Erratum(**{**given, **change})


def test_the_schema_refuses_a_failure_without_its_weight() -> None:
    document = encode_errata([WRONG], MADE)
    for name in ("severity", "root", "affects", "because", "read_as"):
        (item,) = document["errata"]
        without = {**document, "errata": [{key: value for key, value in item.items() if key != name}]}
        with pytest.raises(UserError, match=name):
            decode_errata(without)


FAMILY = {"along": "m -> infinity", "hypotheses": "p_i = o(P_i)", "gaps": (0.1, 0.01, 0.001), "printed": 1}


@each_row(
    ("change", "message"),
    [
        # The counterexamples that were published once: one partition, and partitions that do not meet the hypothesis.
        ({"ratios": (1.6,), "gaps": (0.67,)}, "3 members at least"),
        ({"ratios": (1.6, 1.6, 1.6), "gaps": (0.67, 0.5, 0.6)}, "hypotheses do not come to hold"),
        ({"ratios": (1.6, 1.6, 1.6), "gaps": (0.67, 0.66, 0.65)}, "hypotheses do not come to hold"),
        ({"ratios": (1.1, 1.01, 1.001)}, "may be as printed"),
        ({"ratios": (2, 1.5, 1.33)}, "may be as printed"),
        ({"ratios": (1.6, 3, 1.6)}, "may be as printed"),
        # A ratio that stays bounded is no refutation of an O.
        ({"ratios": (1, 1.9, 2), "printed": None, "gaps": ()}, "may be as printed"),
        ({"ratios": (10, 5, 20), "printed": None, "gaps": ()}, "may be as printed"),
    ],
)
def test_a_family_that_refutes_nothing_is_none(change: dict[str, object], message: str) -> None:
    with pytest.raises(UserError, match=message):
        RefutingFamily(**{**FAMILY, **change})  # type: ignore[arg-type]


def test_a_family_along_which_the_hypotheses_come_to_hold_refutes() -> None:
    found = RefutingFamily(**FAMILY, ratios=(1.569, 1.597, 1.6))  # type: ignore[arg-type]
    assert "printed to tend to 1: 1.569, 1.597, 1.6" in str(found)
    assert powers("L", -1 / 3, -2 / 3, "a model").along == "L -> infinity"
    with pytest.raises(ValueError, match="may be as printed"):
        powers("h", 2, 2, "a model")


@each_row("where", ["printed", "read_as"])
@each_row(
    "statement",
    [
        "theta = (1 + o(1)) P",
        "W_2 = O(h^2)",
        "the weights converge to theta*",
        "J ≲ 1/k",
        "h → 0: p = q",
        "it tends to 0",
    ],
)
def test_a_statement_about_a_limit_is_refuted_by_a_family_or_in_a_part_that_takes_none(
    statement: str, where: str
) -> None:
    """A planted erratum that holds one example against a limit."""
    with pytest.raises(UserError, match="speaks of a limit, which no finite example refutes"):
        replace(WRONG, **{where: statement})
    family = powers("h", 1, 2, "for every smooth U")
    assert replace(WRONG, **{where: statement}, family=family).family == family
    assert replace(WRONG, **{where: statement}, finite="its second entry").finite
    assert not asymptotic(WRONG.printed)


@pytest.mark.parametrize("printed", ["E[S] ≈ min{1, S}", "it is linear approximately", "Approximately x = 2"])
def test_what_claims_no_equality_weighs_no_more_than_a_reading(printed: str) -> None:
    for severity in ("consequence", "local", "typographical"):
        with pytest.raises(ValueError, match="claims no equality"):
            replace(WRONG, printed=printed, severity=severity)
    assert replace(WRONG, printed=printed, severity="reading").printed == printed
