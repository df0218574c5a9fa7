"""Noise that is added, fresh in every step: the moments of a step are those of an affine map (`lifting`)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import flint
from flint import arb_mat

from sgverify.exact.affine.drawn_noise import joint_cumulants
from sgverify.exact.affine.model import Model, StepSize
from sgverify.exact.affine.step_series import StepSeries
from sgverify.exact.cumulants import multi_indices
from sgverify.exact.expansion import EXPANSION_BITS, ORDERS
from sgverify.exact.recursion.lifting import lifted, lifted_series
from sgverify.exact.recursion.period import RepeatedPeriod, inner_block
from sgverify.exact.recursion.running_sum import RunningSum

LARGEST = 2
"""Coordinates of the chain: theta and p in one dimension, or theta alone in two."""

HIGHEST_DEGREE = 4
"""Of a test function; degrees up to 2 need no moments of this kind, and are reached in any dimension."""


@dataclass(frozen=True)
class StateIndependentNoise:
    """Draws and minibatch noise that know nothing of the state; in two dimensions draws alone."""

    model: Model
    steps = None

    def period(self, step: StepSize, asked: RunningSum) -> RepeatedPeriod:
        """See `Randomness`."""
        parts, noise = self.model.parts(step()), self.model.noise
        sources: list[tuple[Callable[[int], Any], arb_mat]] = [(law.cumulant, b) for law, b in parts.draws]
        if noise.noisy:
            sources += [(noise.scalar_cumulant, block) for block in parts.injections]
        cumulants = joint_cumulants(sources, asked.highest)
        operator = lifted(parts.map, parts.shift, cumulants, asked.highest)
        return RepeatedPeriod(asked.joined(operator, self.model.size))

    def period_series(self, degree: int) -> RepeatedPeriod:
        """See `Randomness`."""
        series = StepSeries(self.model, ORDERS)
        return RepeatedPeriod(lifted_series(series.affine, series.cumulants(degree), degree))

    def unreached(self, degree: int) -> str | None:
        """See `Randomness`."""
        named = f"the test function {self.model.observable} has degree {degree}"
        if self.model.size > LARGEST:
            return f"{named}; beyond one dimension at most 2 is reached"
        if self.model.target.dim > 1 and self.model.noise.noisy:
            return f"{named}; beyond one dimension at most 2 is reached where the gradient is noisy"
        return f"{named}; at most {HIGHEST_DEGREE} is reached" if degree > HIGHEST_DEGREE else None

    def why_no_square(self, degree: int) -> str | None:
        """See `Randomness`."""
        return None


def telescopes(model: Model, degree: int, phi: list[Any]) -> bool:
    """Whether sigma_0^2 vanishes for the test function with these coefficients, of the monomials of degree 1 and up.

    sigma_0^2 = E[grad psi^T Q_1 grad psi], psi solving L psi = phi_0 - phi, is zero exactly if psi does not
    depend on a coordinate that is driven by noise: the time average of theta^2 p = d(theta^3/3)/dt telescopes.
    """
    with flint.ctx.workprec(EXPANSION_BITS):
        generator = inner_block(StateIndependentNoise(model).period_series(degree).step.terms[1])
        psi = generator.transpose().solve(type(generator)(len(phi), 1, phi))
        noise = StepSeries(model, 1).affine.covariance[0]
        return not any(
            powers[i] and noise[i, i] != 0 and psi[k, 0] != 0
            for k, powers in enumerate(multi_indices(model.size, 1, degree))
            for i in range(model.size)
        )
