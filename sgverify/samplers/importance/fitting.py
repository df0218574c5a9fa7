"""Which Student law lies closest to exp(-U/T), and does it reach all of the mass that was found?

The law starts at the mode with the inverse Hessian as its scale matrix, and is fitted to its own weighted draws, round by
round (adaptive importance sampling).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import torch
from scipy import linalg, optimize, special, stats

from sgverify.errors import Unreached
from sgverify.samplers.gradients.differentiation import Potential
from sgverify.samplers.own.module_target import ModuleTarget
from sgverify.targets.landscape import hessian
from sgverify.targets.target import Target

FREEDOM = 5.0
"""nu: so few degrees of freedom cost little of the effective size (12 % on a Gaussian in 4 dimensions, 20 % in 7). They keep the
weights bounded wherever the target has lighter tails, and small where it bends away from the axes of the law."""

_ROUNDS = 30
"""Rounds of expectation maximisation; each removes a part of the error that does not depend on the number of draws."""

_BITS = 52
"""Binary digits of a coordinate of a quasi-random point: a float64's."""


@dataclass(frozen=True)
class Student:
    """The law of mean + root z / sqrt(g/nu), z ~ N(0, I), g ~ chi^2_nu, nu = `FREEDOM`; root root^T is its scale matrix.

    Shapes (d,), (d, d), `root` lower triangular.
    """

    mean: np.ndarray
    root: np.ndarray

    @property
    def dim(self) -> int:
        """The length of theta."""
        return len(self.mean)

    def draws(self, count: int, seed: int) -> np.ndarray:
        """The first points of one scrambled Sobol sequence (Owen 1997), carried to this law. Shape (n, d).

        Points of several `seed` are independent, and each point has this law; a power of 2 of them keeps the balance of the
        sequence.
        """
        sequence = stats.qmc.Sobol(self.dim + 1, scramble=True, seed=seed, bits=_BITS)
        uniform = np.clip(sequence.random(count), 2.0**-_BITS, 1 - 2.0**-_BITS)
        normal = special.ndtri(uniform[:, :-1])
        share = stats.chi2.ppf(uniform[:, -1], FREEDOM) / FREEDOM
        return np.asarray(self.mean + (normal @ self.root.T) / np.sqrt(share)[:, None])

    def whitened(self, points: np.ndarray) -> np.ndarray:
        """root^-1 (theta - mean). Shape (n, d) -> (n, d)."""
        return np.asarray(linalg.solve_triangular(self.root, (points - self.mean).T, lower=True).T)

    def log_density(self, points: np.ndarray) -> np.ndarray:
        """log of the density. Shape (n, d) -> (n,)."""
        squares = (self.whitened(points) ** 2).sum(1)
        return np.asarray(self._height - (FREEDOM + self.dim) / 2 * np.log1p(squares / FREEDOM))

    @cached_property
    def _height(self) -> float:
        nu, d = FREEDOM, self.dim
        scale = float(np.log(np.diag(self.root)).sum())
        return float(
            special.gammaln((nu + d) / 2) - special.gammaln(nu / 2) - d / 2 * math.log(nu * math.pi) - scale
        )

    def refitted(self, points: np.ndarray, weights: np.ndarray) -> Student:
        """The Student law of the greatest weighted log density: closest to the weighted draws in Kullback-Leibler divergence.

        Expectation maximisation for mean and scale matrix, starting here; shapes (n, d), (n,).
        Source: Cappe, Douc, Guillin, Marin and Robert 2008, section 4.
        """
        law, weights = self, weights / weights.sum()
        for _ in range(_ROUNDS):
            shares = weights * (FREEDOM + law.dim) / (FREEDOM + (law.whitened(points) ** 2).sum(1))
            mean = shares @ points / shares.sum()
            away = points - mean
            law = Student(mean, np.linalg.cholesky((away.T * shares) @ away))
        return law


@dataclass(frozen=True, eq=False)
class TorchPotential:
    """U/T of a target, in float64."""

    target: Target
    temperature: float

    @cached_property
    def _potential(self) -> Potential:
        return Potential(self.target, dtype=torch.float64, device="cpu")

    @property
    def data(self) -> int:
        """The number of data, or of their weighted nodes, that one evaluation sums over; at least 1."""
        return 1 if self.target.data is None else len(self.target.weighted[0])

    def values(self, points: np.ndarray) -> np.ndarray:
        """U/T, infinite where the density is 0 or not finite. Shape (n, d) -> (n,)."""
        energies = self._potential.energy(torch.tensor(points)).numpy() / self.temperature
        return np.where(np.isfinite(energies), energies, np.inf)

    def with_gradients(self, points: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """U/T and grad U/T; rows of the gradient are 0 where the energy is infinite. Shapes (n,), (n, d)."""
        values = self.values(points)
        gradients = self._potential.full(torch.tensor(points)).numpy() / self.temperature
        gradients[~np.isfinite(values)] = 0.0
        return values, gradients


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

    Raises `Unreached`, with the reason, where U has no mode with a positive definite Hessian, or another mode
    that the fitted law does not reach.
    """
    if target.dim > LARGEST:
        raise Unreached(f"theta has {target.dim} coordinates, more than the {LARGEST} of a fitted law")
    if isinstance(target, ModuleTarget):
        raise Unreached("the parameters of a module have many modes, of which a fitted law reaches one")
    if target.rugged or len(target.peaks) > 1:
        raise Unreached("the target has many modes, of which a fitted law reaches one")
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
    curvature = hessian(lambda points: potential.with_gradients(points)[1], mode, widths)
    try:
        root = np.linalg.cholesky(np.linalg.inv(curvature))
        np.linalg.cholesky(curvature)
    except np.linalg.LinAlgError:
        raise Unreached("the Hessian of U at its mode is not positive definite") from None
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
        raise Unreached("U is infinite where its mode was looked for")
    return start + axes @ found.x, float(found.fun)


def _adapted(law: Student, potential: TorchPotential, lowest: float) -> tuple[Student, float, float]:
    """The law of the best round, with its effective share and the largest log weight of its draws."""
    best: tuple[Student, float, float] | None = None
    for seed in range(_ROUNDS):
        points = law.draws(_DRAWS, seed)
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
        raise Unreached("no draw of a law at the mode has a positive density")
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
    """Raise `Unreached` where a descent ends at a point with a weight far above the `largest` log weight of the draws."""
    law, bound, starts = fit.law, largest + math.log(_BEYOND), []
    for times in _WIDE:
        wide = Student(law.mean, times * law.root).draws(_DRAWS, _ROUNDS)
        heaviest = np.argsort(fit.log_weights(wide, fit.potential.values(wide)))[::-1]
        starts += [*wide[heaviest[:_STARTS]], *wide[:_STARTS]]
    for start in starts:
        try:
            end, energy = _descended(fit.potential, start, law.root)
        except Unreached:
            continue
        if float(fit.log_weights(end[None], np.array([energy]))[0]) > bound:
            place = ", ".join(f"{value:.4g}" for value in end[:6]) + (", ..." if len(end) > 6 else "")
            raise Unreached(
                f"U has another minimum, at theta=[{place}], where hardly any draw of the fitted law comes"
            )
