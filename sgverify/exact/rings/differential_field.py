"""A differential field: rational functions of the state and of symbols for the derivatives of unknown functions.

The unknown functions are the potential U and the entries of the metric's root B; an identity in their symbols
holds for every smooth U and B. exp, sqrt and log of an element are symbols of their own, whose derivatives are
known. Every element can be differentiated by every coordinate of the state.

Quotients are cancelled, which holds wherever nothing divides by 0, and roots are rewritten by their squares alone:
sqrt(x^2) stays a symbol. Where such a root is 0 it has no derivative, and a current may jump there, so that a root of
the state is taken only where its argument shows that it is positive.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from fractions import Fraction
from typing import Any

from sgverify.errors import NotExpandableError
from sgverify.exact.rings.context import Context, Index, multi_indices
from sgverify.exact.rings.evaluation import without_rounding
from sgverify.exact.rings.functions import Opaque
from sgverify.exact.rings.polynomials import Key, Polynomial
from sgverify.schemes.definition.binding import LiftedArithmetic
from sgverify.schemes.definition.mathematics import TWO_BY_ROOT_PI, cos, erf, exp, log, register, sin, sqrt
from sgverify.schemes.numbers.algebraic import Algebraic
from sgverify.schemes.numbers.rounded import Rounded

DEPTH = 3
"""The order of the derivatives of U and B in the field: drift and density contain one, Fokker-Planck takes up to two more."""


class Field(Context):
    """Q(x, d^a U, d^a B_ij, D, T, ...) over a state of these shapes in dimension `dim`.

    `fixed` sets parameters to numbers, e.g. {"T": 1}. `metric` adds the entries of B, `positive` says that theta > 0.
    """

    def __init__(
        self,
        dim: int,
        shapes: Mapping[str, str],
        parameters: Iterable[str],
        *,
        metric: bool = False,
        fixed: Mapping[str, Any] | None = None,
        positive: bool = False,
    ) -> None:
        self.fixed = dict(fixed or {})
        self.parameters = tuple(dict.fromkeys(name for name in parameters if name not in self.fixed))
        indices: list[Index] = [a for size in range(DEPTH + 1) for a in multi_indices(dim, size)]
        entries = range(dim * dim) if metric else ()
        jets: list[Key] = [("U", 0, a) for a in indices]
        jets += [("B", member, a) for member in entries for a in indices]
        names = [("parameter", name) for name in self.parameters]
        # Derivatives of symbols by coordinates, each of which many polynomials contain.
        self._derivatives: dict[tuple[int, int], Element] = {}
        self._inside: dict[int, set[int]] = {}
        super().__init__(dim, shapes, jets, names, depth=DEPTH, positive=positive)

    def symbol(self, *key: Any) -> Element:
        """The element of a key: ('theta', 0), ('U', 0, (1, 0)), ('B', 1, (0, 0)) for B_01 in two dimensions, ('parameter', 'D')."""
        return Element(self, self.generator(*key))

    def element(self, value: Any) -> Element:
        """An exact number as an element."""
        return value if isinstance(value, Element) else Element(self, self.constant(value))

    def parameter(self, name: str) -> Element:
        """A parameter, or the number that it was fixed to."""
        return self.element(self.fixed[name]) if name in self.fixed else self.symbol("parameter", name)

    def function(self, name: str, argument: Element) -> Element:
        """exp, log, sin, cos or erf of an element as a symbol, the same one each time."""
        below = None if argument.below.is_one() else argument.below
        if name != "exp":
            return Element(self, self.function_symbol(name, argument.top, below))
        total = self.element(1)
        for base, power in self.exponential(argument.top, below):
            total = total * Element(self, base) ** power
        return total

    def root(self, argument: Element) -> Element:
        """The square root as a symbol; raises `NotExpandableError` for one that may be 0 at some state, where it is not smooth."""
        if not (self._is_positive(argument.top) and self._is_positive(argument.below)):
            raise NotExpandableError(f"sqrt({argument}), which is not known to be smooth at every state")
        square = argument.top * argument.below
        what = Opaque("root", f"sqrt({self.text(square)})", square)
        return Element(self, self.slot(("sqrt", str(square)), what), argument.below)

    def _is_positive(self, polynomial: Polynomial) -> bool:
        """Whether the terms show that a polynomial is positive, or that it is made of numbers and parameters alone."""
        return self.occurring(polynomial) <= self.parameter_positions or self.signs_of.of(polynomial) == 2

    def derivative(self, value: Element, coordinate: int) -> Element:
        """The total derivative by the state's coordinate of this number."""
        top, below = self._derivative(value.top, coordinate), self._derivative(value.below, coordinate)
        left = top / Element(self, value.below)
        return left - value * below / Element(self, value.below) if below.top else left

    def _derivative(self, polynomial: Polynomial, coordinate: int) -> Element:
        total = Element(self, self.differentiated(polynomial, coordinate))
        used = polynomial.degrees()
        for place, what in list(self.opaque.items()):
            if not used[place] or what.argument is None:
                continue
            if (place, coordinate) not in self._derivatives:
                self._derivatives[place, coordinate] = self._of_symbol(place, what, coordinate)
            inner = self._derivatives[place, coordinate]
            if inner.top:
                total = total + Element(self, polynomial.derivative(place)) * inner
        return total

    def _of_symbol(self, place: int, what: Opaque, coordinate: int) -> Element:
        """The derivative of the symbol at a place, by the chain rule."""
        assert what.argument is not None
        argument, symbol = Element(self, what.argument, what.below), Element(self, self.generator_at(place))
        if place not in self._inside:
            self._inside[place] = self.occurring(*what.parts)
        if coordinate not in self._inside[place] and self._inside[place].isdisjoint(self.jets):
            return self.element(0)
        inner = self.derivative(argument, coordinate)
        return self._slope(what.kind, argument, symbol) * inner if inner.top else inner

    def _slope(self, kind: str, argument: Element, symbol: Element) -> Element:
        if kind == "exp":
            return symbol
        if kind == "erf":
            return self.element(TWO_BY_ROOT_PI) * self.function("exp", -argument * argument)
        if kind in ("sin", "cos"):
            return self.function("cos", argument) if kind == "sin" else -self.function("sin", argument)
        return symbol / (2 * argument) if kind == "root" else 1 / argument

    def reduce(self, value: Element) -> Element:
        """`value` with the squares of roots replaced in its numerator, and without terms that may be 0 by their intervals."""
        top = self.carried_out(value.top)
        return Element(self, without_rounding(top, self) if self.rounded else top, value.below)


