"""What verdicts say of conjugate words, and that averages are off by what they say."""

from __future__ import annotations

from fractions import Fraction

import pytest

from sgverify.checks import rate, verify
from sgverify.checks.order.splittings import classes_of, conjugate
from sgverify.evidence import Evidence
from sgverify.schemes import Scheme
from sgverify.schemes.catalogue.kinetic import CHEN, MOLECULAR
from tests.zoo.schemes import WEAK

BAOA = MOLECULAR.word("BAOA", order=1)
OABA = MOLECULAR.word("OABA", order=1)
NO_CUT = MOLECULAR.word("OBABOA", coefficients="3/4,1/4,1/2,3/4,1/4,1/2")


def local(scheme: Scheme) -> Evidence:
    return next(e for e in verify(scheme, checks=["local-order"]) if e.claim == "sgverify/stated-order")


def test_the_order_up_to_conjugacy_is_said_with_what_it_does_not_promise() -> None:
    found = local(BAOA)
    assert found.verdict == "conforms" and found.found.exponent == 1
    assert "order 2 up to conjugacy" in found.reason and "B/2 A/2 O A/2 B/2" in found.reason
    assert "off by h E[Y f] + O(h^2), Y = (-1/2) B: 0 for functions of theta alone" in found.reason


def test_a_processor_that_leaves_the_density_invariant_costs_no_average() -> None:
    assert "averages of the chain itself are second order too" in local(OABA).reason


def test_conjugacy_makes_no_order_at_finite_times() -> None:
    found = local(BAOA.named("claims-two", order=2))
    assert found.verdict == "violates" and "order 2 up to conjugacy" in found.reason
    assert "and not in dimension" not in found.reason  # it is wrong in every dimension


def test_no_word_of_conjugacy_where_there_is_none() -> None:
    assert "conjugacy" not in local(MOLECULAR.word("ABO", order=1)).reason
    found = verify(WEAK, checks=["local-order"])[0]
    assert "conjugacy" not in found.reason


@pytest.mark.parametrize(
    ("scheme", "test_function", "coefficient"),
    [
        # Y f under N(0, 1/3), B = -U' d/dp: E[B theta p] = -1 and E[O theta p] = -D E[theta p] = 0.
        (BAOA, "theta*p", Fraction(1, 2)),
        (NO_CUT, "theta*p", Fraction(1, 8)),
        (OABA, "theta*p", Fraction(0)),
        (BAOA, "theta**2", Fraction(0)),
    ],
)
def test_averages_are_off_by_h_times_the_average_of_y_f(
    scheme: Scheme, test_function: str, coefficient: Fraction
) -> None:
    found = rate(
        scheme,
        quantity="stationary-bias",
        test_function=test_function,
        target={"name": "gaussian", "precision": 3.0},
        sweep={"steps": [2e-4, 1e-4]},
    )
    step, value = found.points[-1].step, found.points[-1].value
    assert step is not None and value / step == pytest.approx(float(coefficient), abs=1e-3)


def test_the_symmetric_words_under_the_kinds_of_gradients() -> None:
    for alphabet in (CHEN, MOLECULAR):
        words = [alphabet.word(text).word for text in ("ABOBA", "OBABO", "BAOAB", "OABAO", "BOAOB", "AOBOA")]
        assert [len(group) for group in classes_of(words)] == [2, 2, 2]
        assert [len(group) for group in classes_of(words, "iid")] == [1] * 6
    # A kick that is never cut keeps its noise: BOAOB and AOBOA of chen's letters kick twice, each whole.
    words = [CHEN.word(text).word for text in ("BOAOB", "AOBOA", "ABOBA")]
    assert classes_of(words, "additive") == [["BOAOB", "AOBOA"], ["ABOBA"]]
    one, other = (CHEN.word(text).word for text in ("ABOBA", "BOBA"))
    assert conjugate(one, other, "reshuffle") is not None


def test_the_answer_to_equivalent() -> None:
    for found in verify("sghmc-aboba", checks=["chen2015/symmetric-words"]):
        assert "ABOBA ~ OBABO, AOBOA ~ BOAOB, BAOAB ~ OABAO" in found.reason
        assert "none are conjugate with a fresh minibatch at each step" in found.reason
        assert "averaged over minibatches all have one leading error" in found.reason
