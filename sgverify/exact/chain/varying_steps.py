"""Weighted averages of an affine chain whose step size changes, in float64 with a bound on the rounding.

phi~ = sum_l w_l phi(X_l) / W with W = sum_l w_l, by default w_l = h_l. Forward run the mean m_l and the
covariance S_l of X_l. Backward runs what is still to come, V_l(x) = E[sum_{k>l} w_k phi(X_k) | X_l = x]; with
E_l the quadratic form of w_l phi + V_l and g_l its gradient at m_l,

    g_l = w_l (b + 2 A m_l) + M_{l+1}^T g_{l+1},      E_l = w_l A + M_{l+1}^T E_{l+1} M_{l+1},

and since sum_l w_l phi(X_l) is the sum of its martingale differences, Var(W phi~) = Var V_0(X_0) + sum_l v_l
with

    v_l = g^T Q g + 4 tr(E Q E S) - 2 tr(E Q E Q) + 2 kappa_3(g; E) + kappa_4(E, E)          (all at l).

The bound: a rounding of S_l or m_l changes sum_l w_l E phi(X_l) by E_l or g_l times itself, so that sum is
off by no more than sum_l |E_l| : |rounding of S_l| + |g_l| . |rounding of m_l| to first order. The variance
has the derivatives W_l, w_l by E_l, g_l (a forward recursion) and Z_l, z_l by S_l, m_l (a backward one). A
rounding is at most eps times the same expression with absolute values. Second order is 1e-16 of the first.

A part is one coupled part of such an average: its mean and variance, and bounds on their rounding. Every array has the
steps last, as (s, B) of `block_recursion`.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from flint import arb, arb_mat

from sgverify.errors import ConfigurationError, InstabilityError
from sgverify.exact.chain.block_recursion import (
    Array,
    BlockMaps,
    Path,
    Skew,
    StepVariances,
    block_shape,
    blocked,
    contracted,
)
from sgverify.exact.chain.chain import components
from sgverify.exact.numbers.ball import Certified

_UNIT = 2.0**-53
_SLACK = 1.01
"""Covers the second order and the rounding of the bound itself."""


@dataclass(frozen=True)
class StackedRun:
    """A chain with maps (n, n, s, B), shifts (n, s, B), covariances (n, n, s, B) and weights (s, B), zero
    where padded.

    phi = constant + linear . x + x^T quadratic x, less `target`; every entry is within `entry_error` of its size: its absolute
    value, or that of `sizes` (maps, shifts and covariances in the same shapes) where terms of an entry may cancel.
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
    sizes: StepArrays | None = None

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
        return _exact_sum(self.weights * value) / self._weight

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
        return BlockMaps(self.maps, None if self.sizes is None else self.sizes.map)

    @cached_property
    def _weight(self) -> float:
        return _exact_sum(self.weights)

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
        sizes = None if self.sizes is None else self.sizes.covariance
        return StepVariances.of(self.covariances, self.law.matrix, self.future, self.skew, sizes)

    def _propagated(self, derivatives: Path) -> float:
        """A bound of the effect that roundings of m_l and S_l have on a quantity with these derivatives by them."""
        law = self.law
        rounded = self._blocks.transported(law, derivatives)
        shifts = self.shifts if self.sizes is None else self.sizes.shift
        covariances = self.covariances if self.sizes is None else self.sizes.covariance
        rounded += _weighted(derivatives.vector, shifts) + _weighted(derivatives.matrix, covariances)
        seams = _weighted(derivatives.from_vector[:, :-1], law.seam_vector)
        seams += _weighted(derivatives.from_matrix[:, :, :-1], law.seam_matrix)
        # The factor 2: the term of the first step also bounds the effect of errors in the numbers of the start.
        return self._step_error * 2 * rounded + seams


def _exact_sum(values: Array) -> float:
    """The correctly rounded sum of an array, shape (s, B), row by row: Python's floats take several times an array's memory."""
    return math.fsum(value for row in values for value in row.tolist())


def _weighted(left: Array, right: Array) -> float:
    products = left * right
    return float(np.abs(products, out=products).sum())


@dataclass(frozen=True)
class StepArrays:
    """One step at K step sizes: map (n, n, K), shift (n, K), covariance (n, n, K), injection (n, q, K) or
    None.

    The injection carries the non-Gaussian noise g, whose covariance is already part of `covariance`. `sizes`: the same
    sums of the absolute values of their terms, where terms may cancel; None where an entry is as exact as its terms.
    """

    map: Array
    shift: Array
    covariance: Array
    injection: Array | None = None
    sizes: StepArrays | None = None

    def shaped(self, shape: tuple[int, int]) -> StepArrays:
        """Map, shift and covariance with their steps in blocks, (s, B)."""
        map_, shift, covariance = (
            x.reshape(*x.shape[:-1], *shape) for x in (self.map, self.shift, self.covariance)
        )
        return StepArrays(map_, shift, covariance)

    def within(self, group: list[int]) -> StepArrays:
        """Map, shift and covariance of some coordinates."""
        block = np.ix_(group, group)
        return StepArrays(self.map[block], self.shift[group], self.covariance[block])


