"""Averaged Kronecker products: what products of words and bases are on average, as polynomials in the state.

E prod_t (w_t base_t)_{i_t} over the minibatches and the drawn noise is a polynomial in the coordinates of the
state, whose coefficients are joint moments of the minibatch. It knows neither the scheme's coefficients nor the
step size, so it is computed once, in fractions.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any
from weakref import WeakKeyDictionary

from flint import Ordering, fmpq, fmpz_mpoly, fmpz_mpoly_ctx

from sgverify.exact.cumulants import MultiIndex
from sgverify.exact.multiplicative.letters import MinibatchLaw
from sgverify.exact.multiplicative.words import HessianProductStep, Symbol
from sgverify.schemes import NoiseLaw

Factor = tuple[Symbol, int]
"""A component of a symbol."""

Product = tuple[int, ...]
"""The numbers of its factors, in order."""

Average = dict[MultiIndex, fmpq]
"""A polynomial by the powers of the n coordinates."""

_KNOWN: WeakKeyDictionary[MinibatchLaw, dict[Any, KroneckerAverages]] = WeakKeyDictionary()


@dataclass(frozen=True, eq=False)
class KroneckerAverages:
    """The averages for steps with these state variables, draws of these laws and `minibatches` minibatches.

    The variables are the n coordinates, the components of the noises and the entries of each minibatch.
    """

    law: MinibatchLaw
    names: Sequence[str]
    laws: tuple[NoiseLaw, ...]
    minibatches: int
    _factors: list[Factor] = field(default_factory=list, repr=False)
    _numbers: dict[Factor, int] = field(default_factory=dict, repr=False)
    _components: dict[Factor, fmpz_mpoly] = field(default_factory=dict, repr=False)
    _products: dict[Product, fmpz_mpoly] = field(default_factory=dict, repr=False)
    _averages: dict[Product, Average] = field(default_factory=dict, repr=False)

    @classmethod
    def of(cls, law: MinibatchLaw, names: Sequence[str], step: HessianProductStep) -> KroneckerAverages:
        """Those of a law for steps of one form, made once and then shared."""
        key = (tuple(names), step.laws, step.minibatches)
        known = _KNOWN.setdefault(law, {})
        if key not in known:
            known[key] = cls(law, *key)
        return known[key]

    @property
    def draws(self) -> int:
        """How many draws a step makes."""
        return len(self.laws)

    @property
    def size(self) -> int:
        """n, the number of coordinates."""
        return self.law.dim * len(self.names)

    def number(self, factor: Factor) -> int:
        """The number of a factor."""
        if factor not in self._numbers:
            self._numbers[factor] = len(self._factors)
            self._factors.append(factor)
        return self._numbers[factor]

    def average(self, product: Product) -> Average:
        """E of a product of components, without zeros."""
        if product not in self._averages:
            self._averages[product] = self._computed(product)
        return self._averages[product]

    def _computed(self, product: Product) -> Average:
        symbols = [self._factors[number][0] for number in product]
        drawn = [which for kind, which, _ in symbols if kind == "noise"]
        if any(drawn.count(which) % 2 and self.laws[which].symmetric for which in drawn):
            return {}
        n, q, dim = self.size, self.law.width, self.law.dim
        first = n + self.draws * dim
        total: Average = {}
        moments = self.law.moments(sum(map(letters, symbols)))
        for exponents, coefficient in self._product(product).to_dict().items():
            weight = fmpq(coefficient)
            for place, power in enumerate(exponents[n:first]):
                moment = self.laws[place // dim].moment(int(power))
                weight *= fmpq(moment.numerator, moment.denominator)
            for k in range(self.minibatches):
                of_batch = exponents[first + k * q : first + (k + 1) * q]
                if any(of_batch):
                    weight *= moments[of_batch]
            if weight:
                key = exponents[:n]
                total[key] = total[key] + weight if key in total else weight
        return {key: value for key, value in total.items() if value}

    def _product(self, product: Product) -> fmpz_mpoly:
        """The product itself; all but the last factor are kept, as the next one shares them."""
        if len(product) == 1:
            return self._component(self._factors[product[0]])
        head = product[:-1]
        if head not in self._products:
            self._products[head] = self._product(head)
        return self._products[head] * self._component(self._factors[product[-1]])

    def _component(self, factor: Factor) -> fmpz_mpoly:
        if factor not in self._components:
            (kind, which, word), i = factor
            if word:
                inner = (kind, which, word[1:])
                entries = [
                    self._hessian(word[0], i, j) * self._component((inner, j)) for j in range(self.law.dim)
                ]
                self._components[factor] = sum(entries[1:], entries[0])
            else:
                self._components[factor] = self._base(kind, which, i)
        return self._components[factor]

    def _base(self, kind: str, which: Any, i: int) -> fmpz_mpoly:
        dim, first = self.law.dim, self.size + self.draws * self.law.dim
        if kind == "ones":
            return self._context.constant(1)
        if kind == "state":
            return self._generators[list(self.names).index(which) * dim + i]
        if kind == "noise":
            return self._generators[self.size + which * dim + i]
        return self._generators[first + which * self.law.width + self.law.gradient(i)]

    def _hessian(self, minibatch: int, i: int, j: int) -> fmpz_mpoly:
        first = self.size + self.draws * self.law.dim
        return self._generators[first + minibatch * self.law.width + self.law.entry(i, j)]

    @cached_property
    def _context(self) -> fmpz_mpoly_ctx:
        count = self.size + self.draws * self.law.dim + self.minibatches * self.law.width
        return fmpz_mpoly_ctx.get([f"v{k}" for k in range(count)], Ordering.lex)

    @cached_property
    def _generators(self) -> tuple[fmpz_mpoly, ...]:
        return self._context.gens()


def letters(symbol: Symbol) -> int:
    """How many entries of minibatches are multiplied in a component."""
    kind, _, word = symbol
    return len(word) + (kind == "gradient")
