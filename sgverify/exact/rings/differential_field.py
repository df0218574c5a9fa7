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

from flint import arb, fmpq

from sgverify.errors import NotExpandableError
from sgverify.exact.numbers.ball import enclosed
from sgverify.exact.numbers.entrywise import coordinate_keys
from sgverify.exact.rings.polynomials import (
    Polynomial,
    evaluate,
    polynomials_in,
    potential_label,
    print_polynomial,
    root_label,
    to_fmpq,
)
from sgverify.exact.rings.ring import Index, multi_indices
from sgverify.schemes import exp, expm1, sqrt
from sgverify.schemes.definition.binding import LiftedArithmetic
from sgverify.schemes.definition.mathematics import log
from sgverify.schemes.numbers.algebraic import Algebraic
from sgverify.schemes.numbers.rounded import Rounded, literal

DEPTH = 3
"""The order of the derivatives of U and B in the field: drift and density contain one, Fokker-Planck takes up to two more."""

SLOTS = 16
"""The largest number of different roots, exponentials, logarithms and interval floats in a definition."""

INTERVAL = "interval"
"""The function of a slot that stands for a float: its argument is the interval's middle."""


class Field:
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
        self.dim = dim
        self.positive = positive
        self.shapes = dict(shapes)
        self.fixed = dict(fixed or {})
        self.parameters = tuple(dict.fromkeys(name for name in parameters if name not in self.fixed))
        self.coordinates = coordinate_keys(shapes, dim)
        self.indices: list[Index] = [a for size in range(DEPTH + 1) for a in multi_indices(dim, size)]
        functions: list[tuple[Any, ...]] = [("U",)]
        if metric:
            functions += [("B", i, j) for i in range(dim) for j in range(dim)]
        self.keys: list[tuple[Any, ...]] = [
            *self.coordinates,
            *((*function, a) for function in functions for a in self.indices),
            *(("parameter", name) for name in self.parameters),
            *(("slot", k) for k in range(SLOTS)),
        ]
        self._at: dict[tuple[Any, ...], int] = {key: k for k, key in enumerate(self.keys)}
        self.context = polynomials_in([f"g{k}" for k in range(len(self.keys))])
        self._generators = self.context.gens()
        self.slots: list[tuple[str, Element]] = []
        self.intervals: dict[float, Rounded] = {}
        self._places = {
            key: (function, a) for function in functions for a in self.indices for key in [(*function, a)]
        }

    def symbol(self, *key: Any) -> Element:
        """The element of a key: ('theta', 0), ('U', (1, 0)), ('B', 0, 1, (0, 0)), ('parameter', 'D')."""
        return Element(self, self._generators[self._at[key]])

    def constant(self, value: Any) -> Element:
        """An exact number."""
        number = literal(value)
        roots = number.radicands() if isinstance(number, Algebraic) else None
        if roots is not None:
            total = self.constant(0)
            for radical, factor in roots.items():
                root = self.slot("sqrt", self.constant(radical)) if radical != 1 else self.constant(1)
                total = total + root * factor
            return total
        if isinstance(number, Rounded):
            if float(number) < 0:
                return -self.constant(-number)
            # An independent symbol with a known interval: c^2 + s^2 is then 1 up to the rounding of both.
            self.intervals[float(number)] = number
            return self.slot(INTERVAL, self.constant(number.middle))
        assert isinstance(number, Fraction)  # what definitions can write has square roots at most
        return Element(self, self.context.constant(to_fmpq(number)))

    def parameter(self, name: str) -> Element:
        """A parameter, or the number that it was fixed to."""
        return self.constant(self.fixed[name]) if name in self.fixed else self.symbol("parameter", name)

    def slot(self, function: str, argument: Element) -> Element:
        """function(argument) as a symbol, the same one each time.

        Raises `NotExpandableError` for a root that may be 0 at some state, where it is not smooth.
        """
        if function == "sqrt" and not (self._is_positive(argument.top) and self._is_positive(argument.below)):
            raise NotExpandableError(f"sqrt({argument}), which is not known to be smooth at every state")
        for k, (known, of) in enumerate(self.slots):
            if known == function and (of.top * argument.below == argument.top * of.below):
                return self.symbol("slot", k)
        if len(self.slots) == SLOTS:
            raise NotExpandableError(
                f"more than {SLOTS} different roots, exponentials and logarithms; {function}({argument}) is one too many"
            )
        self.slots.append((function, argument))
        return self.symbol("slot", len(self.slots) - 1)

    def _is_positive(self, polynomial: Polynomial) -> bool:
        """Whether the terms show that a polynomial is positive, or that it is a number or parameters alone."""

        def kind(place: int) -> str:
            key = self.keys[place]
            if key[0] == "parameter" or (self.positive and key[0] == "theta"):
                return "positive"
            if key[0] == "slot":
                function, argument = self.slots[key[1]]
                known = function in ("exp", INTERVAL) or (
                    function == "sqrt" and self._is_positive(argument.top)
                )
                return "positive" if known else "any"
            return "any"

        terms = [
            (factor, {place: int(e) for place, e in enumerate(powers) if e})
            for powers, factor in polynomial.to_dict().items()
        ]
        if all(self.keys[place][0] == "parameter" for _, powers in terms for place in powers):
            return True
        sums = all(
            factor > 0 and all(e % 2 == 0 or kind(k) == "positive" for k, e in powers.items())
            for factor, powers in terms
        )
        return sums and any(all(kind(k) == "positive" for k in powers) for _, powers in terms)

    def derivative(self, value: Element, coordinate: int) -> Element:
        """The total derivative by the state's coordinate of this number."""
        top, below = self._derivative(value.top, coordinate), self._derivative(value.below, coordinate)
        left = top / Element(self, value.below)
        return left - value * below / Element(self, value.below) if below.top else left

    def _derivative(self, polynomial: Polynomial, coordinate: int) -> Element:
        name, number = self.coordinates[coordinate]
        total = Element(self, polynomial.derivative(coordinate))
        used = polynomial.degrees()
        if name == "theta":
            for key, (function, a) in self._places.items():
                if not used[self._at[key]]:
                    continue
                raised: tuple[Any, ...] = (*function, tuple(n + (i == number) for i, n in enumerate(a)))
                if raised not in self._at:
                    raise NotExpandableError(f"derivatives of order {DEPTH + 1}")
                factor = polynomial.derivative(self._at[key]) * self._generators[self._at[raised]]
                total = total + Element(self, factor)
        for k, (kind, argument) in enumerate(self.slots):
            place = self._at["slot", k]
            if not used[place]:
                continue
            inner = self.derivative(argument, coordinate)
            if inner.top:
                symbol = self.symbol("slot", k)
                outer = {"exp": symbol, "sqrt": symbol / (2 * argument), "log": 1 / argument}[kind]
                partial = Element(self, polynomial.derivative(place))
                total = total + partial * outer * inner
        return total

    def reduce(self, value: Element) -> Element:
        """`value` with the squares of roots replaced in its numerator, and without terms that may be 0 by their intervals."""
        for k in reversed(range(len(self.slots))):
            function, argument = self.slots[k]
            place = self._at["slot", k]
            if function != "sqrt" or value.top.degrees()[place] < 2:
                continue
            total = self.constant(0)
            for exponents, factor in value.top.to_dict().items():
                twice, once = divmod(exponents[place], 2)
                rest = (*exponents[:place], once, *exponents[place + 1 :])
                term = Element(self, self.context.from_dict({rest: factor}))
                total = total + term * argument**twice
            value = total / Element(self, value.below)
        return self._without_rounding(value) if self.intervals else value

    def numbers(self, known: Mapping[int, Any] | None = None) -> dict[int, Any]:
        """Balls around the slots whose arguments are numbers, and the `known` symbols, by their positions."""
        found = dict(known or {})
        for k, (function, argument) in enumerate(self.slots):
            top, below = (value_at(part, found) for part in (argument.top, argument.below))
            if top is not None and below is not None:
                inner = arb(top) / arb(below)
                found[self._at["slot", k]] = (
                    enclosed(self.intervals[float(inner.mid())])
                    if function == INTERVAL
                    else getattr(inner, function)()
                )
        return found

    def _without_rounding(self, value: Element) -> Element:
        numbers = self.numbers()
        floats = {self._at["slot", k] for k, (function, _) in enumerate(self.slots) if function == INTERVAL}
        groups: dict[tuple[int, ...], dict[tuple[int, ...], Any]] = {}
        for powers, factor in value.top.to_dict().items():
            rest = tuple(0 if k in numbers else e for k, e in enumerate(powers))
            groups.setdefault(rest, {})[powers] = factor
        kept: dict[tuple[int, ...], Any] = {}
        for terms in groups.values():
            own = {tuple(e if k in numbers else 0 for k, e in enumerate(m)): c for m, c in terms.items()}
            rounded = any(m[k] for m in own for k in floats)
            total = value_at(self.context.from_dict(own), numbers)
            if not rounded or total is None or not total.contains(0):
                kept.update(terms)
        return Element(self, self.context.from_dict(kept), value.below)

    def label(self, place: int) -> tuple[str, int]:
        """The printed name of a symbol."""
        key = self.keys[place]
        if key[0] == "parameter":
            return key[1], 1
        if key[0] == "U":
            return (potential_label(key[1], self.dim) if any(key[1]) else "U"), 1
        if key[0] == "B":
            return root_label(key[1], key[2], key[3], self.dim), 1
        if key[0] == "slot":
            function, argument = self.slots[key[1]]
            if function == INTERVAL:
                return str(float(argument.top.leading_coefficient())), 1
            return f"{function}({argument})", 1
        name, i = key
        return (name if self.dim == 1 or self.shapes[name] != "vector" else f"{name}{i + 1}"), 1

    def text(self, polynomial: Polynomial, most: int = 24) -> str:
        """A polynomial as text."""
        return print_polynomial({m: str(c) for m, c in polynomial.to_dict().items()}, self.label, most)


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
            return self.field.constant(value)
        return None

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


def value_at(polynomial: Polynomial, numbers: Mapping[int, Any]) -> Any:
    """The value of a polynomial at these numbers of its symbols, given by position; None where one is missing."""
    try:
        return evaluate(polynomial.to_dict(), numbers.__getitem__, fmpq)
    except KeyError:
        return None


@exp.register
def _(value: Element) -> Element:
    return value.field.slot("exp", value) if value else value.field.constant(1)


@expm1.register
def _(value: Element) -> Element:
    return exp(value) - 1


@sqrt.register
def _(value: Element) -> Element:
    return value.field.slot("sqrt", value) if value else value


@log.register
def _(value: Element) -> Element:
    return value.field.slot("log", value)
