"""Polynomials over the rationals, by python-flint (packed exponents, products in C), and the limits of exact computations.

Computations are long where a step has a memory or many draws. Rings and power series ask `check_time` before each of their longer
operations. The size of one operation is always limited, and so is its memory; the processor time is limited within `limited`
alone, for an answer must not depend on how fast a machine is.

Rational functions of one variable over the fractions, and matrices of them, recognise zero as zero, so that what vanishes is
proved to vanish wherever the function is defined.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from fractions import Fraction
from typing import Any

from flint import Ordering, fmpq, fmpq_mpoly, fmpq_mpoly_ctx, fmpq_poly

from sgverify.errors import TooLargeError
from sgverify.schemes.definition.binding import LiftedArithmetic


class OutOfTimeError(BaseException):
    """The time of a computation has ended.

    Like `KeyboardInterrupt` it is no `Exception`: a check that is interrupted has no answer, and none that is inconclusive.
    """


_END: ContextVar[float | None] = ContextVar("end of a computation in processor time", default=None)

PRODUCTS = 4e6
"""The products of terms that polynomial arithmetic makes in a second, at the least."""

MOST_PRODUCTS = 2**23
"""The most products of terms in one product of two polynomials: about a gigabyte, in seconds."""


@contextmanager
def limited(seconds: float) -> Iterator[None]:
    """A context in which `check_time` raises `OutOfTimeError` once `seconds` of processor time are used; the first end counts."""
    known, end = _END.get(), time.process_time() + seconds
    token = _END.set(end if known is None else min(known, end))
    try:
        yield
    finally:
        _END.reset(token)


def check_time(products: int = 0) -> None:
    """Raise `OutOfTimeError` where the time has ended, or ends before `products` products of terms are made.

    Raises `TooLargeError` for more of them than memory is to hold.
    """
    if products > MOST_PRODUCTS:
        raise TooLargeError(
            f"a product of {products:,} terms, of at most {MOST_PRODUCTS:,}: the step has too many draws, stages or letters"
        )
    end = _END.get()
    if end is not None and time.process_time() + products / PRODUCTS > end:
        raise OutOfTimeError


Polynomial = fmpq_mpoly
"""An element of Q[x_1, ..., x_n]; `==` and `bool` compare with the exact zero."""

Key = tuple[Any, ...]


def polynomials_in(
    names: Iterable[str], ordering: Any = Ordering.degrevlex, coefficients: Any = fmpq_mpoly_ctx
) -> Any:
    """The ring Q[x_1, ..., x_n], or Z[x_1, ..., x_n]. A name that is already taken gets underscores."""
    found: dict[str, None] = {}
    for name in names:
        while name in found:
            name += "_"
        found[name] = None
    return coefficients.get(tuple(found), ordering)


class Generators:
    """A ring of polynomials whose generators stand under keys, such as ("theta", 0); the keys are in order."""

    def __init__(
        self, keys: Iterable[Key], names: Iterable[str] = (), coefficients: Any = fmpq_mpoly_ctx
    ) -> None:
        self.keys = tuple(keys)
        self._at = {key: k for k, key in enumerate(self.keys)}
        self.context = polynomials_in([*names] or map(name_of, self.keys), coefficients=coefficients)
        self._generators = tuple(self.context.gens())
        self.zero: Any = self.context.constant(0)
        self.one: Any = self.context.constant(1)

    def generator(self, *key: Any) -> Any:
        """The generator of a key such as ('theta', 0), ('U', 0, (2,)), ('root', 'D') or ('z', 1, 0)."""
        return self._generators[self._at[key]]

    def generator_at(self, position: int) -> Any:
        """The generator at a position."""
        return self._generators[position]

    def position(self, *key: Any) -> int:
        """The position of that generator in an exponent tuple."""
        return self._at[key]


def name_of(key: Key) -> str:
    """The name of a generator, such as U0_1 or root_D."""
    family, member, *rest = key
    head = f"{family}{member}" if isinstance(member, int) else f"{family}_{member}"
    return "_".join(
        [head, *("_".join(map(str, part)) if isinstance(part, tuple) else str(part) for part in rest)]
    )


def to_fmpq(value: Fraction | int) -> fmpq:
    """A rational as a coefficient."""
    return fmpq(value.numerator, value.denominator)


def to_fraction(value: int | fmpq) -> Fraction:
    """A coefficient as a fraction."""
    return Fraction(value) if isinstance(value, int) else Fraction(int(value.p), int(value.q))


def coefficients_in(value: Polynomial, position: int) -> list[Polynomial]:
    """[c_0, c_1, ...] with value = sum_n c_n x^n, x the generator at `position`: c_n is d^n/n! at x = 0."""
    # Going through `to_dict` instead costs thirty times as much.
    nothing: dict[str | int, int] = {value.context().name(position): 0}
    parts = [value.subs(nothing)]
    for n in range(1, int(value.degrees()[position]) + 1):
        value = value.derivative(position) * fmpq(1, n)
        parts.append(value.subs(nothing))
    return parts


def partial(value: Polynomial, index: Iterable[int]) -> Polynomial:
    """d^index of a polynomial, by its generators in their order."""
    for position, times in enumerate(index):
        for _ in range(times):
            value = value.derivative(position)
    return value


def parts_in(value: Polynomial, positions: Sequence[int]) -> dict[tuple[int, ...], Polynomial]:
    """{a: c_a} with value = sum_a c_a x^a, x the generators at `positions`, none of which is in a c_a."""
    parts: dict[tuple[int, ...], dict[tuple[int, ...], Any]] = {}
    for exponents, factor in value.to_dict().items():
        rest = list(exponents)
        for k in positions:
            rest[k] = 0
        parts.setdefault(tuple(int(exponents[k]) for k in positions), {})[tuple(rest)] = factor
    context = value.context()
    return {index: context.from_dict(terms) for index, terms in parts.items()}


def remainder(value: Polynomial, position: int, relation: Sequence[Polynomial]) -> Polynomial:
    """`value` modulo g^n = sum_i c_i g^i, g the generator at `position` and `relation` [c_0, ..., c_(n-1)]."""
    size = len(relation)
    if int(value.degrees()[position]) < size:
        return value
    parts = coefficients_in(value, position)
    for n in range(len(parts) - 1, size - 1, -1):
        for i, below in enumerate(relation):
            if below:
                check_time(len(parts[n]) * len(below))
                parts[n - size + i] = parts[n - size + i] + parts[n] * below
    generator = value.context().gen(position)
    total: Polynomial = value.context().constant(0)
    for n, part in enumerate(parts[:size]):
        total = total + part * generator**n
    return total


def evaluate(
    terms: Mapping[tuple[int, ...], Any], power: Callable[[int, int], Any], scalar: Callable[[Any], Any]
) -> Any:
    """sum_m scalar(c_m) prod_k power(k, m_k) over the terms {m: c_m} of a polynomial, in their order."""
    total = scalar(fmpq(0))
    for exponents, factor in terms.items():
        term = scalar(factor)
        for k, exponent in enumerate(exponents):
            if exponent:
                term = power(k, int(exponent)) * term
        total = term + total
    return total


def factors(value: Polynomial) -> tuple[Fraction, list[tuple[Polynomial, int]]]:
    """(c, [(f, e), ...]) with value = c * the product of f^e, c rational, the f irreducible."""
    factor, parts = value.factor()
    return to_fraction(factor), [(base, int(exponent)) for base, exponent in parts]


def print_operator(coefficients: Mapping[tuple[int, ...], str], names: list[str], most: int = 12) -> str:
    """sum_a c_a d^a as text, the lowest derivatives first."""
    if not coefficients:
        return "0"
    keys = sorted(coefficients, key=lambda index: (sum(index), [-i for i in index]))
    shown = []
    for index in keys[:most]:
        derivative = " ".join(
            f"d_{name}" + (f"^{n}" if n > 1 else "") for name, n in zip(names, index, strict=True) if n
        )
        shown.append(f"[{coefficients[index]}] {derivative}".strip())
    return " + ".join(shown) + (f" + ... ({len(keys) - most} more)" if len(keys) > most else "")


class RationalFunction(LiftedArithmetic):
    """above/below in lowest terms, below monic: polynomials over the fractions."""

    __slots__ = ("above", "below")

    def __init__(self, above: Any, below: Any = 1) -> None:
        above, below = fmpq_poly(above), fmpq_poly(below)
        common = above.gcd(below)
        if common.degree() > 0:
            above, below = above // common, below // common
        lead = below[below.degree()]
        self.above = above / lead
        self.below = below / lead

    def lift(self, value: Any) -> RationalFunction | None:
        """A function, a polynomial or a fraction as a function; None for anything else."""
        if isinstance(value, RationalFunction):
            return value
        if isinstance(value, int | fmpq | fmpq_poly):
            return RationalFunction(value)
        return None

    def _plus(self, other: RationalFunction) -> RationalFunction:
        if self.below == other.below:
            return RationalFunction(self.above + other.above, self.below)
        return RationalFunction(self.above * other.below + other.above * self.below, self.below * other.below)

    def _times(self, other: RationalFunction) -> RationalFunction:
        return RationalFunction(self.above * other.above, self.below * other.below)

    def _over(self, other: RationalFunction) -> RationalFunction:
        return RationalFunction(self.above * other.below, self.below * other.above)

    def __neg__(self) -> RationalFunction:
        return RationalFunction(-self.above, self.below)

    def at(self, number: Any) -> Any:
        """The value at a number of any kind."""
        return _horner(self.above, number) / _horner(self.below, number)

    def __eq__(self, other: object) -> bool:
        lifted = self.lift(other)
        return lifted is not None and self.above == lifted.above and self.below == lifted.below

    def __hash__(self) -> int:
        return hash((str(self.above), str(self.below)))

    def __repr__(self) -> str:
        return f"RationalFunction({self.above!s}, {self.below!s})"


class FunctionMatrix:
    """A matrix of rational functions, with the operations that the expansions of `chain` ask of flint's matrices.

    Made from rows, or from its shape and, row by row, its entries.
    """

    __slots__ = ("rows",)

    def __init__(self, rows: Any, columns: int | None = None, entries: Sequence[Any] | None = None) -> None:
        if columns is not None:
            flat = [0] * (rows * columns) if entries is None else list(entries)
            rows = [flat[i * columns : (i + 1) * columns] for i in range(rows)]
        self.rows = [[_lifted(entry) for entry in row] for row in rows]

    def nrows(self) -> int:
        """The number of rows."""
        return len(self.rows)

    def ncols(self) -> int:
        """The number of columns."""
        return len(self.rows[0])

    def tolist(self) -> list[list[RationalFunction]]:
        """The rows."""
        return [list(row) for row in self.rows]

    def entries(self) -> list[RationalFunction]:
        """The entries, row by row."""
        return [entry for row in self.rows for entry in row]

    def transpose(self) -> FunctionMatrix:
        """The transpose."""
        return FunctionMatrix(list(zip(*self.rows, strict=True)))

    def __getitem__(self, place: tuple[int, int]) -> RationalFunction:
        return self.rows[place[0]][place[1]]

    def __add__(self, other: FunctionMatrix) -> FunctionMatrix:
        pairs = zip(self.rows, other.rows, strict=True)
        return FunctionMatrix([[a + b for a, b in zip(*rows, strict=True)] for rows in pairs])

    def __sub__(self, other: FunctionMatrix) -> FunctionMatrix:
        return self + other * -1

    def __mul__(self, other: Any) -> FunctionMatrix:
        if not isinstance(other, FunctionMatrix):
            return FunctionMatrix([[entry * other for entry in row] for row in self.rows])
        columns = other.transpose().rows
        return FunctionMatrix([[_inner(row, column) for column in columns] for row in self.rows])

    def inv(self) -> FunctionMatrix:
        """The inverse, by elimination; raises `ZeroDivisionError` where there is none."""
        n = self.nrows()
        rows = [[*row, *(_lifted(int(i == j)) for j in range(n))] for i, row in enumerate(self.rows)]
        for k in range(n):
            pivot = next((i for i in range(k, n) if rows[i][k] != 0), None)
            if pivot is None:
                raise ZeroDivisionError("a singular matrix of functions")
            rows[k], rows[pivot] = rows[pivot], rows[k]
            rows[k] = [entry / rows[k][k] for entry in rows[k]]
            for i in range(n):
                if i != k and rows[i][k] != 0:
                    rows[i] = [a - rows[i][k] * b for a, b in zip(rows[i], rows[k], strict=True)]
        return FunctionMatrix([row[n:] for row in rows])


def _lifted(entry: Any) -> RationalFunction:
    return entry if isinstance(entry, RationalFunction) else RationalFunction(entry)


def _inner(left: Sequence[RationalFunction], right: Sequence[RationalFunction]) -> RationalFunction:
    total = RationalFunction(0)
    for a, b in zip(left, right, strict=True):
        if a != 0 and b != 0:
            total = total + a * b
    return total


def _horner(polynomial: fmpq_poly, number: Any) -> Any:
    total = 0 * number
    for c in reversed(polynomial.coeffs()):
        total = total * number + c
    return total
