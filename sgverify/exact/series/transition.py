"""E f(X_1) as a normal-ordered operator in powers of s = sqrt(h)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from flint import fmpq_mpoly

from sgverify.errors import NotExpandableError
from sgverify.exact.series.carrier import Reading, Vector
from sgverify.exact.series.operators import Operator, inverse_factorial
from sgverify.exact.series.ring import Index, Ring, multi_indices
from sgverify.exact.series.series import EXACT, Series
from sgverify.schemes import Scheme

Flow = Callable[..., tuple[Any, ...]]


class Transition:
    """The operator f -> E f(X_1): `at(j)` is its normal-ordered coefficient of s^j, j <= degree.

    With the increment D = X_1 - X_0, E f(X_1) = sum_a E[D^a]/a! d^a f. Since D = O(s), only |a| <= j
    contributes at s^j; all of them are taken (moments to order 4 alone would accept wrong schemes).
    """

    def __init__(self, ring: Ring, increments: list[Series], degree: int) -> None:
        self.ring = ring
        self.degree = degree
        self._moments = _moments(ring, increments, degree)

    def at(self, j: int) -> Operator:
        """{a: coefficient of d^a} at s^j."""
        found = {index: moment.coefficient(j) for index, moment in self._moments.items()}
        return {index: value for index, value in found.items() if value}


def transition_of(scheme: Scheme, ring: Ring, degree: int, steps: int = 1) -> Transition:
    """The transition operator of `steps` consecutive steps, memory started as the scheme says.

    Each step has minibatches of its own, and so has the start of the memory.
    """
    reading = Reading(ring)
    start = reading.state()
    values = scheme.start_memory(start, **reading.ingredients()) if scheme.memory else start
    for _ in range(steps):
        values = scheme.step(values, **reading.ingredients())
    return Transition(ring, _increments(ring, start, values[: len(start)]), degree)


def transition_of_flow(flow: Flow, ring: Ring, degree: int) -> Transition:
    """The transition operator of one letter, its time t = s^2."""
    reading = Reading(ring)
    start = reading.state()
    return Transition(ring, _increments(ring, start, flow(start, **reading.ingredients("t"))), degree)


def expect(value: fmpq_mpoly, ring: Ring) -> fmpq_mpoly:
    """The average over independent standard normal draws z: E z^(2k) = (2k-1)!!, odd moments 0."""
    first = ring.first_draw
    degrees = value.degrees()
    if not any(degrees[first:]):
        return value
    kept: dict[tuple[int, ...], Any] = {}
    blank = (0,) * (len(degrees) - first)
    for exponents, factor in value.to_dict().items():
        draws = exponents[first:]
        if any(e & 1 for e in draws):
            continue
        for e in draws:
            for odd in range(3, e, 2):
                factor = factor * odd
        key = exponents[:first] + blank
        kept[key] = kept[key] + factor if key in kept else factor
    return ring.context.from_dict(kept)


def _increments(ring: Ring, start: tuple[Any, ...], end: tuple[Any, ...]) -> list[Series]:
    flat = []
    for before, after in zip(start, end, strict=True):
        if isinstance(before, Vector):
            flat += [b - a for a, b in zip(before.entries, _entries(after, len(before.entries)), strict=True)]
        else:
            flat.append(after - before)
    return flat


def _entries(value: Any, count: int) -> list[Any]:
    return value.entries if isinstance(value, Vector) else [value] * count


def _moments(ring: Ring, increments: list[Series], degree: int) -> dict[Index, Series]:
    # A step that does not tend to the identity shows it in its first and second moments at s^0.
    highest = 2 if any(increment.valuation == 0 for increment in increments) else degree
    count = len(increments)
    moments: dict[Index, Series] = {}
    level = {(0,) * count: Series(ring, {0: ring.one}, EXACT)}
    for size in range(1, highest + 1):
        following: dict[Index, Series] = {}
        for index in multi_indices(count, size):
            i = next(k for k, n in enumerate(index) if n)
            power = level.get(tuple(n - (k == i) for k, n in enumerate(index)))
            if power is None:
                continue
            power = power * increments[i]
            if min(power.valuation, power.order) > degree:
                continue
            if power.order <= degree:
                raise NotExpandableError("increments that are known to too few orders")
            following[index] = power
            weight = ring.constant(inverse_factorial(index))
            terms = {k: ring.reduce(expect(c, ring)) * weight for k, c in power.terms.items()}
            moments[index] = Series(ring, terms, power.order)
        level = following
    return moments
