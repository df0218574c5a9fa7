"""The branches of a definition: one for each combination of signs of the expressions that stand squared under its roots.

On one branch |f| is f or -f throughout, and the definition is a power series there. A statement proved on every branch
holds at every real state; a statement that fails on one branch is refuted where a state on that branch is found.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from itertools import pairwise
from random import Random
from typing import Any, TypeVar

from sgverify.errors import NotExpandableError
from sgverify.exact.rings.evaluation import NotRealError, sign_of, value_at
from sgverify.exact.rings.polynomials import Polynomial, to_fraction
from sgverify.exact.rings.ring import Ring
from sgverify.exact.rings.roots import UnknownSignError

MOST_BRANCHES = 32
"""The largest number of branches, those of five independent signs; each branch needs an expansion."""

LOOKS = 400
"""The number of points at which an element is evaluated. One decisive point suffices; with more points fewer cases stay open."""

Signs = Mapping[str, int]
T = TypeVar("T")


class EmptyBranchError(Exception):
    """No real state lies on a branch."""


def on_every_branch(expand: Callable[[Signs], T]) -> list[tuple[Signs, T]]:
    """`expand` under every combination of the signs that it requests while it runs.

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

    Without opaque roots and signs it is: a non-zero polynomial does not vanish everywhere. Roots of numbers are
    independent of one another, and coefficients that may be 0 by the intervals of floats are dropped before.
    Raises `NotExpandableError` where no point decides: the element may be 0 by a relation that the ring does not have, or the
    branch may be empty.
    """
    if not value:
        return False
    degrees = value.degrees()
    free = all(what.kind == "number" or not degrees[k] for k, what in ring.opaque.items())
    if free and not ring.supposed:
        return True
    for point in points_of(ring):
        try:
            found = value_at(value, ring, point)
        except NotRealError:
            continue
        if found.a > 0 or found.b < 0:
            return True
    raise NotExpandableError(f"{ring.text(value, 4)}, which is not told from 0")


def is_empty(ring: Ring) -> bool:
    """Whether it is proved that no real state lies on the ring's branch: polynomials in one generator contradict one another.

    Between the real roots of all of them no polynomial changes its sign, so that one number of each interval decides.
    """
    return any(
        not any(
            all(sign_of(f, ring, {position: x}.__getitem__) == ring.signs[key] for key, f in members)
            for x in _between_roots([f for _, f in members], ring, position)
        )
        for position, members in _of_one_generator(ring).items()
    )


def points_of(ring: Ring) -> Iterator[Callable[[int], Fraction]]:
    """Points at which all supposed signs are the true ones: numbers for the generators by position."""
    random = Random(0)
    inside = {
        position: _between_roots([f for _, f in members], ring, position)
        for position, members in _of_one_generator(ring).items()
    }
    for _ in range(LOOKS):
        point = _Point(ring, random, inside)
        try:
            if all(sign_of(f, ring, point) == ring.signs[key] for key, f in ring.supposed.items()):
                yield point
        except NotRealError:
            continue


def _of_one_generator(ring: Ring) -> dict[int, list[tuple[str, Polynomial]]]:
    """The supposed polynomials in one generator and rational numbers alone, by the generator's position."""
    found: dict[int, list[tuple[str, Polynomial]]] = {}
    for key, f in ring.supposed.items():
        used = {k for monomial in f.monoms() for k, e in enumerate(monomial) if e}
        if len(used) == 1 and not used & set(ring.opaque):
            found.setdefault(used.pop(), []).append((key, f))
    return found


def _between_roots(values: Sequence[Polynomial], ring: Ring, position: int) -> list[Fraction]:
    """A number below, between and above the real roots of polynomials in one generator, isolated exactly."""
    # sympy takes a third of a second to load, and few definitions need it.
    from sympy import Poly, Rational, Symbol

    x = Symbol("x")
    poly = Poly(x if position in ring.never_negative else 1, x)
    for value in values:
        terms = {
            (int(m[position]),): Rational(*to_fraction(c).as_integer_ratio())
            for m, c in value.to_dict().items()
        }
        poly = poly * Poly.from_dict(terms, x)
    poly = poly.sqf_part()
    ends, width = _isolated(poly, None), Fraction(1)
    # Neighbouring intervals may share an end, which is then a root of neither.
    while any(before[1] >= after[0] for before, after in pairwise(ends)):
        width /= 16
        ends = _isolated(poly, width)
    if not ends:
        return [Fraction(1), Fraction(-1)]
    middles = [(before[1] + after[0]) / 2 for before, after in pairwise(ends)]
    places = [ends[0][0] - 1, *middles, ends[-1][1] + 1]
    return [place for place in places if place > 0] if position in ring.never_negative else places


def _isolated(poly: Any, width: Fraction | None) -> list[tuple[Fraction, Fraction]]:
    from sympy import Rational

    found = poly.intervals(eps=None if width is None else Rational(width.numerator, width.denominator))
    return [(Fraction(int(a.p), int(a.q)), Fraction(int(b.p), int(b.q))) for (a, b), _ in found]


@dataclass
class _Point:
    """Random numbers of every size and sign, positive for roots of parameters, or numbers found between roots of polynomials."""

    ring: Ring
    random: Random
    inside: Mapping[int, list[Fraction]]
    known: dict[int, Fraction] = field(default_factory=dict)

    def __call__(self, position: int) -> Fraction:
        if position not in self.known:
            size = Fraction(self.random.randint(1, 64), self.random.choice((1, 4, 16, 64)))
            negative = position not in self.ring.never_negative and self.random.random() < 0.5
            found = self.inside.get(position, [])
            if found and self.random.random() < 0.5:
                self.known[position] = self.random.choice(found)
            else:
                self.known[position] = -size if negative else size
        return self.known[position]
