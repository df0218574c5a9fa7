"""Has a target a mode, or much of its mass, far from where its Gaussian approximation stands?

On the line its standard deviation is an integral and is compared. Beyond, U is followed along rays from the mode, as far as its
mass goes: a slab under a spike, and a tail that falls slowly, look like a Gaussian from the mode and are none. Minima of U are
sought from points around the mode: a search that finds another one is proof, one that finds none is none.
"""

from __future__ import annotations

import math

import numpy as np
from scipy import optimize

from sgverify.advice.chain_laws import closure_of
from sgverify.advice.closure.shape import CLOSE
from sgverify.subject.caching import cached_per_subject
from sgverify.subject.subject import Subject

STARTS, REACH = 8, 6.0
"""The number of starts, and their distance from the mode in standard deviations along random directions."""

RADII = np.geomspace(0.05, 300.0, 60)
"""The distances along a ray, in standard deviations."""

BEYOND, RAYS = 4.0, 16
"""Along a ray a Gaussian has 1e-4 of E r^2 beyond d^(1/2) + 4 standard deviations, and less the more coordinates there are; the
number of axes along which rays go."""

FAR, COUNTS = 3.0, 12.0
"""A minimum is another mode from so many standard deviations on, if U/T is less than this above its value at the first."""


@cached_per_subject
def other_mode(subject: Subject) -> str | None:
    """The reason why one Gaussian cannot stand for exp(-U/T); None where no other mode is seen."""
    target, T = subject.target, float(subject.configuration.temperature)
    if target.quadratic:
        return None
    closure = closure_of(subject)
    law = closure.target_law
    if target.dim == 1:
        true = float(target.spread_float64(T)[0])
        ratio = float(law.sd[0]) / true
        if abs(math.log(ratio)) > math.log1p(CLOSE):
            return f"exp(-U/T) is far from Gaussian: its standard deviation is {true:.3g}, that of the Gaussian {law.sd[0]:.3g}"
        return None
    root = np.linalg.cholesky(law.covariance)
    back = np.linalg.inv(root)
    random = np.random.default_rng(0)
    floor = float(target.energy_float64(law.mean[None])[0])

    def energy(z: np.ndarray) -> float:
        value = float(target.energy_float64((law.mean + root @ z)[None])[0])
        return (value - floor) / T if math.isfinite(value) else 1e300

    def gradient(z: np.ndarray) -> np.ndarray:
        return np.asarray(root.T @ closure.estimate.at((law.mean + root @ z)[None])[0][0] / T)

    for ray in np.concatenate([axes := np.eye(target.dim)[:RAYS], -axes]):
        try:
            heights = (target.energy_float64(law.mean + np.outer(RADII, root @ ray)) - floor) / T
        except Exception:  # a user's function may raise anything far out
            continue
        share = _share_beyond(heights, target.dim)
        if share > 1 - (1 + CLOSE) ** -2:
            label = target.labels[int(np.argmax(np.abs(ray)))]
            far = BEYOND + math.sqrt(target.dim)
            return (
                f"exp(-U/T) is far from Gaussian: {share:.0%} of its second moment along {label} lies beyond {far:.2g} standard "
                "deviations from the mode: a heavy tail, or a wide part under a narrow one; sample a function of it that is "
                "nearer to Gaussian, or tighten its prior"
            )
    directions = random.standard_normal((STARTS, target.dim))
    directions /= np.linalg.norm(directions, axis=1, keepdims=True)
    peaks = [back @ (part.mean_float64() - law.mean) for _, part in target.components]
    for start in (*peaks, *(REACH * directions)):
        with np.errstate(all="ignore"):
            found = optimize.minimize(
                energy, start, jac=gradient, method="L-BFGS-B", options={"maxiter": 200, "gtol": 1e-4}
            )
        away = float(np.linalg.norm(found.x))
        if away > FAR and found.fun < COUNTS and np.abs(gradient(found.x)).max() < 1e-2:
            return (
                f"exp(-U/T) has another mode, {away:.2g} standard deviations away, where U/T less its value at the first is "
                f"{found.fun:.2g}"
            )
    return None


def _share_beyond(heights: np.ndarray, dim: int) -> float:
    """The share of E r^2 along a ray that lies far from the mode, of a density exp(-heights) r^(d - 1) at `RADII`."""
    logs = np.where(np.isfinite(heights), (dim + 2) * np.log(RADII) - heights, -np.inf)
    parts = np.exp(logs - logs.max())
    return float(parts[math.sqrt(dim) + BEYOND < RADII].sum() / parts.sum())
