"""How many chains should each step size have, for the sharpest decision at a given work?

For each forbidden order j the decision tests, in a fit of h^j, h^K, h^(K+1), whether the term in h^j differs from margin times the
whole error at the largest step. The tested quantity is a contrast of the fit's coefficients. Its variance depends on the
distribution of the work, and its minimum is a c-optimal design (Elfving 1952; Pukelsheim 2006, chapter 2).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from sgverify.errors import UserError
from sgverify.rates.decision import MARGIN
from sgverify.rates.sample import Floats

FEWEST = 256
"""Chains at any step, at least: fewer do not give the tails of a small level."""

MOST_EXTRA = 64
"""Chains of the largest step alone, at most, for each chain of a coupled sweep."""


@dataclass(frozen=True)
class Contrast:
    """The linear contrast that decides about one forbidden order: the columns (J, p) of its fit, the combination (p,)."""

    columns: Floats
    weights: Floats

    def variance(self, precision: Floats) -> float:
        """The contrast's variance by generalised least squares from points with this inverse covariance, (J, J)."""
        information = self.columns.T @ precision @ self.columns
        return float(self.weights @ np.linalg.solve(information, self.weights))

    def sensitivity(self, precisions: Floats) -> Floats:
        """d variance / d precision_j for independent points (J,): minus the squared influence of each."""
        information = self.columns.T @ (precisions[:, None] * self.columns)
        influence: Floats = self.columns @ np.linalg.solve(information, self.weights)
        return -(influence**2)


@dataclass(frozen=True)
class Allocation:
    """The number of chains at each step (J,), and the worst contrast's variance, beside that of equal numbers at the same work."""

    chains: tuple[int, ...]
    variance: float
    equal: float

    @property
    def gain(self) -> float:
        """The factor by which equal numbers of chains would need more work for the same variance."""
        return self.equal / self.variance


def contrasts_of(steps: ArrayLike, order: int, margin: float = MARGIN) -> list[Contrast]:
    """One contrast for each forbidden order j < K: c_j - margin (c_j + c_K + c_(K+1)), columns 1 at the first step."""
    h = np.asarray(steps, dtype=np.float64)
    weights = np.array([1 - margin, -margin, -margin])
    return [
        Contrast(np.stack([(h / h[0]) ** power for power in (j, order, order + 1)], axis=1), weights)
        for j in range(order)
    ]


def allocate(
    contrasts: Sequence[Contrast],
    variances: ArrayLike,
    costs: ArrayLike,
    work: float,
    *,
    fewest: int = FEWEST,
) -> Allocation:
    """The chains of independent steps that make the worst contrast's variance smallest, for so much work in all.

    `variances` (J,) of a single chain's average at each step, from a pilot; `costs` (J,) of a chain there, in the units of
    `work` (steps: 1/h at a fixed physical time). Minimises max_k c_k^T (sum_j n_j x_kj x_kj^T / v_j)^-1 c_k subject to sum_j n_j
    cost_j = work and n_j >= `fewest`: convex, solved by SLSQP. Numbers are rounded down, so that the work is kept; where the fit is
    saturated, n_j is proportional to |influence_j| sqrt(v_j / cost_j). Raises `UserError` where the work does not pay
    for the fewest chains, and for variances or costs that are not positive.
    """
    from scipy.optimize import minimize

    v, cost = np.asarray(variances, dtype=np.float64), np.asarray(costs, dtype=np.float64)
    if not (np.all(v > 0) and np.all(cost > 0)):
        raise UserError(f"variances={v.tolist()}, costs={cost.tolist()}: expected positive numbers")
    if fewest * cost.sum() > work:
        raise UserError(
            f"work={work:.3g}: expected at least {fewest * cost.sum():.3g}, {fewest} chains at every step"
        )
    spent = work / cost  # chains of a step that takes all the work

    def worst(shares: Floats) -> float:
        return max(contrast.variance(np.diag(shares * spent / v)) for contrast in contrasts)

    even = np.full(len(v), work / cost.sum()) / spent
    unit = worst(even)

    def room(x: Floats) -> Floats:
        return np.array([x[-1] - c.variance(np.diag(x[:-1] * spent / v)) / unit for c in contrasts])

    def room_slope(x: Floats) -> Floats:
        return np.array([[*(-c.sensitivity(x[:-1] * spent / v) * spent / v / unit), 1.0] for c in contrasts])

    found = minimize(
        lambda x: x[-1],
        [*even, 1.0],
        jac=lambda x: np.array([0.0] * len(v) + [1.0]),
        bounds=[*((fewest / most, 1.0) for most in spent), (0.0, None)],
        constraints=[
            {
                "type": "eq",
                "fun": lambda x: x[:-1].sum() - 1,
                "jac": lambda x: np.array([1.0] * len(v) + [0.0]),
            },
            {"type": "ineq", "fun": room, "jac": room_slope},
        ],
        method="SLSQP",
        options={"ftol": 1e-12, "maxiter": 500},
    )
    shares = np.asarray(found.x[:-1], dtype=np.float64)
    if not worst(shares) <= unit:
        shares = even
    chains = [max(fewest, int(number + 1e-9)) for number in shares * spent]
    return Allocation(tuple(chains), worst(np.asarray(chains, dtype=np.float64) / spent), unit)


def extra_of_the_first(
    contrasts: Sequence[Contrast], covariance: ArrayLike, costs: ArrayLike, *, most: int = MOST_EXTRA
) -> Allocation:
    """The number r of extra chains at the first step, for each chain that runs coupled at all steps.

    `covariance`, shape (J, J), is that of a single coupled chain's averages. Noise that is common to all steps cancels in the
    differences of the averages, but not in the averages themselves; r extra chains of the first step reduce it there. r minimises
    (sum_j cost_j + r cost_0) max_k Var_k(r) over integers, where the extra chains add r / S_00 to the precision of the first
    value. `chains` is (1 + r, 1, ..., 1); `variance` and `equal` are at the same work, `equal` without extra chains.
    """
    single, cost = np.asarray(covariance, dtype=np.float64), np.asarray(costs, dtype=np.float64)
    precision = np.asarray(np.linalg.inv(single), dtype=np.float64)

    def price(extra: int) -> float:
        added = precision.copy()
        added[0, 0] += extra / single[0, 0]
        return float(cost.sum() + extra * cost[0]) * max(c.variance(added) for c in contrasts)

    prices = [price(extra) for extra in range(most + 1)]
    best = int(np.argmin(prices))
    return Allocation((1 + best, *[1] * (len(cost) - 1)), prices[best], prices[0])
