"""Polynomials over the rationals: python-flint's, packed exponents and products in C."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

from flint import Ordering, fmpq, fmpq_mpoly, fmpq_mpoly_ctx

Polynomial = fmpq_mpoly
"""An element of Q[x_1, ..., x_n]; `==` and `bool` compare with the exact zero."""


def polynomials_in(names: Sequence[str]) -> fmpq_mpoly_ctx:
    """Q[x_1, ..., x_n] itself. A name that is taken already gets underscores."""
    found: dict[str, None] = {}
    for name in names:
        while name in found:
            name += "_"
        found[name] = None
    return fmpq_mpoly_ctx.get(tuple(found), Ordering.degrevlex)


def coefficient(value: Fraction) -> fmpq:
    """A rational as a coefficient."""
    return fmpq(value.numerator, value.denominator)


def rational(value: int | fmpq) -> Fraction:
    """A coefficient as a fraction."""
    return Fraction(value) if isinstance(value, int) else Fraction(int(value.p), int(value.q))


def coefficients_in(value: Polynomial, position: int) -> list[Polynomial]:
    """[c_0, c_1, ...] with value = sum_n c_n x^n, x the generator at `position`: c_n is d^n/n! at x = 0."""
    # Going through `to_dict` instead costs thirty times as much.
    nothing: dict[str | int, int] = {value.context().name(position): 0}
    parts = [value.subs(nothing)]
    for n in range(1, int(value.degrees()[position]) + 1):
        value = value.derivative(position) * fmpq(1, n)
        parts.append(value.subs(nothing))
    return parts


def factors(value: Polynomial) -> tuple[Fraction, list[tuple[Polynomial, int]]]:
    """(c, [(f, e), ...]) with value = c * the product of f^e, c rational, the f irreducible."""
    factor, parts = value.factor()
    return rational(factor), [(base, int(exponent)) for base, exponent in parts]
