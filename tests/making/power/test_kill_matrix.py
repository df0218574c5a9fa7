"""A kill matrix keeps what it is given, follows its published schema, and is refused where it is another document."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from reports.making.power.kill_matrix import (
    JudgedMutant,
    JudgedScheme,
    KillMatrix,
    Trial,
    decode_kill_matrix,
    encode_kill_matrix,
    write_kill_matrix,
)
from sgverify.errors import UserError
from sgverify.evidence import Provenance

MADE = Provenance(
    version="0", python="3", torch="2", platform="here", command="sgverify mutants", seconds=1.0
)
SEEN = Trial(
    check="agreement",
    claim="a/b",
    method="monte-carlo",
    outcome="violates",
    kill=True,
    milliseconds=3.0,
    reason="the averages differ",
)
PROVED = replace(SEEN, check="local-order", method="proof", milliseconds=5.0)
SHARED = replace(SEEN, check="mse", method="exact", refuted=True, kill=False, milliseconds=7.5)
MUTANT = JudgedMutant(
    name="m",
    family="f",
    scheme="sgld-euler",
    place="formula",
    edits=(("a", "b"), ("c", "d")),
    settings={"steps": 3},
    reason="r",
    source="s",
    trials=(SEEN, SHARED, PROVED),
)
CORRECT = JudgedScheme(scheme="sgld-euler", settings={}, trials=(SHARED,))
MATRIX = KillMatrix(configuration={"temperature": 0.5}, mutants=(MUTANT,), correct=(CORRECT,))


def test_the_cheapest_kill_is_on_the_highest_rung_whatever_it_took() -> None:
    assert MUTANT.cheapest == PROVED
    assert MUTANT.kills == (PROVED, SEEN)
    assert MUTANT.exact_milliseconds() == (7.5, 12.5)
    assert replace(MUTANT, trials=(SHARED,)).cheapest is None


def test_a_claim_that_falls_for_all_is_no_alarm_and_a_crash_is_one() -> None:
    assert CORRECT.alarms == ()
    for outcome in ("refused", "crashed"):
        assert replace(CORRECT, trials=(replace(SHARED, outcome=outcome, refuted=False),)).alarms


def test_a_matrix_comes_back_from_json_as_it_was(tmp_path) -> None:
    write_kill_matrix(tmp_path / "m.json", MATRIX, MADE)
    document = json.loads((tmp_path / "m.json").read_text(encoding="utf-8"))
    assert decode_kill_matrix(document) == MATRIX
    assert document["mutants"][0]["cheapest"] == {"check": "local-order", "claim": "a/b", "method": "proof"}
    assert [question["check"] for question in document["questions"]] == ["agreement", "mse", "local-order"]


def test_a_question_that_does_not_apply_is_not_written() -> None:
    apart = replace(SEEN, outcome="not-applicable", kill=False)
    whole = replace(MATRIX, correct=(replace(CORRECT, trials=(SHARED, apart)),))
    assert decode_kill_matrix(encode_kill_matrix(whole, MADE)) == MATRIX


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        ({"schema": "sgverify/mutants/1"}, "another version"),
        ({"schema": "sgverify/evidence/1"}, "not kill matrix"),
        ({"mutants": [{}]}, "does not follow"),
    ],
)
def test_another_document_is_refused(change: dict, problem: str) -> None:
    document = {**encode_kill_matrix(MATRIX, MADE), **change}
    with pytest.raises(UserError, match=problem):
        decode_kill_matrix(document)
