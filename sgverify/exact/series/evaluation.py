"""Elements of a ring at numbers, in intervals: what tells an element that is not 0 from one that the ring does not know to be 0."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from functools import cache
from typing import TYPE_CHECKING, Any

from sgverify.errors import NotExpandableError
from sgverify.exact.series.polynomials import Polynomial, evaluate, to_fraction
from sgverify.exact.series.roots import Interval, SimpleRoot
from sgverify.schemes.real_root import Root

if TYPE_CHECKING:
    from sgverify.exact.series.ring import Ring

BITS = 256


class NotRealError(NotExpandableError):
    """A root of a negative number: the definition is not defined at these numbers."""


Point = Callable[[int], Any]
"""The numbers of a ring's generators by position, fractions or intervals."""


def root_interval(value: Fraction) -> Any:
    """An interval around the square root of a number that is not negative."""
    return _context().sqrt(_interval(value))


def value_at(value: Polynomial, ring: Ring, point: Point) -> Any:
    """An interval around `value` where the generator at position k is the number point(k); opaque ones follow from theirs.

    Raises `NotRealError` where a root is not real there.
    """
    known = {k: _generator(k, ring, point) for k, degree in enumerate(value.degrees()) if degree > 0}
    return evaluate(value.to_dict(), known.__getitem__, lambda c: _interval(to_fraction(c)))


def number_at(value: Polynomial, ring: Ring) -> Any:
    """An interval around a polynomial in numbers alone."""
    return value_at(value, ring, _nowhere)


def sign_of(value: Polynomial, ring: Ring, point: Point | None = None) -> int:
    """1 or -1 where the sign of a value at a point can be told, else 0; without a point that of a number."""
    found = value_at(value, ring, point or _nowhere)
    return 1 if found.a > 0 else -1 if found.b < 0 else 0


def _nowhere(position: int) -> Fraction:
    raise NotExpandableError("a number is asked of what is none")


def _generator(position: int, ring: Ring, point: Point) -> Any:
    what = ring.opaque.get(position)
    if what is None:
        return _interval(point(position))
    if what.number is not None:
        return _root_of_number(what.number)
    inside = value_at(what.argument, ring, point)
    if what.kind == "exp":
        return _context().exp(inside)
    if what.kind == "reciprocal":
        if inside.a <= 0 <= inside.b:
            raise NotRealError(f"{what.text}, which may be no number here")
        return 1 / inside
    if inside.b < 0:
        raise NotRealError(f"{what.text}, which is not real here")
    return _context().sqrt(_context().mpf([max(inside.a, 0), inside.b]))


def _root_of_number(root: SimpleRoot | Interval) -> Any:
    if isinstance(root, Interval):
        return _context().mpf([_interval(root.number.low).a, _interval(root.number.high).b])
    if isinstance(root.base, Root):
        low, high = root.base.enclosure(BITS)
        return _context().mpf([_interval(low).a, _interval(high).b])
    base = _interval(Fraction(root.base))
    return _context().sqrt(base) if root.index == 2 else base ** (1 / _interval(Fraction(root.index)))


def _interval(number: Any) -> Any:
    if not isinstance(number, Fraction):
        return number
    return _context().mpf(number.numerator) / number.denominator


@cache
def _context() -> Any:
    # mpmath comes with sympy; it loads where a definition has opaque elements only.
    from mpmath.ctx_iv import MPIntervalContext

    context = MPIntervalContext()
    context.prec = BITS
    return context
