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
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from flint import arb, arb_mat

from sgverify.errors import ConfigurationError, InstabilityError
from sgverify.exact.ball import Certified
from sgverify.exact.block_recursion import Array, block_shape, blocked
from sgverify.exact.chain import components
from sgverify.exact.step_variance import Skew
from sgverify.exact.varying_run import StackedRun


@dataclass(frozen=True)
class StepArrays:
    """One step at K step sizes: map (n, n, K), shift (n, K), covariance (n, n, K), injection (n, q, K) or
    None.

    The injection carries the non-Gaussian noise g, whose covariance is already part of `covariance`.
    """

    map: Array
    shift: Array
    covariance: Array
    injection: Array | None = None


@dataclass(frozen=True)
class VaryingProblem:
    """A chain with changing steps, phi = constant + linear . x + x^T quadratic x, and the average it should
    have.

    `arrays(h)` evaluates the step at an array (K,) of step sizes; `entry_error` bounds the relative error of
    every entry it returns and of the numbers here. third (q, q, q) and fourth (q, q, q, q) are the cumulants
    of g.
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


def varying_error(problem: VaryingProblem, steps: Array, *, square: bool) -> float:
    """`varying_bias`, or with `square` `varying_mean_square_error`: the number alone, for its bound costs as much again."""
    runs = list(independent_runs(problem, steps, None))
    bias = sum((run.bias for run in runs), 0.0)
    return bias * bias + sum((run.variance for run in runs), 0.0) if square else bias


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
    """The independent parts that phi looks at, with the arrays laid out in blocks."""
    sizes = _checked_steps(steps)
    shape = block_shape(len(sizes))
    # The steps that fill up the last block come after all others and weigh nothing: their noise does no harm.
    share = blocked(sizes if weights is None else _checked_weights(weights, len(sizes)), *shape, 0.0)
    arrays = problem.arrays(blocked(sizes, *shape, sizes[-1]).ravel())
    maps, shifts, noise = (
        x.reshape(*x.shape[:-1], *shape) for x in (arrays.map, arrays.shift, arrays.covariance)
    )
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
