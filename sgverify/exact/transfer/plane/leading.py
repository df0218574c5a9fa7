"""The first coefficient of the bias of a kinetic scheme that is not 0, from Poisson's equation in the plane."""

from __future__ import annotations

import math
from dataclasses import asdict
from fractions import Fraction
from typing import Any

import numpy as np

from sgverify.exact.transfer.plane.expansion import (
    BiasSeries,
    LimitingDynamics,
    PlaneExpansion,
    PoissonPlane,
    limiting_dynamics,
)
from sgverify.exact.transfer.plane.interpreter import spectral_count, support
from sgverify.exact.transfer.result import BiasTerm, LeadingBias
from sgverify.targets import Observable, Target

HIGHEST = 4
"""The highest power of h that is computed."""

_DEPTH, _DEEPER = 66.0, 80.0
"""Planes extend to where the density is e^-66 of its largest value: functions are multiplied by its root."""
_MODES = 36
_FINER = 4 / 3
_LARGEST = (420, 160)
_EPS = float(np.finfo(np.float64).eps)
_RELATIVE = 1e-10
"""A coefficient that changes by less than this share under refinement is good."""


class PlanePrediction:
    """Coefficients of pi_h(phi) - pi(phi) in powers of h, for one target and test function."""

    def __init__(self, target: Target, observable: Observable, temperature: float, friction: float) -> None:
        self._target, self._observable = target, observable
        self._temperature, self._friction = temperature, friction
        points = spectral_count(target, temperature, support(target, temperature, _DEPTH))
        self._series = self._on_plane(points, _MODES, _DEPTH)

    @property
    def memory(self) -> float:
        """pi(psi^2)^(1/2), L psi = -(phi - pi(phi))."""
        return self._series.plane.norm(self._series.corrector)

    def leading(self, expansion: PlaneExpansion) -> LeadingBias:
        """The terms from h^0 to the first that is told from 0, at most h^4.

        A bound adds the changes under refinement (more points and modes) and enlargement, and rounding. Terms below the
        local order are 0 by algebra.
        """
        if expansion.order == 0:
            limit = limiting_dynamics(expansion, self._temperature, self._friction)
            return LeadingBias((self._of_limit(limit),), {"limiting_dynamics": asdict(limit)})
        proved = [BiasTerm(Fraction(k), 0.0, 0.0, proved_zero=True) for k in range(expansion.order)]
        terms: list[BiasTerm] = []
        facts: dict[str, Any] = {}
        for highest in range(expansion.order, HIGHEST + 1):
            terms, facts = self._converged(expansion, highest)
            if terms[-1].told_from_zero:
                break
        return LeadingBias((*proved, *terms), {"local_order": expansion.order, **facts})

    def _of_limit(self, limit: LimitingDynamics) -> BiasTerm:
        """The average under the law of other dynamics, less the posterior average."""
        T = limit.diffusion / limit.friction
        found = self._average(T * limit.drift / limit.kick, T)
        truth = self._average(self._temperature, self._temperature)
        bounds = [abs(fine - coarse) + 16 * _EPS * abs(fine) for coarse, fine in (found, truth)]
        return BiasTerm(Fraction(0), found[1] - truth[1], sum(bounds))

    def _average(self, of_theta: float, of_p: float) -> tuple[float, float]:
        """E phi with theta ~ exp(-U/of_theta), p ~ N(0, of_p) by the trapezoid rule, on two grids."""
        values = []
        for depth, factor in ((_DEPTH, 1.0), (_DEEPER, 2.0)):
            ends = support(self._target, of_theta, depth)
            count = round(factor * spectral_count(self._target, of_theta, ends))
            theta = ends[0] + (ends[1] - ends[0]) / count * np.arange(count)
            energy = self._target.energy_float64(theta[:, None]) / of_theta
            weights = np.exp(energy.min() - energy)
            weights /= weights.sum()
            total = 0.0
            for (power, of_momentum), factor_of_term in self._observable.terms.items():
                moment = (
                    0.0
                    if of_momentum % 2
                    else of_p ** (of_momentum / 2) * math.prod(range(1, of_momentum, 2))
                )
                total += float(factor_of_term) * float(weights @ theta**power) * moment
            values.append(total)
        return values[0], values[1]

    def _converged(self, expansion: PlaneExpansion, highest: int) -> tuple[list[BiasTerm], dict[str, Any]]:
        """Terms order..highest, on planes that are refined until they settle."""
        low = expansion.order - 1
        coarse = self._series.coefficients(expansion, highest)[low:]
        while True:
            plane = self._series.plane
            points, modes = len(plane.theta), plane.modes
            finer = self._on_plane(_even(points * _FINER), round(modes * _FINER), _DEPTH)
            fine = finer.coefficients(expansion, highest)[low:]
            changes = [abs(a.value - b.value) for a, b in zip(coarse, fine, strict=True)]
            good = all(
                change <= max(_RELATIVE * abs(found.value), found.rounding)
                for change, found in zip(changes, fine, strict=True)
            )
            if (
                good
                or len(finer.plane.theta) * _FINER > _LARGEST[0]
                or finer.plane.modes * _FINER > _LARGEST[1]
            ):
                break
            coarse, self._series = fine, finer
        ratio = np.subtract(*support(self._target, self._temperature, _DEEPER)) / np.subtract(
            *support(self._target, self._temperature, _DEPTH)
        )
        deeper = self._on_plane(_even(points * ratio), modes, _DEEPER).coefficients(expansion, highest)[low:]
        enlarged = [abs(a.value - b.value) for a, b in zip(coarse, deeper, strict=True)]
        terms = [
            BiasTerm(Fraction(expansion.order + k), found.value, changes[k] + enlarged[k] + found.rounding)
            for k, found in enumerate(fine)
        ]
        facts = {
            "points": len(finer.plane.theta),
            "hermite_modes": finer.plane.modes,
            "change_under_refinement": changes[-1],
            "change_under_enlargement": enlarged[-1],
            "rounding": fine[-1].rounding,
        }
        return terms, facts

    def _on_plane(self, points: int, modes: int, depth: float) -> BiasSeries:
        plane = PoissonPlane(
            self._target,
            self._temperature,
            self._friction,
            ends=support(self._target, self._temperature, depth),
            points=points,
            modes=modes,
            derivatives=2 * HIGHEST + 10,
        )
        total = np.zeros((modes, points))
        for (of_theta, of_p), factor in self._observable.terms.items():
            total = total + float(factor) * plane.power(of_theta, of_p)
        return BiasSeries(plane, total)


def _even(count: float) -> int:
    return 2 * round(count / 2)
