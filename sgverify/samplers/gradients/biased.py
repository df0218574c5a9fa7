"""Which potential has the biased gradients of a configuration: scaled by a factor, or clipped for each datum?"""

from __future__ import annotations

import math
from typing import Any
from weakref import WeakKeyDictionary

from torch import Tensor

from sgverify.errors import ConfigurationError
from sgverify.samplers.gradients.differentiation import Potential
from sgverify.samplers.reading.arithmetic import root
from sgverify.samplers.reading.carrier import Chains
from sgverify.schemes.definition.mathematics import dot
from sgverify.schemes.numbers.algebraic import exact
from sgverify.targets.derived import check_likelihood, with_scaled_likelihood

# Scaled potentials by factor: each is linearised once, not once for each run of a sweep.
_SCALED: WeakKeyDictionary[Potential, dict[float, Potential]] = WeakKeyDictionary()


class Clipped(Potential):
    """The potential with gradients grad prior + sum_i g_i min(1, limit/|g_i|), g_i = grad likelihood(x_i), Euclidean norm.

    A clipped gradient is not affine: every evaluation visits all data. Energies are not clipped. Source: Abadi et al.
    2016, Algorithm 1.
    """

    def __init__(self, potential: Potential, limit: float) -> None:
        self.target, self.dtype = potential.target, potential.dtype
        self.data, self.affine = potential.data, None
        self._exact, self._whole, self._weights = None, potential.data, None
        self.tracked_prior, self.tracked_likelihood = potential.tracked_prior, potential.tracked_likelihood
        self.operations, self._limit = potential.operations, limit

    def _clipped(self, gradients: Tensor) -> Tensor:
        norms = root(dot(Chains(gradients), Chains(gradients)).tensor)
        return gradients * (self._limit / norms.clamp_min(self._limit))


def effective_potential(potential: Potential, choice: Any) -> Potential:
    """The potential whose gradient is the mean of an estimator with `choice` (scale, clip).

    `clip` bounds the norm of one datum's unscaled gradient. Raises `ConfigurationError` for settings that are not positive and
    finite, and on a target without data.
    """
    for name in ("scale", "clip"):
        value = getattr(choice, name)
        if value is not None and not (value > 0 and math.isfinite(value)):
            raise ConfigurationError(f"gradient.{name}={value!r}: expected a positive, finite number")
    if choice.scale != 1:
        potential = _scaled(potential, choice.scale)
    if choice.clip is None:
        return potential
    check_likelihood(potential.target, f"gradient.clip={choice.clip!r}")
    return Clipped(potential, choice.clip * choice.scale)


def _scaled(potential: Potential, factor: float) -> Potential:
    known = _SCALED.setdefault(potential, {})
    if factor not in known:
        target = with_scaled_likelihood(potential.target, exact(factor))
        data = potential.data
        assert data is not None
        known[factor] = Potential(
            target, dtype=data.dtype, device=data.device, hoist=potential.affine is not None
        )
    return known[factor]
