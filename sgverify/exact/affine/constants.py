"""Exact series in sqrt(h) with number coefficients: the scalars of the expansion at h = 0."""

from __future__ import annotations

from typing import Any

from flint import arb, fmpq

from sgverify.errors import NotExpandableError
from sgverify.exact.ball import enclosed
from sgverify.exact.series.polynomials import evaluate
from sgverify.exact.series.ring import Ring
from sgverify.exact.series.series import EXACT, TruncatedSeries
from sgverify.schemes import Surd, exact
from sgverify.schemes.algebraic import Algebraic
from sgverify.schemes.rounded import Rounded


def number_ring(cap: int) -> Ring:
    """The ring Q(sqrt 2, sqrt 3, ...) with series cut at s^cap."""
    return Ring(1, {}, (), depth=0, draws=0, minibatches=1, cap=cap)


def constant(ring: Ring, value: Any) -> TruncatedSeries:
    """A number as a series."""
    return TruncatedSeries(ring, {0: ring.constant(value)}, EXACT)


def step_size(ring: Ring) -> TruncatedSeries:
    """h = s^2."""
    return TruncatedSeries(ring, {2: ring.one}, EXACT)


def coefficient(ring: Ring, value: Any, power: int) -> fmpq | arb | int:
    """The coefficient of s^power of a scalar, rational where it is, else a ball."""
    if not isinstance(value, TruncatedSeries):
        return 0 if power else rational(exact(value))
    found = ring.reduce(value.coefficient(power))
    if not found:
        return 0
    if found.is_constant():
        return fmpq(found.leading_coefficient())
    return _evaluate(ring, found)


def rational(value: Any) -> fmpq | arb:
    """A number as flint's rational, or as a ball where it has roots."""
    if isinstance(value, Algebraic | Rounded):
        return enclosed(value)
    if isinstance(value, Surd):
        return sum(
            (arb(fmpq(r.numerator, r.denominator)) * arb(q).sqrt() for q, r in value.terms.items()), arb(0)
        )
    return fmpq(value.numerator, value.denominator)


def _evaluate(ring: Ring, value: Any) -> arb:
    total: arb = evaluate(value.to_dict(), lambda position: _of_slot(ring, position), arb)
    if not total.is_finite():
        raise NotExpandableError("a coefficient that has no value")
    return total


def _of_slot(ring: Ring, position: int) -> arb:
    what = ring.opaque.get(position)
    if what is not None and what.kind == "root":
        return _evaluate(ring, what.argument).sqrt()
    if what is not None and what.kind == "reciprocal":
        return 1 / _evaluate(ring, what.argument)
    return arb(rational(ring.number_of_slot(position)))
