"""The expansion at h = 0 under reshuffled minibatches, with the number of steps in an epoch held fixed.

Notation of `reshuffle`, every matrix now a power series in h. With G_i = I + M + ... + M^(i-1),

    Y_i = K + M^i (Y_0 - K) M^iT + G_i O G_i^T,        K = Q - O + M K M^T,

the law at the end of an epoch solves Y_s = Y_0 order by order. M^i and G_i are blocks of one matrix's power, and sums over
the positions are made by doubling. A backward sweep adds W_r + W_r^T (`mirrored`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from flint import fmpq_mat

from sgverify.exact.chain import Quadratic
from sgverify.exact.continuous import Matrix, transposed
from sgverify.exact.expansion import (
    AffineSeries,
    Expansion,
    SteadyExpansion,
    expand_bias,
    expand_decay,
)
from sgverify.exact.lyapunov_series import lyapunov_series
from sgverify.exact.matrix_series import MatrixSeries
from sgverify.exact.mirrored import backward_sweep, mirrored_noise

Series = list[Matrix]
"""Coefficients of h^0, h^1, ..., all to one order."""


def epoch_noise_series(
    drawn: Sequence[Matrix], injections: Sequence[Sequence[Matrix]], own: Matrix, other: Matrix
) -> tuple[list[Matrix], list[Matrix]]:
    """Coefficients of h^1, h^2, ... of Q and O, from those of the drawn noise's covariance and of every B_a.

    `own` and `other` are the covariances of one block and of two; see `reshuffle.epoch_noise`.
    """
    blocks = _blocks(injections, len(drawn))
    total = blocks[0]
    for block in blocks[1:]:
        total = _plus(total, block)
    across = _times([b * other for b in total], _transposed(total))
    within = _plus(_with_zeroth(drawn, drawn[0] * 0), across)
    for block in blocks:
        within = _plus(within, _times([b * (own - other) for b in block], _transposed(block)))
    return within[1:], across[1:]


def mirrored_noise_series(
    injections: Sequence[Sequence[Matrix]], own: Matrix, other: Matrix, orders: int
) -> list[Matrix]:
    """Coefficients of h^1, ..., h^orders of D, see `mirrored.mirrored_noise`."""
    blocks = [MatrixSeries(b) for b in _blocks(injections, orders)]
    difference = own - other
    between = MatrixSeries([difference] + [difference * 0] * orders)
    return list(mirrored_noise(blocks, between, between * 0).terms[1:])


@dataclass(frozen=True)
class EpochSeries:
    """The laws of one epoch as series in h; the work for each grows with the logarithm of `steps`.

    `series.covariance` is that of the noise of one step, its own minibatches included; `across` the coefficients of
    h^1, h^2, ... of the covariance of the noises of two steps of one epoch; `mirrored` those of what a step and its
    mirror image share beyond that, where the second half of the epoch is the first one backward.
    """

    series: AffineSeries
    across: Sequence[Matrix]
    steps: int
    mirrored: Sequence[Matrix] | None = None

    def law_at(self, position: int) -> list[Matrix]:
        """Coefficients of h^0, h^1, ... of the covariance `position` steps into the epoch."""
        walk = self._walk[: self.series.orders]
        there = _power(walk, position)
        found = _plus(self._free, _block(_times(_times(there, self._carried), _transposed(there)), 0, 0))
        done = position - self.steps // 2
        return found if self.mirrored is None or done < 1 else _plus(found, self._back(done, 1))

    @cached_property
    def average(self) -> list[Matrix]:
        """The same averaged over the positions 1 to `steps`."""
        walk = self._walk[: self.series.orders]
        total = _block(_sum_along(walk, self._carried, self.steps), 0, 0)
        if self.mirrored is not None:
            total = _plus(total, self._back(self.steps // 2, 1, summed=True))
        share = type(self.series.map[0])(fmpq_mat([[1]])) / self.steps
        return _plus(self._free, [m * share[0, 0] for m in total])

    @cached_property
    def _walk(self) -> Series:
        return _walk(self.series)

    @cached_property
    def _zero(self) -> Matrix:
        return self.series.map[0] * 0

    @cached_property
    def _free(self) -> Series:
        """K."""
        own = [own - other for own, other in zip(self.series.covariance, self.across, strict=True)]
        return lyapunov_series(self.series.map, own)

    @cached_property
    def _carried(self) -> Series:
        """Y_0 - K and O side by side, what the walk carries along."""
        whole = _power(self._walk, self.steps)
        moved, reached = _block(whole, 0, 0), _block(whole, 0, 1)
        across = _with_zeroth(self.across, self._zero)
        shared = _times(_times(reached, across), _transposed(reached))
        if self.mirrored is not None:
            shared = _plus(shared, self._back(self.steps // 2, 0))
        # Y - K is what M^s (Y - K) M^sT + G_s O G_s^T leaves alone; M^s - I takes the place of h M_1 + ...
        bound = lyapunov_series(moved[1:], shared[1:])
        return [_diagonal(d, o) for d, o in zip(bound, across, strict=False)]

    def _back(self, steps: int, dropped: int, *, summed: bool = False) -> Series:
        """W_r + W_r^T, or its sum over r; without the last `dropped` orders."""
        assert self.mirrored is not None
        orders = self.series.orders + 1 - dropped
        unit = _block(self._walk, 0, 0)
        back = backward_sweep(
            MatrixSeries(unit[:orders]), MatrixSeries([self._zero, *self.mirrored][:orders]), steps
        )
        found = back.total if summed else back.pair
        return list((found + found.transpose()).terms)


def expand_epoch(
    epoch: EpochSeries, observable: Quadratic, target: Any, *, position: int | None = None
) -> Expansion:
    """b_0, b_1, ... of the stationary bias at a position of the epoch, or averaged over it where None."""
    law = epoch.average if position is None else epoch.law_at(position)
    return expand_bias(SteadyExpansion.of(epoch.series, observable, law), target)


def expand_epoch_transient(
    epoch: EpochSeries, observable: Quadratic, start_mean: Matrix, start_covariance: Matrix | None = None
) -> Expansion:
    """tau_0, tau_1, ... for whole epochs from a start at the beginning of one: see `expand_transient`."""
    law = epoch.law_at(epoch.steps)
    return expand_decay(SteadyExpansion.of(epoch.series, observable, law), start_mean, start_covariance)


def _blocks(injections: Sequence[Sequence[Matrix]], orders: int) -> list[Series]:
    """B_a from h^0 on."""
    return [_with_zeroth(b, b[0] * 0)[: orders + 1] for b in injections]


def _walk(series: AffineSeries) -> Series:
    """A = [[M, I], [0, I]], whose powers are [[M^i, G_i], [0, I]]."""
    kind, n = type(series.map[0]), series.map[0].nrows()
    later = [_grown(m, n) for m in series.map]
    first = [[int(i == j or j == i + n) for j in range(2 * n)] for i in range(2 * n)]
    return _with_zeroth(later, kind(fmpq_mat(first)))


def _power(walk: Series, steps: int) -> Series:
    """A^steps by squaring."""
    power = walk
    for bit in bin(steps)[3:]:
        power = _times(power, power)
        if bit == "1":
            power = _times(walk, power)
    return power


def _sum_along(walk: Series, carried: Series, steps: int) -> Series:
    """sum_{i=1..steps} A^i X A^iT, doubling the number of terms."""
    first = _times(_times(walk, carried), _transposed(walk))
    power, total = walk, first
    for bit in bin(steps)[3:]:
        total = _plus(total, _times(_times(power, total), _transposed(power)))
        power = _times(power, power)
        if bit == "1":
            total = _plus(first, _times(_times(walk, total), _transposed(walk)))
            power = _times(walk, power)
    return total


def _grown(matrix: Matrix, by: int) -> Matrix:
    """The matrix in the upper left corner of zeros."""
    n = matrix.nrows()
    return type(matrix)([row + [0] * by for row in matrix.tolist()] + [[0] * (n + by) for _ in range(by)])


def _diagonal(upper: Matrix, lower: Matrix) -> Matrix:
    n = upper.nrows()
    below = type(lower)([[0] * (2 * n)] * n + [[0] * n + row for row in lower.tolist()])
    return _grown(upper, n) + below


def _block(series: Series, i: int, j: int) -> Series:
    n = series[0].nrows() // 2
    return [type(m)([row[j * n : (j + 1) * n] for row in m.tolist()[i * n : (i + 1) * n]]) for m in series]


def _with_zeroth(tail: Sequence[Matrix], zeroth: Matrix) -> Series:
    return [zeroth, *tail]


def _times(left: Series, right: Series) -> Series:
    """The product to the order of its factors; zero coefficients, which are many, cost nothing."""
    product = [None] * len(left)
    rights = [(j, b) for j, b in enumerate(right) if not _is_zero(b)]
    for i, a in enumerate(left):
        if _is_zero(a):
            continue
        for j, b in rights:
            if i + j < len(product):
                term = a * b
                product[i + j] = term if product[i + j] is None else product[i + j] + term
    zero = left[0] * right[0] * 0
    return [zero if term is None else term for term in product]


def _plus(left: Series, right: Series) -> Series:
    return [a + b for a, b in zip(left, right, strict=True)]


def _transposed(series: Series) -> Series:
    return list(transposed(series))


def _is_zero(matrix: Matrix) -> bool:
    return all(entry == 0 for entry in matrix.entries())
