"""The law of one minibatch: exact joint moments of its Hessian and of its gradient at the origin.

H_B = prior Hessian + 1/n sum_{i in B} H_i and g_B alike are the entries of one random vector, the mean of a batch
of N given vectors, whose joint cumulants are exact (`minibatch`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property
from typing import Any

from flint import fmpq, fmpq_mat

from sgverify.exact.cumulants import MultiIndex, moments_from_cumulants
from sgverify.exact.minibatch import with_replacement, without_replacement
from sgverify.exact.series.polynomials import to_fmpq, to_fraction
from sgverify.targets import Target


@dataclass(frozen=True, eq=False)
class MinibatchLaw:
    """The entries of (H_B, g_B) for random minibatches of `batch` data, `replaced` or not.

    `vectors` (N x q) hold for each datum the upper triangle of H_i row by row, then g_i, where the gradient of N
    times its part of the potential is H_i theta + g_i; `offset` (q) is the same of the prior. q = d (d + 3) / 2.
    """

    dim: int
    vectors: Sequence[Sequence[Fraction]]
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
        """The law on a quadratic target with data; its prior is what U has beside them."""
        dim, data = target.dim, target.data_quadratics()
        pairs = [(i, j) for i in range(dim) for j in range(i, dim)]
        vectors = [
            [to_fraction(row[i * dim + j]) for i, j in pairs] + [to_fraction(value) for value in gradient]
            for row, gradient in zip(data.hessians.tolist(), data.gradients.tolist(), strict=True)
        ]
        whole = [target.precision[i][j] for i, j in pairs] + list(target.gradient([Fraction(0)] * dim))
        means = (sum(column, Fraction(0)) / len(vectors) for column in zip(*vectors, strict=True))
        return cls(
            dim, vectors, [total - mean for total, mean in zip(whole, means, strict=True)], batch, replaced
        )

    def centred(self, point: Sequence[Fraction]) -> MinibatchLaw:
        """The law of H_B v + g_B less what B says at a point c, plus what all data say there: H_i (v - c) + mean(H c + g)."""
        at = [
            [
                sum((row[self.entry(i, j)] * c for j, c in enumerate(point)), Fraction(0))
                for i in range(self.dim)
            ]
            for row in self.vectors
        ]
        count = len(self.vectors)
        whole = [
            sum(
                (moved[i] + row[self.gradient(i)] for moved, row in zip(at, self.vectors, strict=True)),
                Fraction(0),
            )
            / count
            for i in range(self.dim)
        ]
        vectors = [
            [*row[: self.gradient(0)], *(total - own for total, own in zip(whole, moved, strict=True))]
            for row, moved in zip(self.vectors, at, strict=True)
        ]
        return MinibatchLaw(self.dim, vectors, self.offset, self.batch, self.replaced)

    def noise_at(self, point: Sequence[Fraction]) -> fmpq_mat:
        """The covariance of the minibatch gradient H_B v + g_B at a point v. Shape (d, d)."""
        values = [
            [
                sum((row[self.entry(i, j)] * v for j, v in enumerate(point)), row[self.gradient(i)])
                for i in range(self.dim)
            ]
            for row in self.vectors
        ]
        draw = with_replacement if self.replaced else without_replacement
        return draw(values, self.batch, order=2).covariance

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
        columns = zip(*self.vectors, strict=True)
        sums = (sum(column, Fraction(0)) / len(self.vectors) for column in columns)
        return [to_fmpq(value + own) for value, own in zip(sums, self.offset, strict=True)]
