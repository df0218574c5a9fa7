"""The dimensions of a proof: all of them, or those that were examined, by number.

A proof follows some coordinates of the state. Let F_A be the difference that it looks at, the coefficient of h^k, with the
coordinates A followed, and G_B the part of it in which exactly the coordinates B occur: F_A is the sum of the G_B with B in A.
If no B has more than m coordinates, and F_A vanishes for all A of at most m, then every G_B vanishes, and F_A does in every
dimension. So selections of at most m coordinates decide all dimensions, one of each kind where constants tell coordinates
apart (`Periods`; what a matrix couples counts as one). The empty selection is seen by m + 1 coordinates of one kind: a polynomial
in their number, of degree m, that vanishes at 1, ..., m + 1, vanishes at 0.

Each L brings one coordinate, so that exp(hL) has at most k at h^k, and 3 k with a metric. So has a step in which every derivative
of U and every pair of draws comes with its factor of h, that is every step without division by a power of h. What each factor of
h brings is read off the series (`LocalOrder.crowd`), with more coordinates than it brings: m + 1 of them show whether m is all.
Where it is not, as with functions of all coordinates or a sum of constants, which counts them, and where the selections are
too many, the proof covers the dimensions that were computed by number.

Through `dim` itself the dimension enters otherwise. Then definition and dynamics are run with a symbol n in its place: an identity
that holds for the symbol holds for every number. The symbol demands more than necessary, because d followed coordinates
among n others do not occur: a scheme that fails only with the symbol, as one that takes E z.z = n, is proved by number, with n = d.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from math import floor, isinf
from typing import Generic, TypeVar

from sgverify.errors import NotExpandableError
from sgverify.evidence.scope import EVERY, Extent, tried
from sgverify.exact.series.local_order import compare_through, local_order
from sgverify.exact.series.orders import LocalOrder
from sgverify.schemes import Scheme
from sgverify.schemes.numbers.constants import placed
from sgverify.schemes.numbers.periods import Periods

BY_NUMBER = (1, 2, 3, 4, 5)
FURTHER = (6, 7, 8, 9, 10, 12, 15, 20)
"""The further dimensions in which a definition is examined that is not proved in every one by the first ones."""

CROWDED = 8
"""The largest dimension in which terms of all coordinates at once are examined, each in less than a second."""

GROWTHS = 3
"""How often the number of coordinates of a term may be seen to grow with the dimension before it counts as unbounded."""

READ_WHOLE = 6
"""The largest dimension that is read as a whole where some of its coordinates are seen to be wrong, for its text."""

MOST_SELECTIONS = 600
"""The most selections of coordinates that are looked at, each some milliseconds."""

CONSTANTS = "its constants tell more coordinates apart than are read"

COUNTS = "a term in the step has more coordinates than were examined, or a sum over them grows with their number by itself"

F = TypeVar("F")


@dataclass(frozen=True)
class Seen(Generic[F]):
    """One look, `found`, at some coordinates: `wrong` where the statement fails there; `sums` and `crowd` as of `LocalOrder`."""

    found: F
    wrong: bool
    sums: bool = False
    crowd: float = 1.0


@dataclass(frozen=True)
class Dimensions(Generic[F]):
    """The dimensions in which a statement holds: `every`, or those of `dims`, and `why_not` all of them.

    `wrong` is the look that refutes it, `dim` the least dimension that has the coordinates of this look.
    """

    dims: tuple[int, ...]
    why_not: str | None
    wrong: F | None = None
    dim: int = 0

    @property
    def extent(self) -> Extent:
        """The dimensions as an extent of an answer."""
        if self.why_not is None and self.wrong is None:
            return EVERY
        dims = sorted({*self.dims, *([self.dim] if self.dim else [])})
        return tried(dimensions_text(dims), dims)


def over_dimensions(
    look: Callable[[int, bool], Seen[F]],
    periods: Periods,
    power: int,
    base: int,
    configured: int,
    *,
    largest: int,
    symbolic: bool = False,
) -> Dimensions[F]:
    """The dimensions in which a statement about powers of h through h^power holds, `base` and more.

    `look(d, symbol)` examines d coordinates, those of `placed` or the first ones; `symbol`: with a symbol for `dim`, which is asked
    for where `symbolic`. Where not all are decided, the `configured` one is examined by number, and others, none beyond `largest`.
    """
    search = _Search(look, periods, power, largest, symbolic)
    search.by_number([base])
    for _ in range(GROWTHS):
        most = search.most
        search.by_number(search.needed)
        if search.most == most and search.wrong is None and search.why is None:
            search.selections()
        if search.most == most or search.wrong is not None or search.why is not None:
            break
    else:
        search.why = COUNTS
    if search.wrong is None and search.why is not None:
        several = range(1, min(periods.length * (power + 1), largest) + 1)
        search.by_number(d for d in {*BY_NUMBER, *FURTHER, configured, *several} if d <= search.dearest)
    return Dimensions(tuple(sorted(search.dims)), search.why, search.wrong, search.dim)


def least(
    first: F,
    order_of: Callable[[F], Fraction],
    look: Callable[[int, bool, int], Seen[F]],
    periods: Periods,
    base: int,
    configured: int,
    *,
    largest: Callable[[int], int],
    symbolic: bool = False,
) -> tuple[F, Dimensions[F], int]:
    """The least order over all dimensions, which is that of `first` in the dimension `base`, and the dimension that has it.

    `look(d, symbol, k)` examines powers through h^k, as `largest(k)` is about them; the rest is as for `over_dimensions`.
    """
    found, dim = first, base
    examined: Dimensions[F] = Dimensions((base,), "not beyond h^0")
    while (power := floor(order_of(found))) >= 1:
        examined = over_dimensions(
            lambda d, symbol, k=power: look(d, symbol, k),  # type: ignore[misc]
            periods,
            power,
            base,
            configured,
            largest=largest(power),
            symbolic=symbolic,
        )
        if examined.wrong is None:
            # The first look was in this dimension, whatever further ones could not read.
            return found, replace(examined, dims=tuple(sorted({base, *examined.dims}))), dim
        found, dim = examined.wrong, examined.dim
    return found, examined, dim


class _Search(Generic[F]):
    def __init__(
        self,
        look: Callable[[int, bool], Seen[F]],
        periods: Periods,
        power: int,
        largest: int,
        symbolic: bool,
    ) -> None:
        self._look, self._periods, self._power = look, periods, power
        self._largest, self._symbolic = largest, symbolic
        self._crowd, self._sums = 1.0, False
        self.dims: set[int] = set()
        self.why: str | None = None
        self.wrong: F | None = None
        self.dim = 0

    @property
    def most(self) -> int:
        """The most coordinates that a term has, as far as it was seen."""
        return floor(min(self._crowd * self._power, self._largest))

    @property
    def dearest(self) -> int:
        """The largest dimension to be examined by number: functions of all coordinates at once grow dear."""
        return self._largest if self.why != COUNTS or isinf(self._crowd) else CROWDED

    @property
    def needed(self) -> set[int]:
        """The dimensions that show whether a term has no more coordinates than these."""
        return {k for k in range(1, (self.most + 1) * self._periods.width + 1) if k <= self._largest}

    def by_number(self, candidates: Iterable[int]) -> None:
        """Look at the first coordinates, in each of these dimensions, until one is wrong."""
        for dim in sorted({*candidates} - self.dims):
            if dim > self._largest or self.wrong is not None:
                break
            try:
                seen = self._look(dim, False)
            except NotExpandableError as error:
                self.why = self.why or f"in dimension {dim} the step cannot be read: it uses {error}"
                continue
            except ZeroDivisionError:
                self.why = self.why or f"in dimension {dim} the step divides by zero"
                continue
            self.dims.add(dim)
            self._sums, self._crowd = self._sums or seen.sums, max(self._crowd, seen.crowd)
            if seen.wrong:
                self.wrong, self.dim = seen.found, dim

    def selections(self) -> None:
        """Look at all selections of as many kinds of coordinates as a term has, until one is wrong or cannot be read."""
        most = self.most
        chosen = self._periods.selections(most, MOST_SELECTIONS)
        if most >= max(len({*self._periods.groups(dim)}) for dim in self.dims):
            self.why = COUNTS
        elif chosen is None:
            self.why = CONSTANTS
        elif self._symbolic or self._periods.length > 1 or not self.dims.issuperset(range(1, most + 2)):
            for places, cut in chosen:
                if self.why is not None or self.wrong is not None or self.most > most:
                    return
                self._select(places, cut)

    def _select(self, places: Sequence[int], cut: bool) -> None:
        if len(places) > self._largest:
            self.why = CONSTANTS
            return
        try:
            with placed(places):
                seen = self._look(len(places), self._symbolic)
        except (NotExpandableError, ZeroDivisionError) as error:
            symbol = " with a symbol for dim" * self._symbolic
            self.why = f"the step cannot be read{symbol}: it uses {error}"
            return
        self._sums, self._crowd = self._sums or seen.sums, max(self._crowd, seen.crowd)
        if seen.wrong:
            self._refuted(seen, places, cut)

    def _refuted(self, seen: Seen[F], places: Sequence[int], cut: bool) -> None:
        dim = places[-1] + 1
        at = f"coordinate{'s' * (len(places) > 1)} {', '.join(str(place + 1) for place in places)}"
        self.why = f"with a symbol for dim it differs in {at}" if self._symbolic else f"it differs in {at}"
        if not self._symbolic:
            self.by_number(d for d in [dim] if d <= READ_WHOLE or self._sums or cut)
        if self.wrong is None and not (self._symbolic or cut or self._sums):
            # Nothing couples these coordinates to the others, for a potential of theirs alone.
            self.wrong, self.dim = seen.found, dim


@dataclass(frozen=True)
class Proved:
    """The least local order over `dimensions`, with the whole proof of the coordinates that have it.

    `dim` is the least dimension with these coordinates, beyond `order.dim` where they were followed alone; `why_not` says what
    keeps the proof from every dimension.
    """

    order: LocalOrder
    dimensions: Extent
    dim: int
    why_not: str | None = None

    @property
    def every(self) -> bool:
        """Whether the order holds in every dimension."""
        return self.dimensions == EVERY

    def __str__(self) -> str:
        """Such as "in every dimension" or "in dimensions 1 to 5 and 7"."""
        return "in every dimension" if self.every else f"in {self.dimensions.told}"


def prove_order(
    scheme: Scheme, base: int, configured: int, *, at: Mapping[str, Fraction] | None = None
) -> Proved:
    """The local order in dimension `base`, and a comparison of the same powers of h in the others.

    The `configured` dimension is computed by number where its cost allows; `at` is as for `local_order`. Raises
    `NotExpandableError` where dimension `base` has no expansion; a further dimension without one is left out.
    """

    def look(dim: int, symbol: bool, through: int) -> Seen[LocalOrder]:
        found = compare_through(scheme, dim, through, at=at, symbolic=symbol)
        wrong = _differs(found, through)
        # The whole proof of these coordinates, its averaged defect too.
        whole = local_order(scheme, dim, at=at) if wrong and not symbol else found
        return Seen(whole, wrong, found.sums, found.crowd)

    order, examined, dim = least(
        local_order(scheme, base, at=at),
        lambda found: found.order,
        look,
        Periods.of(scheme.constants),
        base,
        configured,
        largest=lambda through: largest(scheme, through),
        symbolic=scheme.asks_for_dimension,
    )
    return Proved(order, examined.extent, dim, examined.why_not)


def dimensions_text(dims: Sequence[int]) -> str:
    """Dimensions as words.

    >>> dimensions_text([2]), dimensions_text([1, 2]), dimensions_text([1, 2, 3, 7])
    ('dimension 2', 'dimensions 1 and 2', 'dimensions 1 to 3 and 7')
    """
    runs: list[list[int]] = []
    for dim in dims:
        if runs and dim == runs[-1][-1] + 1:
            runs[-1].append(dim)
        else:
            runs.append([dim])
    texts = [t for run in runs for t in (map(str, run) if len(run) < 3 else [f"{run[0]} to {run[-1]}"])]
    listed = texts[0] if len(texts) == 1 else f"{', '.join(texts[:-1])} and {texts[-1]}"
    return f"dimension{'s' * (len(dims) > 1)} {listed}"


def _differs(found: LocalOrder, through: int) -> bool:
    """Whether a step, or the start of its memory, has less than the order `through`."""
    given, start = found.given_minibatch, found.start
    return (given is not None and given.power <= through) or (start is not None and start.power < through)


def largest(scheme: Scheme, through: int) -> int:
    """The largest dimension that takes about a second: derivatives of U through order 2 k - 1 enter h^k."""
    if scheme.memory:
        return 4 if through < 4 else 3
    return {1: 20, 2: 10, 3: 6, 4: 5, 5: 4}.get(through, 3) // (2 if scheme.dynamics.riemannian else 1)
