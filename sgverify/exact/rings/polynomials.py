"""Polynomials over the rationals, by python-flint (packed exponents, products in C), and the limits of exact computations.

Computations are long where a step has a memory or many draws. Rings and power series ask `check_time` before each of their longer
operations. The size of one operation is always limited, and so is its memory; the processor time is limited within `limited`
alone, for an answer must not depend on how fast a machine is.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from fractions import Fraction
from typing import Any

from flint import Ordering, fmpq, fmpq_mpoly, fmpq_mpoly_ctx

from sgverify.errors import TooLargeError


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
