"""The joint moments of the blocks of a permutation against every permutation, and the mixture that has them."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction

import pytest
from flint import fmpq

from sgverify.errors import ConfigurationError
from sgverify.exact.minibatch.transition import block_moments, independent_components, partitions

DATA = [Fraction(1), Fraction(-3), Fraction(2), Fraction(7), Fraction(0), Fraction(5, 2)]


@pytest.mark.parametrize("batch", [1, 2, 3])
def test_moments_are_those_of_every_permutation(batch: int) -> None:
    centre = sum(DATA) / len(DATA)
    orders = list(itertools.permutations(DATA))
    blocks = [
        [sum(u - centre for u in order[b : b + batch]) / batch for b in range(0, 6, batch)]
        for order in orders
    ]
    found = block_moments(DATA, batch)
    assert list(found) == partitions(4)
    for pattern, moment in found.items():
        exact = Fraction(0)
        if len(pattern) <= 6 // batch:
            exact = sum(
                math.prod(g**r for g, r in zip(epoch, pattern, strict=False)) for epoch in blocks
            ) / Fraction(len(orders))
        assert fmpq(exact.numerator, exact.denominator) == moment, pattern


@pytest.mark.parametrize("order", [2, 4, 6])
def test_the_mixture_has_the_joint_moments(order: int) -> None:
    moments = block_moments(DATA, 2, order=order)
    parts = independent_components(moments)
    for pattern, moment in moments.items():
        products = (
            part.weight * math.prod((part.moments[r - 1] for r in pattern), start=fmpq(1)) for part in parts
        )
        assert sum(products, fmpq(0)) == moment


def test_one_block_is_what_every_epoch_shares() -> None:
    """All data in a block: no noise, and the mixture is a single law at 0."""
    (part,) = independent_components(block_moments(DATA, 6))
    assert part.weight == 1 and not any(part.moments)


def test_bad_blocks_are_refused() -> None:
    for batch in (0, 7, True):
        with pytest.raises(ConfigurationError, match="batch="):
            block_moments(DATA, batch)
