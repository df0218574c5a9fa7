from __future__ import annotations

import copy

import pytest
from jsonschema import Draft202012Validator

from sgverify.errors import UserError
from sgverify.evidence import METHODS, SCHEMA_NAME, VERDICTS, encode, schema, validate


def test_the_schema_is_one_and_has_an_id():
    Draft202012Validator.check_schema(schema())
    assert schema()["$id"]
    assert schema()["properties"]["schema"]["const"] == SCHEMA_NAME


def test_the_schema_and_the_code_have_the_same_words():
    properties = schema()["$defs"]["Evidence"]["properties"]
    assert tuple(properties["verdict"]["enum"]) == VERDICTS
    assert tuple(properties["method"]["enum"]) == METHODS


def _at(document, path):
    for step in path[:-1]:
        document = document[step]
    return document, path[-1]


ITEM = ("evidence", 0)
POINT = (*ITEM, "points", 0)


@pytest.mark.parametrize(
    "path, value",
    [
        (("extra",), 1),
        (("provenance", "extra"), 1),
        (("provenance", "seconds"), -1),
        (("evidence",), {}),
        ((*ITEM, "extra"), 1),
        ((*ITEM, "id"), "Has Spaces"),
        ((*ITEM, "scheme"), ""),
        ((*ITEM, "claim"), "theorem-4"),
        ((*ITEM, "refuted"), "no"),
        ((*ITEM, "method"), "guess"),
        ((*ITEM, "verdict"), "passes"),
        ((*ITEM, "reason"), ""),
        ((*ITEM, "seconds"), None),
        ((*ITEM, "predicted", "kind"), "lower"),
        ((*ITEM, "predicted", "exponent"), "2"),
        ((*ITEM, "found", "exponent"), "2"),
        ((*ITEM, "found", "extra"), 0),
        ((*ITEM, "certificate"), []),
        ((*ITEM, "certificate", "not_finite"), {"/a": "huge"}),
        ((*POINT, "step"), 0),
        ((*POINT, "step"), None),
        ((*POINT, "length"), 0.5),
        ((*POINT, "value"), None),
        ((*POINT, "standard_error"), -1.0),
        ((*POINT, "kind"), "made-up"),
        ((*POINT, "extra"), 1),
    ],
)
def test_each_planted_fault_is_refused_in_one_line(document, path, value):
    broken = copy.deepcopy(encode(document))
    validate(broken)
    place, key = _at(broken, path)
    place[key] = value
    with pytest.raises(UserError) as error:
        validate(broken, where="evidence file 'x.json'")
    message = str(error.value)
    assert "\n" not in message and message.startswith("evidence file 'x.json'") and "$" in message


@pytest.mark.parametrize(
    "path", [(key,) for key in ("provenance", "evidence")] + [(*ITEM, "verdict"), (*POINT, "value")]
)
def test_each_missing_field_is_refused(document, path):
    broken = copy.deepcopy(encode(document))
    place, key = _at(broken, path)
    del place[key]
    with pytest.raises(UserError, match=key):
        validate(broken)


def test_only_a_violation_may_be_marked_refuted(document):
    broken = copy.deepcopy(encode(document))
    broken["evidence"][0].update(refuted=True, verdict="conforms")
    with pytest.raises(UserError):
        validate(broken)
