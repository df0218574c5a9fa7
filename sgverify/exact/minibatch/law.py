"""The exact law of minibatch noise: cumulants of the mean of a random batch of given vectors.

Let u_i, i = 1..N, be the data vectors and g the mean of a batch of n of them, less the mean of all.

- with replacement: kappa_r(g) = n^(1-r) kappa_r(u_I), I uniform;
- without replacement: choosing each i on its own with probability w would give the sum of the batch the
cumulants
  kappa_r(Bernoulli(w)) sum_i u_i^r, and a moment that is a polynomial in w. E of a product of k distinct
  indicators is w^k there and n(n-1)...(n-k+1) / N(N-1)...(N-k+1) here: replacing the one by the other is
  exact;
- reshuffle: any block of a permutation is a batch without replacement, with covariance V, and since the
blocks
  of disjoint indices are exchangeable, two of them have covariance -V n / (N - n).
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from flint import fmpq, fmpq_mat, fmpq_poly

from sgverify.errors import ConfigurationError
from sgverify.exact.numbers.matrix_series import (
    MultiIndex,
    cumulants_from_moments,
    moments_from_cumulants,
    multi_indices,
)
from sgverify.exact.rings.polynomials import to_fraction
from sgverify.targets.power_sums import PolynomialVectors

Vectors = Sequence[Any] | PolynomialVectors
"""N exact numbers or lists of d of them, or polynomials in N data, of which only joint power sums are computed."""


@dataclass(frozen=True)
class MinibatchNoise:
    """Joint cumulants of orders 2 to `order` of a centred random vector g with `dim` entries, exactly."""

    dim: int
    order: int
    cumulants: Mapping[MultiIndex, fmpq]

    def tensor(self, order: int) -> fmpq_mat:
        """The cumulants of one order as a dim x dim^(order-1) matrix, the layout of `AffineChain`."""
        slots = itertools.product(range(self.dim), repeat=order)
        entries = [self.cumulants[tuple(s.count(i) for i in range(self.dim))] for s in slots]
        return fmpq_mat(self.dim, self.dim ** (order - 1), entries)

    @property
    def covariance(self) -> fmpq_mat:
        """dim x dim."""
        return self.tensor(2)

    @property
    def third(self) -> fmpq_mat:
        """dim x dim^2."""
        return self.tensor(3)

    @property
    def fourth(self) -> fmpq_mat:
        """dim x dim^3."""
        return self.tensor(4)


def with_replacement(vectors: Vectors, batch: int, *, order: int = 4) -> MinibatchNoise:
    """Noise of the mean of `batch` independent uniform draws from `vectors` (N numbers or N x d; not
    centred).

    Floats are read as the dyadic numbers they are.
    """
    data = _Counted.of(vectors, batch, without_replacement=False)
    moments = {key: fmpq(1, data.size) * total for key, total in data.power_sums(order).items()}
    moments[(0,) * data.dim] = fmpq(1)
    single = cumulants_from_moments(moments, data.dim, order)
    return data.noise(order, {key: value * fmpq(batch) for key, value in single.items()})


def without_replacement(vectors: Vectors, batch: int, *, order: int = 4) -> MinibatchNoise:
    """Noise of the mean of a uniform subset of `batch` of the `vectors` (N numbers or N x d; not centred)."""
    data = _Counted.of(vectors, batch, without_replacement=True)
    w = fmpq_poly([0, 1])
    indicator = [w]
    for _ in range(order - 1):
        indicator.append(w * (1 - w) * indicator[-1].derivative())
    thinned = {key: indicator[sum(key) - 1] * total for key, total in data.power_sums(order).items()}
    # Beyond N distinct indices there is nothing to include, and the coefficient of w^k is zero.
    inclusion = [fmpq(math.perm(batch, k), math.perm(data.size, k)) for k in range(min(order, data.size) + 1)]
    moments = {
        key: sum((c * p for c, p in zip(polynomial.coeffs(), inclusion, strict=False)), fmpq(0))
        for key, polynomial in moments_from_cumulants(thinned, data.dim, order, one=fmpq_poly([1])).items()
    }
    return data.noise(order, cumulants_from_moments(moments, data.dim, order))


def block_covariances(vectors: Vectors, batch: int) -> tuple[fmpq_mat, fmpq_mat]:
    """Covariance of one block of a random permutation, and of two blocks of the same permutation."""
    covariance = without_replacement(vectors, batch, order=2).covariance
    rest = len(vectors) - batch
    return covariance, covariance * (fmpq(-batch, rest) if rest else fmpq(0))


@dataclass(frozen=True)
class _Counted:
    """The vectors by their joint power sums, in units of `scale`. Cumulants of order 2 and above do not depend on the centre."""

    vectors: Vectors
    dim: int
    scale: fmpq
    batch: int

    @classmethod
    def of(cls, vectors: Vectors, batch: int, *, without_replacement: bool) -> _Counted:
        size = len(vectors)
        if size == 0:
            raise ConfigurationError("vectors=[]: minibatch noise needs data; give at least one vector")
        if isinstance(batch, bool) or not isinstance(batch, int) or batch < 1:
            raise ConfigurationError(f"batch={batch!r}: the size of a minibatch is a positive integer")
        if without_replacement and batch > size:
            raise ConfigurationError(
                f"batch={batch}: a batch without replacement has at most the {size} data; take a smaller batch"
            )
        if isinstance(vectors, PolynomialVectors):
            return cls(vectors, vectors.width, fmpq(1), batch)
        exact = [[Fraction(x) for x in _entries(vector)] for vector in vectors]
        common = math.lcm(*(x.denominator for row in exact for x in row))
        rows = [[x.numerator * (common // x.denominator) for x in row] for row in exact]
        return cls(rows, len(rows[0]), fmpq(1, common), batch)

    @property
    def size(self) -> int:
        return len(self.vectors)

    def power_sums(self, order: int) -> dict[MultiIndex, Any]:
        """sum_i v_i^index in units of `scale`, for every multi-index of orders 1 to `order`."""
        if isinstance(self.vectors, PolynomialVectors):
            found = self.vectors.power_sums(multi_indices(self.dim, 1, order))
            return {index: total for index, total in found.items() if any(index)}
        columns = [list(column) for column in zip(*self.vectors, strict=True)]
        products = {(0,) * self.dim: [1] * self.size}
        sums = {}
        for index in multi_indices(self.dim, 1, order):
            lead = next(i for i, power in enumerate(index) if power)
            smaller = products[(*index[:lead], index[lead] - 1, *index[lead + 1 :])]
            products[index] = [a * b for a, b in zip(smaller, columns[lead], strict=True)]
            sums[index] = sum(products[index])
        return sums

    def noise(self, order: int, cumulants: Mapping[MultiIndex, fmpq]) -> MinibatchNoise:
        """From the cumulants of the sum of a batch of integer rows to those of the mean of its vectors."""
        unit = self.scale / self.batch
        scaled = {key: value * unit ** sum(key) for key, value in cumulants.items() if sum(key) > 1}
        return MinibatchNoise(self.dim, order, scaled)


def _entries(vector: Any) -> Sequence[Any]:
    return vector if hasattr(vector, "__len__") else [vector]


def means(vectors: Vectors) -> list[Fraction]:
    """The average of the vectors. Shape (q,)."""
    if isinstance(vectors, PolynomialVectors):
        units = [tuple(int(i == j) for j in range(vectors.width)) for i in range(vectors.width)]
        sums = vectors.power_sums(units)
        return [to_fraction(sums[unit]) / len(vectors) for unit in units]
    return [sum(column, Fraction(0)) / len(vectors) for column in zip(*vectors, strict=True)]


def combined(vectors: Vectors, rows: Sequence[Sequence[Fraction]], offset: Sequence[Fraction]) -> Vectors:
    """R v_i + c for every vector v_i. Shapes (m, q), (m,)."""
    if isinstance(vectors, PolynomialVectors):
        return vectors.combined(rows, offset)
    return [
        [
            sum((r * v for r, v in zip(row, vector, strict=True)), c)
            for row, c in zip(rows, offset, strict=True)
        ]
        for vector in vectors
    ]
