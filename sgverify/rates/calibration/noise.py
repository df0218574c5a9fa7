"""Laws of single chains: mean 0, variance 1, as a sampler's averages have them at best and at worst."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np

from sgverify.rates.sample import Floats

COUPLING = 0.99
"""Correlation of the errors at any two points, where chains are coupled."""

TAILS = 5
"""Degrees of freedom of the heavy-tailed law: its fourth moment is finite, its kurtosis 9."""


def _gaussian(rng: np.random.Generator, shape: tuple[int, ...]) -> Floats:
    return rng.standard_normal(shape)


def _skewed(rng: np.random.Generator, shape: tuple[int, ...]) -> Floats:
    return rng.standard_exponential(shape) - 1


def _heavy(rng: np.random.Generator, shape: tuple[int, ...]) -> Floats:
    return rng.standard_t(TAILS, shape) * ((TAILS - 2) / TAILS) ** 0.5


ERRORS: Mapping[str, Callable[[np.random.Generator, tuple[int, ...]], Floats]] = {
    "Gaussian": _gaussian,
    "skewed": _skewed,
    "heavy-tailed": _heavy,
}
"""Normal; exponential, of skewness 2; Student's with `TAILS` degrees of freedom."""


def draw_chains(rng: np.random.Generator, errors: str, points: int, chains: int, coupled: bool) -> Floats:
    """Errors of single chains in units of their standard deviation, shape (points, chains)."""
    law = ERRORS[errors]
    own = law(rng, (points, chains))
    if coupled:
        return COUPLING**0.5 * law(rng, (chains,)) + (1 - COUPLING) ** 0.5 * own
    return own
