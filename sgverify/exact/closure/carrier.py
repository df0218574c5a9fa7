"""The values of moment closure: polynomials in the state, the draws, h and opaque constants such as exp(-D h)."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from fractions import Fraction
from typing import Any

from flint import arb

from sgverify.errors import Unreached
from sgverify.exact.numbers.ball import enclosed
from sgverify.exact.numbers.entrywise import EntrywiseVector, coordinate_keys, coordinates_of, state_of
from sgverify.exact.rings.polynomials import (
    Polynomial,
    evaluate,
    polynomials_in,
    remainder,
    to_fmpq,
    to_fraction,
)
from sgverify.schemes import exp, expm1, sqrt
from sgverify.schemes.definition.binding import LiftedArithmetic
from sgverify.schemes.numbers.algebraic import Algebraic, sqrt_of_rational
from sgverify.schemes.numbers.rounded import Rounded, literal

SLOTS = 12


class MomentRing:
    """Q[h, constants, state, draws]. A constant is a root or an exponential that is no polynomial in h.

    Roots are reduced by their squares. Other relations between constants are not used, so that a coefficient which vanishes
    by one of them counts as non-zero: a closure may be missed for it, and is never claimed wrongly.
    """

    def __init__(self, coordinates: Sequence[str], draws: int) -> None:
        self.first_state = 1 + SLOTS
        self.first_draw = self.first_state + len(coordinates)
        names = ["h", *(f"c{k}" for k in range(SLOTS)), *(f"x{k}" for k in range(len(coordinates)))]
        self.coordinates = list(coordinates)
        self.context = polynomials_in([*names, *(f"z{k}" for k in range(draws))])
        self.generators = self.context.gens()
        self._slots: dict[str, int] = {}
        self._squares: dict[int, Polynomial] = {}
        self._values: list[Callable[[list[arb]], arb]] = []

    def constant(self, value: Any) -> Polynomial:
        """An exact number as a polynomial."""
        found = literal(value) if isinstance(value, int | float) else value
        if isinstance(found, Fraction):
            return self.context.constant(to_fmpq(found))
        if isinstance(found, Rounded):
            return self._slot(f"{found!r}", lambda given: enclosed(found))
        roots = found.radicands() if isinstance(found, Algebraic) else None
        if roots is None:
            raise Unreached(f"a {type(value).__name__} is not read in moments")
        total = self.context.constant(0)
        for radical, factor in roots.items():
            root = self.context.constant(1) if radical == 1 else self._root(self.context.constant(radical))
            total = total + root * self.context.constant(to_fmpq(factor))
        return total

    def is_constant(self, value: Polynomial) -> bool:
        """Whether neither state nor draws occur."""
        return not any(value.degrees()[self.first_state :])

    def sqrt(self, value: Polynomial) -> Polynomial:
        """The root of a constant."""
        self._need_constant(value, "square root")
        terms = value.to_dict()
        if len(terms) == 1:
            ((exponents, factor),) = terms.items()
            if factor > 0 and not any(exponents[1:]):
                root = self.constant(sqrt_of_rational(to_fraction(factor)))
                power = self.generators[0] ** (exponents[0] // 2)
                return root * power * (self._root(self.generators[0]) if exponents[0] % 2 else 1)
        return self._root(value) if terms else value

    def exp(self, value: Polynomial) -> Polynomial:
        """e to the power of a constant."""
        self._need_constant(value, "exponential")
        if not value:
            return self.context.constant(1)
        return self._slot(f"exp({value})", lambda given: self.value(value, given).exp())

    def inverse(self, value: Polynomial) -> Polynomial:
        """1/value for a constant."""
        self._need_constant(value, "quotient")
        if not value:
            raise Unreached("one step divides by zero")
        if value.is_constant():
            return self.context.constant(1 / value.leading_coefficient())
        return self._slot(f"1/({value})", lambda given: 1 / self.value(value, given))

    def reduce(self, value: Polynomial) -> Polynomial:
        """The value with squares of roots carried out."""
        for place, square in self._squares.items():
            value = remainder(value, place, [square, self.context.constant(0)])
        return value

    def numbers(self, step: arb) -> list[arb]:
        """The values of h and of the constants, at the working precision."""
        given = [step]
        for value in self._values:
            given.append(value(given))
        return given

    def value(self, constant: Polynomial, given: list[arb]) -> arb:
        """A polynomial in h and the constants at their values."""
        found: arb = evaluate(constant.to_dict(), given.__getitem__, arb)
        return found

    def _root(self, square: Polynomial) -> Polynomial:
        found = self._slot(f"sqrt({square})", lambda given: self.value(square, given).sqrt())
        self._squares[1 + self._slots[f"sqrt({square})"]] = square
        return found

    def _slot(self, key: str, value: Callable[[list[arb]], arb]) -> Polynomial:
        if key not in self._slots:
            if len(self._slots) == SLOTS:
                raise Unreached(f"one step has more than {SLOTS} different constants")
            self._slots[key] = len(self._slots)
            self._values.append(value)
        return self.generators[1 + self._slots[key]]

    def _need_constant(self, value: Polynomial, what: str) -> None:
        if not self.is_constant(value):
            names = [
                self.coordinates[k]
                for k, power in enumerate(value.degrees()[self.first_state : self.first_draw])
                if power
            ]
            raise Unreached(
                f"one step takes the {what} of {', '.join(names) or 'a draw'}, so it is no polynomial in the state"
            )


class PolynomialValue(LiftedArithmetic):
    """One entry: a polynomial of the ring."""

    __slots__ = ("ring", "value")

    def __init__(self, ring: MomentRing, value: Polynomial) -> None:
        self.ring = ring
        self.value = value

    def lift(self, value: Any) -> PolynomialValue | None:
        """A number as an element of the ring."""
        if isinstance(value, PolynomialValue):
            return value
        return (
            None
            if isinstance(value, EntrywiseVector)
            else PolynomialValue(self.ring, self.ring.constant(value))
        )

    def _plus(self, right: PolynomialValue) -> PolynomialValue:
        return PolynomialValue(self.ring, self.value + right.value)

    def _times(self, right: PolynomialValue) -> PolynomialValue:
        return PolynomialValue(self.ring, self.ring.reduce(self.value * right.value))

    def _over(self, right: PolynomialValue) -> PolynomialValue:
        return PolynomialValue(self.ring, self.value * self.ring.inverse(right.value))

    def __neg__(self) -> PolynomialValue:
        return PolynomialValue(self.ring, -self.value)

    def __pow__(self, exponent: int) -> PolynomialValue:
        if not isinstance(exponent, int):
            raise Unreached(f"one step takes the power {exponent!r}")
        if exponent < 0:
            return PolynomialValue(self.ring, self.ring.inverse(self.value)) ** -exponent
        return PolynomialValue(self.ring, self.ring.reduce(self.value**exponent))


def coordinate_names(shapes: Mapping[str, str], dim: int) -> list[str]:
    """theta[0], theta[1], ... in order; the variable's own name in dimension 1, and of a scalar."""
    return [
        name if dim == 1 or shapes[name] != "vector" else f"{name}[{i}]"
        for name, i in coordinate_keys(shapes, dim)
    ]


def symbols_of(ring: MomentRing, shapes: Mapping[str, str], dim: int) -> tuple[Any, ...]:
    """The state as the ring's own symbols."""
    left = iter(ring.generators[ring.first_state :])
    return state_of(shapes, dim, lambda name, i: PolynomialValue(ring, next(left)))


def polynomials_of(
    values: Iterable[Any], ring: MomentRing, shapes: Mapping[str, str], dim: int
) -> list[Polynomial]:
    """The coordinates of a state as polynomials of the ring."""
    flat = coordinates_of(values, shapes, dim)
    return [entry.value if isinstance(entry, PolynomialValue) else ring.constant(entry) for entry in flat]


def in_ring(ring: MomentRing, value: Fraction) -> PolynomialValue:
    """A parameter of the dynamics as an element of the ring."""
    return PolynomialValue(ring, ring.constant(value))


@exp.register
def _(value: PolynomialValue) -> PolynomialValue:
    return PolynomialValue(value.ring, value.ring.exp(value.value))


@expm1.register
def _(value: PolynomialValue) -> Any:
    return exp(value) - 1


@sqrt.register
def _(value: PolynomialValue) -> PolynomialValue:
    return PolynomialValue(value.ring, value.ring.sqrt(value.value))
