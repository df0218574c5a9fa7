"""Differential operators with polynomial coefficients, in normal order: {a: c_a} stands for sum_a c_a d^a."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from sgverify.exact.entrywise import coordinates_of, squares_of
from sgverify.exact.series.carrier import SeriesInterpreter
from sgverify.exact.series.polynomials import Polynomial
from sgverify.exact.series.printing import print_operator
from sgverify.exact.series.reciprocals import DIM
from sgverify.exact.series.ring import Index, Ring
from sgverify.exact.series.series import TruncatedSeries
from sgverify.exact.series.symbols import (
    Operator,
    compose_symbols,
    derivative_along,
    exponential_symbols,
    operator_of,
    symbol_of,
)
from sgverify.schemes import Dynamics

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
    """The operator that changes nothing."""
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
