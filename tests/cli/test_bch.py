"""`sgverify bch`, as the contract words its answers."""

from __future__ import annotations

from fractions import Fraction

import pytest

from tests.cli.conftest import Call


def test_the_example_of_the_contract(call: Call) -> None:
    answer = call("bch", "ABA", "--json", "-")
    assert (answer.code, answer.err) == (0, "")
    document = answer.document
    assert document["schema"].startswith("sgverify/bch/")
    assert (document["word"], document["coefficients"], document["order"]) == ("ABA", ["1/2", "1", "1/2"], 2)
    assert document["leading"] == [
        {"commutator": "[A,[A,B]]", "coefficient": "-1/24"},
        {"commutator": "[[A,B],B]", "coefficient": "1/12"},
    ]


def test_text_on_stdout(call: Call) -> None:
    answer = call("bch", "AB")
    assert answer.code == 0
    assert "order 1" in answer.out and "[A,B]" in answer.out


@pytest.mark.parametrize(
    ("word", "coefficients", "default"),
    [("ABOBA", "1/2,1/2,1,1/2,1/2", True), ("ABA", "0.5,1,0.5", True), ("ABAB", "1,1,0,0", False)],
)
def test_coefficients(call: Call, word: str, coefficients: str, default: bool) -> None:
    given = call("bch", word, "--coefficients", coefficients, "--json", "-").document
    assert [Fraction(c) for c in given["coefficients"]] == [Fraction(c) for c in coefficients.split(",")]
    assert (call("bch", word, "--json", "-").document == given) is default


def test_inconsistent_shares_are_an_answer_of_order_zero(call: Call) -> None:
    answer = call("bch", "ABA", "--coefficients", "1/3,1,1/3", "--json", "-")
    assert (answer.code, answer.document["order"]) == (0, 0)
    assert "A" in answer.document["reason"] and "2/3" in answer.document["reason"]
    assert answer.document["leading"] == [{"commutator": "A", "coefficient": "-1/3"}]


def test_degree_limits_the_search(call: Call) -> None:
    assert call("bch", "ABA", "--degree", "2", "--json", "-").document["leading"] == []
    assert call("bch", "ABA", "--degree", "3", "--json", "-").document["leading"] != []


@pytest.mark.parametrize("word", ["", "aba", "A1B", "A B", "A-B"])
def test_a_malformed_word(call: Call, word: str) -> None:
    answer = call("bch", word, "--json", "-")
    assert (answer.code, answer.out) == (2, "")
    assert f"word={word!r}" in answer.err and "ABA" in answer.err


@pytest.mark.parametrize(
    ("coefficients", "says"),
    [
        ("1/2,1", "3"),
        ("1/2,1,1/2,1", "3"),
        ("1/2,1,x", "'x'"),
        ("1/2,1,1/0", "'1/0'"),
        ("1/2,1,nan", "'nan'"),
        ("", "''"),
    ],
)
def test_wrong_coefficients(call: Call, coefficients: str, says: str) -> None:
    answer = call("bch", "ABA", "--coefficients", coefficients)
    assert (answer.code, answer.out) == (2, "")
    assert answer.err.startswith("error: coefficient") and says in answer.err
    assert answer.err.count("\n") == 1


@pytest.mark.parametrize("degree", ["0", "-1", "99", "x"])
def test_a_degree_out_of_range(call: Call, degree: str) -> None:
    answer = call("bch", "ABA", "--degree", degree)
    assert (answer.code, answer.out, answer.err.count("\n")) == (2, "", 1)
    assert degree in answer.err
