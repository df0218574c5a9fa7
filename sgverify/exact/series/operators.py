"""Differential operators with polynomial coefficients, in normal order: {a: c_a} stands for sum_a c_a d^a."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from itertools import product
from math import comb, factorial
from typing import Any

from flint import fmpq_mpoly

from sgverify.exact.series.carrier import Reading, Vector
from sgverify.exact.series.ring import Index, Ring
from sgverify.exact.series.series import Series
from sgverify.schemes import Dynamics

Operator = dict[Index, fmpq_mpoly]


def generator_of(dynamics: Dynamics, ring: Ring) -> Operator:
    """L = F . grad + a . diagonal of the Hessian (chen2015, below equation (1)), for every smooth U."""
    reading = Reading(ring)
    given = reading.ingredients()
    del given["h"], given["noise"]
    drift, diffusion = dynamics.coefficients(reading.state(), **given)
    unit = [tuple(int(j == k) for j in range(len(ring.coordinates))) for k in range(len(ring.coordinates))]
    operator: Operator = {}
    for k, (f, a) in enumerate(zip(_flat(drift, ring), _flat(diffusion, ring), strict=True)):
        add_to(operator, unit[k], f)
        add_to(operator, tuple(2 * n for n in unit[k]), a)
    return operator


def identity(ring: Ring) -> Operator:
    """The operator that changes nothing."""
    return {(0,) * len(ring.coordinates): ring.one}


def compose(left: Operator, right: Operator, ring: Ring) -> Operator:
    """left after right as operators on functions: (sum b_b d^b)(sum c_a d^a), by Leibniz' rule."""
    result: Operator = {}
    for b, factor in left.items():
        for below in product(*(range(n + 1) for n in b)):
            weight = 1
            for n, k in zip(b, below, strict=True):
                weight *= comb(n, k)
            for a, c in right.items():
                inner = derivative(c, below, ring)
                if inner:
                    index = tuple(n - k + m for n, k, m in zip(b, below, a, strict=True))
                    add_to(result, index, factor * inner * weight)
    return {index: c for index, c in result.items() if c}


def exponential(operator: Operator, ring: Ring, degree: int) -> list[Operator]:
    """[L^k / k! for k = 0..degree], normal-ordered: the coefficients of exp(hL) in powers of h."""
    powers = [identity(ring)]
    for k in range(1, degree + 1):
        following = compose(operator, powers[-1], ring)
        powers.append({a: c * ring.constant(Fraction(1, k)) for a, c in following.items()})
    return powers


def difference(left: Mapping[Index, fmpq_mpoly], right: Mapping[Index, fmpq_mpoly], ring: Ring) -> Operator:
    """left - right, with opaque roots reduced and zero coefficients dropped."""
    result: Operator = dict(left)
    for index, c in right.items():
        add_to(result, index, -c)
    reduced = {index: ring.reduce(c) for index, c in result.items() if c}
    return {index: c for index, c in reduced.items() if c}


def derivative(value: fmpq_mpoly, index: Index, ring: Ring) -> fmpq_mpoly:
    """d^index of a coefficient; U_a is differentiated to U_(a + e)."""
    for k, times in enumerate(index):
        for _ in range(times):
            if not value:
                return value
            value = _derivative_once(value, ring.coordinates[k], ring)
    return value


def add_to(operator: Operator, index: Index, value: fmpq_mpoly) -> None:
    """operator += value d^index."""
    operator[index] = operator[index] + value if index in operator else value


def inverse_factorial(index: Index) -> Fraction:
    """1 / index!."""
    weight = Fraction(1)
    for n in index:
        weight /= factorial(n)
    return weight


def _derivative_once(value: fmpq_mpoly, coordinate: tuple[str, int], ring: Ring) -> fmpq_mpoly:
    total = value.derivative(ring.position(*coordinate))
    if coordinate[0] != "theta":
        return total
    used = value.degrees()
    for minibatch in range(ring.minibatches):
        for index in ring.derivatives:
            position = ring.position("U", minibatch, index)
            if used[position]:
                raised = tuple(n + (j == coordinate[1]) for j, n in enumerate(index))
                total = total + value.derivative(position) * ring.derivative_of_potential(minibatch, raised)
    return total


def _flat(values: tuple[Any, ...], ring: Ring) -> list[fmpq_mpoly]:
    flat = []
    for value, shape in zip(values, ring.shapes.values(), strict=True):
        if isinstance(value, Vector):
            entries: list[Any] = list(value.entries)
        else:
            entries = [value] * (ring.dim if shape == "vector" else 1)
        flat += [
            entry.coefficient(0) if isinstance(entry, Series) else ring.constant(entry) for entry in entries
        ]
    return flat
