"""Quotients by what holds parameters alone: 1/q as an element r of the ring, of which r q = 1 is known.

Taken are sums of positive multiples of parameters, and polynomials in `dim` without a whole root: then r is a number at
every setting, and what is proved with it holds at every setting. An element with r in it is zero exactly where it is zero
with its denominators cleared, sum_i c_i r^i = r^m sum_i c_i q^(m - i).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from sgverify.errors import NotExpandableError
from sgverify.exact.series.polynomials import Polynomial, coefficients_in, to_fraction
from sgverify.exact.series.radicals import manifest_sign
from sgverify.exact.series.roots import Opaque

if TYPE_CHECKING:
    from sgverify.exact.series.ring import Ring

DIM = "dim"
"""The parameter that stands for the dimension where it is a symbol."""

MOST_DIMENSIONS = 10_000
"""The largest whole number that is tried as a root of a polynomial in the dimension."""


def reciprocal(value: Polynomial, ring: Ring) -> Polynomial:
    """1/value. Raises `NotExpandableError` where `value` may be 0."""
    if not (_is_positive(value, ring) or _has_no_whole_root(value, ring)):
        raise NotExpandableError(f"the quotient (1) / ({ring.text(value)}), which is not a polynomial")
    what = Opaque("reciprocal", f"1/({ring.text(value)})", argument=value)
    return ring.slot(("reciprocal", str(value)), what)


def without_quotients(value: Polynomial, ring: Ring) -> Polynomial:
    """`value` with r q = 1 carried out wherever a factor q stands beside r; the ring's zero where it vanishes."""
    for at, divisor in reversed(ring.reciprocals.items()):
        if value.degrees()[at]:
            value = _cancelled(value, at, divisor, ring)
    return ring.zero if _vanishes(value, ring) else value


def _is_positive(value: Polynomial, ring: Ring) -> bool:
    def positive(k: int) -> bool:
        return k in ring.parameter_positions or (
            k in ring.opaque and ring.opaque[k].kind in ("number", "exp")
        )

    return manifest_sign(value, ring) > 0 and all(
        positive(k) for powers in value.monoms() for k, e in enumerate(powers) if e
    )


def _has_no_whole_root(value: Polynomial, ring: Ring) -> bool:
    """Whether `value` is a polynomial in `dim` alone that no whole number makes vanish."""
    if DIM not in ring.parameters:
        return False
    at = ring.position("root", DIM)
    terms = {tuple(map(int, powers)): to_fraction(c) for powers, c in value.to_dict().items()}
    if any(e % 2 or (e and k != at) for powers in terms for k, e in enumerate(powers)):
        return False
    coefficients = {powers[at] // 2: c for powers, c in terms.items()}
    last = coefficients[max(coefficients)]
    # Cauchy: beyond 1 + max |c_i/c_n| a polynomial has no root.
    bound = 1 + max(abs(c / last) for c in coefficients.values())
    return bound <= MOST_DIMENSIONS and all(
        sum(c * n**power for power, c in coefficients.items()) for n in range(1, int(bound) + 1)
    )


def _cancelled(value: Polynomial, at: int, divisor: Polynomial, ring: Ring) -> Polynomial:
    parts = coefficients_in(value, at)
    for n in range(len(parts) - 1, 0, -1):
        quotient, parts[n] = divmod(parts[n], divisor)
        parts[n - 1] = parts[n - 1] + quotient
    total = ring.zero
    for n, part in enumerate(parts):
        total = total + part * ring.generator_at(at) ** n
    return total


def _vanishes(value: Polynomial, ring: Ring) -> bool:
    while value:
        degrees = value.degrees()
        held = [at for at in reversed(ring.reciprocals) if degrees[at]]
        if not held:
            return False
        parts, value = coefficients_in(value, held[0]), ring.zero
        for part in parts:
            value = value * ring.reciprocals[held[0]] + part
        value = ring.carried_out(value)
    return True
