"""The fallback where python-flint is not installed: sympy's sparse polynomials over QQ in flint's clothes."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import Any

from sympy.polys.domains import QQ
from sympy.polys.orderings import grevlex
from sympy.polys.rings import PolyElement, PolyRing


class SympyPolynomial:
    """A `PolyElement` that answers to the names of flint's `fmpq_mpoly`."""

    __slots__ = ("element",)

    def __init__(self, element: PolyElement) -> None:
        self.element = element

    def __add__(self, other: Any) -> SympyPolynomial:
        return SympyPolynomial(self.element + _element(other))

    __radd__ = __add__

    def __sub__(self, other: Any) -> SympyPolynomial:
        return SympyPolynomial(self.element - _element(other))

    def __mul__(self, other: Any) -> SympyPolynomial:
        return SympyPolynomial(self.element * _element(other))

    __rmul__ = __mul__

    def __neg__(self) -> SympyPolynomial:
        return SympyPolynomial(-self.element)

    def __pow__(self, exponent: int) -> SympyPolynomial:
        return SympyPolynomial(self.element**exponent)

    def __divmod__(self, other: SympyPolynomial) -> tuple[SympyPolynomial, SympyPolynomial]:
        quotient, rest = self.element.div(other.element)
        return SympyPolynomial(quotient), SympyPolynomial(rest)

    def __eq__(self, other: object) -> bool:
        return bool(self.element == _element(other))

    __hash__ = None  # type: ignore[assignment]

    def __bool__(self) -> bool:
        return bool(self.element)

    def __len__(self) -> int:
        return len(self.element)

    def __str__(self) -> str:
        return str(self.element)

    def degrees(self) -> tuple[int, ...]:
        """The highest power of each generator."""
        return (
            tuple(map(max, zip(*self.element, strict=True)))
            if self.element
            else (0,) * self.element.ring.ngens
        )

    def derivative(self, position: int) -> SympyPolynomial:
        """By the generator that stands at `position`."""
        return SympyPolynomial(self.element.diff(position))

    def is_constant(self) -> bool:
        """Whether no generator occurs."""
        return bool(self.element.is_ground)

    def leading_coefficient(self) -> Any:
        """The coefficient of the largest monomial."""
        return self.element.LC

    def monoms(self) -> list[tuple[int, ...]]:
        """The exponents of its terms."""
        return list(self.element)

    def to_dict(self) -> dict[tuple[int, ...], Any]:
        """{exponents: coefficient}."""
        return dict(self.element)


class SympyContext:
    """`PolyRing` over QQ."""

    def __init__(self, ring: PolyRing) -> None:
        self.ring = ring

    def gens(self) -> tuple[SympyPolynomial, ...]:
        """The generators."""
        return tuple(SympyPolynomial(x) for x in self.ring.gens)

    def constant(self, value: Any) -> SympyPolynomial:
        """A number as a polynomial."""
        return SympyPolynomial(self.ring.ground_new(value))

    def from_dict(self, terms: Mapping[tuple[int, ...], Any]) -> SympyPolynomial:
        """The sum of these terms."""
        return SympyPolynomial(self.ring.from_dict({m: QQ.convert(c) for m, c in terms.items() if c}))


@dataclass(frozen=True)
class SympyPolynomials:
    """sympy's polynomial rings: dictionaries of exponents, in Python."""

    name: str = "sympy"

    def context(self, names: Iterable[str]) -> SympyContext:
        """The polynomials in these generators."""
        return _context(tuple(names))

    def number(self, value: Fraction) -> Any:
        """A rational as a coefficient."""
        return QQ(value.numerator, value.denominator)

    def powers(self, value: SympyPolynomial, position: int) -> list[SympyPolynomial]:
        """[c_0, c_1, ...] with value = sum_n c_n x^n, x the generator at `position`."""
        ring = value.element.ring
        parts: list[Any] = [ring.zero]
        for exponents, factor in value.element.items():
            n = exponents[position]
            while len(parts) <= n:
                parts.append(ring.zero)
            parts[n][(*exponents[:position], 0, *exponents[position + 1 :])] = factor
        return [SympyPolynomial(part) for part in parts]

    def factors(self, value: SympyPolynomial) -> tuple[Fraction, list[tuple[SympyPolynomial, int]]]:
        """(c, [(f, e), ...]) with value = c * the product of f^e, c rational, the f irreducible."""
        factor, parts = value.element.factor_list()
        number = Fraction(int(factor.numerator), int(factor.denominator))
        return number, [(SympyPolynomial(base), exponent) for base, exponent in parts]


@lru_cache(maxsize=64)
def _context(names: tuple[str, ...]) -> SympyContext:
    return SympyContext(PolyRing(names, QQ, grevlex))


def _element(value: Any) -> Any:
    return value.element if isinstance(value, SympyPolynomial) else value
