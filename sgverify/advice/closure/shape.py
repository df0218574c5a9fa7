"""How far is exp(-U/T) from a Gaussian, which coordinate makes it so, and what mends it?

Two measurements, neither of which trusts the Gaussian. Weighted draws of a Student law fitted to exp(-U/T) give its mean and
covariance with a standard error: a Gaussian whose widths they confirm describes the target, however much these differ from those of
the Hessian at the mode. And the Hessian one and two standard deviations from the mode along each coordinate, beside that at the
mode, says along which coordinate the curvature changes, and which other one changes it: a scale that depends on another coordinate
is a funnel, a curvature that falls along its own coordinate a heavy tail.

Has the target a mode, or much of its mass, far from where its Gaussian stands? On the line its standard deviation is an integral
and is compared. Beyond, U is followed along rays from the mode, as far as its mass goes: a slab under a spike, and a tail that
falls slowly, look like a Gaussian from the mode and are none. Minima of U are sought from points around the mode: a search that
finds another one is proof, one that finds none is none.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from weakref import WeakKeyDictionary

import numpy as np
from scipy import optimize

from sgverify.advice.chain_laws import closure_of
from sgverify.errors import SgverifyError, Unreached
from sgverify.subject.caching import cached_per_subject
from sgverify.subject.subject import Subject
from sgverify.targets import Target
from sgverify.targets.landscape import hessian

CLOSE, SHARE = 0.10, 0.25
"""The approximation is trusted where the neglected terms change widths by this share at most; where it makes the chain a
factor r wider than the target, by r^SHARE besides, which is a part of the reported bias."""

DRAWS = 8192
"""Weighted draws; with half of them effective a standard deviation is known within 1.1 %."""

_SEED = 2000
"""Of a scramble that neither the fit nor an average takes."""

EVALUATIONS, COORDINATES = 4e7, 12
"""The most data times draws, and the most coordinates, in which the descents of a fit alone take as long: seconds."""

REACHES = (-2.0, -1.0, 1.0, 2.0)
"""The distances from the mode at which the curvature is compared, in standard deviations along one coordinate."""


def log_widths(covariance: np.ndarray) -> np.ndarray:
    """Logarithms of the standard deviations. Shape (d, d) -> (d,)."""
    return np.asarray(np.log(np.diag(covariance)) / 2)


def far(whose: str, how: str, change: np.ndarray, size: float, labels: Sequence[str]) -> str | None:
    """The reason why a change of the widths is too large beside their own; None where it is not."""
    worst = int(np.argmax(np.abs(change)))
    if abs(change[worst]) <= np.log1p(CLOSE) + SHARE * size:
        return None
    return f"{whose} is far from Gaussian ({labels[worst]} is {np.exp(change[worst]):.3g} times as wide with {how})"


@dataclass(frozen=True, eq=False)
class MeasuredLaw:
    """Mean and covariance of exp(-U/T), with the relative standard error of its standard deviations. Shapes (d,), (d, d), (d,)."""

    mean: np.ndarray
    covariance: np.ndarray
    error: np.ndarray

    def confirms(self, mean: np.ndarray, covariance: np.ndarray) -> bool:
        """Are these means and widths those of exp(-U/T) within `CLOSE` of its standard deviations, two standard errors included?"""
        sd = np.sqrt(np.diag(self.covariance))
        wide = np.abs(np.log(np.diag(covariance)) / 2 - np.log(sd)) + 2 * self.error
        # The mean of as many draws has 2^(1/2) times the relative error of a standard deviation.
        shift = np.abs(mean - self.mean) / sd + 2 * math.sqrt(2) * self.error
        return bool(wide.max() <= math.log1p(CLOSE) and shift.max() <= CLOSE)


_KNOWN: WeakKeyDictionary[Target, dict[float, MeasuredLaw | Unreached]] = WeakKeyDictionary()
"""By target and temperature: schemes, frictions and gradients have it in common."""


def measured_law(target: Target, temperature: float) -> MeasuredLaw:
    """The law by weighted draws. Raises `Unreached` where no Student law fits, or the weights are too uneven."""
    known = _KNOWN.setdefault(target, {})
    if temperature not in known:
        try:
            known[temperature] = _measured(target, temperature)
        except Unreached as why:
            known[temperature] = why
    found = known[temperature]
    if isinstance(found, Unreached):
        raise found.with_traceback(None)
    return found


def _measured(target: Target, temperature: float) -> MeasuredLaw:
    # It brings torch's derivatives and scipy's sequences, which a Gaussian target does without.
    from sgverify.samplers.importance.averages import CARRIERS
    from sgverify.samplers.importance.fitting import TorchPotential, fit_student

    if TorchPotential(target, temperature).data * DRAWS > EVALUATIONS:
        raise Unreached(f"{DRAWS} weighted draws of so many data take too long")
    if target.dim > COORDINATES:
        raise Unreached(f"weighted draws in {target.dim} coordinates take too long")
    fit = fit_student(target, temperature)
    points = fit.law.draws(DRAWS, _SEED)
    logs = fit.log_weights(points, fit.potential.values(points))
    weights = np.exp(logs - logs.max())
    weights /= weights.sum()
    mean = weights @ points
    away = points - mean
    covariance = (away.T * weights) @ away
    parts = weights[:, None] * (away**2 / np.diag(covariance) - 1)
    carriers = (parts**2).sum(0) ** 2 / (parts**4).sum(0)
    if not (np.isfinite(carriers).all() and carriers.min() >= CARRIERS):
        raise Unreached("the weights of draws are too uneven for a covariance")
    return MeasuredLaw(mean, covariance, np.sqrt((parts**2).sum(0)) / 2)


@dataclass(frozen=True)
class CurvatureChange:
    """The second derivative of U along coordinate `along` is `factor` times that at the mode where `driver` is `reach` sds away.

    `factor` is negative where the density is not log-concave there.
    """

    along: int
    driver: int
    reach: float
    factor: float

    def text(self, labels: Sequence[str]) -> str:
        """What changes, and what mends it."""
        along, driver = labels[self.along], labels[self.driver]
        where = f"{abs(self.reach):g} sd {'above' if self.reach > 0 else 'below'} the mode"
        if self.along == self.driver:
            how = "bends down" if self.factor <= 0 else f"is {self.factor:.2g} times that at the mode"
            heavy = self.factor < 1
            return (
                f"the curvature along {along} {how} {where}: a {'heavy' if heavy else 'steep'} tail; sample a function of it that "
                f"is nearer to Gaussian, {'or tighten its prior' if heavy else 'such as its logarithm'}"
            )
        if self.factor <= 0:
            return (
                f"the density bends: along {along} it is no longer log-concave where {driver} is {where}: write {driver} as a "
                f"curve in {along} plus a coordinate of its own"
            )
        return (
            f"the curvature along {along} is {self.factor:.2g} times that at the mode where {driver} is {where}: write {along} "
            f"as a mean plus a scale, both depending on {driver}, times a coordinate of its own (non-centre it, or centre it "
            f"where it is not), or tighten the prior of {driver}"
        )


def largest_change(
    gradient: Callable[[np.ndarray], np.ndarray], mode: np.ndarray, covariance: np.ndarray
) -> CurvatureChange | None:
    """The largest change of a curvature along a coordinate within two standard deviations; None where none is finite.

    One coordinate moves, and the others to their means given it. `gradient` is that of U. Shapes (n, d) -> (n, d), (d,), (d, d).
    """
    sd = np.sqrt(np.diag(covariance))
    with np.errstate(all="ignore"):
        peak = np.diag(hessian(gradient, mode, sd))
        best: tuple[float, CurvatureChange] | None = None
        for driver in range(len(mode)):
            for reach in REACHES:
                place = mode + reach * covariance[driver] / sd[driver]
                factors = np.diag(hessian(gradient, place, sd)) / peak
                sizes = np.where(factors > 0, np.abs(np.log(np.abs(factors))), math.inf)
                # Of two changes that differ by their rounding alone, such as exp(2 sd) and exp(-2 sd), the first is told.
                sizes = np.where(np.isfinite(factors), np.round(sizes, 4), -1.0)
                along = int(np.argmax(sizes))
                if best is None or sizes[along] > best[0]:
                    best = float(sizes[along]), CurvatureChange(along, driver, reach, float(factors[along]))
    return None if best is None or best[0] < 0 else best[1]


def remedy(
    target: Target, temperature: float, gradient: Callable[[np.ndarray], np.ndarray], mode: np.ndarray
) -> str:
    """What makes a target far from Gaussian, in words that begin with a colon; "" where nothing is seen."""
    try:
        curvature = hessian(gradient, mode, target.spread_float64(temperature))
        values, vectors = np.linalg.eigh(curvature)
        if not values[0] > 0:
            flat = target.labels[int(np.argmax(np.abs(vectors[:, 0])))]
            return f": U does not rise along {flat} where its search for a mode ended: tighten the prior of {flat}, or leave it out"
        change = largest_change(gradient, mode, temperature * np.linalg.inv(curvature))
    except (SgverifyError, np.linalg.LinAlgError):
        return ""
    return "" if change is None else f": {change.text(target.labels)}"


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
