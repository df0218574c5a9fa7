"""Kinds of order in a declaration."""

from __future__ import annotations

import pytest

from sgverify import Alphabet, scheme, sqrt
from sgverify.errors import DefinitionError
from sgverify.schemes import langevin
from sgverify.schemes.scheme import KINDS, ClaimedOrders
from tests.tables import each_row


def euler(theta, *, h, grad, noise, T):
    return theta - h * grad(theta) + sqrt(2 * T * h) * noise()


@pytest.mark.parametrize(
    ("order", "claimed"),
    [
        (None, (None, None)),
        (2, (2, None)),
        ({"invariant": 2}, (None, 2)),
        ({"weak-finite-time": 1, "invariant": 2}, (1, 2)),
    ],
)
def test_a_claim_by_kind(order, claimed) -> None:
    made = scheme(langevin, order=order)(euler)
    assert (made.order, made.invariant_order) == claimed


def test_a_word_and_a_torch_step_claim_alike() -> None:
    def flow(theta, *, t, grad, noise, T):
        return theta - t * grad(theta) + sqrt(2 * T * t) * noise()

    word = Alphabet("one", langevin, A=flow).word("A", order={"invariant": 1})
    assert (word.order, word.invariant_order) == (None, 1)


@each_row("order", [{"weak": 1}, {}, {"invariant": 0}, {"invariant": True}, 0, 1.5])
def test_what_is_no_claim_is_refused(order) -> None:
    with pytest.raises(DefinitionError, match="expected"):
        ClaimedOrders.of(order)


def test_an_unknown_kind_is_told_the_known_ones() -> None:
    with pytest.raises(DefinitionError) as refused:
        scheme(langevin, order={"strong": 1})
    assert all(kind in str(refused.value) for kind in KINDS)
