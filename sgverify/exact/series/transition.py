"""E f(X_1) as a normal-ordered operator in powers of s = sqrt(h)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import Any

from sgverify.errors import NotExpandableError
from sgverify.exact.numbers.entrywise import coordinates_of
from sgverify.exact.rings.polynomials import Polynomial, coefficients_in
from sgverify.exact.rings.power_series import TruncatedSeries
from sgverify.exact.rings.ring import Ring
from sgverify.exact.rings.time_limit import check_time
from sgverify.exact.series.carrier import SeriesInterpreter
from sgverify.exact.series.operators import Operator, operator_of
from sgverify.schemes import NoiseLaw, Scheme

Flow = Callable[..., tuple[Any, ...]]


class Transition:
    """The operator f -> E f(X_1): `at(j)` is its normal-ordered coefficient of s^j, j <= degree.

    With the increment D = X_1 - X_0, E f(X_1) = sum_a E[D^a]/a! d^a f, whose symbol is E exp(xi . D). Since
    D = O(s), only |a| <= j contributes at s^j; all of them are taken (moments to order 4 alone would accept
    wrong schemes). Of a step that does not tend to the identity, the first two moments show it at s^0.
    """

    def __init__(
        self, ring: Ring, increments: list[TruncatedSeries], degree: int, laws: Sequence[NoiseLaw]
    ) -> None:
        self.ring = ring
        self.degree = degree
        self.laws = tuple(laws)
        self._exponents = exponents_of(ring, increments, degree)
        self._powers = exponentials if not self._exponents[0] else _two_moments
        self._found: list[Polynomial] = []

    @property
    def counts(self) -> bool:
        """Whether more draws than powers of s come together somewhere, so that sums of their squares have no factor h."""
        draws = list(self.ring.draws)
        return any(
            sum(int(powers[k]) for k in draws) > j
            for j, value in enumerate(self._exponents)
            for powers in value.monoms()
        )

    def symbol(self, j: int) -> Polynomial:
        """The symbol of the coefficient of s^j, averaged over the draws."""
        while len(self._found) <= j:
            self._found.append(self._powers(self._exponents, self._found, self.ring))
        return self.ring.reduce(expect(self._found[j], self.ring, self.laws))

    def at(self, j: int) -> Operator:
        """{a: coefficient of d^a} at s^j."""
        found = operator_of(self.symbol(j), self.ring)
        # The term of degree 0 is E 1, no derivative of f.
        found.pop((0,) * len(self.ring.coordinates), None)
        return found


def transition_of(
    scheme: Scheme, ring: Ring, degree: int, steps: int = 1, *, each_evaluation: bool = False
) -> Transition:
    """The transition operator of `steps` consecutive steps, with the memory started by the scheme.

    Each step has minibatches of its own, and so has the start of the memory; with `each_evaluation` each gradient.
    """
    reading = SeriesInterpreter(ring, each_evaluation=each_evaluation)
    start = reading.state()
    values = reading.start(scheme) if scheme.memory else start
    for _ in range(steps):
        values = reading.step(scheme, values)
    return Transition(ring, increments_of(ring, start, values[: len(start)]), degree, reading.laws)


def transition_of_flow(flow: Flow, ring: Ring, degree: int) -> Transition:
    """The transition operator of one letter, its time t = s^2."""
    reading = SeriesInterpreter(ring)
    start = reading.state()
    end = reading.bind(flow).run(flow, start, grad=reading.gradient(), draw=reading.draw, t=reading.h)
    return Transition(ring, increments_of(ring, start, end), degree, reading.laws)


def expect(value: Polynomial, ring: Ring, laws: Sequence[NoiseLaw], first: int = 0) -> Polynomial:
    """The average over independent draws z from the `first` on: every power of a draw becomes that moment of its law."""
    degrees = value.degrees()
    for position, draw in ring.draws.items():
        if draw >= first and degrees[position]:
            total = ring.zero
            check_time()
            for n, factor in enumerate(coefficients_in(value, position)):
                moment = laws[draw].moment(n) if factor else 0
                if moment:
                    total = total + factor * ring.constant(moment)
            value = total
    return value


def increments_of(ring: Ring, start: tuple[Any, ...], end: tuple[Any, ...]) -> list[TruncatedSeries]:
    """X_1 - X_0, coordinate by coordinate."""
    before, after = (coordinates_of(values, ring.shapes, ring.dim) for values in (start, end))
    return [b - a for a, b in zip(before, after, strict=True)]


def exponents_of(ring: Ring, increments: list[TruncatedSeries], degree: int) -> list[Polynomial]:
    """xi . D by powers of s."""
    for increment in increments:
        increment.refuse_poles()
    if any(increment.order <= degree for increment in increments):
        raise NotExpandableError("increments that are known to too few orders")
    found = []
    for j in range(degree + 1):
        total = ring.zero
        for k, increment in enumerate(increments):
            if j in increment.terms:
                total = total + increment.terms[j] * ring.generator("dual", k)
        found.append(ring.reduce(total) if ring.rounded else total)
    return found


def exponentials(g: list[Polynomial], found: list[Polynomial], ring: Ring) -> Polynomial:
    """The next coefficient F_n of F = exp(g), g = O(s), from F' = g' F: n F_n = sum_k k g_k F_(n-k)."""
    n = len(found)
    total = ring.zero if n else ring.one
    for k in range(1, n + 1):
        if g[k]:
            check_time(len(g[k]) * len(found[n - k]))
            total = total + g[k] * found[n - k] * ring.constant(Fraction(k, n))
    return total


def _two_moments(g: list[Polynomial], found: list[Polynomial], ring: Ring) -> Polynomial:
    """The next coefficient of 1 + g + g^2/2."""
    n = len(found)
    total = g[n] if n else g[n] + ring.one
    for k in range(n + 1):
        total = total + g[k] * g[n - k] * ring.constant(Fraction(1, 2))
    return total
