"""The variance that one step adds to a weighted average, v = Var(psi(u + xi)) with psi of gradient g and form
E.

v = g^T Q g + 4 tr(E Q E S) - 2 tr(E Q E Q) + 2 kappa_3(g; E) + kappa_4(E, E), where S = Cov(u) + Q and Q,
kappa_3, kappa_4 are the cumulants of xi; with its derivatives, for the bound on the rounding of a sum of such
terms.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from sgverify.exact.block_recursion import Array, Path, contracted


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
        value, a, over, fourth = self._terms(b, gradient, form)
        along = np.einsum("pqr,rb->pqb", self.third, a)
        by_form = contracted("ipb,pqb,jqb->ijb", b, 2 * along + 2 * fourth, b)
        return value, 2 * np.einsum("ipb,pb->ib", b, over), by_form

    def value_at(self, j: int, gradient: Array, form: Array) -> Array:
        """v alone."""
        return self._terms(self.injection[:, :, j], gradient, form)[0]

    def _terms(self, b: Array, gradient: Array, form: Array) -> tuple[Array, Array, Array, Array]:
        """v, g and what kappa_3 and kappa_4 make of E, all in the coordinates of the noise, whose injection is b."""
        a = np.einsum("ipb,ib->pb", b, gradient)
        e = contracted("ipb,ijb,jqb->pqb", b, form, b)
        over = np.einsum("pqr,qrb->pb", self.third, e)
        fourth = np.einsum("pqrs,rsb->pqb", self.fourth, e)
        return 2 * (a * over).sum(axis=0) + (e * fourth).sum(axis=(0, 1)), a, over, fourth


@dataclass(frozen=True)
class StepVariances:
    """sum_l v_l, the sum of the sizes of its terms, and the derivatives of every v_l by g, E and S."""

    total: float
    size: float
    by_gradient: Array
    by_form: Array
    by_covariance: Array

    @classmethod
    def of(cls, noise: Array, spread: Array, future: Path, skew: Skew | None) -> StepVariances:
        """From Q and S, both (n, n, s, B), and from g and E along `future`."""
        by_gradient, by_form, by_covariance = (np.empty_like(x) for x in (future.vector, noise, noise))
        values, size = [], 0.0
        sizes = None if skew is None else skew.sizes()
        for j in range(noise.shape[2]):
            q, s = noise[:, :, j], spread[:, :, j]
            g, e = future.vector[:, j], future.matrix[:, :, j]
            value, by_gradient[:, j], by_form[:, :, j], by_covariance[:, :, j] = gaussian_terms(g, e, q, s)
            size += float(_sizes(*(np.abs(x) for x in (g, e, q, s))).sum())
            if skew is not None and sizes is not None:
                more, more_gradient, more_form = skew.at(j, g, e)
                value = value + more
                by_gradient[:, j] += more_gradient
                by_form[:, :, j] += more_form
                size += float(sizes.value_at(j, np.abs(g), np.abs(e)).sum())
            values.append(math.fsum(value))
        return cls(math.fsum(values), size, by_gradient, by_form, by_covariance)


def gaussian_terms(g: Array, e: Array, q: Array, s: Array) -> tuple[Array, Array, Array, Array]:
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


def _product(left: Array, right: Array) -> Array:
    return np.einsum("ijb,jkb->ikb", left, right)
