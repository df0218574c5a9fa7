"""Energies of minibatches over all minibatches that there are, in exact numbers.

The energy of a minibatch B of n of N data is L(B | theta) = (N/n) sum_{i in B} l(x_i | theta). Everything here runs over
all N^n sequences of indices, or all subsets.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction


@dataclass(frozen=True)
class Quadratics:
    """Data energies l_i(theta) = a_i (theta - x_i)^2/2 on the line, exactly."""

    centres: tuple[Fraction, ...]
    curvatures: tuple[Fraction, ...]

    def __str__(self) -> str:
        x, a = (", ".join(map(str, values)) for values in (self.centres, self.curvatures))
        return f"l_i = a_i (theta - x_i)^2/2, x = {x}, a = {a}"

    @property
    def size(self) -> int:
        """N."""
        return len(self.centres)

    def energies(self, theta: Fraction) -> list[Fraction]:
        """l_i(theta) for every datum."""
        return [a * (theta - x) ** 2 / 2 for a, x in zip(self.curvatures, self.centres, strict=True)]

    def gradients(self, theta: Fraction) -> list[Fraction]:
        """l_i'(theta) for every datum."""
        return [a * (theta - x) for a, x in zip(self.curvatures, self.centres, strict=True)]


def minibatches(size: int, batch: int, *, replacement: bool = True) -> Iterator[tuple[int, ...]]:
    """Every sequence of `batch` indices, or every subset: equally likely ones."""
    if replacement:
        return itertools.product(range(size), repeat=batch)
    return itertools.combinations(range(size), batch)


def estimates(values: Sequence[Fraction], batch: int, *, replacement: bool = True) -> list[Fraction]:
    """(N/n) sum_{i in B} values_i for every minibatch, in the order of `minibatches`."""
    scale = Fraction(len(values), batch)
    return [
        scale * sum((values[i] for i in chosen), Fraction(0))
        for chosen in minibatches(len(values), batch, replacement=replacement)
    ]


def mean_of(values: Sequence[Fraction]) -> Fraction:
    """The mean of equally likely values."""
    return sum(values, Fraction(0)) / len(values)


def covariance_of(left: Sequence[Fraction], right: Sequence[Fraction]) -> Fraction:
    """The covariance of equally likely pairs of values."""
    pairs = [a * b for a, b in zip(left, right, strict=True)]
    return mean_of(pairs) - mean_of(left) * mean_of(right)
