"""Differential operators with polynomial coefficients, in normal order: {a: c_a} stands for sum_a c_a d^a.

As a polynomial, the symbol of the operator, it is written sum_a c_a xi^a. One polynomial with the dual variables xi holds
all coefficients at once, so that a product of operators and the expectation of f(x + D), E exp(xi . D), are a few products of
polynomials instead of one for each multi-index.

E f(X_1) as a normal-ordered operator in powers of s = sqrt(h).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from fractions import Fraction
from typing import Any

from sgverify.errors import NotExpandableError
from sgverify.exact.numbers.entrywise import coordinates_of, squares_of
from sgverify.exact.rings.context import Index
from sgverify.exact.rings.polynomials import Polynomial, check_time, coefficients_in, parts_in, print_operator
from sgverify.exact.rings.power_series import TruncatedSeries
from sgverify.exact.rings.ring import Ring
from sgverify.exact.rings.roots import DIM
from sgverify.exact.series.carrier import SeriesInterpreter
from sgverify.schemes import Dynamics, NoiseLaw, Scheme


def is_smooth(value: Polynomial, ring: Ring) -> bool:
    """Whether no root of the state occurs in `value` that may be 0, where it has no derivatives."""
    degrees = value.degrees()
    return all(
        what.argument is None
        or ring.depends_only_on_parameters(what.argument)
        or (is_smooth(what.argument, ring) and (what.kind != "root" or ring.signs_of.of(what.argument) == 2))
        for position, what in ring.opaque.items()
        if degrees[position]
    )


def has_moments(value: Polynomial, ring: Ring) -> bool:
    """Whether no function in `value` holds a derivative of U: its average is a sum of moments of the gradients then."""
    degrees = value.degrees()
    return not _holds_gradients((ring.generator_at(k) for k in ring.opaque if degrees[k]), ring)


def _holds_gradients(parts: Iterable[Polynomial], ring: Ring) -> bool:
    return bool(ring.occurring(*parts) & ring.jets.keys())


def takes_roots_of_gradients(ring: Ring) -> bool:
    """Whether a derivative of U stands under a root, in another function, or in a polynomial whose sign is supposed."""
    return _holds_gradients((*map(ring.generator_at, ring.opaque), *ring.supposed.values()), ring)


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
    drift, squares = coefficients_of(dynamics, ring)
    unit = [tuple(int(j == k) for j in range(len(ring.coordinates))) for k in range(len(ring.coordinates))]
    operator: Operator = {}
    for k, f in enumerate(drift):
        add_to(operator, unit[k], f)
    for (k, j), a in squares.items():
        add_to(operator, tuple(m + n for m, n in zip(unit[k], unit[j], strict=True)), a)
    return operator


def coefficients_of(
    dynamics: Dynamics, ring: Ring, fixed: Mapping[str, Any] | None = None
) -> tuple[list[Polynomial], dict[tuple[int, int], Polynomial]]:
    """The drift F by coordinates, and a = sigma sigma^T / 2 by pairs of them; `fixed` as for `SeriesInterpreter`."""
    reading = SeriesInterpreter(ring, fixed=fixed)
    drift, diffusion = reading.bind(dynamics).coefficients(reading.state(), grad=reading.gradient())
    squares = squares_of(diffusion, ring.shapes, ring.dim)
    return (
        [_coefficient(f, ring) for f in coordinates_of(drift, ring.shapes, ring.dim)],
        {pair: _coefficient(a, ring) for pair, a in squares.items()},
    )


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
    for a root of the state that may be 0.
    """
    if not value:
        return value
    if not is_smooth(value, ring):
        raise NotExpandableError(f"a derivative of {ring.text(value)}")
    total = ring.differentiated(value, k)
    used = value.degrees()
    for position, what in list(ring.opaque.items()):
        if (
            used[position]
            and what.argument is not None
            and not ring.depends_only_on_parameters(what.argument)
        ):
            inner = derivative_along(what.argument, k, ring)
            total = total + value.derivative(position) * ring.slope(position) * inner
    return total


def _dual_positions(ring: Ring) -> range:
    first = ring.position("dual", 0) if ring.coordinates else 0
    return range(first, first + len(ring.coordinates))


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

    def crowd(self, groups: Sequence[int]) -> float:
        """The most coordinates that a term of the increment has for each factor of h, draws paired; see `Ring.crowd`."""
        return max(self.ring.crowd(value, j, groups) for j, value in enumerate(self._exponents))

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


def transition_of(scheme: Scheme, ring: Ring, degree: int, steps: int = 1) -> Transition:
    """The transition operator of `steps` consecutive steps, with the memory started by the scheme.

    Each step has minibatches of its own, and so has the start of the memory.
    """
    reading = SeriesInterpreter(ring)
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
        # Whether a step tends to the identity shows by the relations of symbols alone: p/sqrt(T) times sqrt(T) is p.
        found.append(ring.reduce(total) if ring.rounded or j == 0 else total)
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
