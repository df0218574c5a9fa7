"""Counts with a gamma prior on their rate: a conjugate posterior that is not Gaussian, in theta = log rate."""

from __future__ import annotations

from typing import Any

import numpy as np

from sgverify.schemes.definition.mathematics import exp
from sgverify.targets.data import check_amount, check_counts, frozen
from sgverify.targets.kind import POSITIVE_VECTOR, DataLayout, TargetKind
from sgverify.targets.potential import PairPotential, Potential, Vector, constant, coordinate

SIZE = 20


def potential(*, shape: Vector, rate: Vector) -> tuple[Potential, PairPotential]:
    """x_i ~ Poisson(lambda), lambda ~ Gamma(shape, rate), theta = log lambda; coordinates are independent.

    The density of theta is that of lambda times d lambda/d theta = lambda, so -log p(theta) = rate e^theta -
    shape theta, and -log p(x | theta) = e^theta - x theta, constants left out. Gelman et al. 2013, section 2.6.
    """
    dim = len(shape.entries)

    def prior(theta: Any) -> Any:
        total = 0
        for k in range(dim):
            place = coordinate(theta, k)
            exponent, weight = (coordinate(constant(theta, value), k) for value in (shape, rate))
            total = total + (weight * exp(place) - exponent * place)
        return total

    def likelihood(theta: Any, x: Any) -> Any:
        total = 0
        for k in range(dim):
            place = coordinate(theta, k)
            total = total + (exp(place) - coordinate(x, k) * place)
        return total

    return prior, likelihood


def draw(size: int, dim: int, seed: int) -> np.ndarray:
    """x_i ~ Poisson(lambda*), log lambda* ~ N(1, 1/4) for each coordinate. Shape (N, d)."""
    check_amount(size, dim)
    generator = np.random.default_rng(seed)
    rates = np.exp(1 + generator.standard_normal(dim) / 2)
    return frozen(generator.poisson(rates, (size, dim)))


GAMMA_POISSON = TargetKind(
    name="gamma-poisson",
    summary="x_i ~ Poisson(lambda), lambda ~ Gamma(shape, rate), in theta = log lambda; data are counts",
    source="Gelman et al. 2013, section 2.6",
    constants={"shape": (POSITIVE_VECTOR, 2), "rate": (POSITIVE_VECTOR, 1)},
    potential=potential,
    data=DataLayout(draw, size=SIZE, check=check_counts),
)
