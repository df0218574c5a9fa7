"""Symmetric tensors as matrices, held against sums over their indices."""

from __future__ import annotations

import itertools
import random

from flint import arb_mat

from sgverify.exact.numbers.entrywise import along, applied, over, over_fourth, push

DRAW = random.Random(5)


def some(rows: int, columns: int) -> arb_mat:
    return arb_mat(rows, columns, [DRAW.randint(-9, 9) for _ in range(rows * columns)])


def symmetric(size: int, order: int) -> arb_mat:
    values = {key: DRAW.randint(-9, 9) for key in itertools.combinations_with_replacement(range(size), order)}
    slots = itertools.product(range(size), repeat=order)
    return arb_mat(size, size ** (order - 1), [values[tuple(sorted(s))] for s in slots])


def entry(tensor: arb_mat, slots: tuple[int, ...]) -> object:
    size, column = tensor.nrows(), 0
    for slot in slots[1:]:
        column = column * size + slot
    return tensor[slots[0], column]


def test_factors_are_applied_to_their_own_slots() -> None:
    tensor, first, third = some(2, 4), some(2, 2), some(2, 2)
    moved = applied(tensor, [first, None, third])
    for i, j, k in itertools.product(range(2), repeat=3):
        plain = sum(
            first[i, a] * third[k, b] * entry(tensor, (a, j, b))
            for a, b in itertools.product(range(2), repeat=2)
        )
        assert entry(moved, (i, j, k)) == plain


def test_push_changes_the_dimension_of_every_slot() -> None:
    for order, q, n in ((3, 1, 2), (4, 1, 2), (3, 2, 3), (4, 2, 1), (4, 3, 2)):
        tensor, b = symmetric(q, order), some(n, q)
        pushed = push(tensor, b, order)
        assert (pushed.nrows(), pushed.ncols()) == (n, n ** (order - 1))
        for slots in itertools.product(range(n), repeat=order):
            plain = 0
            for inside in itertools.product(range(q), repeat=order):
                term = entry(tensor, inside)
                for outer_index, inner_index in zip(slots, inside, strict=True):
                    term = term * b[outer_index, inner_index]
                plain = plain + term
            assert entry(pushed, slots) == plain


def test_contractions() -> None:
    n = 3
    third, fourth, direction, form = symmetric(n, 3), symmetric(n, 4), some(n, 1), symmetric(n, 2)
    pairs = list(itertools.product(range(n), repeat=2))
    for i in range(n):
        assert over(third, form)[i, 0] == sum(entry(third, (i, j, k)) * form[j, k] for j, k in pairs)
        for j in range(n):
            assert along(third, direction)[i, j] == sum(
                direction[a, 0] * entry(third, (a, i, j)) for a in range(n)
            )
            assert over_fourth(fourth, form)[i, j] == sum(
                entry(fourth, (i, j, k, l)) * form[k, l] for k, l in pairs
            )
