"""Differential operators as polynomials: sum_a c_a d^a, in normal order, is written sum_a c_a xi^a.

One polynomial with the dual variables xi holds all coefficients at once, so that a product of operators and the
expectation of f(x + D), E exp(xi . D), are a few products of polynomials instead of one for each multi-index.
"""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction

from sgverify.errors import NotExpandableError
from sgverify.exact.series.polynomials import Polynomial, parts_in
from sgverify.exact.series.ring import Index, Ring
from sgverify.exact.series.smoothness import is_smooth

Operator = dict[Index, Polynomial]


def symbol_of(operator: Mapping[Index, Polynomial], ring: Ring) -> Polynomial:
    """sum_a c_a xi^a."""
    total = ring.zero
    for index, coefficient in operator.items():
        term = coefficient
        for k, n in enumerate(index):
            if n:
                term = term * ring.generator("dual", k) ** n
        total = total + term
    return total


def operator_of(symbol: Polynomial, ring: Ring) -> Operator:
    """{a: c_a}, zero coefficients left out."""
    return parts_in(symbol, _dual_positions(ring))


def compose_symbols(left: Polynomial, right: Polynomial, ring: Ring) -> Polynomial:
    """The symbol of left after right: sum_b (d_xi^b left) (d_x^b right) / b!, which is Leibniz' rule."""
    pairs = [(left, right)]
    for k, position in enumerate(_dual_positions(ring)):
        following = []
        for a, b in pairs:
            n = 0
            while a and b:
                following.append((a, b))
                if not int(a.degrees()[position]):
                    break
                n += 1
                a = a.derivative(position) * ring.constant(Fraction(1, n))
                b = derivative_along(b, k, ring)
        pairs = following
    total = ring.zero
    for a, b in pairs:
        total = total + a * b
    return total


def exponential_symbols(generator: Polynomial, ring: Ring, degree: int) -> list[Polynomial]:
    """[the symbol of L^k / k! for k = 0..degree]: the coefficients of exp(hL) in powers of h."""
    powers = [ring.one]
    for k in range(1, degree + 1):
        powers.append(compose_symbols(generator, powers[-1], ring) * ring.constant(Fraction(1, k)))
    return powers


def derivative_along(value: Polynomial, k: int, ring: Ring) -> Polynomial:
    """d/dx_k of the coefficients; along theta_i the symbol U_a is differentiated to U_(a + e_i).

    Raises `TooShallowError` where that needs more derivatives of U than the ring holds, and `NotExpandableError`
    for a root of the state, of which the ring has no derivatives.
    """
    if not is_smooth(value, ring):
        raise NotExpandableError(f"a derivative of {ring.text(value)}")
    name, i = ring.coordinates[k]
    total = value.derivative(k)
    if name != "theta":
        return total
    used = value.degrees()
    for position in ring.jets:
        if used[position]:
            total = total + value.derivative(position) * ring.raised(position, i)
    return total


def _dual_positions(ring: Ring) -> range:
    first = ring.position("dual", 0) if ring.coordinates else 0
    return range(first, first + len(ring.coordinates))
