from __future__ import annotations

import dataclasses
from fractions import Fraction

import numpy
import pytest

from sgverify.evidence import VERDICTS, Evidence, Found, Point, Predicted, exit_code, whole_outcome


def test_exponents_are_ints_where_whole_and_floats_elsewhere():
    assert Predicted(Fraction(4, 2)).exponent == 2
    assert isinstance(Predicted(Fraction(4, 2)).exponent, int)
    assert isinstance(Found(1.0).exponent, int)
    assert Found(Fraction(-2, 3)).exponent == -2 / 3


@pytest.mark.parametrize("bad, word", [(float("nan"), "nan"), (float("inf"), "inf"), (float("-inf"), "-inf")])
def test_numbers_that_are_not_finite_are_named(bad, word):
    point = Point(step=0.1, value=bad, standard_error=bad)
    assert point.value is None and point.standard_error is None
    assert point.note == f"value is {word}; standard_error is {word}"
    found = Found(1, low=bad)
    assert found.low is None and found.note == f"low is {word}"


def test_a_note_of_the_check_is_kept():
    assert (
        Point(step=0.1, value=float("nan"), note="diverged at step 7").note
        == "diverged at step 7; value is nan"
    )


def test_a_point_needs_a_place_and_a_value_or_a_reason():
    with pytest.raises(ValueError, match="step or a length"):
        Point(value=1.0)
    with pytest.raises(ValueError, match="note"):
        Point(step=0.1)


@pytest.mark.parametrize(
    "field, value",
    [
        ("verdict", "passes"),
        ("method", "guess"),
        ("scheme", ""),
        ("claim", ""),
        ("check", ""),
        ("reason", ""),
    ],
)
def test_words_that_the_contract_does_not_have_are_refused(evidence, field, value):
    with pytest.raises(ValueError, match=field):
        dataclasses.replace(evidence, **{field: value})


def test_only_a_violation_is_refuted(evidence):
    assert dataclasses.replace(evidence, refuted=True).refuted
    with pytest.raises(ValueError, match="refuted"):
        dataclasses.replace(evidence, refuted=True, verdict="conforms")


def test_the_outcome_follows_from_verdict_and_refutation(evidence):
    words = {
        "conforms": "pass",
        "violates": "fail",
        "inconclusive": "undecided",
        "not-applicable": "not-applicable",
    }
    assert {verdict: dataclasses.replace(evidence, verdict=verdict).outcome for verdict in VERDICTS} == words
    assert dataclasses.replace(evidence, verdict="violates", refuted=True).outcome == "refuted"


@pytest.mark.parametrize(
    "verdicts, whole, code",
    [
        (["conforms", "not-applicable"], "pass", 0),
        (["conforms", "inconclusive"], "undecided", 3),
        (["conforms", "inconclusive", "violates"], "fail", 1),
        (["not-applicable"], "undecided", 3),
        ([], "undecided", 3),
    ],
)
def test_a_whole_answer_passes_only_if_something_passes(evidence, verdicts, whole, code):
    found = [dataclasses.replace(evidence, verdict=verdict) for verdict in verdicts]
    assert (whole_outcome(found), exit_code(found)) == (whole, code)
    refuted = dataclasses.replace(evidence, verdict="violates", refuted=True)
    assert (whole_outcome([*found, refuted]), exit_code([*found, refuted])) == (whole, code)


def test_predictions_are_finite_and_upper_or_sharp():
    with pytest.raises(ValueError, match="finite"):
        Predicted(float("inf"))
    with pytest.raises(ValueError, match="kind"):
        Predicted(1, kind="lower")  # type: ignore[arg-type]


def test_certificates_become_plain_json(evidence):
    certificate = {
        "fraction": Fraction(1, 24),
        "whole": Fraction(4, 2),
        "tuple": (1, numpy.float64(0.5), numpy.int64(3)),
        "array": numpy.array([[1.0, float("nan")]]),
        "bound": float("inf"),
    }
    assert dataclasses.replace(evidence, certificate=certificate).certificate == {
        "fraction": "1/24",
        "whole": "2",
        "tuple": [1, 0.5, 3],
        "array": [[1.0, None]],
        "bound": None,
        "not_finite": {"/array/0/1": "nan", "/bound": "inf"},
    }


def test_values_without_a_json_form_are_refused_by_their_place(evidence):
    with pytest.raises(TypeError, match="/deep/0"):
        dataclasses.replace(evidence, certificate={"deep": [object()]})
    with pytest.raises(TypeError, match="keys are strings"):
        dataclasses.replace(evidence, certificate={1: "one"})


def test_configurations_are_finite_and_copied(evidence):
    with pytest.raises(ValueError, match="finite"):
        dataclasses.replace(evidence, configuration={"step": float("nan")})
    mine = {"target": {"dim": 1}}
    item = Evidence(**{**_fields(evidence), "configuration": mine})
    mine["target"]["dim"] = 2
    assert item.configuration == {"target": {"dim": 1}}


def test_evidence_is_frozen(evidence):
    with pytest.raises(dataclasses.FrozenInstanceError):
        evidence.verdict = "conforms"


def _fields(evidence):
    return {field.name: getattr(evidence, field.name) for field in dataclasses.fields(evidence) if field.init}


def test_the_repr_is_short_and_says_the_outcome(evidence):
    long = dataclasses.replace(evidence, reason="a word " * 1000, certificate={"terms": ["x"] * 10_000})
    assert len(repr(long)) < 700 and len(repr(long).splitlines()) == 3
    assert repr(long).startswith(f"<Evidence {long.outcome}: {long.check} of {long.scheme}")
    assert long.passed == (long.outcome == "pass")
