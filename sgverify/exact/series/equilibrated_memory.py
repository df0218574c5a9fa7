"""The step of a chain with memory once the start of its memory is forgotten, in powers of s = sqrt(h).

P maps functions of (x, z), z the memory, to E F(X_1, Z_1). As s -> 0, x is constant, and the memory forgets its start: the
averages of polynomials in z converge. Then there are one operator E on functions of x alone, and operators
Lambda_b g = "E z^b g, the memory equilibrated", with

    E = sum_c Lambda_c A^0_c,     E Lambda_b = sum_c Lambda_c A^b_c,     P (z^b g) = sum_c z^c A^b_c g,     Lambda_0 = 1,

solved power by power of s. Averages along the chain obey u_(n+1) f = u_n (E f) up to terms that decay geometrically in n: the
errors of E accumulate, not those of one step from (x, z). The start of the chain enters once, as u_n f = R E^n f, R = 1 + O(s).
This is the change of variables that makes the method of Leimkuhler and Matthews 2013 a Markov chain with a
postprocessor (Vilmart 2015), for every memory that forgets.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from fractions import Fraction
from functools import cache, cached_property
from itertools import product
from typing import Any

import numpy as np

from sgverify.errors import NotExpandableError, Unreached
from sgverify.exact.numbers.entrywise import EntrywiseVector
from sgverify.exact.numbers.matrix_series import rational_matrix
from sgverify.exact.rings.context import Index, multi_indices
from sgverify.exact.rings.polynomials import Polynomial, parts_in, to_fraction
from sgverify.exact.rings.power_series import EXACT, TruncatedSeries
from sgverify.exact.series.averaging import merge_minibatches
from sgverify.exact.series.carrier import SeriesInterpreter
from sgverify.exact.series.operators import (
    compose_symbols,
    expect,
    exponential_symbols,
    exponentials,
    exponents_of,
    generator_of,
    increments_of,
    ring_of,
    symbol_of,
)
from sgverify.schemes import NoiseLaw, Scheme

FORGETS = Fraction(999, 1000)
"""A memory that keeps more than this share of a displacement in one step is not said to forget it."""

Parts = dict[Index, Polynomial]


class EquilibratedStep:
    """E and R of a scheme with memory, all minibatches the same one.

    `depth` is the order of the derivatives of U in the ring, `signs` are its supposed signs (`rings.roots`), and
    `symbolic` makes `dim` a symbol. Raises `NotExpandableError` for a memory that is neither free, nor O(s), nor within O(s)
    of theta, or that does not forget its start.
    """

    def __init__(
        self,
        scheme: Scheme,
        dim: int,
        degree: int,
        depth: int,
        signs: Mapping[str, int] | None = None,
        symbolic: bool = False,
    ) -> None:
        self.ring = ring = ring_of(
            scheme.dynamics,
            dim,
            depth=depth,
            # The symbols of the memory come before those of a step's draws; the start has symbols of its own.
            draws=max(len(scheme.memory) + scheme.draws, scheme.starts.draws),
            minibatches=max(scheme.minibatches, scheme.starts.minibatches),
            cap=degree + 4,
            signs=signs,
            symbolic=symbolic,
            parts=scheme.census.parts or scheme.starts.parts,
        )
        self._degree = degree
        self._dynamics = scheme.dynamics
        self._coordinates = len(scheme.memory) * ring.dim
        self._none = (0,) * self._coordinates
        self._read(scheme)
        self._parts = cache(self._computed_parts)
        self._average = cache(self._computed_average)
        self.symbol = cache(self._computed_symbol)
        self._answer = cache(self._computed_answer)
        self._inverse = cache(self._computed_inverse)
        self._refuse_what_stays()

    def defect(self, j: int) -> Polynomial:
        """The symbol of E - exp(hL) at s^j."""
        expected = self._exponential[j // 2] if j % 2 == 0 else self.ring.zero
        return self.ring.reduce(self.symbol(j) - expected)

    def crowd(self, groups: Sequence[int]) -> float:
        """The most coordinates that a term of the step has for each factor of h; one of the memory takes a place of sqrt(h)."""
        ring = self.ring
        found = [ring.crowd(value, j, groups) for j, value in enumerate(self._exponents)]
        for series in self._next:
            found += [ring.crowd(value, j + 1, groups) for j, value in series.terms.items()]
        return max(found)

    @cached_property
    def _exponential(self) -> list[Polynomial]:
        generator = symbol_of(generator_of(self._dynamics, self.ring), self.ring)
        return exponential_symbols(generator, self.ring, self._degree // 2)

    def start(self, k: int) -> Polynomial:
        """The coefficient of s^k of R = sum_b E z_0^b C_b, P C = C E, Lambda C = 1."""
        total = self.ring.zero
        for i in range(k + 1):
            for index, answer in self._answers(k - i):
                total = total + self._start_moment(index, i) * answer
        return self.ring.reduce(total)

    def _read(self, scheme: Scheme) -> None:
        """The step, in the first parametrisation of the memory under which a step moves it by O(s)."""
        why = "a memory"
        ways_of_one = [(False, 0), (False, 1), *([(True, 1)] if "theta" in scheme.dynamics.state else [])]
        for ways in product(ways_of_one, repeat=len(scheme.memory)):
            try:
                self._read_so(scheme, ways)
                return
            except Unreached as error:
                why = str(error)
        raise NotExpandableError(why)

    def _read_so(self, scheme: Scheme, ways: Sequence[tuple[bool, int]]) -> None:
        """Memory k is theta + s z_k or s^w z_k, as `ways` has it."""
        ring = self.ring
        reading = SeriesInterpreter(ring)
        state = reading.state()
        place = scheme.dynamics.state.index("theta") if "theta" in scheme.dynamics.state else 0
        theta = state[place]
        memory = []
        for k, (relative, weight) in enumerate(ways):
            symbols = [
                TruncatedSeries(ring, {weight: ring.generator("z", k, i)}, EXACT) for i in range(ring.dim)
            ]
            memory.append(EntrywiseVector(symbols) + theta if relative else EntrywiseVector(symbols))
        # The first symbols are the memory's.
        reading.laws.extend([NORMAL] * len(memory))
        values = reading.step(scheme, (*state, *memory))
        after = values[len(state) :]
        moved = values[: len(state)]
        self._laws = tuple(reading.laws)
        self._exponents = exponents = exponents_of(ring, increments_of(ring, state, moved), self._degree)
        if exponents[0]:
            raise Unreached("a memory that moves the state by more than O(sqrt(h))")
        self._raw: list[Polynomial] = []
        while len(self._raw) <= self._degree:
            self._raw.append(exponentials(exponents, self._raw, ring))
        self._next = self._written(after, moved[place], ways)
        begun = SeriesInterpreter(ring)
        begins = begun.start(scheme)[len(state) :]
        self._start = self._written(begins, theta, ways)
        self._start_laws = tuple(begun.laws)

    def _written(
        self, values: Sequence[Any], theta: EntrywiseVector, ways: Sequence[tuple[bool, int]]
    ) -> list[TruncatedSeries]:
        """The symbols z of given memory values at this theta."""
        found = []
        for value, (relative, weight) in zip(values, ways, strict=True):
            entries = value.entries if isinstance(value, EntrywiseVector) else [value] * self.ring.dim
            for entry, base in zip(entries, theta.entries, strict=True):
                series = (base.lift(entry) - base if relative else base.lift(entry)).shifted(-weight)
                if series.valuation < 0:
                    raise Unreached("a memory that is neither O(sqrt(h)) nor that close to theta")
                found.append(series)
        return found

    def _computed_parts(self, index: Index, j: int) -> Parts:
        """{c: A^index_c} at s^j."""
        ring = self.ring
        power = TruncatedSeries(ring, {0: ring.one}, EXACT)
        for series, n in zip(self._next, index, strict=True):
            power = power * series**n
        total = ring.zero
        for i in range(j + 1):
            total = total + power.coefficient(i) * self._raw[j - i]
        total = self._expected(total, self._laws, len(self._laws) and self._coordinates // ring.dim)
        return self._by_memory(total)

    def _expected(self, value: Polynomial, laws: Sequence[NoiseLaw], first: int = 0) -> Polynomial:
        """Averaged over the draws from `first` on, all minibatches the same."""
        ring = self.ring
        averaged = expect(value, ring, laws, first)
        return ring.reduce(merge_minibatches({(): averaged}, ring).get((), ring.zero))

    def _by_memory(self, value: Polynomial) -> Parts:
        """The coefficients of the monomials in the memory's symbols."""
        places = [
            position for position, draw in self.ring.draws.items() if draw < len(self._next) // self.ring.dim
        ]
        return parts_in(value, places)

    def _computed_symbol(self, k: int) -> Polynomial:
        """The symbol of E at s^k."""
        total = self.ring.zero
        for i in range(k + 1):
            for index, part in self._parts(self._none, i).items():
                total = total + self._after(self._averaged(index, k - i), part)
        return self.ring.reduce(total)

    def _averaged(self, index: Index, k: int) -> Polynomial:
        """The symbol of Lambda_index at s^k."""
        return self._average(sum(index), k)[index]

    def _computed_average(self, size: int, k: int) -> Parts:
        """Lambda_b at s^k of every b of this size."""
        ring = self.ring
        if size == 0:
            return {self._none: ring.zero if k else ring.one}
        indices = self._indices(size)
        right = []
        for index in indices:
            total = ring.zero
            for i in range(k + 1):
                for other, part in self._parts(index, i).items():
                    if i or sum(other) != size:
                        total = total + self._after(self._averaged(other, k - i), part)
            for i in range(1, k + 1):
                total = total - self._after(self.symbol(i), self._averaged(index, k - i))
            right.append(total)
        solved = (
            sum((right[b] * ring.constant(c) for b, c in enumerate(row) if c), ring.zero)
            for row in self._inverse(size)
        )
        return {index: ring.reduce(value) for index, value in zip(indices, solved, strict=True)}

    def _answers(self, k: int) -> Iterator[tuple[Index, Polynomial]]:
        for size in range(k + 1):
            yield from self._answer(size, k).items()

    def _computed_answer(self, size: int, k: int) -> Parts:
        """C_b at s^k of every b of this size; it vanishes for sizes above k."""
        ring = self.ring
        if size > k:
            return dict.fromkeys(self._indices(size), ring.zero)
        if size == 0:
            total = ring.zero if k else ring.one
            for i in range(1, k + 1):
                for larger in range(1, i + 1):
                    for index, answer in self._answer(larger, i).items():
                        total = total - self._after(self._averaged(index, k - i), answer)
            return {self._none: ring.reduce(total)}
        indices = self._indices(size)
        right = dict.fromkeys(indices, ring.zero)
        for i in range(k + 1):
            for source in range(k - i + 1):
                if i == 0 and source <= size:
                    continue
                for index, answer in self._answer(source, k - i).items():
                    for other, part in self._parts(index, i).items():
                        if other in right:
                            right[other] = right[other] + self._after(part, answer)
        for i in range(1, k + 1):
            for index in indices:
                answer = self._answer(size, k - i)[index]
                right[index] = right[index] - self._after(answer, self.symbol(i))
        rows = self._inverse(size)
        return {
            index: ring.reduce(
                sum((right[other] * ring.constant(rows[a][b]) for a, other in enumerate(indices)), ring.zero)
            )
            for b, index in enumerate(indices)
        }

    def _computed_inverse(self, size: int) -> list[list[Fraction]]:
        """(1 - N)^-1, N_bc = A^b_c at s^0 among the b and c of this size: numbers, for the memory moves by itself."""
        indices = self._indices(size)
        rows = []
        for index in indices:
            parts = self._parts(index, 0)
            if any(sum(other) > size for other in parts):
                raise NotExpandableError("a memory that is not polynomial in what it was")
            rows.append([_number(parts.get(other)) for other in indices])
        return _inverse([[int(b == c) - value for c, value in enumerate(row)] for b, row in enumerate(rows)])

    def _refuse_what_stays(self) -> None:
        """Raise where a displacement of the memory does not decay: its kept share by the powers N^n, for m coordinates."""
        indices = self._indices(1)
        kept = [[abs(_number(self._parts(b, 0).get(c))) for c in indices] for b in indices]
        if any(kept[b][c] for b in range(len(kept)) for c in range(len(kept))):
            exact = [[float(_number(self._parts(b, 0).get(c))) for c in indices] for b in indices]
            if not np.abs(np.linalg.eigvals(np.array(exact))).max() < float(FORGETS):
                raise NotExpandableError("a memory that does not forget its start")

    def _start_moment(self, index: Index, k: int) -> Polynomial:
        """E z_0^index at s^k."""
        ring = self.ring
        power = TruncatedSeries(ring, {0: ring.one}, EXACT)
        for series, n in zip(self._start, index, strict=True):
            power = power * series**n
        return self._expected(power.coefficient(k), self._start_laws)

    def _indices(self, size: int) -> list[Index]:
        return multi_indices(self._coordinates, size)

    def _after(self, left: Polynomial, right: Polynomial) -> Polynomial:
        return compose_symbols(left, right, self.ring) if left and right else self.ring.zero


NORMAL = NoiseLaw("normal")


def _number(value: Polynomial | None) -> Fraction:
    if value is None or not value:
        return Fraction(0)
    if not value.is_constant():
        raise NotExpandableError("a memory that forgets at a rate that depends on state or parameters")
    return to_fraction(value.leading_coefficient())


def _inverse(rows: list[list[Fraction]]) -> list[list[Fraction]]:
    try:
        found = rational_matrix(rows).inv()
    except ZeroDivisionError:
        raise NotExpandableError("a memory that does not forget its start") from None
    return [[to_fraction(value) for value in row] for row in found.tolist()]
