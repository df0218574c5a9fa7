"""One coupled part of a weighted average with changing steps: its mean and variance, and bounds on their
rounding.

The formulas are those of `varying`; every array has the steps last, as (s, B) of `block_recursion`.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from sgverify.exact.block_recursion import Array, BlockMaps, Path, contracted
from sgverify.exact.step_variance import Skew, StepVariances

_UNIT = 2.0**-53
_SLACK = 1.01
"""Covers the second order and the rounding of the bound itself."""


@dataclass(frozen=True)
class StackedRun:
    """A chain with maps (n, n, s, B), shifts (n, s, B), covariances (n, n, s, B) and weights (s, B), zero
    where padded.

    phi = constant + linear . x + x^T quadratic x, less `target`; every entry is within a relative
    `entry_error`.
    """

    maps: Array
    shifts: Array
    covariances: Array
    weights: Array
    start_mean: Array
    start_covariance: Array
    constant: float
    linear: Array
    quadratic: Array
    target: float
    skew: Skew | None
    entry_error: float

    @property
    def finite(self) -> bool:
        """Whether the moments stayed in the range of float64."""
        return bool(np.isfinite(self.law.vector).all() and np.isfinite(self.law.matrix).all())

    @cached_property
    def bias(self) -> float:
        """sum_l w_l (E phi(X_l) - target) / W."""
        law, form = self.law, self.quadratic
        value = self.constant - self.target + np.einsum("i,isb->sb", self.linear, law.vector)
        value += contracted("isb,ij,jsb->sb", law.vector, form, law.vector)
        value += np.einsum("ij,ijsb->sb", form, law.matrix)
        return math.fsum((self.weights * value).ravel()) / self._weight

    @cached_property
    def bias_error(self) -> float:
        """A bound on the rounding of `bias`."""
        law, form, n = self.law, np.abs(self.quadratic), len(self.linear)
        mean = np.abs(law.vector)
        value = abs(self.constant) + abs(self.target) + np.einsum("i,isb->sb", np.abs(self.linear), mean)
        value += contracted("isb,ij,jsb->sb", mean, form, mean)
        value += np.einsum("ij,ijsb->sb", form, np.abs(law.matrix))
        here = ((2 * n * n + n + 8) * _UNIT + self.entry_error) * float((self.weights * value).sum())
        behind = self._propagated(self.future)
        return _SLACK * (here + behind) / self._weight + 4 * _UNIT * abs(self.bias)

    @property
    def variance(self) -> float:
        """Var sum_l w_l phi(X_l) / W^2."""
        return (self._start_variance + self._variances.total) / self._weight**2

    @cached_property
    def variance_error(self) -> float:
        """A bound on the rounding of `variance`."""
        local, reach = self._variances, self.reach
        gradients = np.abs(self.linear)[:, None, None] + 2 * np.einsum(
            "ij,jsb->isb", np.abs(self.quadratic), np.abs(self.law.vector)
        )
        rounded = self._blocks.transported(reach, self.future)
        rounded += float((np.abs(reach.vector) * gradients * self.weights).sum())
        rounded += float(
            np.einsum("ijsb,ij,sb->", np.abs(reach.matrix), np.abs(self.quadratic), self.weights)
        )
        seams = _weighted(reach.vector[:, -1, :-1], self.future.seam_vector)
        seams += _weighted(reach.matrix[:, :, -1, :-1], self.future.seam_matrix)
        total = self._step_error * rounded + seams + self._propagated(self.later)
        total += ((8 * len(self.linear) + 24) * _UNIT + 4 * self.entry_error) * (
            local.size + self._start_variance
        )
        return _SLACK * total / self._weight**2 + 8 * _UNIT * abs(self.variance)

    @cached_property
    def reach(self) -> Path:
        """w_l and W_l, the derivatives by g_l and E_l of the variance of the sum, running forward."""
        start, s0 = self._future_at_start, self.start_covariance
        local = self._variances
        return self._blocks.forward(
            2 * s0 @ start[0], 4 * s0 @ start[1] @ s0, local.by_gradient, local.by_form
        )

    @cached_property
    def later(self) -> Path:
        """z_l and Z_l, the derivatives by m_l and S_l of that variance, running backward."""
        sources = 2 * np.einsum("ij,jsb->isb", self.quadratic, self.reach.vector) * self.weights
        return self._blocks.backward(sources, self._variances.by_covariance)[0]

    @cached_property
    def law(self) -> Path:
        """m_l and S_l."""
        return self._blocks.forward(self.start_mean, self.start_covariance, self.shifts, self.covariances)

    @property
    def future(self) -> Path:
        """g_l and E_l."""
        return self._backward[0]

    @cached_property
    def _blocks(self) -> BlockMaps:
        return BlockMaps(self.maps)

    @cached_property
    def _weight(self) -> float:
        return math.fsum(self.weights.ravel())

    @property
    def _step_error(self) -> float:
        """The relative rounding of M X M^T + D and of M^T Y M + D, entries included."""
        return (2 * len(self.linear) + 3) * _UNIT + 2 * self.entry_error

    @cached_property
    def _backward(self) -> tuple[Path, Array, Array]:
        gradients = self.linear[:, None, None] + 2 * np.einsum("ij,jsb->isb", self.quadratic, self.law.vector)
        return self._blocks.backward(
            gradients * self.weights, self.quadratic[:, :, None, None] * self.weights
        )

    @property
    def _future_at_start(self) -> tuple[Array, Array]:
        """Gradient at m_0 and quadratic form of V_0."""
        return self._backward[1], self._backward[2]

    @property
    def _start_variance(self) -> float:
        gradient, form = self._future_at_start
        spread = form @ self.start_covariance
        return float(gradient @ self.start_covariance @ gradient + 2 * np.trace(spread @ spread))

    @cached_property
    def _variances(self) -> StepVariances:
        return StepVariances.of(self.covariances, self.law.matrix, self.future, self.skew)

    def _propagated(self, derivatives: Path) -> float:
        """What the roundings of m_l and S_l do to a quantity with these derivatives by them."""
        law = self.law
        rounded = self._blocks.transported(law, derivatives)
        rounded += _weighted(derivatives.vector, self.shifts) + _weighted(
            derivatives.matrix, self.covariances
        )
        seams = _weighted(derivatives.from_vector[:, :-1], law.seam_vector)
        seams += _weighted(derivatives.from_matrix[:, :, :-1], law.seam_matrix)
        # Twice: the term of the first step also bounds what the errors of the start's own numbers do.
        return self._step_error * 2 * rounded + seams


def _weighted(left: Array, right: Array) -> float:
    products = left * right
    return float(np.abs(products, out=products).sum())
