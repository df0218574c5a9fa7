"""Conjugate words: found, multiplied out, and held against operators; and what is not conjugate, told from it."""

from __future__ import annotations

import random
from fractions import Fraction
from itertools import combinations

from sgverify.exact.splittings.bch import bch_series
from sgverify.exact.splittings.conjugacy import (
    Conjugacy,
    conjugacy,
    conjugacy_with_minibatches,
    effective_order,
    split,
)
from sgverify.exact.splittings.splitting import Splitting, product_of_exponentials, read_splitting
from tests.tables import each_row

HALF = Fraction(1, 2)
PALINDROMES = ("ABOBA", "AOBOA", "BAOAB", "BOAOB", "OABAO", "OBABO")


def word(text: str, shares: str | None = None) -> Splitting:
    return read_splitting(text, shares)


def operators_agree(found: Conjugacy, degree: int = 4) -> bool:
    """W u = u W' in the free associative algebra: exponential series, and no letters joined."""
    left, right = split((*found.word, *found.u)), split((*found.u, *found.other))
    series = [product_of_exponentials(side.word, side.coefficients, degree) for side in (left, right)]
    return all(series[0].component(d) == series[1].component(d) for d in range(degree + 1))


def circle(chance: random.Random, letters: str = "ABO", most: int = 6) -> list[tuple[str, Fraction]]:
    found = [(letters[0], Fraction(chance.randint(1, 5), 6))]
    while len(found) < 3 or found[-1][0] == found[0][0] or chance.random() < 1 - len(found) / most:
        letter = chance.choice([x for x in letters if x != found[-1][0]])
        found.append((letter, Fraction(chance.randint(1, 5), chance.randint(1, 6))))
    return found


def cut(factors: list[tuple[str, Fraction]], chance: random.Random) -> Splitting:
    place = chance.randrange(len(factors))
    letter, total = factors[place]
    time = total * Fraction(chance.randint(0, 4), 5)
    opened = [(letter, total - time), *factors[place + 1 :], *factors[:place], (letter, time)]
    return split(tuple(opened))


def test_symmetric_words_are_three_classes() -> None:
    joined = {
        frozenset(pair) for pair in combinations(PALINDROMES, 2) if conjugacy(word(pair[0]), word(pair[1]))
    }
    assert joined == {
        frozenset(("ABOBA", "OBABO")),
        frozenset(("BAOAB", "OABAO")),
        frozenset(("BOAOB", "AOBOA")),
    }


def test_a_processed_word() -> None:
    found = conjugacy(word("BAOA"), word("BAOAB"))
    assert found is not None and found.proved and operators_agree(found)
    assert found.u == (("B", HALF),)


def test_generated_cuts_of_one_circle_are_conjugate() -> None:
    chance = random.Random(3)
    for _ in range(30):
        factors = circle(chance)
        found = conjugacy(cut(factors, chance), cut(factors, chance))
        assert found is not None and found.proved
        assert all(share > 0 for _, share in (*found.u, *found.v))  # noise flows forwards
        assert operators_agree(found, 3)


def test_what_differs_is_not_conjugate() -> None:
    chance = random.Random(4)
    for _ in range(30):
        factors = circle(chance)
        place = chance.randrange(len(factors))
        letter, share = factors[place]
        off = [*factors[:place], (letter, share + Fraction(1, 10**9)), *factors[place + 1 :]]
        assert conjugacy(cut(factors, chance), cut(off, chance)) is None
    assert conjugacy(word("ABO"), word("OBA")) is None  # the same letters and shares, the other way round
    assert conjugacy(word("ABAB", "1/3,1/4,2/3,3/4"), word("ABAB", "1/4,1/3,3/4,2/3")) is None
    assert (
        conjugacy(word("ABABAB", "1/6,1/4,1/3,1/4,1/2,1/2"), word("ABABAB", "1/3,1/4,1/6,1/4,1/2,1/2"))
        is None
    )


def test_processors_that_flow_backwards_cancel() -> None:
    """pi^-1 K pi with pi = A(1/4) B(1/3), on ends that cancel whole, in part, and the other way round."""
    plain = word("ABO")
    for processed in (
        word("ABABOBA", "1/4,1/3,1,1,1,-1/3,-1/4"),
        word("AABOA", "-1/4,1,1,1,1/4"),
        word("ABOA", "5/4,1,1,-1/4"),
        word("BABOAB", "1/3,1/4,1,1,3/4,-1/3"),
    ):
        found = conjugacy(processed, plain)
        assert found is not None and found.proved and operators_agree(found, 3)
    assert conjugacy(word("ABABOBA", "1/4,1/3,1,1,1,-1/4,-1/3"), plain) is None


def test_one_letter_and_the_word_itself() -> None:
    for text in ("A", "AB", "ABOBA"):
        found = conjugacy(word(text), word(text))
        assert found is not None and found.proved and found.u == ()
    assert conjugacy(word("A"), word("AB")) is None


def labelled(factors: tuple[tuple[str, Fraction], ...], step: int) -> list[tuple[str, Fraction]]:
    return [(f"{letter}{step}" if letter == "G" else letter, share) for letter, share in factors]


