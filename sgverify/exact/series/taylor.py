"""Taylor's formula around theta, in the symbols of a function's derivatives."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from fractions import Fraction
from math import factorial, prod

from sgverify.errors import NotExpandableError
from sgverify.exact.series.polynomials import Polynomial
from sgverify.exact.series.ring import Index, Ring, multi_indices
from sgverify.exact.series.series import EXACT, Series


def shifts_of(position: Sequence[Series], ring: Ring, what: str) -> list[Series]:
    """position - theta, which must vanish with h."""
    shifts = []
    for i, entry in enumerate(position):
        shift = entry - Series(ring, {0: ring.generator("theta", i)}, EXACT)
        if any(k <= 0 for k in shift.terms):
            raise NotExpandableError(f"{what} at a point that does not tend to theta as h -> 0")
        shifts.append(shift)
    return shifts


def taylor(
    shifts: list[Series], functions: Sequence[Callable[[Index], Polynomial]], ring: Ring, order: int = 1
) -> list[Series]:
    """sum_a d^a f shift^a / a! for each f of `functions`, which give d^a f as a symbol, f a derivative of this order.

    To the cap of the ring, or to as many orders as its derivatives reach.
    """
    totals = [Series(ring, {}, EXACT) for _ in functions]
    for index, power in _powers(shifts, ring):
        if not power.terms or sum(index) + order > ring.depth:
            # Unknown from here on, or without a symbol in the ring: O(s^n) stands for it.
            totals = [total + Series(ring, {}, power.valuation) for total in totals]
            continue
        weight = ring.constant(inverse_factorial(index))
        totals = [
            total + power * Series(ring, {0: function(index) * weight}, EXACT)
            for total, function in zip(totals, functions, strict=True)
        ]
    return totals


def raised(index: Index, i: int) -> Index:
    """The multi-index with one more derivative by the i-th coordinate."""
    return tuple(n + (j == i) for j, n in enumerate(index))


def _powers(shifts: list[Series], ring: Ring) -> Iterator[tuple[Index, Series]]:
    """shift^a for every multi-index a that reaches below the cap, and the first ones that do not."""
    level = {(0,) * ring.dim: Series(ring, {0: ring.one}, EXACT)}
    for size in range(1, ring.depth + 2):
        yield from level.items()
        following = {}
        for index in multi_indices(ring.dim, size):
            i = next(j for j, n in enumerate(index) if n)
            below = level.get(tuple(n - (j == i) for j, n in enumerate(index)))
            if below is not None and below.terms:
                following[index] = below * shifts[i]
        level = following


def inverse_factorial(index: Index) -> Fraction:
    """1 / index!."""
    return Fraction(1, prod(factorial(n) for n in index))
