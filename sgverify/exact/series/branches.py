"""The branches of a definition: one for each way in which the signs of what stands squared under its roots may fall out.

On one branch |f| is f or -f throughout, and the definition is a power series there. What is proved on every branch
is proved at every real state; what fails on one fails where a state was found that lies on it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from random import Random
from typing import TypeVar

from sgverify.errors import NotExpandableError
from sgverify.exact.series.evaluation import NotRealError, sign_of
from sgverify.exact.series.polynomials import Polynomial
from sgverify.exact.series.radicals import UnknownSignError
from sgverify.exact.series.ring import Ring

MOST_BRANCHES = 32
"""Five signs of their own; each branch is an expansion."""

LOOKS = 400
"""Points at which numbers are asked; one that tells is enough, so that their count decides what stays open and nothing else."""

Signs = Mapping[str, int]
T = TypeVar("T")


def on_every_branch(expand: Callable[[Signs], T]) -> list[tuple[Signs, T]]:
    """`expand` under every combination of the signs that it turns out to ask for.

    Raises `NotExpandableError` where there are too many, or where a branch has no power series.
    """
    waiting: list[Signs] = [{}]
    found: list[tuple[Signs, T]] = []
    while waiting:
        signs = waiting.pop()
        try:
            found.append((signs, expand(signs)))
        except UnknownSignError as unknown:
            if len(waiting) + len(found) + 2 > MOST_BRANCHES:
                raise NotExpandableError(f"more than {MOST_BRANCHES} branches: {unknown}") from None
            waiting += [{**signs, unknown.key: -1}, {**signs, unknown.key: 1}]
    return found


def told_from_zero(value: Polynomial, ring: Ring) -> bool:
    """Whether an element that is not 0 by the ring's relations is not 0 at some real state of the ring's branch.

    Without opaque roots and signs it is: a polynomial that is not 0 is not 0 somewhere. Roots of numbers are
    independent of one another. Raises `NotExpandableError` where no number tells: it may be 0 by a relation that the
    ring does not have, or the branch may be empty.
    """
    if not value:
        return False
    degrees = value.degrees()
    free = all(what.kind == "number" or not degrees[k] for k, what in ring.opaque.items())
    if free and not ring.supposed:
        return True
    for point in points_of(ring):
        try:
            if sign_of(value, ring, point):
                return True
        except NotRealError:
            continue
    raise NotExpandableError(f"{ring.text(value, 4)}, which is not told from 0")


def reachable(ring: Ring) -> bool:
    """Whether a real state was found that lies on the ring's branch."""
    return next(points_of(ring), None) is not None


def points_of(ring: Ring) -> Iterator[Callable[[int], Fraction]]:
    """Points at which every supposed sign is the sign: numbers for the generators by position."""
    random = Random(0)
    for _ in range(LOOKS):
        point = _Point(ring, random)
        try:
            if all(sign_of(f, ring, point) == ring.signs[key] for key, f in ring.supposed.items()):
                yield point
        except NotRealError:
            continue


@dataclass
class _Point:
    """Random numbers of every size and sign, roots of parameters positive; small wholes meet equations between them."""

    ring: Ring
    random: Random
    known: dict[int, Fraction] = field(default_factory=dict)

    def __call__(self, position: int) -> Fraction:
        if position not in self.known:
            size = Fraction(self.random.randint(1, 64), self.random.choice((1, 4, 16, 64)))
            negative = position not in self.ring.never_negative and self.random.random() < 0.5
            self.known[position] = -size if negative else size
        return self.known[position]
