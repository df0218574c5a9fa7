"""Polynomials over the rationals: python-flint's where it is installed, else sympy's.

Everything that the power-series reading asks of a polynomial is written down here, so that either library can
stand behind it. SGVERIFY_POLYNOMIALS=flint or =sympy chooses; the answers are the same to the letter. (Exact laws
need flint's balls and matrices whatever this says: without flint the proofs of orders and letters are what is left.)
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from importlib import import_module
from typing import Any, Protocol, cast

from sgverify.errors import ConfigurationError

try:
    import flint
except ImportError:
    flint = None  # type: ignore[assignment]

VARIABLE = "SGVERIFY_POLYNOMIALS"


class Polynomial(Protocol):
    """An element of Q[x_1, ..., x_n]; `==` and `bool` compare with the exact zero."""

    def __add__(self, other: Any, /) -> Polynomial: ...
    def __sub__(self, other: Any, /) -> Polynomial: ...
    def __mul__(self, other: Any, /) -> Polynomial: ...
    def __pow__(self, exponent: int, /) -> Polynomial: ...
    def __neg__(self) -> Polynomial: ...
    def __divmod__(self, other: Any, /) -> tuple[Polynomial, Polynomial]: ...
    def __bool__(self) -> bool: ...
    def __len__(self) -> int: ...
    def degrees(self) -> Sequence[int]:
        """The highest power of each generator."""

    def derivative(self, position: int, /) -> Polynomial:
        """By the generator that stands at `position`."""

    def is_constant(self) -> bool:
        """Whether no generator occurs."""

    def leading_coefficient(self) -> Any:
        """The coefficient of the largest monomial."""

    def monoms(self) -> list[tuple[int, ...]]:
        """The exponents of its terms."""

    def to_dict(self) -> dict[tuple[int, ...], Any]:
        """{exponents: coefficient}."""


class Context(Protocol):
    """Q[x_1, ..., x_n] itself."""

    def gens(self) -> Sequence[Polynomial]:
        """x_1, ..., x_n."""

    def constant(self, value: Any, /) -> Polynomial:
        """A number of the library's own kind as a polynomial."""

    def from_dict(self, terms: Mapping[tuple[int, ...], Any], /) -> Polynomial:
        """The sum of these terms."""


@dataclass(frozen=True)
class FlintPolynomials:
    """python-flint's `fmpq_mpoly`: packed exponents, products in C."""

    name: str = "flint"

    def context(self, names: Iterable[str]) -> Context:
        """The polynomials in these generators."""
        return cast(Context, flint.fmpq_mpoly_ctx.get(tuple(names), flint.Ordering.degrevlex))

    def number(self, value: Fraction) -> Any:
        """A rational as a coefficient of the library's own kind."""
        return flint.fmpq(value.numerator, value.denominator)

    def powers(self, value: Any, position: int) -> list[Polynomial]:
        """[c_0, c_1, ...] with value = sum_n c_n x^n, x the generator at `position`: c_n is d^n/n! at x = 0."""
        # Going through `to_dict` instead costs thirty times as much.
        nothing = {value.context().name(position): 0}
        parts = [value.subs(nothing)]
        for n in range(1, int(value.degrees()[position]) + 1):
            value = value.derivative(position) * flint.fmpq(1, n)
            parts.append(value.subs(nothing))
        return parts

    def factors(self, value: Any) -> tuple[Fraction, list[tuple[Polynomial, int]]]:
        """(c, [(f, e), ...]) with value = c * the product of f^e, c rational, the f irreducible."""
        factor, parts = value.factor()
        return rational(factor), [(base, int(exponent)) for base, exponent in parts]


class Library(Protocol):
    """What makes polynomials."""

    @property
    def name(self) -> str:
        """'flint' or 'sympy'."""

    def context(self, names: Iterable[str]) -> Context:
        """The polynomials in these generators."""

    def number(self, value: Fraction) -> Any:
        """A rational as a coefficient."""

    def powers(self, value: Any, position: int) -> list[Polynomial]:
        """[c_0, c_1, ...] with value = sum_n c_n x^n, x the generator at `position`."""

    def factors(self, value: Any) -> tuple[Fraction, list[tuple[Polynomial, int]]]:
        """(c, [(f, e), ...]) with value = c * the product of f^e, c rational, the f irreducible."""


def library() -> Library:
    """The library that the environment chooses. Raises `ConfigurationError` for one that is not there."""
    given = os.environ.get(VARIABLE) or ("sympy" if flint is None else "flint")
    if given == "flint" and flint is not None:
        return FlintPolynomials()
    if given == "sympy":
        # sympy takes a third of a second to load, and only the fallback needs it.
        return cast(Library, import_module("sgverify.exact.series.sympy_polynomials").SympyPolynomials())
    raise ConfigurationError(
        f"{VARIABLE}={given!r}: expected 'flint' (python-flint, if it is installed) or 'sympy'; "
        "unset it to have the better one that is there"
    )


def rational(coefficient: Any) -> Fraction:
    """A coefficient of either library as a fraction."""
    if isinstance(coefficient, int):
        return Fraction(coefficient)
    return Fraction(int(coefficient.numerator), int(coefficient.denominator))


def unique_names(names: list[str]) -> list[str]:
    """The same names; one that is taken already gets underscores."""
    found: dict[str, None] = {}
    for name in names:
        while name in found:
            name += "_"
        found[name] = None
    return list(found)
