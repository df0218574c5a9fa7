"""Verdicts: at least as fast conforms, equality is sharp, a logarithm is slower, a zero is fastest."""

from __future__ import annotations

from fractions import Fraction

import pytest

from sgverify.rates.verdict import Rate, judge_length_rate, judge_step_rate
from tests.tables import each_row

F = Fraction


@each_row(
    ("found", "predicted", "verdict", "sharp"),
    [
        (F(2), F(2), "conforms", True),
        (F(3), F(2), "conforms", False),
        (F(3, 2), F(1), "conforms", False),
        (F(1), F(2), "violates", False),
        (F(0), F(1), "violates", False),
        (None, F(4), "conforms", False),
    ],
)
def test_rates_in_the_step(found: Fraction | None, predicted: Fraction, verdict: str, sharp: bool) -> None:
    judged = judge_step_rate(Rate(found), predicted, "the bias")
    assert (judged.verdict, judged.sharp) == (verdict, sharp)
    assert judged.reason.startswith("the bias is")
    assert ("identically zero" in judged.reason) == (found is None)
    if found is not None:
        assert f"h^{found}" in judged.reason


@each_row(
    ("found", "predicted", "verdict", "sharp"),
    [
        (Rate(F(-2, 3)), Rate(F(-2, 3)), "conforms", True),
        (Rate(F(-1)), Rate(F(-2, 3)), "conforms", False),
        (Rate(F(-1, 3)), Rate(F(-2, 3)), "violates", False),
        (Rate(F(0)), Rate(F(0)), "conforms", True),
        (Rate(None), Rate(F(-1)), "conforms", False),
        # With a logarithm: slower than without, faster than any larger exponent.
        (Rate(F(-2, 3), logarithm=1), Rate(F(-2, 3)), "violates", False),
        (Rate(F(-2, 3)), Rate(F(-2, 3), logarithm=1), "conforms", False),
        (Rate(F(-2, 3), logarithm=1), Rate(F(-2, 3), logarithm=1), "conforms", True),
        (Rate(F(-2, 3), logarithm=1), Rate(F(-1, 2)), "conforms", False),
        # A bound from above shows a rate that is fast enough and never one that is too slow.
        (Rate(F(-1), at_most=True), Rate(F(-4, 5)), "conforms", False),
        (Rate(F(-1), at_most=True), Rate(F(-1)), "conforms", False),
        (Rate(F(-1), at_most=True), Rate(F(-3, 2)), "inconclusive", False),
    ],
)
def test_rates_in_the_length(found: Rate, predicted: Rate, verdict: str, sharp: bool) -> None:
    judged = judge_length_rate(found, predicted, "the bias")
    assert (judged.verdict, judged.sharp) == (verdict, sharp)
    assert judged.reason.startswith("the bias ")
    assert ("log L" in judged.reason) == bool(
        (found.logarithm and found.exponent is not None) or predicted.logarithm
    )


@pytest.mark.parametrize(
    ("exponent", "verdict"),
    [(F(0), "violates"), (F(-1, 100), "conforms"), (F(1, 3), "violates"), (None, "conforms")],
)
def test_strict_predictions(exponent: Fraction | None, verdict: str) -> None:
    judged = judge_length_rate(Rate(exponent), Rate(F(0)), "the slower of both", strict=True)
    assert (judged.verdict, judged.sharp) == (verdict, False)


def test_rates_as_text() -> None:
    assert str(Rate(F(-2, 3))) == "-2/3"
    assert str(Rate(F(-2, 3), logarithm=1)) == "-2/3 with log L"
    assert str(Rate(None)) == "0"
