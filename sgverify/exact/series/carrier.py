"""The power-series interpreter: one step of a scheme on exact series, for every smooth potential at once.

The branches of a definition: one for each combination of signs of the expressions that stand squared under its roots.

On one branch |f| is f or -f throughout, and the definition is a power series there. A statement proved on every branch
holds at every real state; a statement that fails on one branch is refuted where a state on that branch is found.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import partial
from itertools import pairwise
from math import factorial, prod
from random import Random
from typing import Any, TypeVar

from sgverify.errors import NotExpandableError
from sgverify.exact.numbers.entrywise import EntrywiseVector, RootMetric, state_of, times
from sgverify.exact.rings.context import Index, multi_indices, raised
from sgverify.exact.rings.evaluation import NotRealError, sign_of, value_at
from sgverify.exact.rings.polynomials import Polynomial, to_fraction
from sgverify.exact.rings.power_series import EXACT, TruncatedSeries
from sgverify.exact.rings.ring import Ring
from sgverify.exact.rings.roots import DIM, UnknownSignError
from sgverify.schemes import Scheme
from sgverify.schemes.definition.binding import Bound, Carrier, D, GradientIngredient, State, bind
from sgverify.schemes.definition.mathematics import NoiseLaw


class Metric(RootMetric):
    """The root B of G^-1 = B B^T at theta + O(s), by Taylor's formula in the symbols of its entries."""

    def __init__(self, ring: Ring) -> None:
        self._ring = ring

    def rows(self, theta: EntrywiseVector) -> list[list[TruncatedSeries]]:
        """B."""
        return self._root(theta)

    def divergence(self, theta: EntrywiseVector) -> EntrywiseVector:
        """The vector sum_j d_j (G^-1)_ij, by the product rule."""
        rows = self._root(theta)
        total: Any = 0
        for j in range(self._ring.dim):
            moved = self._root(theta, j)
            total = total + times(moved, EntrywiseVector(rows[j])) + times(rows, EntrywiseVector(moved[j]))
        return EntrywiseVector(total.entries)

    def root_divergence(self, theta: EntrywiseVector) -> EntrywiseVector:
        """The vector sum_j d_j B_ji."""
        total: Any = 0
        for j in range(self._ring.dim):
            total = total + EntrywiseVector(self._root(theta, j)[j])
        return EntrywiseVector(total.entries)

    def _root(self, theta: EntrywiseVector, along: int | None = None) -> list[list[TruncatedSeries]]:
        """B at `theta`, or its derivative by one coordinate."""
        ring, dim = self._ring, self._ring.dim

        def entry(i: int, j: int, index: Index) -> Polynomial:
            return ring.jet("B", i * dim + j, index if along is None else raised(index, along))

        entries = [partial(entry, i, j) for i in range(dim) for j in range(dim)]
        flat = taylor(shifts_of(theta.entries, ring, "the metric"), entries, ring)
        return [flat[i * dim : (i + 1) * dim] for i in range(dim)]


class SeriesGradient(GradientIngredient):
    """grad U at theta + O(s), by Taylor's formula in the symbols U_a, to the cap of the ring or its derivatives of U."""

    def __init__(self, ring: Ring) -> None:
        super().__init__()
        self._ring = ring

    def evaluate(self, place: EntrywiseVector, minibatch: int) -> EntrywiseVector:
        """See `GradientIngredient.evaluate`."""
        return self._gradients(place, partial(self._ring.jet, "U", minibatch))

    def prior(self, place: EntrywiseVector) -> EntrywiseVector:
        """The gradient of the prior's part of U, one function for all minibatches."""
        return self._gradients(place, partial(self._ring.jet, "prior", 0))

    def hessian(self, place: EntrywiseVector, vector: EntrywiseVector) -> EntrywiseVector:
        """The Hessian of U times a vector."""
        ring = self._ring
        shifts = shifts_of(place.entries, ring, "the Hessian")
        minibatch = self.minibatch()

        def bend(i: int, j: int, index: Index) -> Polynomial:
            return ring.jet("U", minibatch, raised(raised(index, i), j))

        pairs = [partial(bend, i, j) for i in range(ring.dim) for j in range(ring.dim)]
        flat = taylor(shifts, pairs, ring, order=2)
        return times([flat[i * ring.dim : (i + 1) * ring.dim] for i in range(ring.dim)], vector)

    def _gradients(
        self, place: EntrywiseVector, derivative: Callable[[Index], Polynomial]
    ) -> EntrywiseVector:
        ring = self._ring

        def gradient(i: int, index: Index) -> Polynomial:
            return derivative(raised(index, i))

        shifts = shifts_of(place.entries, ring, "the gradient")
        return EntrywiseVector(taylor(shifts, [partial(gradient, i) for i in range(ring.dim)], ring))


