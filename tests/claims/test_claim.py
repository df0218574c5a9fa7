from __future__ import annotations

from fractions import Fraction

import pytest

from sgverify.claims import read_card
from sgverify.errors import DefinitionError
from tests.tables import each_row

CARD = """
title = "A title"
place = 1
statement = "A statement"
hypotheses = [{fact = "schedule.alpha", above = 0, below = 1}]

[source]
paper = "P"
section = "S"
equation = "(1)"

[[prediction]]
quantity = "bias"
exponent = "-alpha"
alpha = "1/(K + 1)"
when = [{fact = "gradient.noisy", equals = true}]

[[prediction]]
quantity = "bias"
exponent = "-min(1 - alpha, K*alpha)"
alpha = "1/(K + 1)"
log_alpha = "1/(K + 1)"
sharp_when = [{fact = "scheme.order", at_least = 2}]
"""


@pytest.fixture
def claim():
    return read_card("p/c", CARD, "card p/c.toml")


def test_the_first_rule_that_fits_predicts(claim):
    assert claim.predict("bias", {"K": 2, "gradient.noisy": True}).exponent == Fraction(-1, 3)
    assert claim.predict("bias", {"K": 2, "gradient.noisy": False}).exponent == Fraction(-2, 3)


def test_a_float_alpha_is_the_decimal_that_it_prints_as(claim):
    prediction = claim.predict("bias", {"K": 2, "gradient.noisy": False, "schedule.alpha": 0.1})
    assert prediction.alpha == Fraction(1, 10) and prediction.exponent == Fraction(-1, 5)


def test_a_prediction_is_sharp_only_for_the_family_that_is_named_and_known(claim):
    facts = {"K": 2, "gradient.noisy": False}
    assert claim.predict("bias", facts).kind == "upper"
    assert claim.predict("bias", {**facts, "scheme.order": 1}).kind == "upper"
    assert claim.predict("bias", {**facts, "scheme.order": 2}).kind == "sharp"


def test_no_alpha_means_the_best_one(claim):
    facts = {"K": 2, "gradient.noisy": False}
    assert claim.applies(facts)[0] and claim.applies({**facts, "schedule.alpha": None})[0]
    applies, reason = claim.applies({**facts, "schedule.alpha": 1})
    assert not applies and "schedule.alpha is above 0 and is below 1" in reason and "is 1 (" in reason


def test_a_missing_fact_is_an_error(claim):
    with pytest.raises(ValueError, match=r"gradient\.noisy"):
        claim.applies({"K": 2})


def test_other_quantities_are_refused(claim):
    with pytest.raises(ValueError, match="does not speak of 'mse'"):
        claim.predict("mse", {"K": 2, "gradient.noisy": True})


def test_a_claim_without_a_rule_that_fits_does_not_apply():
    text = CARD[: CARD.rindex("[[prediction]]")]
    applies, reason = read_card("p/c", text, "card").applies({"K": 2, "gradient.noisy": False})
    assert not applies and "gradient.noisy is true" in reason


@each_row(
    "was, now, says",
    [
        ("title =", "titel =", "did you mean 'title'"),
        ('title = "A title"', "", "title is missing"),
        ('title = "A title"', 'title = ""', "title is empty"),
        ("place = 1", "place = true", "place=True"),
        ("place = 1", "place = ", "is not TOML"),
        ('equation = "(1)"', "", "equation is missing"),
        ("K*alpha", "K**alpha", "is not allowed"),
        ('\nalpha = "1/(K + 1)"', "", "the exponent uses alpha"),
        ('\nalpha = "1/(K + 1)"', '\nalpha = "alpha"', "expressions in K alone"),
        ("gradient.noisy", "gradient.nosy", "did you mean 'gradient.noisy'"),
        ("above = 0", "over = 0", "unknown test"),
        (
            'hypotheses = [{fact = "schedule.alpha", above = 0, below = 1}]',
            'hypotheses = ["x"]',
            "is no predicate",
        ),
        ("[[prediction]]", "[[predictions]]", "did you mean 'prediction'"),
        ("place = 1", 'place = 1\nschedule = "fxed"', "did you mean 'fixed'"),
    ],
)
def test_a_malformed_card_is_refused_by_name_and_place(was, now, says):
    assert was in CARD
    with pytest.raises(DefinitionError) as error:
        read_card("p/c", CARD.replace(was, now), "card p/c.toml")
    assert says in str(error.value)
