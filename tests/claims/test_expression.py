from __future__ import annotations

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sgverify.claims import ExponentExpression
from sgverify.errors import DefinitionError
from tests.tables import each_row

ratios = st.fractions(-5, 5, max_denominator=20)


@given(ratios, ratios.filter(bool))
def test_the_value_is_exact_arithmetic(k, alpha):
    names = {"K": k, "alpha": alpha}
    assert ExponentExpression("-min(1 - alpha, K*alpha)").value(names) == -min(1 - alpha, k * alpha)
    assert ExponentExpression("max(K, alpha, 2)/alpha + 3").value(names) == max(k, alpha, 2) / alpha + 3
    assert isinstance(ExponentExpression("K").value(names), Fraction)


def test_quotients_stay_exact():
    assert ExponentExpression("1/(2*K + 1)").value({"K": Fraction(1)}) == Fraction(1, 3)


def test_only_the_names_that_are_used_are_needed():
    assert ExponentExpression("min(K, 1)").names == {"K"}
    assert ExponentExpression("2").value({}) == 2
    with pytest.raises(ValueError, match="alpha"):
        ExponentExpression("K*alpha").value({"K": Fraction(1)})


@each_row(
    "text",
    [
        "",
        "K +",
        "1.5",
        "True",
        "'a'",
        "h",
        "K**2",
        "K // 2",
        "abs(K)",
        "min(K)",
        "min(K, key=alpha)",
        "min(*K, 1)",
        "K.real",
        "K[0]",
        "(K, alpha)",
        "lambda: 1",
        "__import__('os')",
        "K if alpha else 1",
        "K < 1",
        "+K",
        "1" * 300,
    ],
)
def test_anything_else_is_refused_and_never_run(text):
    with pytest.raises(DefinitionError):
        ExponentExpression(text)
