"""The average of a test function over the first L steps of a chain, from a point: exact mean and variance, on grids.

With P f(x) = E[f(X_1) | X_0 = x] and S_k = phi(X_1) + ... + phi(X_k), the first step of a chain gives

    E_x S_k = P(phi + E S_(k-1)),    E_x S_k^2 = P(phi^2 + 2 phi E S_(k-1) + E S_(k-1)^2),    ...

so that four functions on a grid, carried backwards L times, give the first four moments of the average. No invariant law is
needed, and no burn-in.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from math import comb
from typing import Any

import numpy as np
from scipy import sparse

from sgverify.errors import Unreached
from sgverify.exact.numbers.jets import taylor_of
from sgverify.exact.numbers.quadrature import EXTENDED
from sgverify.exact.transfer.line.bias import LEVELS, LineAnswers
from sgverify.exact.transfer.line.operator import STENCIL
from sgverify.schemes import Scheme
from sgverify.targets import Observable, Target
from tests.self_checks.interpolation import centred

LEFT = 1e-8
"""The largest probability of leaving a grid within L steps; a larger one is an escape, or needs a wider grid."""

MOST_OF_LINE = 8000
"""The largest number of points of a grid of the line; a step leads from each point to few others."""

_FILLED = 0.2
"""The share of non-zero entries of an operator above which a dense product is faster than a sparse one."""

_PER_SCALE, _FEWEST, _FINER = 4.0, 96, 1.5
_NODES = {0: 1, 1: 16, 2: 10, 3: 8}
_WIDENINGS = (1.0, 1.6, 2.5)
_AROUND = 2.0
"""The margin of a grid beyond the start, in widths of the finest feature."""


@dataclass(frozen=True)
class Transient:
    """The law of (1/L) sum_(l=1..L) phi(X_l) from X_0: mean, variance and excess kurtosis, with estimates of their errors.

    The errors are the changes under refinement of grid and quadrature and under widening of the domain, and rounding.
    `left`: the probability that a chain leaves the grid within L steps.
    """

    mean: float
    mean_error: float
    variance: float
    variance_error: float
    kurtosis: float
    kurtosis_error: float
    left: float
    facts: Mapping[str, Any] = field(default_factory=dict)

    @staticmethod
    def of(base: Solved, wide: Solved, fine: Solved, length: int, **facts: Any) -> Transient:
        """From a grid, a wider one and the finest, which has the values."""
        rounding = 4 * float(np.finfo(np.float64).eps) * length

        def error(of: Callable[[Solved], float]) -> float:
            changes = abs(of(wide) - of(base)) + abs(of(fine) - of(wide))
            return changes + rounding * (abs(of(fine)) + fine.variance)

        return Transient(
            fine.mean,
            error(lambda found: found.mean),
            fine.variance,
            error(lambda found: found.variance),
            fine.kurtosis,
            # The first grid has a less accurate centre, which costs digits of its fourth moment.
            abs(fine.kurtosis - wide.kurtosis),
            max(fine.left, wide.left),
            {"points": [found.points for found in (base, wide, fine)], **facts},
        )


@dataclass(frozen=True)
class Solved:
    """Mean, variance and kurtosis of the average as computed on one grid."""

    mean: float
    variance: float
    kurtosis: float
    left: float
    points: Any


Backward = Callable[[np.ndarray], np.ndarray]
"""Functions on a grid to their averages after one step. Shape (*grid, k) -> (*grid, k)."""

_MOMENTS = 4


def backward_moments(
    function: np.ndarray, centre: float, carry: Backward, begin: Backward, length: int, points: Any
) -> Solved:
    """The law of the average of `function` over L steps, as far as its fourth moment.

    `carry` is P on the grid, `begin` its last application, for the start alone: (*grid, k) -> (k,). The summand is
    phi - centre: near the mean, little cancels. The function 1 is carried beside the moments; its final value is the
    probability of not having left the grid.
    """
    phi = function - centre
    stack = np.zeros((*phi.shape, _MOMENTS + 1))
    stack[..., 0] = 1.0
    for step in range(length):
        # (phi + S)^k by the binomial theorem; the highest first, as it takes the lower ones of S.
        for k in range(_MOMENTS, 0, -1):
            for j in range(k):
                stack[..., k] += comb(k, j) * phi ** (k - j) * stack[..., j]
        stack = carry(stack) if step < length - 1 else begin(stack)
    alive, first, second, third, fourth = (float(value) / float(length) ** k for k, value in enumerate(stack))
    variance = second - first**2
    central = fourth - 4 * first * third + 6 * first**2 * second - 3 * first**4
    kurtosis = central / variance**2 - 3 if variance > 0 else 0.0
    return Solved(centre + first, variance, kurtosis, max(0.0, 1 - alive), points)


class LineTransient:
    """Averages over the first steps of a scheme of state (theta) on the line.

    `estimates`: the distribution of the gradient of a step, as targets with their probabilities; empty for full gradients.
    Raises `Unreached` where the scheme or the target is beyond the grids.
    """

    def __init__(
        self,
        scheme: Scheme,
        target: Target,
        observable: Observable,
        parameters: Mapping[str, Fraction],
        estimates: Sequence[tuple[Fraction, Target]] = (),
    ) -> None:
        numbers = {name: float(value) for name, value in parameters.items()}
        if len(estimates) > 1 and scheme.minibatches > 1:
            raise Unreached(f"one step takes {scheme.minibatches} minibatches, and the grids take one")
        self._grids = LineAnswers(scheme, target, observable, numbers["T"], numbers.get("D", 1.0))
        own = self._grids.motion
        shares = [(float(share), replace(own, target=conditional)) for share, conditional in estimates]
        self._motions = shares or [(1.0, own)]
        self._target, self._observable, self._temperature = target, observable, numbers["T"]

    def average(self, step: float, length: int, start: float) -> Transient:
        """The average over L steps of size h from X_0 = start.

        Raises `Unreached` where a grid would need too many points.
        """
        nodes, spacing = _NODES[self._motions[0][1].normal], self._grids.scale / _PER_SCALE
        more = max(1, int(nodes * _FINER))
        for widening in _WIDENINGS:
            inner, outer = (self._interval(level * widening, start) for level in LEVELS)
            base = self._solve(step, length, start, inner, spacing, nodes, None)
            if base.left <= LEFT:
                break
        wide = self._solve(step, length, start, outer, spacing, nodes, base.mean)
        fine = self._solve(step, length, start, outer, spacing / _FINER, more, base.mean)
        return Transient.of(
            base,
            wide,
            fine,
            length,
            nodes_of_noise=[nodes, nodes, more],
            domain=list(inner),
            wider_domain=list(outer),
            gradient_estimates=len(self._motions),
        )

    def _interval(self, level: float, start: float) -> tuple[float, float]:
        low, high = self._grids.interval(level, None, 1.0)
        beyond = _AROUND * self._grids.scale
        return float(min(low, start - beyond)), float(max(high, start + beyond))

    def _solve(
        self,
        step: float,
        length: int,
        start: float,
        interval: tuple[float, float],
        spacing: float,
        nodes: int,
        centre: float | None,
    ) -> Solved:
        low, high = interval
        count = max(_FEWEST, STENCIL, int(np.ceil((high - low) / spacing)))
        if count > MOST_OF_LINE:
            raise Unreached(f"a grid would need {count} points, above {MOST_OF_LINE}")
        x = np.linspace(EXTENDED(low), EXTENDED(high), count)
        starts = np.append(x, EXTENDED(start))
        found: Any = sparse.csr_array((count + 1, count))
        for share, motion in self._motions:
            found = found + _collocated(x, *motion.after(starts, step, nodes), share)
        row, matrix = found[[count]].toarray()[0], found[:count]
        if matrix.nnz > _FILLED * count**2:
            matrix = matrix.toarray()
        function = np.asarray(self._observable(x[:, None]), dtype=np.float64)
        if centre is None:
            energy = taylor_of(self._target, x, 0)[0].astype(np.float64) / self._temperature
            density = np.exp(energy.min() - energy)
            centre = float(density @ function / density.sum())
        return backward_moments(
            function, centre, lambda stack: matrix @ stack, lambda stack: row @ stack, length, count
        )


def _collocated(x: np.ndarray, moved: np.ndarray, weights: np.ndarray, share: float) -> Any:
    """The operator whose states go to moved[i, k] with probability share weights[k], sparse. Shapes (n,), (r, m), (m,)."""
    count, rows = len(x), np.arange(len(moved))
    positions = ((moved - x[0]) / (x[1] - x[0])).astype(np.float64)
    places, values = [], []
    for position, weight in zip(positions.T, weights, strict=True):
        first, shares = centred(position, count, STENCIL)
        places.append(first[:, None] + np.arange(STENCIL))
        values.append(shares * (share * float(weight)))
    columns, entries = np.concatenate(places, 1), np.concatenate(values, 1)
    index = (np.repeat(rows, columns.shape[1]), columns.ravel())
    return sparse.coo_array((entries.ravel(), index), shape=(len(moved), count)).tocsr()