class SeriesInterpreter:
    """Runs of definitions on series: the symbols of state, parameters, draws and minibatches, and the step size h = s^2.

    `laws` are those of the draws so far, in order. `fixed` are the parameters that are numbers, and no symbols of the ring.
    """

    def __init__(self, ring: Ring, *, fixed: Mapping[str, Any] | None = None) -> None:
        self.ring, self.laws, self._fixed = ring, list[NoiseLaw](), fixed or {}
        self.h = TruncatedSeries(ring, {2: ring.one}, EXACT)
        self._gradient = SeriesGradient(ring)

    def state(self) -> State:
        """The state as the ring's own symbols."""
        ring = self.ring
        return state_of(
            ring.shapes, ring.dim, lambda name, i: TruncatedSeries(ring, {0: ring.coordinate(name, i)}, EXACT)
        )

    def bind(self, definition: D) -> Bound[D]:
        """A definition on series, the parameters as symbols, which are squares of their roots'."""
        ring = self.ring
        parameters = {
            name: TruncatedSeries(ring, {0: ring.generator("root", name) ** 2}, EXACT)
            for name in ring.parameters
        }
        parameters |= {
            name: TruncatedSeries(ring, {0: ring.constant(n)}, EXACT) for name, n in self._fixed.items()
        }
        # Where the ring has a symbol for `dim`, the definition is given this symbol, not the number of coordinates.
        dim = parameters.pop(DIM, ring.dim)
        return bind(definition, Carrier(), parameters, dim=dim, metric=Metric(ring))

    def step(self, scheme: Scheme, state: State) -> State:
        """One step of h = s^2, on minibatches of its own."""
        return self.bind(scheme).step(state, h=self.h, grad=self.gradient(), draw=self.draw)

    def start(self, scheme: Scheme) -> State:
        """The state with its memory started, on minibatches of its own."""
        return self.bind(scheme).start(self.state(), h=self.h, grad=self.gradient(), draw=self.draw)

    def draw(self, law: NoiseLaw) -> EntrywiseVector:
        """One draw: a vector of new symbols z, whose moments are those of `law`."""
        k = len(self.laws)
        self.laws.append(law)
        return EntrywiseVector(
            [
                TruncatedSeries(self.ring, {0: self.ring.generator("z", k, i)}, EXACT)
                for i in range(self.ring.dim)
            ]
        )

    def gradient(self) -> SeriesGradient:
        """The gradient ingredient of a new minibatch."""
        return self._gradient.fresh()


class ElsewhereError(NotExpandableError):
    """A gradient, or a metric, at a point that does not tend to theta as h -> 0; `where` is its first coordinate at h = 0."""

    def __init__(self, what: str, where: str) -> None:
        super().__init__(f"{what} at a point that does not tend to theta as h -> 0")
        self.what, self.where = what, where


def shifts_of(position: Sequence[TruncatedSeries], ring: Ring, what: str) -> list[TruncatedSeries]:
    """position - theta, which must vanish with h. Raises `ElsewhereError` where it does not."""
    shifts = []
    for i, entry in enumerate(position):
        shift = entry - TruncatedSeries(ring, {0: ring.generator("theta", i)}, EXACT)
        if any(k <= 0 for k in shift.terms):
            raise ElsewhereError(what, ring.text(entry.terms.get(0, ring.zero)))
        shifts.append(shift)
    return shifts


