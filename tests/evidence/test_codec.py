from __future__ import annotations

import dataclasses
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sgverify.evidence import (
    METHODS,
    VERDICTS,
    Document,
    Evidence,
    Found,
    Point,
    Predicted,
    Provenance,
    decode,
    documented,
    encode,
    validate,
)

words = st.text(st.characters(codec="utf-8", exclude_categories=["Cs"]), min_size=1, max_size=12)
numbers = st.floats(allow_nan=True, allow_infinity=True)
finite = st.floats(allow_nan=False, allow_infinity=False)
exponents = st.none() | st.fractions(-8, 8, max_denominator=30) | st.integers(-8, 8)
sizes = st.floats(0, allow_nan=False, allow_infinity=True)
json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | numbers | words | st.fractions(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(words, inner, max_size=3),
    max_leaves=8,
)


@st.composite
def points(draw):
    step = draw(st.none() | st.floats(1e-9, 1e3))
    length = draw(st.integers(1, 10**12) if step is None else st.none() | st.integers(1, 10**12))
    return Point(
        step=step,
        length=length,
        value=draw(numbers),
        standard_error=draw(sizes),
        error_bound=draw(sizes),
        kind=draw(st.sampled_from(["exact", "sampled"])),
        diverged=draw(st.booleans()),
        note=draw(st.none() | words),
    )


@st.composite
def evidences(draw):
    verdict = draw(st.sampled_from(VERDICTS))
    return Evidence(
        scheme=draw(words),
        claim=f"{draw(st.sampled_from(['chen2015', 'corrected', 'scheme']))}/{draw(st.sampled_from('abc'))}",
        check=draw(words),
        refuted=verdict == "violates" and draw(st.booleans()),
        configuration=draw(st.dictionaries(words, finite | words | st.booleans(), max_size=3)),
        method=draw(st.sampled_from(METHODS)),
        predicted=Predicted(draw(exponents), draw(st.sampled_from(["upper", "sharp"]))),
        found=Found(draw(exponents), draw(exponents | st.just(float("-inf"))), draw(exponents)),
        points=tuple(draw(st.lists(points(), max_size=3))),
        verdict=verdict,
        sharp=draw(st.booleans()),
        reason=draw(words),
        certificate=draw(
            st.dictionaries(words.filter(lambda key: key != "not_finite"), json_values, max_size=3)
        ),
        replay=draw(st.just("") | words),
        seconds=draw(st.floats(0, 1e6)),
    )


@given(st.lists(evidences(), max_size=3, unique_by=lambda item: item.id))
def test_every_document_follows_the_schema_and_comes_back(evidence):
    document = Document(tuple(evidence), Provenance("0", "3.11", "2.13", "here", "a command", 1.0))
    encoded = encode(document)
    validate(encoded)
    text = json.dumps(encoded, allow_nan=False)
    assert decode(json.loads(text)) == document
    assert json.dumps(encode(decode(json.loads(text))), allow_nan=False) == text


def test_the_fields_are_those_of_the_contract(document):
    encoded = encode(document)
    assert list(encoded) == ["schema", "provenance", "evidence"]
    assert encoded["schema"] == "sgverify/evidence/1"
    assert list(encoded["provenance"]) == ["version", "python", "torch", "platform", "command", "seconds"]
    item = encoded["evidence"][0]
    assert list(item) == [
        "id", "scheme", "claim", "check", "refuted", "configuration", "method", "predicted", "found", "points",
        "verdict", "outcome", "sharp", "scope", "reason", "certificate", "replay", "seconds",
    ]  # fmt: skip
    assert item["predicted"] == {"exponent": 2, "kind": "upper"}
    assert item["found"] == {"exponent": 1, "low": 1, "high": 1}
    assert list(item["points"][0])[:5] == ["step", "length", "value", "standard_error", "error_bound"]
    assert item["points"][0]["value"] == -1e-6
    assert item["certificate"] == {"coefficient": "1/24"}


def test_one_id_names_one_piece_of_evidence(evidence, provenance):
    again = dataclasses.replace(evidence, reason="Another sentence.")
    with pytest.raises(ValueError, match=evidence.id):
        documented([evidence, again], provenance)
