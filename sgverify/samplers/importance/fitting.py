"""Which Student law lies closest to exp(-U/T), and does it reach all of the mass that was found?

The law starts at the mode with the inverse Hessian as its scale matrix, and is fitted to its own weighted draws, round by
round (adaptive importance sampling).
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from scipy import optimize

from sgverify.errors import OutOfReachError
from sgverify.samplers.importance.potential import TorchPotential
from sgverify.samplers.importance.student import Student
from sgverify.samplers.own.module_target import ModuleTarget
from sgverify.targets.target import Target

LARGEST = 50
"""The most coordinates of theta: the share of effective draws falls exponentially with them unless the law fits closely."""

_DRAWS, _ROUNDS, _STEADY = 1024, 8, 0.02
"""Draws of a round; rounds end, at `_ROUNDS` at the latest, where the effective share no longer grows by this part."""

_EACH = 10
"""Effective draws for each row of a scale matrix that a round fits: weights are flattened until there are so many."""

_WIDE = (3.0, 10.0, 30.0)
"""The search for other modes starts from draws of laws so many times wider."""

_STARTS = 8
"""Descents from the draws with the largest weights, and as many from the first ones, of each of these laws."""

_BEYOND = 2.0
"""A point with more than this many times the largest weight of all draws lies where hardly any draw comes."""

_STRETCH = 1e-4
"""The step of the differences of gradients in the Hessian, as a share of a width."""


@dataclass(frozen=True, eq=False)
class FittedLaw:
    """A Student law fitted to exp(-U/T), the target's `potential`, its least value and the place of that value, shape (d,).

    `share` is the effective share of the draws of the last round, `descents` the number of descents that found no other mode.
    """

    law: Student
    potential: TorchPotential
    mode: np.ndarray
    lowest: float
    share: float
    descents: int

    def log_weights(self, points: np.ndarray, energies: np.ndarray) -> np.ndarray:
        """log of exp(-(U - min U)/T) over the density of the law, by points and their U/T. Shapes (n, d), (n,) -> (n,)."""
        return np.asarray(self.lowest - energies - self.law.log_density(points))


def fit_student(target: Target, temperature: float) -> FittedLaw:
    """The Student law fitted to exp(-U/T).

    Raises `OutOfReachError`, with the reason, where U has no mode with a positive definite Hessian, or another mode
    that the fitted law does not reach.
    """
    if target.dim > LARGEST:
        raise OutOfReachError(f"theta has {target.dim} coordinates, more than the {LARGEST} of a fitted law")
    if isinstance(target, ModuleTarget):
        raise OutOfReachError("the parameters of a module have many modes, of which a fitted law reaches one")
    if target.rugged or len(target.peaks) > 1:
        raise OutOfReachError("the target has many modes, of which a fitted law reaches one")
    potential = TorchPotential(target, temperature)
    mode, lowest, root = _at_the_mode(target, potential)
    law, share, largest = _adapted(Student(mode, root), potential, lowest)
    fit = FittedLaw(law, potential, mode, lowest, share, 2 * _STARTS * len(_WIDE))
    _refuse_other_modes(fit, largest)
    return fit


def _at_the_mode(target: Target, potential: TorchPotential) -> tuple[np.ndarray, float, np.ndarray]:
    """The mode, U/T there, and the Cholesky factor of the inverse Hessian of U/T. Shapes (d,), (), (d, d)."""
    start, widths = (
        target.location_float64(potential.temperature),
        target.spread_float64(potential.temperature),
    )
    mode, lowest = _descended(potential, start, np.diag(widths))
    steps = np.diag(_STRETCH * widths)
    gradients = potential.with_gradients(np.concatenate([mode + steps, mode - steps]))[1]
    rows = (gradients[: target.dim] - gradients[target.dim :]) / (2 * _STRETCH * widths[:, None])
    hessian = (rows + rows.T) / 2
    try:
        root = np.linalg.cholesky(np.linalg.inv(hessian))
        np.linalg.cholesky(hessian)
    except np.linalg.LinAlgError:
        raise OutOfReachError("the Hessian of U at its mode is not positive definite") from None
    return mode, lowest, root


def _descended(potential: TorchPotential, start: np.ndarray, axes: np.ndarray) -> tuple[np.ndarray, float]:
    """The end of a descent of U/T from a point along `axes`, which are about one width long each, and U/T there."""

    def function(along: np.ndarray) -> tuple[float, np.ndarray]:
        (value,), (gradient,) = potential.with_gradients((start + axes @ along)[None])
        return (float(value), axes.T @ gradient) if np.isfinite(value) else (1e300, np.zeros_like(along))

    with np.errstate(all="ignore"):
        found = optimize.minimize(
            function, np.zeros(len(start)), jac=True, method="BFGS", options={"gtol": 1e-6}
        )
    if not found.fun < 1e300:
        raise OutOfReachError("U is infinite where its mode was looked for")
    return start + axes @ found.x, float(found.fun)


def _adapted(law: Student, potential: TorchPotential, lowest: float) -> tuple[Student, float, float]:
    """The law of the best round, with its effective share and the largest log weight of its draws."""
    best: tuple[Student, float, float] | None = None
    for seed in range(_ROUNDS):
        points = law.draws(0, _DRAWS, seed)
        logs = lowest - potential.values(points) - law.log_density(points)
        share = effective_share(logs)
        known = 0.0 if best is None else best[1]
        if share > known:
            best = (law, share, float(logs.max()))
        if known and share <= known * (1 + _STEADY):
            break
        try:
            law = law.refitted(points, _flattened(logs, _EACH * (law.dim + 1)))
        except np.linalg.LinAlgError:
            break
    if best is None:
        raise OutOfReachError("no draw of a law at the mode has a positive density")
    return best


def effective_share(logs: np.ndarray) -> float:
    """(sum w)^2 / (n sum w^2), the effective share of weighted draws, from log w (Kish 1965). Shape (n,)."""
    if not np.isfinite(logs.max()):
        return 0.0
    weights = np.exp(logs - logs.max())
    return float(weights.sum() ** 2 / (weights**2).sum() / len(weights))


def _flattened(logs: np.ndarray, least: float) -> np.ndarray:
    """The weights w^b with the largest b <= 1 at which `least` draws, or a third of all, are effective. Shape (n,)."""
    possible = np.isfinite(logs)
    heights = logs[possible] - logs.max()
    wanted, power = min(least / len(heights), 1 / 3), 1.0
    if effective_share(heights) < wanted:
        power = optimize.brentq(lambda b: effective_share(b * heights) - wanted, 0.0, 1.0, xtol=1e-3)
    weights = np.zeros_like(logs)
    weights[possible] = np.exp(power * heights)
    return weights


def _refuse_other_modes(fit: FittedLaw, largest: float) -> None:
    """Raise `OutOfReachError` where a descent ends at a point with a weight far above the `largest` log weight of the draws."""
    law, bound, starts = fit.law, largest + math.log(_BEYOND), []
    for times in _WIDE:
        wide = Student(law.mean, times * law.root).draws(0, _DRAWS, _ROUNDS)
        heaviest = np.argsort(fit.log_weights(wide, fit.potential.values(wide)))[::-1]
        starts += [*wide[heaviest[:_STARTS]], *wide[:_STARTS]]
    for start in starts:
        try:
            end, energy = _descended(fit.potential, start, law.root)
        except OutOfReachError:
            continue
        if float(fit.log_weights(end[None], np.array([energy]))[0]) > bound:
            place = ", ".join(f"{value:.4g}" for value in end[:6]) + (", ..." if len(end) > 6 else "")
            raise OutOfReachError(
                f"U has another minimum, at theta=[{place}], where hardly any draw of the fitted law comes"
            )