def taylor(
    shifts: list[TruncatedSeries],
    functions: Sequence[Callable[[Index], Polynomial]],
    ring: Ring,
    order: int = 1,
) -> list[TruncatedSeries]:
    """sum_a d^a f shift^a / a! for each f of `functions`, which give d^a f as a symbol, f a derivative of this order.

    To the cap of the ring, or to as many orders as its derivatives reach.
    """
    totals = [TruncatedSeries(ring, {}, EXACT) for _ in functions]
    for index, power in _powers(shifts, ring):
        if not power.terms or sum(index) + order > ring.depth:
            # Higher terms are unknown, or without a symbol in the ring: they are O(s^n).
            totals = [total + TruncatedSeries(ring, {}, power.valuation) for total in totals]
            continue
        weight = ring.constant(inverse_factorial(index))
        totals = [
            total + power * TruncatedSeries(ring, {0: function(index) * weight}, EXACT)
            for total, function in zip(totals, functions, strict=True)
        ]
    return totals


def inverse_factorial(index: Index) -> Fraction:
    """1 / index!."""
    return Fraction(1, prod(factorial(n) for n in index))


def _powers(shifts: list[TruncatedSeries], ring: Ring) -> Iterator[tuple[Index, TruncatedSeries]]:
    """shift^a for every multi-index a that reaches below the cap, and the first ones that do not."""
    level = {(0,) * ring.dim: TruncatedSeries(ring, {0: ring.one}, EXACT)}
    for size in range(1, ring.depth + 2):
        yield from level.items()
        following = {}
        for index in multi_indices(ring.dim, size):
            i = next(j for j, n in enumerate(index) if n)
            below = level.get(tuple(n - (j == i) for j, n in enumerate(index)))
            if below is not None and below.terms:
                following[index] = below * shifts[i]
        level = following


MOST_BRANCHES = 32
"""The largest number of branches, those of five independent signs; each branch needs an expansion."""

LOOKS = 400
"""The number of points at which an element is evaluated. One decisive point suffices; with more points fewer cases stay open."""

Signs = Mapping[str, int]
T = TypeVar("T")


class EmptyBranchError(Exception):
    """No real state lies on a branch."""


def on_every_branch(expand: Callable[[Signs], T]) -> list[tuple[Signs, T]]:
    """`expand` under every combination of the signs that it requests while it runs.

    Raises `NotExpandableError` where there are too many, or where a branch has no power series.
    """
    waiting: list[Signs] = [{}]
    found: list[tuple[Signs, T]] = []
    while waiting:
        signs = waiting.pop()
        try:
            found.append((signs, expand(signs)))
        except UnknownSignError as unknown:
            if len(waiting) + len(found) + 2 > MOST_BRANCHES:
                raise NotExpandableError(f"more than {MOST_BRANCHES} branches: {unknown}") from None
            waiting += [{**signs, unknown.key: -1}, {**signs, unknown.key: 1}]
    return found


def told_from_zero(value: Polynomial, ring: Ring) -> bool:
    """Whether an element that is not 0 by the ring's relations is not 0 at some real state of the ring's branch.

    Without opaque roots and signs it is: a non-zero polynomial does not vanish everywhere. Roots of numbers are
    independent of one another, and coefficients that may be 0 by the intervals of floats are dropped before.
    Raises `NotExpandableError` where no point decides: the element may be 0 by a relation that the ring does not have, or the
    branch may be empty.
    """
    if not value:
        return False
    degrees = value.degrees()
    free = all(what.kind == "number" or not degrees[k] for k, what in ring.opaque.items())
    if free and not ring.supposed:
        return True
    for point in points_of(ring):
        try:
            found = value_at(value, ring, point)
        except NotRealError:
            continue
        if not found.contains(0):
            return True
    raise NotExpandableError(f"{ring.text(value, 4)}, which is not told from 0")


