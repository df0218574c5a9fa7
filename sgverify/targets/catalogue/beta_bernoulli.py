"""Successes and failures with a beta prior on their chance: a conjugate posterior in theta = log odds."""

from __future__ import annotations

from typing import Any

import numpy as np

from sgverify.errors import ConfigurationError
from sgverify.schemes.definition.mathematics import softplus
from sgverify.targets.data import check_amount, frozen
from sgverify.targets.kind import POSITIVE_VECTOR, DataLayout, TargetKind
from sgverify.targets.potential import PairPotential, Potential, Vector, constant, coordinate

SIZE = 20


def potential(*, alpha: Vector, beta: Vector) -> tuple[Potential, PairPotential]:
    """x_i ~ Bernoulli(pi), pi ~ Beta(alpha, beta), theta = log(pi/(1 - pi)); coordinates are independent.

    d pi/d theta = pi (1 - pi), so -log p(theta) = (alpha + beta) softplus(theta) - alpha theta, and
    -log p(x | theta) = softplus(theta) - x theta, constants left out. Gelman et al. 2013, section 2.4.
    """
    dim = len(alpha.entries)

    def prior(theta: Any) -> Any:
        total = 0
        for k in range(dim):
            place = coordinate(theta, k)
            for_one, for_zero = (coordinate(constant(theta, value), k) for value in (alpha, beta))
            total = total + ((for_one + for_zero) * softplus(place) - for_one * place)
        return total

    def likelihood(theta: Any, x: Any) -> Any:
        total = 0
        for k in range(dim):
            place = coordinate(theta, k)
            total = total + (softplus(place) - coordinate(x, k) * place)
        return total

    return prior, likelihood


def draw(size: int, dim: int, seed: int) -> np.ndarray:
    """x_i = 1 with the chance pi*, log(pi*/(1 - pi*)) ~ N(1, 1/4) for each coordinate. Shape (N, d)."""
    check_amount(size, dim)
    generator = np.random.default_rng(seed)
    chances = 1 / (1 + np.exp(-1 - generator.standard_normal(dim) / 2))
    return frozen(generator.random((size, dim)) < chances)


def check_outcomes(data: np.ndarray) -> None:
    """Raise `ConfigurationError` for outcomes other than 0 and 1."""
    wrong = np.argwhere(~np.isin(data, (0.0, 1.0)))
    if len(wrong):
        row, column = wrong[0]
        raise ConfigurationError(
            f"target.data[{row}] has the entry {data[row, column]:g}; expected 0 or 1; write a count of successes as that "
            "many ones, or take target.name='dirichlet-multinomial'"
        )


BETA_BERNOULLI = TargetKind(
    name="beta-bernoulli",
    summary="x_i ~ Bernoulli(pi), pi ~ Beta(alpha, beta), in theta = log(pi/(1 - pi)); data are 0 or 1",
    source="Gelman et al. 2013, section 2.4",
    constants={"alpha": (POSITIVE_VECTOR, 2), "beta": (POSITIVE_VECTOR, 1.5)},
    potential=potential,
    data=DataLayout(draw, size=SIZE, check=check_outcomes),
)
