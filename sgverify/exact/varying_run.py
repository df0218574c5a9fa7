"""One coupled part of a weighted average with changing steps: its mean and variance, and bounds on their
rounding.

The formulas are those of `varying`; every array has the steps last, as (s, B) of `block_recursion`.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from sgverify.exact.block_recursion import Array, Blocks, Path

_UNIT = 2.0**-53
_SLACK = 1.01
"""Covers the second order and the rounding of the bound itself."""


@dataclass(frozen=True)
class Skew:
    """Non-Gaussian noise B g: injection (n, q, s, B), cumulants third (q, q, q), fourth (q, q, q, q) of g."""

    injection: Array
    third: Array
    fourth: Array

    def sizes(self) -> Skew:
        """Absolute values throughout."""
        return Skew(np.abs(self.injection), np.abs(self.third), np.abs(self.fourth))

    def at(self, j: int, gradient: Array, form: Array) -> tuple[Array, Array, Array]:
        """v, dv/dg and dv/dE of v = 2 kappa_3(g; E) + kappa_4(E, E) at step j of every block."""
        b = self.injection[:, :, j]
        a = np.einsum("ipb,ib->pb", b, gradient)
        e = np.einsum("ipb,ijb,jqb->pqb", b, form, b, optimize=True)
        along = np.einsum("pqr,rb->pqb", self.third, a)
        over = np.einsum("pqr,qrb->pb", self.third, e)
        fourth = np.einsum("pqrs,rsb->pqb", self.fourth, e)
        value = 2 * (a * over).sum(axis=0) + (e * fourth).sum(axis=(0, 1))
        by_form = np.einsum("ipb,pqb,jqb->ijb", b, 2 * along + 2 * fourth, b, optimize=True)
        return value, 2 * np.einsum("ipb,pb->ib", b, over), by_form


@dataclass(frozen=True)
class Run:
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
        return bool(np.isfinite(self._law.vector).all() and np.isfinite(self._law.matrix).all())

    @cached_property
    def bias(self) -> float:
        """sum_l w_l (E phi(X_l) - target) / W."""
        law, form = self._law, self.quadratic
        value = self.constant - self.target + np.einsum("i,isb->sb", self.linear, law.vector)
        value += np.einsum("isb,ij,jsb->sb", law.vector, form, law.vector, optimize=True)
        value += np.einsum("ij,ijsb->sb", form, law.matrix)
        return math.fsum((self.weights * value).ravel()) / self._weight

    @cached_property
    def bias_error(self) -> float:
        """A bound on the rounding of `bias`."""
        law, form, n = self._law, np.abs(self.quadratic), len(self.linear)
        mean = np.abs(law.vector)
        value = abs(self.constant) + abs(self.target) + np.einsum("i,isb->sb", np.abs(self.linear), mean)
        value += np.einsum("isb,ij,jsb->sb", mean, form, mean, optimize=True)
        value += np.einsum("ij,ijsb->sb", form, np.abs(law.matrix))
        here = ((2 * n * n + n + 8) * _UNIT + self.entry_error) * float((self.weights * value).sum())
        behind = self._propagated(self._future)
        return _SLACK * (here + behind) / self._weight + 4 * _UNIT * abs(self.bias)

    @property
    def variance(self) -> float:
        """Var sum_l w_l phi(X_l) / W^2."""
        return (self._start_variance + self._local.total) / self._weight**2

    @cached_property
    def variance_error(self) -> float:
        """A bound on the rounding of `variance`."""
        local, start, s0 = self._local, self._future_at_start, self.start_covariance
        reach = self._blocks.forward(
            2 * s0 @ start[0], 4 * s0 @ start[1] @ s0, local.by_gradient, local.by_form
        )
        sources = 2 * np.einsum("ij,jsb->isb", self.quadratic, reach.vector) * self.weights
        later = self._blocks.backward(sources, local.by_covariance)[0]
        slopes = np.abs(self.linear)[:, None, None] + 2 * np.einsum(
            "ij,jsb->isb", np.abs(self.quadratic), np.abs(self._law.vector)
        )
        rounded = self._blocks.transported(reach, self._future)
        rounded += float((np.abs(reach.vector) * slopes * self.weights).sum())
        rounded += float(
            np.einsum("ijsb,ij,sb->", np.abs(reach.matrix), np.abs(self.quadratic), self.weights)
        )
        seams = _weighted(reach.vector[:, -1, :-1], self._future.seam_vector)
        seams += _weighted(reach.matrix[:, :, -1, :-1], self._future.seam_matrix)
        total = self._step_error * rounded + seams + self._propagated(later)
        total += ((8 * len(self.linear) + 24) * _UNIT + 4 * self.entry_error) * (
            local.size + self._start_variance
        )
        return _SLACK * total / self._weight**2 + 8 * _UNIT * abs(self.variance)

    @cached_property
    def _blocks(self) -> Blocks:
        return Blocks(self.maps)

    @cached_property
    def _weight(self) -> float:
        return math.fsum(self.weights.ravel())

    @property
    def _step_error(self) -> float:
        """The relative rounding of M X M^T + D and of M^T Y M + D, entries included."""
        return (2 * len(self.linear) + 3) * _UNIT + 2 * self.entry_error

    @cached_property
    def _law(self) -> Path:
        """m_l and S_l."""
        return self._blocks.forward(self.start_mean, self.start_covariance, self.shifts, self.covariances)

    @cached_property
    def _backward(self) -> tuple[Path, Array, Array]:
        slopes = self.linear[:, None, None] + 2 * np.einsum("ij,jsb->isb", self.quadratic, self._law.vector)
        return self._blocks.backward(slopes * self.weights, self.quadratic[:, :, None, None] * self.weights)

    @property
    def _future(self) -> Path:
        """g_l and E_l."""
        return self._backward[0]

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
    def _local(self) -> _Local:
        return _Local.of(self.covariances, self._law.matrix, self._future, self.skew)

    def _propagated(self, derivatives: Path) -> float:
        """What the roundings of m_l and S_l do to a quantity with these derivatives by them."""
        law = self._law
        rounded = self._blocks.transported(law, derivatives)
        rounded += _weighted(derivatives.vector, self.shifts) + _weighted(
            derivatives.matrix, self.covariances
        )
        seams = _weighted(derivatives.from_vector[:, :-1], law.seam_vector)
        seams += _weighted(derivatives.from_matrix[:, :, :-1], law.seam_matrix)
        # Twice: the term of the first step also bounds what the errors of the start's own numbers do.
        return self._step_error * 2 * rounded + seams


@dataclass(frozen=True)
class _Local:
    """sum_l v_l, the sum of the sizes of its terms, and the derivatives of every v_l by g, E and S."""

    total: float
    size: float
    by_gradient: Array
    by_form: Array
    by_covariance: Array

    @classmethod
    def of(cls, noise: Array, spread: Array, future: Path, skew: Skew | None) -> _Local:
        by_gradient, by_form, by_covariance = (np.empty_like(x) for x in (future.vector, noise, noise))
        values, size = [], 0.0
        sizes = None if skew is None else skew.sizes()
        for j in range(noise.shape[2]):
            q, s = noise[:, :, j], spread[:, :, j]
            g, e = future.vector[:, j], future.matrix[:, :, j]
            value, by_gradient[:, j], by_form[:, :, j], by_covariance[:, :, j] = _terms(g, e, q, s)
            size += float(_sizes(*(np.abs(x) for x in (g, e, q, s))).sum())
            if skew is not None and sizes is not None:
                more, more_gradient, more_form = skew.at(j, g, e)
                value = value + more
                by_gradient[:, j] += more_gradient
                by_form[:, :, j] += more_form
                size += float(sizes.at(j, np.abs(g), np.abs(e))[0].sum())
            values.append(math.fsum(value))
        return cls(math.fsum(values), size, by_gradient, by_form, by_covariance)


def _terms(g: Array, e: Array, q: Array, s: Array) -> tuple[Array, Array, Array, Array]:
    """v = g^T Q g + 4 tr(E Q E S) - 2 tr(E Q E Q), and its derivatives by g, E and S."""
    qg, qe = np.einsum("ijb,jb->ib", q, g), _product(q, e)
    qeq, qes = _product(qe, q), _product(qe, s)
    value = (g * qg).sum(axis=0) + (e * (4 * qes - 2 * qeq)).sum(axis=(0, 1))
    by_form = 4 * (qes + qes.transpose(1, 0, 2) - qeq)
    return value, 2 * qg, by_form, 4 * _product(e, qe)


def _sizes(g: Array, e: Array, q: Array, s: Array) -> Array:
    qe = _product(q, e)
    terms: Array = (g * np.einsum("ijb,jb->ib", q, g)).sum(axis=0)
    return terms + (e * (4 * _product(qe, s) + 2 * _product(qe, q))).sum(axis=(0, 1))


def _weighted(left: Array, right: Array) -> float:
    return float((np.abs(left) * np.abs(right)).sum())


def _product(left: Array, right: Array) -> Array:
    return np.einsum("ijb,jkb->ikb", left, right)