def is_empty(ring: Ring) -> bool:
    """Whether it is proved that no real state lies on the ring's branch: polynomials in one generator contradict one another.

    Between the real roots of all of them no polynomial changes its sign, so that one number of each interval decides.
    """
    return any(
        not any(
            all(sign_of(f, ring, {position: x}.__getitem__) == ring.signs[key] for key, f in members)
            for x in _between_roots([f for _, f in members], ring, position)
        )
        for position, members in _of_one_generator(ring).items()
    )


def points_of(ring: Ring) -> Iterator[Callable[[int], Fraction]]:
    """Points at which all supposed signs are the true ones: numbers for the generators by position."""
    random = Random(0)
    inside = {
        position: _between_roots([f for _, f in members], ring, position)
        for position, members in _of_one_generator(ring).items()
    }
    for _ in range(LOOKS):
        point = _Point(ring, random, inside)
        try:
            if all(sign_of(f, ring, point) == ring.signs[key] for key, f in ring.supposed.items()):
                yield point
        except NotRealError:
            continue


def _of_one_generator(ring: Ring) -> dict[int, list[tuple[str, Polynomial]]]:
    """The supposed polynomials in one generator and rational numbers alone, by the generator's position."""
    found: dict[int, list[tuple[str, Polynomial]]] = {}
    for key, f in ring.supposed.items():
        used = ring.occurring(f)
        if len(used) == 1 and not used & ring.opaque.keys():
            found.setdefault(used.pop(), []).append((key, f))
    return found


def _between_roots(values: Sequence[Polynomial], ring: Ring, position: int) -> list[Fraction]:
    """A number below, between and above the real roots of polynomials in one generator, isolated exactly."""
    # sympy takes a third of a second to load, and few definitions need it.
    from sympy import Poly, Rational, Symbol

    x = Symbol("x")
    poly = Poly(x if position in ring.signs_of.never_negative else 1, x)
    for value in values:
        terms = {
            (int(m[position]),): Rational(*to_fraction(c).as_integer_ratio())
            for m, c in value.to_dict().items()
        }
        poly = poly * Poly.from_dict(terms, x)
    poly = poly.sqf_part()
    ends, width = _isolated(poly, None), Fraction(1)
    # Neighbouring intervals may share an end, which is then a root of neither.
    while any(before[1] >= after[0] for before, after in pairwise(ends)):
        width /= 16
        ends = _isolated(poly, width)
    if not ends:
        return [Fraction(1), Fraction(-1)]
    middles = [(before[1] + after[0]) / 2 for before, after in pairwise(ends)]
    places = [ends[0][0] - 1, *middles, ends[-1][1] + 1]
    return [place for place in places if place > 0] if position in ring.signs_of.never_negative else places


def _isolated(poly: Any, width: Fraction | None) -> list[tuple[Fraction, Fraction]]:
    from sympy import Rational

    found = poly.intervals(eps=None if width is None else Rational(width.numerator, width.denominator))
    return [(Fraction(int(a.p), int(a.q)), Fraction(int(b.p), int(b.q))) for (a, b), _ in found]


@dataclass
class _Point:
    """Random numbers of every size and sign, positive for roots of parameters, or numbers found between roots of polynomials."""

    ring: Ring
    random: Random
    inside: Mapping[int, list[Fraction]]
    known: dict[int, Fraction] = field(default_factory=dict)

    def __call__(self, position: int) -> Fraction:
        if position not in self.known:
            size = Fraction(self.random.randint(1, 64), self.random.choice((1, 4, 16, 64)))
            negative = position not in self.ring.signs_of.never_negative and self.random.random() < 0.5
            found = self.inside.get(position, [])
            if found and self.random.random() < 0.5:
                self.known[position] = self.random.choice(found)
            else:
                self.known[position] = -size if negative else size
        return self.known[position]
