"""`sgverify identify`: its exit codes, and its document."""

from __future__ import annotations

import pytest
from jsonschema import Draft202012Validator

from sgverify.cli.listing import find_schema
from tests.cli.conftest import Call


def test_a_scheme_of_the_catalogue_exits_with_0_and_writes_its_document(call: Call) -> None:
    answer = call("identify", "sghmc-baoab", "--json", "-")
    assert answer.code == 0, answer.err
    Draft202012Validator(find_schema("identify").schema()).validate(answer.document)
    assert answer.document["schema"] == "sgverify/identify/1"
    assert answer.document["scheme"] == "sghmc-baoab"


def test_what_is_none_of_them_exits_with_3_and_names_the_nearest(call: Call) -> None:
    answer = call("identify", "mine.py:heun", "--json", "heun.json")
    assert answer.code == 3, answer.err
    said = " ".join(answer.out.split())
    assert said.startswith(
        "NONE mine.py:heun: no scheme of the catalogue; nearest sgld-euler, differs in theta"
    )


@pytest.mark.power
def test_other_numbers_exit_with_3(call: Call) -> None:
    answer = call("identify", "mine.py:wrong")
    assert answer.code == 3
    assert answer.out.startswith(
        "OTHER NUMBERS  mine.py:wrong: sghmc-aboba at other numbers than were handed"
    )


def test_a_wrong_call_exits_with_2(call: Call) -> None:
    assert call("identify", "sghmc-baob").code == 2
    answer = call("identify", "sgld-euler", "--set", "temperature=0")
    assert answer.code == 2 and "expected" in answer.err
    answer = call("identify", "sgld-euler", "--set", "schedule.step=1e-15")
    assert answer.code == 2 and "expected 1e-06 or more" in answer.err
