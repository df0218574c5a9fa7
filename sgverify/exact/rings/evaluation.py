"""Values of a context's elements at numbers of any kind; intervals, which prove an element to be non-zero; zeros up to rounding.

`Values` carries out a polynomial where its generators are numbers of one kind (balls, floats, fractions, Taylor polynomials);
slots follow from what they stand for.

A float that stands for no simple number, such as math.cos(0.3), is a symbol with a known interval. c^2 + s^2 - 1 is then no zero
of the ring, but its enclosure contains 0, and it cannot be proved to be non-zero. So a coefficient counts as 0 where its
enclosure contains 0, and `Ring.reduce` drops it. A coefficient that exceeds these roundings is kept.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from fractions import Fraction
from typing import Any, NoReturn

import flint
from flint import arb

from sgverify.errors import NotExpandableError
from sgverify.exact.numbers import ball
from sgverify.exact.numbers.ball import BALLS, ScalarKind
from sgverify.exact.rings.context import Context
from sgverify.exact.rings.functions import ELEMENTARY
from sgverify.exact.rings.polynomials import Key, Polynomial, evaluate, to_fraction
from sgverify.schemes.numbers.rounded import Rounded

BITS = 256


class NotRealError(NotExpandableError):
    """A root of a negative number: the definition is not defined at these numbers."""


def _no_fraction(_: Any) -> NoReturn:
    raise NotExpandableError("a root or an exponential, which stands for no fraction")


FRACTIONS = ScalarKind(
    _no_fraction,
    _no_fraction,
    _no_fraction,
    _no_fraction,
    _no_fraction,
    _no_fraction,
    _no_fraction,
    _no_fraction,
    to_fraction,
)
"""Exact numbers alone."""

Point = Callable[[int], Any]
"""The numbers of a context's generators by position."""