@dataclass(frozen=True)
class VaryingProblem:
    """A chain with changing steps, phi = constant + linear . x + x^T quadratic x, and the average it should
    have.

    `arrays(h)` evaluates the step at an array (K,) of step sizes; `entry_error` bounds the error of every entry it returns
    relative to its size (`StepArrays`), and the relative error of the numbers here. third (q, q, q) and fourth (q, q, q, q)
    are the cumulants of g.
    """

    arrays: Callable[[Array], StepArrays]
    start_mean: Array
    start_covariance: Array
    constant: float
    linear: Array
    quadratic: Array
    target: float
    third: Array | None = None
    fourth: Array | None = None
    entry_error: float = 2.0**-48


def power_steps(scale: float, alpha: float, length: int) -> Array:
    """h_l = scale l^-alpha for l = 1..length."""
    return scale * np.arange(1, length + 1, dtype=np.float64) ** -alpha


def varying_bias(problem: VaryingProblem, steps: Array, *, weights: Array | None = None) -> Certified:
    """E phi~ - target for the step sizes h_1..h_L."""
    bias, error = 0.0, 0.0
    for run in independent_runs(problem, steps, weights):
        bias, error = bias + run.bias, error + run.bias_error
    return _certified(bias, error)


def varying_mean_square_error(
    problem: VaryingProblem, steps: Array, *, weights: Array | None = None
) -> Certified:
    """E (phi~ - target)^2 for the step sizes h_1..h_L."""
    bias, bias_error, variance, variance_error = 0.0, 0.0, 0.0, 0.0
    for run in independent_runs(problem, steps, weights):
        bias, bias_error = bias + run.bias, bias_error + run.bias_error
        variance, variance_error = variance + run.variance, variance_error + run.variance_error
    error = (2 * abs(bias) + bias_error) * bias_error + variance_error
    return _certified(bias * bias + variance, error)


def independent_runs(problem: VaryingProblem, steps: Array, weights: Array | None) -> Iterator[StackedRun]:
    """The independent parts on which phi depends, with their arrays laid out in blocks."""
    sizes = _checked_steps(steps)
    shape = block_shape(len(sizes))
    # The steps that fill up the last block come after all others with weight 0, so that their noise has no effect.
    share = blocked(sizes if weights is None else _checked_weights(weights, len(sizes)), *shape, 0.0)
    arrays = problem.arrays(blocked(sizes, *shape, sizes[-1]).ravel())
    laid = arrays.shaped(shape)
    maps, shifts, noise = laid.map, laid.shift, laid.covariance
    sizes_of_entries = None if arrays.sizes is None else arrays.sizes.shaped(shape)
    skew = _skew(problem, arrays.injection, shape)
    constant, target = problem.constant, problem.target
    groups = _groups(problem, maps, noise, skew)
    seen = [g for g in groups if problem.linear[g].any() or problem.quadratic[np.ix_(g, g)].any()]
    for group in seen or groups[:1]:
        block = np.ix_(group, group)
        whole = len(group) == len(maps)
        run = StackedRun(
            maps=maps if whole else maps[block],
            shifts=shifts if whole else shifts[group],
            covariances=noise if whole else noise[block],
            weights=share,
            start_mean=problem.start_mean[group],
            start_covariance=problem.start_covariance[block],
            constant=constant,
            linear=problem.linear[group],
            quadratic=problem.quadratic[block],
            target=target,
            skew=skew if skew is None or whole else Skew(skew.injection[group], skew.third, skew.fourth),
            entry_error=problem.entry_error,
            sizes=None if sizes_of_entries is None else sizes_of_entries.within(group),
        )
        constant = target = 0.0
        if not run.finite:
            raise InstabilityError(
                f"steps={sizes[0]:.6g}, ..., {sizes[-1]:.6g}: the moments leave the range of float64 while the"
                " step size is beyond the stability limit; start from a smaller step size"
            )
        yield run


def _groups(problem: VaryingProblem, maps: Array, noise: Array, skew: Skew | None) -> list[list[int]]:
    couplings = [maps.any(axis=(2, 3)), noise.any(axis=(2, 3)), problem.quadratic, problem.start_covariance]
    if skew is not None:
        reached = skew.injection.any(axis=(1, 2, 3)).astype(float)
        couplings.append(np.outer(reached, reached))
    return components(len(maps), [arb_mat(np.asarray(c, dtype=float).tolist()) for c in couplings])


def _skew(problem: VaryingProblem, injection: Array | None, shape: tuple[int, int]) -> Skew | None:
    if injection is None or (problem.third is None and problem.fourth is None):
        return None
    q = injection.shape[1]
    third = np.zeros((q,) * 3) if problem.third is None else problem.third
    fourth = np.zeros((q,) * 4) if problem.fourth is None else problem.fourth
    return Skew(injection.reshape(*injection.shape[:-1], *shape), third, fourth)


def _checked_steps(steps: Sequence[float] | Array) -> Array:
    sizes = np.asarray(steps, dtype=np.float64)
    if sizes.ndim != 1 or len(sizes) == 0 or not (np.isfinite(sizes).all() and (sizes > 0).all()):
        raise ConfigurationError(f"steps={steps!r}: step sizes are a non-empty list of positive numbers")
    return sizes


def _checked_weights(weights: Sequence[float] | Array, length: int) -> Array:
    shares = np.asarray(weights, dtype=np.float64)
    if shares.shape != (length,) or not (np.isfinite(shares).all() and (shares >= 0).all() and shares.any()):
        raise ConfigurationError(
            f"weights={weights!r}: one number of at least 0 for each of the {length} steps, not all of them 0"
        )
    return shares


def _certified(value: float, error: float) -> Certified:
    return Certified(value=value, error_bound=error, bits=53, vanishes=False, ball=arb(value, error))
