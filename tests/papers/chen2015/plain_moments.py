"""The paper's schemes written out as matrices, and their moments by recursions that know nothing of the toolkit's engines.

One step is x' = M x + c + b z + g w, with z standard normal and w the centred minibatch noise of the gradient.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from sgverify.targets.data import draw_data

SIZE, BATCH = 1000, 10
X = draw_data(SIZE, 1, 0)[:, 0]
PRECISION = SIZE + 1.0
MEAN = X.sum() / PRECISION
TRUTH = MEAN**2 + 1 / PRECISION
# A minibatch estimates sum x_i by N/n times the sum over n draws: N^2/n times the variance of the data.
NOISE = SIZE**2 / BATCH * X.var()


@dataclass(frozen=True)
class Step:
    map: np.ndarray
    shift: np.ndarray
    drawn: np.ndarray
    gradient: np.ndarray


def sgld(h: float, D: float) -> Step:
    kick = np.array([-h])
    return Step(
        np.array([[1 - h * PRECISION]]), h * PRECISION * np.array([MEAN]), np.array([(2 * h) ** 0.5]), kick
    )


def aboba(h: float, D: float) -> Step:
    a, e = np.array([[1, h / 2], [0, 1]]), np.exp(-D * h / 2)
    b = np.array([[1, 0], [0, e]])
    kick = np.array([[1, 0], [-h * PRECISION, 1]])
    after = a @ b
    return Step(
        after @ kick @ b @ a,
        after @ np.array([0, h * PRECISION * MEAN]),
        after @ np.array([0, (2 * D * h) ** 0.5]),
        after @ np.array([0, -h]),
    )


def algorithm_2(h: float, D: float) -> Step:
    kick = np.array([[1, 0], [-h * PRECISION, 1 - D * h]])
    move = np.array([[1, h], [0, 1]])
    return Step(
        move @ kick,
        move @ np.array([0, h * PRECISION * MEAN]),
        move @ np.array([0, (2 * D * h) ** 0.5]),
        move @ np.array([0, -h]),
    )


def appendix_i1(h: float, D: float) -> Step:
    return Step(
        np.array([[1, h], [-h * PRECISION, 1 - D * h]]),
        np.array([0, h * PRECISION * MEAN]),
        np.array([0, (2 * D * h) ** 0.5]),
        np.array([0, -h]),
    )


STEPS = {
    "sgld-euler": sgld,
    "sghmc-aboba": aboba,
    "sghmc-euler": algorithm_2,
    "sghmc-euler-explicit": appendix_i1,
}


def moments(scheme: str, sizes: Sequence[float], D: float, noise: float) -> tuple[np.ndarray, np.ndarray]:
    """Mean (L,) of theta_l and covariance (L, L) of (theta_1, ..., theta_L), theta_0 and p_0 ~ N(0, 1)."""
    n = 1 if scheme == "sgld-euler" else 2
    mean, spread = np.zeros(n), np.eye(n)
    means, cross, rows = [], np.zeros((0, n)), []
    for h in sizes:
        step = STEPS[scheme](h, D)
        mean = step.map @ mean + step.shift
        cross = cross @ step.map.T
        spread = step.map @ spread @ step.map.T + np.outer(step.drawn, step.drawn)
        spread = spread + noise * np.outer(step.gradient, step.gradient)
        # cross holds Cov(theta_k, x_l) for k < l.
        rows.append(np.append(cross[:, 0], spread[0, 0]))
        cross = np.vstack([cross, spread[0]])
        means.append(mean[0])
    covariance = np.zeros((len(rows), len(rows)))
    for k, row in enumerate(rows):
        covariance[k, : k + 1] = covariance[: k + 1, k] = row
    return np.array(means), covariance


def bias(scheme: str, sizes: Sequence[float], D: float, gradient: str) -> float:
    """E sum w_l theta_l^2 / W - truth with w_l = h_l."""
    n = 1 if scheme == "sgld-euler" else 2
    mean, spread, total = np.zeros(n), np.eye(n), 0.0
    for h in sizes:
        step = STEPS[scheme](h, D)
        mean = step.map @ mean + step.shift
        spread = step.map @ spread @ step.map.T + np.outer(step.drawn, step.drawn)
        spread = spread + (NOISE if gradient == "iid" else 0.0) * np.outer(step.gradient, step.gradient)
        total += h * (mean[0] ** 2 + spread[0, 0])
    return total / sum(sizes) - TRUTH


def stationary_bias(scheme: str, h: float, D: float, gradient: str) -> float:
    """E theta^2 - truth under the invariant law, the covariance from a linear system."""
    step = STEPS[scheme](h, D)
    n = len(step.shift)
    noise = np.outer(step.drawn, step.drawn)
    noise = noise + (NOISE if gradient == "iid" else 0.0) * np.outer(step.gradient, step.gradient)
    mean = np.linalg.solve(np.eye(n) - step.map, step.shift)
    spread = np.linalg.solve(np.eye(n * n) - np.kron(step.map, step.map), noise.ravel())
    return float(mean[0] ** 2 + spread[0] - TRUTH)


def gaussian_mse(scheme: str, sizes: Sequence[float], D: float) -> float:
    """E (sum w_l theta_l^2 / W - truth)^2 with full gradients, where all is Gaussian: Var = 2 tr(A C A C) + 4 m A C A m."""
    mean, covariance = moments(scheme, sizes, D, 0.0)
    weights = np.diag(np.array(sizes) / sum(sizes))
    value = np.trace(weights @ covariance) + mean @ weights @ mean - TRUTH
    weighted = weights @ covariance
    return value**2 + 2 * np.trace(weighted @ weighted) + 4 * mean @ weighted @ weights @ mean


def fixed_sizes(scale: float, alpha: float, length: int) -> list[float]:
    return [scale * length**-alpha] * length


def power_sizes(scale: float, alpha: float, length: int) -> list[float]:
    return [scale * l**-alpha for l in range(1, length + 1)]