class Element(LiftedArithmetic):
    """An element top/below of the field, cancelled; a polynomial without `below`."""

    __slots__ = ("below", "field", "top")

    def __init__(self, field: Field, top: Polynomial, below: Polynomial | None = None) -> None:
        below = field.context.constant(1) if below is None else below
        if not below.is_constant():
            common = top.gcd(below)
            if not common.is_one():
                top, below = top / common, below / common
        if below.is_constant() and not below.is_one():
            top, below = top / below, field.context.constant(1)
        self.field, self.top, self.below = field, top, below

    def lift(self, value: Any) -> Element | None:
        """A number as an element."""
        if isinstance(value, Element):
            return value
        if isinstance(value, int | float | Fraction | Algebraic | Rounded) and not isinstance(value, bool):
            return self.field.element(value)
        return None

    def summed(self) -> Element:
        """The element, known to its field as a sum over coordinates."""
        self.field.note_sum(self.top)
        return self

    def _plus(self, right: Element) -> Element:
        if self.below == right.below:
            return Element(self.field, self.top + right.top, self.below)
        return Element(self.field, self.top * right.below + right.top * self.below, self.below * right.below)

    def _times(self, right: Element) -> Element:
        return Element(self.field, self.top * right.top, self.below * right.below)

    def _over(self, right: Element) -> Element:
        if not right.top:
            raise NotExpandableError("a division by zero")
        return Element(self.field, self.top * right.below, self.below * right.top)

    def __neg__(self) -> Element:
        return Element(self.field, -self.top, self.below)

    def __bool__(self) -> bool:
        return bool(self.top)

    def __str__(self) -> str:
        top = self.field.text(self.top)
        if self.below.is_one():
            return top
        top = f"({top})" if len(self.top.to_dict()) > 1 else top
        below = self.field.text(self.below)
        return (
            f"{top} / {below}"
            if len(self.below.to_dict()) == 1 and " " not in below
            else f"{top} / ({below})"
        )


def _evaluated(function: Any, value: Element) -> Element:
    if value:
        return value.field.function(function.__name__, value)
    return value.field.element(function(0))


register(Element, _evaluated, (exp, log, sin, cos, erf))


@sqrt.register
def _(value: Element) -> Element:
    return value.field.root(value) if value else value
