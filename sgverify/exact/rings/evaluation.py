"""Values of ring elements at numbers, in intervals, which prove an element to be non-zero; and zeros up to rounding of floats.

A float that stands for no simple number, such as math.cos(0.3), is a symbol with a known interval. c^2 + s^2 - 1 is then no zero
of the ring, but its enclosure contains 0, and it cannot be proved to be non-zero. So a coefficient counts as 0 where its
enclosure contains 0, and `Ring.reduce` drops it. A coefficient that exceeds these roundings is kept.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import flint
from flint import arb

from sgverify.errors import NotExpandableError
from sgverify.exact.numbers import ball
from sgverify.exact.rings.polynomials import Polynomial, evaluate, to_fraction
from sgverify.schemes.numbers.rounded import Rounded

if TYPE_CHECKING:
    from sgverify.exact.rings.ring import Ring

BITS = 256


class NotRealError(NotExpandableError):
    """A root of a negative number: the definition is not defined at these numbers."""


Point = Callable[[int], Any]
"""The numbers of a ring's generators by position, fractions or intervals."""


def root_interval(value: Fraction) -> arb:
    """A ball around the square root of a number that is not negative."""
    with flint.ctx.workprec(BITS):
        return ball.number(value).sqrt()


def value_at(value: Polynomial, ring: Ring, point: Point) -> arb:
    """A ball around `value` where the generator at position k is the number point(k); opaque ones follow from their arguments.

    Raises `NotRealError` where a root is not real at the point.
    """
    with flint.ctx.workprec(BITS):
        known = {k: _generator(k, ring, point) for k, degree in enumerate(value.degrees()) if degree > 0}
        return evaluate(value.to_dict(), known.__getitem__, arb)


def number_at(value: Polynomial, ring: Ring) -> arb:
    """A ball around a polynomial in numbers alone."""
    return value_at(value, ring, _nowhere)


def sign_of(value: Polynomial, ring: Ring, point: Point | None = None) -> int:
    """1 or -1 where the sign of a value at a point is certain, else 0; without a point, `value` is a number."""
    found = value_at(value, ring, point or _nowhere)
    return 1 if found > 0 else -1 if found < 0 else 0


def _nowhere(position: int) -> Fraction:
    raise NotExpandableError("a number is asked of what is none")


def _generator(position: int, ring: Ring, point: Point) -> arb:
    what = ring.opaque.get(position)
    if what is None:
        return ball.number(point(position))
    if what.number is not None:
        return ball.enclosed(what.number)
    inside = value_at(what.argument, ring, point)
    if what.kind == "exp":
        return inside.exp()
    if what.kind == "reciprocal":
        if inside.contains(0):
            raise NotRealError(f"{what.text}, which may be no number here")
        return 1 / inside
    if inside < 0:
        raise NotRealError(f"{what.text}, which is not real here")
    return inside.sqrt() if inside > 0 else arb(inside.upper()).sqrt().union(arb(0))


APART = 1e-6
"""The relative size of a sum, beside its terms, above which floats prove it non-zero: their errors, and the intervals' widths, are
1e-15 times the number and the degree of its terms."""

LOST = 1e-9
"""The largest width of a coefficient that counts as 0: large floats that cancel leave wider intervals, which a run may see."""

Terms = dict[tuple[int, ...], Any]


def without_rounding(value: Polynomial, ring: Ring) -> Polynomial:
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


def _numbers(ring: Ring) -> dict[int, float]:
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


def _may_be_zero(terms: Terms, ring: Ring, numbers: dict[int, float]) -> bool:
    own = ring.context.from_dict(
        {tuple(e if k in numbers else 0 for k, e in enumerate(m)): c for m, c in terms.items()}
    )
    # Roots of numbers alone are free of one another: a sum of them that is not the ring's 0 is not 0.
    if not _has_interval(own, ring):
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


def _has_interval(value: Polynomial, ring: Ring) -> bool:
    degrees = value.degrees()
    return any(
        isinstance(what.number, Rounded) or (what.argument is not None and _has_interval(what.argument, ring))
        for k, what in ring.opaque.items()
        if degrees[k]
    )
