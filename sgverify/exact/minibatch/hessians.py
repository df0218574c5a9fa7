"""Multiplicative gradient noise: one step as products of the Hessians of its minibatches, and their averages.

Where every datum has a Hessian of its own, grad(v) = H_B v + g_B on the minibatch B, and H_B commutes with no
other. A step is then X_1 = sum c w base, with scalars c, words w = H_B H_B' ... in the minibatches of the step,
and for bases the state variables, the noises, the g_B and the vector of ones. One reading serves every target.

The law of one minibatch: exact joint moments of its Hessian and of its gradient at the origin.

H_B = prior Hessian + 1/n sum_{i in B} H_i and g_B alike are the entries of one random vector, the mean of a batch
of N given vectors, whose joint cumulants are exact (`minibatch`).

Averaged Kronecker products: what products of words and bases are on average, as polynomials in the state.

E prod_t (w_t base_t)_{i_t} over the minibatches and the drawn noise is a polynomial in the coordinates of the
state, whose coefficients are joint moments of the minibatch. It knows neither the scheme's coefficients nor the
step size, so it is computed once, in fractions.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property
from typing import Any
from weakref import WeakKeyDictionary

from flint import fmpq, fmpq_mat, fmpz_mpoly, fmpz_mpoly_ctx

from sgverify.exact.affine.carrier import AffineGradient, AffineValue, Base, read_affine
from sgverify.exact.minibatch.law import Vectors, combined, means, with_replacement, without_replacement
from sgverify.exact.numbers.matrix_series import MultiIndex, moments_from_cumulants
from sgverify.exact.rings.polynomials import Generators, Key, to_fmpq
from sgverify.schemes import NoiseLaw, Scheme
from sgverify.targets import Target

Symbol = tuple[str, Any, tuple[int, ...]]
"""A word times a base: ('state', name, w), ('noise', k, w), ('gradient', minibatch, w) or ('ones', 0, w)."""


@dataclass(frozen=True)
class HessianProductStep:
    """One step: for every state variable its coefficients by symbol; `laws` of its draws, `minibatches` minibatches."""

    rows: dict[str, dict[Symbol, Any]]
    laws: tuple[NoiseLaw, ...]
    minibatches: int


def read_hessian_products(
    scheme: Scheme, ingredients: dict[str, Any], gradient: type[AffineGradient] | None = None
) -> HessianProductStep:
    """Read one step of `scheme`; `ingredients` holds h and the parameters as scalars, `gradient` is that of a minibatch.

    Raises `Unreached` where the step is not affine on a quadratic potential.
    """
    read = read_affine(scheme, ingredients, gradient=gradient or _OnMinibatch)
    rows = {
        name: {symbol(base): polynomial[0] for base, polynomial in row.items()}
        for name, row in read.rows.items()
    }
    return HessianProductStep(rows, read.laws, read.gradients)


class _OnMinibatch(AffineGradient):
    """grad(v) = H_B v + g_B."""

    def evaluate(self, position: AffineValue, number: int) -> AffineValue:
        return self.bend(position, number) + AffineValue({("gradient", number): (1,)})

    def bend(self, vector: AffineValue, number: int) -> AffineValue:
        return bent(vector, number)


def bent(vector: AffineValue, number: int) -> AffineValue:
    """H_B v."""
    moved: dict[Base, Any] = {}
    for base, polynomial in vector.blocks.items():
        kind, which, word = symbol(base)
        moved[kind, which, (number, *word)] = polynomial  # type: ignore[index]
    return AffineValue(moved)


def symbol(base: Any) -> Symbol:
    """The symbol of a base. A base that was never multiplied carries the empty word."""
    return base if len(base) == 3 else (*base, ())


@dataclass(frozen=True, eq=False)
class MinibatchLaw:
    """The entries of (H_B, g_B) for random minibatches of `batch` data, `replaced` or not.

    `vectors` (N x q) hold for each datum the upper triangle of H_i row by row, then g_i, where the gradient of N
    times its part of the potential is H_i theta + g_i; `offset` (q) is the same of the prior. q = d (d + 3) / 2.
    """

    dim: int
    vectors: Vectors
    offset: Sequence[Fraction]
    batch: int
    replaced: bool
    _known: dict[int, dict[MultiIndex, fmpq]] = field(default_factory=dict, repr=False)

    @property
    def width(self) -> int:
        """q."""
        return len(self.offset)

    def entry(self, i: int, j: int) -> int:
        """Where H_ij stands among the q entries."""
        i, j = min(i, j), max(i, j)
        return i * self.dim - i * (i - 1) // 2 + j - i

    def gradient(self, i: int) -> int:
        """Where the i-th entry of g stands."""
        return self.width - self.dim + i

    @classmethod
    def of(cls, target: Target, batch: int, *, replaced: bool) -> MinibatchLaw:
        """The law on a quadratic target with data; its prior is the part of U without the data."""
        dim, vectors = target.dim, target.data_vectors()
        pairs = [(i, j) for i in range(dim) for j in range(i, dim)]
        whole = [target.precision[i][j] for i, j in pairs] + list(target.gradient([Fraction(0)] * dim))
        offset = [total - mean for total, mean in zip(whole, means(vectors), strict=True)]
        return cls(dim, vectors, offset, batch, replaced)

    def centred(self, point: Sequence[Fraction]) -> MinibatchLaw:
        """The law of H_B (v - c) + mean(H c + g): the minibatch's gradient, less its value at c, plus the full gradient at c."""
        zeros, d, first = [Fraction(0)] * self.width, self.dim, self.gradient(0)
        average = means(self.vectors)
        rows = [[Fraction(int(i == j)) for j in range(self.width)] for i in range(first)]
        rows += [[-value for value in self._curved(i, point)] for i in range(d)]
        whole = [
            sum(
                (a * m for a, m in zip(self._curved(i, point), average, strict=True)),
                average[self.gradient(i)],
            )
            for i in range(d)
        ]
        vectors = combined(self.vectors, rows, [*zeros[:first], *whole])
        return MinibatchLaw(self.dim, vectors, self.offset, self.batch, self.replaced)

    @cached_property
    def hessians(self) -> MinibatchLaw:
        """The law of the Hessian's entries alone, whose joint moments are far fewer."""
        count, size = self.dim * (self.dim + 1) // 2, self.width
        rows = [[Fraction(int(i == j)) for j in range(size)] for i in range(count)]
        vectors = combined(self.vectors, rows, [Fraction(0)] * count)
        return MinibatchLaw(self.dim, vectors, self.offset[:count], self.batch, self.replaced)

    def noise_at(self, point: Sequence[Fraction]) -> fmpq_mat:
        """The covariance of the minibatch gradient H_B v + g_B at a point v. Shape (d, d)."""
        rows = [self._curved(i, point) for i in range(self.dim)]
        for i, row in enumerate(rows):
            row[self.gradient(i)] += 1
        values = combined(self.vectors, rows, [Fraction(0)] * self.dim)
        draw = with_replacement if self.replaced else without_replacement
        return draw(values, self.batch, order=2).covariance

    def _curved(self, i: int, point: Sequence[Fraction]) -> list[Fraction]:
        """The weights of the entries in (H v)_i at a point v. Shape (q,)."""
        weights = [Fraction(0)] * self.width
        for j, c in enumerate(point):
            weights[self.entry(i, j)] += c
        return weights

    def moments(self, order: int) -> dict[MultiIndex, fmpq]:
        """Raw joint moments of all multi-indices to `order`, or to a higher one that is known."""
        for known, moments in self._known.items():
            if known >= order:
                return moments
        draw = with_replacement if self.replaced else without_replacement
        cumulants: dict[MultiIndex, Any] = {}
        if order > 1:
            cumulants |= draw(self.vectors, self.batch, order=order).cumulants
        for place, mean in enumerate(self.mean):
            cumulants[tuple(int(k == place) for k in range(self.width))] = mean
        self._known[order] = moments_from_cumulants(cumulants, self.width, order, one=fmpq(1))
        return self._known[order]

    @cached_property
    def mean(self) -> list[fmpq]:
        """The entries of the full Hessian and gradient. Shape (q,)."""
        return [to_fmpq(value + own) for value, own in zip(means(self.vectors), self.offset, strict=True)]


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
        """The averages of a law for steps of one form; cached."""
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
        """The product of the factors; the product of all but the last is cached, because neighbours share it."""
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
        if kind == "ones":
            return self._ring.one
        if kind == "gradient":
            return self._ring.generator("minibatch", which, self.law.gradient(i))
        return self._ring.generator(kind, which, i)

    def _hessian(self, minibatch: int, i: int, j: int) -> fmpz_mpoly:
        return self._ring.generator("minibatch", minibatch, self.law.entry(i, j))

    @cached_property
    def _ring(self) -> Generators:
        coordinates, entries = range(self.law.dim), range(self.law.width)
        keys: list[Key] = [("state", name, i) for name in self.names for i in coordinates]
        keys += [("noise", k, i) for k in range(self.draws) for i in coordinates]
        keys += [("minibatch", k, place) for k in range(self.minibatches) for place in entries]
        return Generators(keys, coefficients=fmpz_mpoly_ctx)


def letters(symbol: Symbol) -> int:
    """The number of entries of minibatches that are multiplied in a component."""
    kind, _, word = symbol
    return len(word) + (kind == "gradient")
