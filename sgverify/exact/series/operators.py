"""Differential operators with polynomial coefficients, in normal order: {a: c_a} stands for sum_a c_a d^a.

As a polynomial, the symbol of the operator, it is written sum_a c_a xi^a. One polynomial with the dual variables xi holds
all coefficients at once, so that a product of operators and the expectation of f(x + D), E exp(xi . D), are a few products of
polynomials instead of one for each multi-index.
"""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from typing import Any

from sgverify.errors import NotExpandableError
from sgverify.exact.numbers.entrywise import coordinates_of, squares_of
from sgverify.exact.rings.polynomials import Polynomial, parts_in, print_operator
from sgverify.exact.rings.power_series import TruncatedSeries
from sgverify.exact.rings.ring import Index, Ring
from sgverify.exact.rings.roots import DIM
from sgverify.exact.rings.time_limit import check_time
from sgverify.exact.series.carrier import SeriesInterpreter
from sgverify.schemes import Dynamics


def is_smooth(value: Polynomial, ring: Ring) -> bool:
    """Whether no root of the state occurs in `value`, whose derivatives the ring does not have; a quotient has them."""
    degrees = value.degrees()
    return all(
        ring.depends_only_on_parameters(what.argument)
        or (what.kind == "reciprocal" and is_smooth(what.argument, ring))
        for position, what in ring.opaque.items()
        if what.kind != "number" and degrees[position]
    )


def has_moments(value: Polynomial, ring: Ring) -> bool:
    """Whether no root in `value` holds a derivative of U: its average is a sum of moments of the gradients then."""
    degrees = value.degrees()
    inside = [what.argument for k, what in ring.opaque.items() if what.kind == "root" and degrees[k]]
    return not any(argument.degrees()[k] for argument in inside for k in ring.jets)


def takes_roots_of_gradients(ring: Ring) -> bool:
    """Whether a derivative of U stands under a root, or in a polynomial whose sign is supposed."""
    inside = [what.argument for what in ring.opaque.values() if what.kind == "root"]
    return any(value.degrees()[k] for value in (*inside, *ring.supposed.values()) for k in ring.jets)


def ring_of(
    dynamics: Dynamics,
    dim: int,
    *,
    depth: int,
    cap: int,
    draws: int = 0,
    minibatches: int = 1,
    signs: Mapping[str, int] | None = None,
    symbolic: bool = False,
    parts: bool = False,
) -> Ring:
    """The ring of a dynamics: its state, its parameters and, where it has one, its metric; `parts` as for `Ring`.

    `symbolic`: the `dim` that definitions ask for is a parameter more, whatever the number of coordinates.
    """
    return Ring(
        dim,
        dynamics.shapes,
        (*dynamics.parameters, *([DIM] if symbolic else [])),
        depth=depth,
        draws=draws,
        minibatches=minibatches,
        cap=cap,
        metric=dynamics.riemannian,
        parts=parts,
        signs=signs,
        positive=dynamics.positive,
    )


def operator_text(operator: Operator, ring: Ring) -> str:
    """sum_a c_a d^a as text; "0" for the operator that has no terms."""
    return print_operator({index: ring.text(value) for index, value in operator.items()}, ring.labels)


def generator_of(dynamics: Dynamics, ring: Ring) -> Operator:
    """L = F . grad + a : Hess (chen2015, below equation (1)), for every smooth U and every metric."""
    reading = SeriesInterpreter(ring)
    drift, diffusion = reading.bind(dynamics).coefficients(reading.state(), grad=reading.gradient())
    unit = [tuple(int(j == k) for j in range(len(ring.coordinates))) for k in range(len(ring.coordinates))]
    operator: Operator = {}
    for k, f in enumerate(coordinates_of(drift, ring.shapes, ring.dim)):
        add_to(operator, unit[k], _coefficient(f, ring))
    for (k, j), a in squares_of(diffusion, ring.shapes, ring.dim).items():
        index = tuple(m + n for m, n in zip(unit[k], unit[j], strict=True))
        add_to(operator, index, _coefficient(a, ring))
    return operator


def identity(ring: Ring) -> Operator:
    """The identity operator."""
    return {(0,) * len(ring.coordinates): ring.one}


def compose(left: Operator, right: Operator, ring: Ring) -> Operator:
    """left after right as operators on functions: (sum b_b d^b)(sum c_a d^a), by Leibniz' rule."""
    return operator_of(compose_symbols(symbol_of(left, ring), symbol_of(right, ring), ring), ring)


def exponential(operator: Operator, ring: Ring, degree: int) -> list[Operator]:
    """[L^k / k! for k = 0..degree], normal-ordered: the coefficients of exp(hL) in powers of h."""
    symbols = exponential_symbols(symbol_of(operator, ring), ring, degree)
    return [operator_of(symbol, ring) for symbol in symbols]


def difference(left: Mapping[Index, Polynomial], right: Mapping[Index, Polynomial], ring: Ring) -> Operator:
    """left - right, with opaque roots reduced and zero coefficients dropped."""
    result: Operator = dict(left)
    for index, c in right.items():
        add_to(result, index, -c)
    reduced = {index: ring.reduce(c) for index, c in result.items() if c}
    return {index: c for index, c in reduced.items() if c}


def derivative(value: Polynomial, index: Index, ring: Ring) -> Polynomial:
    """d^index of a coefficient; U_a is differentiated to U_(a + e)."""
    for k, times in enumerate(index):
        for _ in range(times):
            value = derivative_along(value, k, ring)
    return value


def add_to(operator: Operator, index: Index, value: Polynomial) -> None:
    """operator += value d^index."""
    operator[index] = operator[index] + value if index in operator else value


def _coefficient(entry: Any, ring: Ring) -> Polynomial:
    return entry.coefficient(0) if isinstance(entry, TruncatedSeries) else ring.constant(entry)


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
                check_time()
                following.append((a, b))
                if not int(a.degrees()[position]):
                    break
                n += 1
                a = a.derivative(position) * ring.constant(Fraction(1, n))
                b = derivative_along(b, k, ring)
        pairs = following
    total = ring.zero
    for a, b in pairs:
        check_time(len(a) * len(b))
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
    used = value.degrees()
    for position, divisor in ring.reciprocals.items():
        if used[position]:
            # d(1/q) = -dq/q^2.
            inner = derivative_along(divisor, k, ring) * ring.generator_at(position) ** 2
            total = total - value.derivative(position) * inner
    if name != "theta":
        return total
    for position in ring.jets:
        if used[position]:
            total = total + value.derivative(position) * ring.raised(position, i)
    return total


def _dual_positions(ring: Ring) -> range:
    first = ring.position("dual", 0) if ring.coordinates else 0
    return range(first, first + len(ring.coordinates))


__all__ = [
    "Operator",
    "add_to",
    "compose",
    "derivative",
    "difference",
    "exponential",
    "generator_of",
    "identity",
]
