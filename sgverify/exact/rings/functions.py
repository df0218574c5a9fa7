"""Symbols of functions of the state: exp, log, sin, cos and erf, the relations among them, and their signs.

tanh, the logistic function, softplus and powers are made of these, so that tanh(x) and 2/(1 + exp(-2 x)) - 1 are one element.
exp(x/2) is a symbol whose square is exp(x), and exp((m/n) log q) the m-th power of the n-th root of q. exp(x + y) is no product.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from fractions import Fraction
from math import lcm

from sgverify.exact.rings.polynomials import Generators, Polynomial, to_fmpq, to_fraction
from sgverify.schemes.numbers.algebraic import Irrational

ELEMENTARY = ("exp", "log", "sin", "cos", "erf")
"""The functions of which there are symbols; all others are made of them."""

FEW = 64
"""The largest denominator of a power that is a power of a root; another power is a symbol without relations to integers."""

APART = Fraction(1, 10**12)
"""The relative width of the interval around a number, far beyond the rounding of a float."""

Product = list[tuple[Polynomial, int]]
"""A product of powers, negative ones too."""


@dataclass(frozen=True, eq=False)
class Opaque:
    """The meaning of a slot: a "number", or a "root", "reciprocal" or one of `ELEMENTARY` of its argument."""

    kind: str
    text: str
    argument: Polynomial | None = None
    number: Irrational | None = None


@dataclass
class Exponentials:
    """The symbols exp(c x) of one x: the `finest`, (c, symbol), of which they are whole powers, and those apart from it."""

    finest: tuple[Fraction, Polynomial] | None = None
    apart: list[tuple[Fraction, Polynomial]] = field(default_factory=list)


class FunctionSymbols(Generators):
    """Generators some of which, the slots of `opaque`, stand for functions."""

    opaque: dict[int, Opaque]
    exponentials: dict[str, Exponentials]

    def function_slot(
        self, kind: str, argument: Polynomial, relation: list[Polynomial] | None = None
    ) -> Polynomial:
        """The slot of a function, with [c_0, ..., c_(n-1)] of its n-th power; the same one each time."""
        raise NotImplementedError

    def function_symbol(self, kind: str, argument: Polynomial) -> Polynomial:
        """The symbol of log, sin, cos or erf; sin(-x) is -sin(x), and sin(x)^2 is 1 - cos(x)^2."""
        if kind != "log" and argument.leading_coefficient() < 0:
            mirrored = self.function_symbol(kind, -argument)
            return mirrored if kind == "cos" else -mirrored
        relation = None
        if kind == "sin":
            relation = [self.one - self.function_symbol("cos", argument) ** 2, self.zero]
        return self.function_slot(kind, argument, relation)

    def exponential(self, argument: Polynomial) -> Product:
        """exp(argument) as a product of powers of symbols."""
        share = to_fraction(argument.leading_coefficient())
        unit = argument * to_fmpq(1 / share)
        known = self.exponentials.setdefault(str(unit), Exponentials())
        base = self._under_logarithm(unit)
        if base is not None:
            return self._power(unit, base, share, known)
        if known.finest is not None:
            ratio = share / known.finest[0]
            if ratio.denominator <= FEW:
                return [(self._finer(unit, known, ratio.denominator), ratio.numerator)]
            known.apart.append(known.finest)
        known.finest = share, self.function_slot("exp", argument)
        return [(known.finest[1], 1)]

    def _power(self, unit: Polynomial, base: Polynomial, share: Fraction, known: Exponentials) -> Product:
        """base^share, `unit` the logarithm of the base."""
        whole = share.numerator // share.denominator
        rest = share - whole
        product: Product = [(base, whole)] if whole else []
        if not rest:
            return product
        if rest.denominator <= FEW:
            index = (
                rest.denominator
                if known.finest is None
                else lcm(rest.denominator, known.finest[0].denominator)
            )
            if known.finest is None:
                relation = [base, *[self.zero] * (index - 1)]
                found = self.function_slot("exp", unit * to_fmpq(Fraction(1, index)), relation)
                known.finest = Fraction(1, index), found
            found = self._finer(unit, known, index // known.finest[0].denominator)
            return [*product, (found, int(rest / known.finest[0]))]
        for place, (other, symbol) in enumerate(known.apart):
            for times in (Fraction(n, d) for d in (1, 2) for n in (1, -1, 2, -2, 3, -3)):
                if (share - times * other).denominator > FEW:
                    continue
                if times.denominator > 1:
                    argument = unit * to_fmpq(other / 2)
                    symbol = self.function_slot("exp", argument, [symbol, self.zero])
                    known.apart[place] = other / 2, symbol
                    times *= 2
                left = share - times * known.apart[place][0]
                return [(symbol, int(times)), *(self._power(unit, base, left, known) if left else [])]
        known.apart.append((rest, self.function_slot("exp", unit * to_fmpq(rest))))
        return [*product, (known.apart[-1][1], 1)]

    def _finer(self, unit: Polynomial, known: Exponentials, index: int) -> Polynomial:
        """The finest symbol, made the root of this index of what it was."""
        assert known.finest is not None
        share, symbol = known.finest
        if index > 1:
            relation = [symbol, *[self.zero] * (index - 1)]
            argument = unit * to_fmpq(share / index)
            symbol = self.function_slot("exp", argument, relation)
            known.finest = share / index, symbol
        return symbol

    def _under_logarithm(self, unit: Polynomial) -> Polynomial | None:
        """q where `unit` is the symbol of log q."""
        for at, what in self.opaque.items():
            if what.kind == "log" and unit == self.generator_at(at):
                return what.argument
        return None


class ManifestSigns:
    """The generators of a ring that have one sign, or bounds, and what follows for polynomials of them."""

    def __init__(self, ring: Generators, positive: Iterable[int]) -> None:
        self._ring = ring
        self.positive = set(positive)
        self.never_negative = set(self.positive)
        # Generators that are at most so large in size, and intervals of numbers.
        self._bounds: dict[int, Fraction] = {}
        self._numbers: dict[int, tuple[Fraction, Fraction]] = {}

    def note(self, at: int, what: Opaque) -> None:
        """Derive the sign of a slot from what it stands for."""
        sign, inside = 0, what.argument
        if what.number is not None:
            middle = Fraction(float(what.number))
            ends = sorted((middle * (1 - APART), middle * (1 + APART)))
            self._numbers[at] = ends[0], ends[1]
            sign = 2 if middle > 0 else 0
        elif what.kind == "exp":
            sign = 2
        elif what.kind in ("root", "reciprocal"):
            assert inside is not None
            sign = max(self.of(inside), what.kind == "root")
        elif what.kind == "log":
            assert inside is not None
            sign = self.of(inside - self._ring.one)
        if sign:
            self.never_negative.add(at)
        if sign == 2:
            self.positive.add(at)
        if what.kind in ("sin", "cos", "erf"):
            self._bounds[at] = Fraction(1)
        elif what.kind == "reciprocal" and inside is not None:
            least = inside.to_dict().get((0,) * len(self._ring.keys), 0)
            if least > 0 and self.of(inside - least):
                self._bounds[at] = 1 / to_fraction(least)

    def of(self, value: Polynomial) -> int:
        """2 where the terms show that a value is positive at every state, 1 where it is never negative, 0 where they do not.

        Even powers are never negative, sin(x) + 2 is at least 1, and 1/(1 + x^2) at most 1.
        """
        least: dict[tuple[int, ...], Fraction] = {}
        lowered, sure_of = set[tuple[int, ...]](), set[tuple[int, ...]]()
        for powers, factor in value.to_dict().items():
            rest, bounded, signed, sure = list(map(int, powers)), False, False, factor > 0
            low = high = to_fraction(factor)
            for k, power in enumerate(rest):
                if power and k in self._numbers:
                    ends = [self._numbers[k][0] ** power, self._numbers[k][1] ** power]
                    products = [end * other for end in (low, high) for other in ends]
                    low, high, rest[k] = min(products), max(products), 0
                elif power and k in self._bounds:
                    low, high, rest[k] = low * self._bounds[k] ** power, high * self._bounds[k] ** power, 0
                    bounded, signed = True, signed or (power % 2 == 1 and k not in self.never_negative)
                sure = sure and (not power or k in self.positive)
            if bounded:
                low = -max(abs(low), abs(high)) if signed else min(low, Fraction(0))
            key = tuple(rest)
            least[key] = least.get(key, Fraction(0)) + low
            (lowered if low < 0 else sure_of if sure else set()).add(key)
        strict = bool(sure_of - lowered)
        for powers, low in least.items():
            if low < 0 or any(e % 2 and k not in self.never_negative for k, e in enumerate(powers)):
                return 0
            strict = strict or (low > 0 and all(k in self.positive for k, e in enumerate(powers) if e))
        return 2 if strict else 1
