"""Has a target a mode far from the one about which its Gaussian approximation stands?

On the line its standard deviation is an integral and is compared. Beyond, minima of U are sought from points around the mode: a
search that finds another one is proof, one that finds none is none.
"""

from __future__ import annotations

import math

import numpy as np
from scipy import optimize

from sgverify.advice.chain_laws import closure_of
from sgverify.advice.closure.gaussian_closure import CLOSE
from sgverify.subject.caching import cached_per_subject
from sgverify.subject.subject import Subject

STARTS, REACH = 8, 6.0
"""The number of starts, and their distance from the mode in standard deviations along random directions."""

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
