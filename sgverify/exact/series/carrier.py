"""The power-series interpreter: one step of a scheme on exact series, for every smooth potential at once."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from fractions import Fraction
from functools import partial
from math import factorial, prod
from typing import Any

from sgverify.errors import NotExpandableError
from sgverify.exact.numbers.entrywise import EntrywiseVector, RootMetric, state_of, times
from sgverify.exact.rings.polynomials import Polynomial
from sgverify.exact.rings.power_series import EXACT, TruncatedSeries
from sgverify.exact.rings.ring import Index, Ring, multi_indices
from sgverify.exact.rings.roots import DIM
from sgverify.schemes import Scheme
from sgverify.schemes.definition.binding import Bound, Carrier, D, State, bind
from sgverify.schemes.definition.gradient import GradientIngredient
from sgverify.schemes.definition.noise import NoiseLaw


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
            return ring.derivative_of_root(i, j, index if along is None else raised(index, along))

        entries = [partial(entry, i, j) for i in range(dim) for j in range(dim)]
        flat = taylor(shifts_of(theta.entries, ring, "the metric"), entries, ring)
        return [flat[i * dim : (i + 1) * dim] for i in range(dim)]


class SeriesGradient(GradientIngredient):
    """grad U at theta + O(s), by Taylor's formula in the symbols U_a, to the cap of the ring or its derivatives of U."""

    def __init__(self, ring: Ring, each_evaluation: bool) -> None:
        super().__init__()
        self._ring, self.each_evaluation = ring, each_evaluation

    def evaluate(self, place: EntrywiseVector, minibatch: int) -> EntrywiseVector:
        """See `GradientIngredient.evaluate`."""
        return self._gradients(place, partial(self._ring.derivative_of_potential, minibatch))

    def prior(self, place: EntrywiseVector) -> EntrywiseVector:
        """The gradient of the prior's part of U, one function for all minibatches."""
        return self._gradients(place, self._ring.derivative_of_prior)

    def hessian(self, place: EntrywiseVector, vector: EntrywiseVector) -> EntrywiseVector:
        """The Hessian of U times a vector. With noise of each evaluation the Hessian is that of all data."""
        ring = self._ring
        shifts = shifts_of(place.entries, ring, "the Hessian")
        minibatch = self.minibatch()

        def bend(i: int, j: int, index: Index) -> Polynomial:
            return ring.derivative_of_potential(minibatch, raised(raised(index, i), j))

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

    `laws` are those of the draws so far, in order. With `each_evaluation` every gradient evaluation counts as a
    minibatch of its own.
    """

    def __init__(self, ring: Ring, *, each_evaluation: bool = False) -> None:
        self.ring, self.laws = ring, list[NoiseLaw]()
        self.h = TruncatedSeries(ring, {2: ring.one}, EXACT)
        self._gradient = SeriesGradient(ring, each_evaluation)

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


def raised(index: Index, i: int) -> Index:
    """The multi-index with one more derivative by the i-th coordinate."""
    return tuple(n + (j == i) for j, n in enumerate(index))


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