class Values:
    """Values of polynomials where the generator at position k is the number point(k), slots by what they stand for.

    `parameters` are numbers whose roots are generators: even powers of these are powers of the number itself.
    """

    def __init__(
        self,
        ring: Context,
        point: Point,
        kind: ScalarKind = BALLS,
        parameters: Mapping[str, Any] | None = None,
    ) -> None:
        self._ring, self._point, self._kind = ring, point, kind
        given = parameters or {}
        places = {name: place for place in ring.parameter_positions for name in ring.keys[place][1:]}
        self._squares = {places[name]: number for name, number in given.items() if name in places}
        self._known: dict[tuple[int, int], Any] = {}

    def __call__(self, value: Polynomial) -> Any:
        """The value. Raises `NotRealError` for a root of a negative number."""
        return evaluate(value.to_dict(), self._power, self._kind.coefficient)

    def _power(self, position: int, n: int) -> Any:
        if (position, n) not in self._known:
            if position in self._squares and n % 2 == 0:
                found = self._squares[position] ** (n // 2)
            elif n > 1:
                found = self._power(position, 1) ** n
            else:
                found = self._generator(position)
            self._known[position, n] = found
        return self._known[position, n]

    def _generator(self, position: int) -> Any:
        what = self._ring.opaque.get(position)
        if what is None:
            known = self._squares.get(position)
            return self._point(position) if known is None else self._kind.sqrt(known)
        if what.number is not None:
            return self._kind.number(what.number)
        assert what.argument is not None
        inside = self(what.argument)
        if what.kind in ELEMENTARY:
            return getattr(self._kind, what.kind)(inside)
        if not isinstance(inside, arb):
            return 1 / inside if what.kind == "reciprocal" else self._kind.sqrt(inside)
        if what.kind == "reciprocal":
            if inside.contains(0):
                raise NotRealError(f"{what.text}, which may be no number here")
            return 1 / inside
        if inside < 0:
            raise NotRealError(f"{what.text}, which is not real here")
        return inside.sqrt() if inside > 0 else arb(inside.upper()).sqrt().union(arb(0))


def by_key(ring: Context, number: Callable[[Key], Any]) -> Point:
    """The point with number(key) at each generator; a `KeyError` of it says that the generator stands for no number."""

    def point(position: int) -> Any:
        try:
            return number(ring.keys[position])
        except KeyError:
            raise NotExpandableError(f"{ring.label(position)[0]}, which stands for no number here") from None

    return point


def root_interval(value: Fraction) -> arb:
    """A ball around the square root of a number that is not negative."""
    with flint.ctx.workprec(BITS):
        return ball.number(value).sqrt()


def value_at(value: Polynomial, ring: Context, point: Point) -> arb:
    """A ball around `value` at a point of fractions or balls. Raises `NotRealError` where a root is not real there."""
    with flint.ctx.workprec(BITS):
        found: arb = Values(ring, lambda position: ball.number(point(position)))(value)
        return found


def number_at(value: Polynomial, ring: Context) -> arb:
    """A ball around a polynomial in numbers alone."""
    return value_at(value, ring, nowhere)


def sign_of(value: Polynomial, ring: Context, point: Point | None = None) -> int:
    """1 or -1 where the sign of a value at a point is certain, else 0; without a point, `value` is a number."""
    found = value_at(value, ring, point or nowhere)
    return 1 if found > 0 else -1 if found < 0 else 0


def nowhere(position: int) -> NoReturn:
    """No point: elements that are numbers alone have a value at it."""
    raise NotExpandableError("a number is asked of what is none")


APART = 1e-6
"""The relative size of a sum, beside its terms, above which floats prove it non-zero: their errors, and the intervals' widths, are
1e-15 times the number and the degree of its terms."""

LOST = 1e-9
"""The largest width of a coefficient that counts as 0: large floats that cancel leave wider intervals, which a run may see."""

Terms = dict[tuple[int, ...], Any]


def without_rounding(value: Polynomial, ring: Context) -> Polynomial:
    """`value` without the terms whose coefficient, a polynomial in numbers, may be 0 by the intervals of the floats in it.

    Raises `NotExpandableError` where the intervals are too wide to decide a sum of large numbers.
    """
    numbers = _numbers(ring)
    groups: dict[tuple[int, ...], Terms] = {}
    for exponents, factor in value.to_dict().items():
        rest = tuple(0 if k in numbers else e for k, e in enumerate(exponents))
        groups.setdefault(rest, {})[exponents] = factor
    kept: Terms = {}
    for terms in groups.values():
        near = _in_floats(terms, numbers)
        if abs(sum(near)) > APART * sum(map(abs, near)) or not _may_be_zero(terms, ring, numbers):
            kept.update(terms)
    return value if len(kept) == len(value) else ring.context.from_dict(kept)


def _numbers(ring: Context) -> dict[int, float]:
    """The opaque elements that are numbers, roots and reciprocals of such ones too, by their positions."""
    for k in ring.opaque:
        if k not in ring.floats and ring.is_number(ring.generator_at(k)):
            ring.floats[k] = float(number_at(ring.generator_at(k), ring).mid())
    return ring.floats


def _in_floats(terms: Terms, numbers: dict[int, float]) -> list[float]:
    found = []
    for exponents, factor in terms.items():
        term = float(to_fraction(factor))
        for k, number in numbers.items():
            if exponents[k]:
                term *= number ** int(exponents[k])
        found.append(term)
    return found


def _may_be_zero(terms: Terms, ring: Context, numbers: dict[int, float]) -> bool:
    own = ring.context.from_dict(
        {tuple(e if k in numbers else 0 for k, e in enumerate(m)): c for m, c in terms.items()}
    )
    # Roots of numbers alone are free of one another: a sum of them that is not the ring's 0 is not 0.
    slots = ring.occurring(own) & ring.opaque.keys()
    if not any(isinstance(ring.opaque[k].number, Rounded) for k in slots):
        return False
    found = number_at(own, ring)
    if not found.contains(0):
        return False
    width = 2 * float(found.rad())
    # Series with number coefficients have high powers and large coefficients, and are summed in balls later.
    if width > LOST and ring.coordinates:
        raise NotExpandableError(
            f"{ring.text(own, 4)}, floats that cancel: their rounding leaves {width:.1g} of it, so that it is not "
            "told from 0"
        )
    return True
