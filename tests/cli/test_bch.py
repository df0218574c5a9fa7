"""`sgverify bch`, as the contract words its answers."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path

import pytest

from tests.cli.conftest import Call
from tests.tables import each_row
from tests.zoo.letters import LETTERS


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


@each_row("word", ["", "aba", "A1B", "A B", "A-B"])
def test_a_malformed_word(call: Call, word: str) -> None:
    answer = call("bch", word, "--json", "-")
    assert (answer.code, answer.out) == (2, "")
    assert f"word={word!r}" in answer.err and "ABA" in answer.err


@each_row(
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


def test_yoshidas_word_is_proved_fourth_order(call: Call) -> None:
    answer = call("bch", "ABABABA", "--coefficients", "yoshida4", "--json", "-")
    assert (answer.code, answer.document["order"], answer.document["proved"]) == (0, 4, True)
    assert answer.document["coefficients"][1] == "2/3 + 1/3*2^(1/3) + 1/6*2^(2/3)"
    spelt = ",".join(f"({c})" for c in answer.document["coefficients"])
    assert call("bch", "ABABABA", "--coefficients", spelt, "--json", "-").document == answer.document


def test_suzukis_word_is_proved_fourth_order(call: Call) -> None:
    s = "1/(4-4^(1/3))"
    shares = [f"{s}/2", s, s, s, f"1/2-3/2*{s}", f"1-4*{s}"]
    text = ",".join([*shares, *shares[-2::-1]])
    assert call("bch", "ABABABABABA", "--coefficients", text, "--json", "-").document["order"] == 4
    assert "order 4" in call("bch", "ABABABABABA", "--coefficients", "suzuki4").out


W, V = "1.351207191959658", "-1.702414383919315"
YOSHIDA = f"{W}/2,{W},({W}+{V})/2,{V},({W}+{V})/2,{W},{W}/2"


def test_printed_decimals_are_answered_in_both_readings(call: Call) -> None:
    document = call("bch", "ABABABA", "--coefficients", YOSHIDA, "--json", "-").document
    assert (document["order"], document["order_within_rounding"], document["proved"]) == (0, 4, True)
    assert document["within_rounding"]["refuted"] == 5
    text = call("bch", "ABABABA", "--coefficients", YOSHIDA).out
    assert text.startswith(
        "ABABABA: order 4 within the rounding of the printed decimals; exactly read, order 0\n"
    )
    assert "within the rounding, not proved: the decimals are consistent with" in text
    assert "within the rounding" not in call("bch", "ABA", "--coefficients", "0.5,1,0.5").out


def test_marked_decimals_have_no_exact_reading(call: Call) -> None:
    rounded = call("bch", "ABABABA", "--coefficients", YOSHIDA, "--decimals", "rounded", "--degree", "4")
    assert rounded.code == 0
    assert "order 4 or more within the rounding of the printed decimals, not proved" in rounded.out
    document = call(
        "bch", "ABABABA", "--coefficients", YOSHIDA, "--decimals", "rounded", "--json", "-"
    ).document
    assert (document["order"], document["order_within_rounding"], document["proved"]) == (4, 4, False)


def test_decimals_that_are_too_short_say_so(call: Call) -> None:
    shares = "0.08,0.21,0.35,-0.14,-0.04,0.43,0.22,0.43,-0.04,-0.14,0.35,0.21,0.08"
    answer = call("bch", "ABABABABABABA", "--coefficients", shares)
    assert (answer.code, "exactly read" in answer.out) == (0, False)
    assert (
        "within the rounding of the printed decimals: the decimals are too short to tell any order"
        in answer.out
    )
    marked = call("bch", "ABABABABABABA", "--coefficients", shares, "--decimals", "rounded")
    assert "no order can be told; the decimals are too short" in marked.out
    document = call("bch", "ABABABABABABA", "--coefficients", shares, "--json", "-").document
    assert (document["order"], document["order_within_rounding"]) == (2, None)
    assert "too short" in document["within_rounding"]["reason"]


def test_one_order_in_both_readings_is_said_once(call: Call) -> None:
    answer = call("bch", "ABA", "--coefficients", "0.2113248654,1,0.7886751346")
    assert answer.out.startswith("ABA: order 1; ")
    assert "order 1 within the rounding of the printed decimals too" in answer.out


def test_the_modified_generator(call: Call) -> None:
    document = call("bch", "ABA", "--modified", "--degree", "3", "--json", "-").document
    assert [part["degree"] for part in document["modified"]] == [1, 2, 3]
    assert document["modified"][1]["terms"] == []
    assert document["modified"][2]["terms"] == document["leading"]
    assert "modified generator Z:\n  (1) A\n" in call("bch", "ABA", "--modified").out


def test_the_order_conditions(call: Call) -> None:
    document = call("bch", "ABA", "--order-conditions", "all", "--json", "-").document
    assert document["order_conditions"][2] == {"degree": 2, "word": "AB", "condition": "a1*b1 = 1/2"}
    assert "  AAB: a1^2*b1 = 1/6" not in call("bch", "ABA", "--order-conditions", "all").out
    assert "AAB: 1/2*a1^2*b1 = 1/6" in call("bch", "ABA", "--order-conditions", "symmetric").out


def test_time_symmetry_is_said(call: Call) -> None:
    assert "time-symmetric: a palindrome" in call("bch", "ABA").out
    assert "not time-symmetric: Z has a part of degree 2" in call("bch", "AB").out
    assert call("bch", "AB", "--json", "-").document["first_even_degree"] == 2


@each_row(
    ("options", "says"),
    [
        (["--coefficients", "~0.5,1,~0.5", "--modified"], "printed decimals have no exact generator"),
        (["--coefficients", "yoshida4"], "copies of one palindrome"),
        (["--coefficients", "1/2,1,(1+sqrt(2))^(1/2)"], "root(polynomial, decimal)"),
        (["--coefficients", "1/2,1,__import__('os')"], "is no number"),
        (["--order-conditions", "some"], "some"),
        (["--decimals", "maybe"], "maybe"),
    ],
)
def test_what_bch_cannot_answer_is_one_message(call: Call, options: list[str], says: str) -> None:
    answer = call("bch", "ABA", *options)
    assert (answer.code, answer.out, answer.err.count("\n")) == (2, "", 1)
    assert says in answer.err


def test_the_order_up_to_conjugacy(call: Call) -> None:
    document = call("bch", "BAOA", "--json", "-").document["up_to_conjugacy"]
    assert document["order"] == 2 and document["averages_off_by"] == {"B": "-1/2"}
    assert "order 2 up to conjugacy" in call("bch", "BAOA").out
    assert call("bch", "ABO", "--json", "-").document["up_to_conjugacy"] is None


def test_whether_two_words_are_conjugate(call: Call) -> None:
    document = call("bch", "ABOBA", "--conjugate-to", "OBABO", "--json", "-").document["conjugate_to"]
    assert document["conjugate"] and document["proved"]
    assert not call("bch", "ABO", "--conjugate-to", "OBA", "--json", "-").document["conjugate_to"][
        "conjugate"
    ]
    shares = call("bch", "ABOBA", "--conjugate-to", "BOBA", "--conjugate-coefficients", "1/2,1,1/2,1")
    assert "conjugate to BOBA: A/2 B/2 O B/2 A/2 = u v" in shares.out
    for wrong in (
        ["--conjugate-coefficients", "1,1"],
        ["--conjugate-to", "ab"],
        ["--conjugate-to", "AB", "--decimals", "rounded", "--coefficients", "0.5,1,1,1,0.5"],
    ):
        assert call("bch", "ABOBA", *wrong).code == 2


def test_a_word_of_ones_own_alphabet_has_its_shares(
    call: Call, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("mine.py").write_text(LETTERS, encoding="utf-8")
    own, letters = call("bch", "mine.py:plain"), call("bch", "KAOAK", "--coefficients", "1/4,1/2,1,1/2,3/4")
    assert own.code == 0 and own.out == letters.out and "order 1" in own.out
    assert "order 2" in call("bch", "mine.py:plain", "--coefficients", "1/2,1/2,1,1/2,1/2").out
    assert call("bch", "sghmc-baoab").out == call("bch", "BAOAB").out
    refined, none = call("bch", "mine.py:fourth"), call("bch", "sgld-euler")
    assert refined.code == none.code == 2 and "letter G is not the flow of its generator" in refined.err
    assert "sgverify verify mine.py:fourth" in refined.err and "is no splitting" in none.err