def reduced(factors: list[tuple[str, Fraction]]) -> list[tuple[str, Fraction]]:
    found: list[tuple[str, Fraction]] = []
    for letter, share in factors:
        if found and found[-1][0] == letter:
            share += found.pop()[1]
        if share:
            found.append((letter, share))
    return found


@each_row(
    ("one", "other", "survives"),
    [
        ("ABGBA", "GBABG", False),
        ("BAGAB", "GABAG", False),
        ("BGAGB", "AGBGA", False),
        ("GAOA", "GAOAG", False),
        ("GAOA", "OAGAO", True),
        ("OAGAO", "GAOA", True),
        ("ABGBA", "BGBA", True),
        ("AGBGA", "GBGA", True),
        ("AGBGA", "BGAG", False),
    ],
)
def test_fresh_minibatches_are_not_cut(one: str, other: str, survives: bool) -> None:
    """Followed for three steps with a letter G of its own for each: the two chains are the same, or are not."""
    found = conjugacy_with_minibatches(word(one), word(other), "G")
    assert conjugacy(word(one), word(other)) is not None
    assert (found is not None) is survives
    if found is None:
        return
    chain = [x for step in (1, 2, 3) for x in labelled(found.word, step)]
    turned = [x for step in (1, 2, 3) for x in labelled(found.other, step)]
    if "G" in dict(found.u):
        assert reduced([*found.v, *chain]) == reduced([*turned, *found.v])
    else:
        assert reduced([*chain, *found.u]) == reduced([*found.u, *turned])


def test_gradients_with_noise_of_their_own_are_not_cut_and_not_joined() -> None:
    assert conjugacy(word("BOAOB"), word("AOBOA"), whole="O") is not None
    assert conjugacy(word("ABOBA"), word("OBABO"), whole="O") is None
    assert conjugacy(word("AOOB", "1,1/2,1/2,1"), word("AOB"), whole="O") is None


@each_row(
    ("text", "order", "raised", "shifts"),
    [
        ("BAOA", 1, 2, {"A": 0, "B": -HALF, "O": 0}),
        ("OABA", 1, 2, {"A": 0, "B": 0, "O": -HALF}),
        ("AB", 1, 2, {"A": 0, "B": HALF}),
        ("ABO", 1, 1, None),
        ("BAAO", 1, 1, None),
        ("ABOBA", 2, 2, {"A": 0, "B": 0, "O": 0}),
    ],
)
def test_the_order_up_to_conjugacy(text: str, order: int, raised: int, shifts: object) -> None:
    given = word(text)
    found = effective_order(given.word, given.coefficients)
    assert (found.own.order, found.order, found.shifts) == (order, raised, shifts)


def test_cuts_of_palindromes_are_found_to_have_their_order() -> None:
    chance = random.Random(5)
    for text in ("ABOBA", "BOAOB", "OABABAO"):
        opened = cut(list(zip(text, word(text).coefficients, strict=True)), chance)
        found = effective_order(opened.word, opened.coefficients)
        assert found.order == 2 and all(way.proved for way in found.cuts)
    fourth = word("ABABABA", "yoshida4")
    factors = tuple(zip(fourth.word, fourth.coefficients, strict=True))
    turned = split((*factors[2:], *factors[:2]))
    found = effective_order(turned.word, turned.coefficients)
    assert (found.own.order, found.order) == (1, 4)


def test_an_order_above_two_is_raised_too() -> None:
    """Yoshida's word cut at the middle of its middle letter: a palindrome of order 2, on the circle of one of order 4."""
    fourth = word("ABABABA", "yoshida4")
    factors = tuple(zip(fourth.word, fourth.coefficients, strict=True))
    half = (factors[3][0], factors[3][1] / 2)
    other = split((half, *factors[4:], *factors[:3], half))
    found = effective_order(other.word, other.coefficients)
    assert (found.own.order, found.order, found.shifts) == (2, 4, {"A": 0, "B": 0})
    assert all(cut.proved for cut in found.cuts)


def test_a_part_of_a_letter_moved_to_the_other_end() -> None:
    moved = word("ABOBA", "5/6,1/2,1,1/2,1/6")  # exp(A/3) ABOBA exp(-A/3)
    found = effective_order(moved.word, moved.coefficients)
    assert (found.own.order, found.order, found.shifts) == (1, 2, {"A": -Fraction(1, 3), "B": 0, "O": 0})


def test_order_two_up_to_flows_that_no_cut_is() -> None:
    given = word("OBABOA", "3/4,1/4,1/2,3/4,1/4,1/2")
    found = effective_order(given.word, given.coefficients)
    assert (found.own.order, found.order, found.cuts) == (1, 2, ())
    assert found.shifts == {"A": 0, "B": -Fraction(1, 8), "O": -Fraction(3, 8)}
    # P = exp(hY) W exp(-hY), Y flowing letter by letter, has order 2 by the logarithm of the product.
    shifts = [(letter, share) for letter, share in found.shifts.items() if share]
    back = [(letter, -share) for letter, share in reversed(shifts)]
    processed = split((*shifts, *zip(given.word, given.coefficients, strict=True), *back))
    assert not bch_series(processed.word, processed.coefficients, 2)[2]
