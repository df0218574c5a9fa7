"""Counts in d + 1 categories with a Dirichlet prior on their chances: a conjugate posterior that couples coordinates."""

from __future__ import annotations

from typing import Any

import numpy as np

from sgverify.schemes.definition.mathematics import softplus
from sgverify.targets.data import check_amount, check_counts, frozen
from sgverify.targets.kind import SIMPLEX, DataLayout, TargetKind
from sgverify.targets.potential import PairPotential, Potential, Vector, constant, coordinate

SIZE = 20
TRIALS = 5


def potential(*, concentration: Vector) -> tuple[Potential, PairPotential]:
    """n_i ~ Multinomial(pi), pi ~ Dirichlet(concentration), theta_k = log(pi_k/pi_d), k < d: additive log ratios.

    pi_d = 1/Z with Z = 1 + sum_k e^theta_k, and the Jacobian of theta -> pi is the product of all pi, so
    -log p(theta) = (sum_k a_k) log Z - sum_(k<d) a_k theta_k and likewise with the counts n for the datum
    (n_0, ..., n_d), constants left out. Gelman et al. 2013, section 3.4; Aitchison 1986, section 6.2.
    """
    dim = len(concentration.entries) - 1

    def log_ratio(theta: Any, weights: Any) -> Any:
        """(sum_k w_k) log Z - sum_(k<d) w_k theta_k."""
        total, partition = coordinate(weights, dim), softplus(coordinate(theta, 0))
        for k in range(dim):
            total = total + coordinate(weights, k)
            if k:
                # log(e^a + e^b) = a + softplus(b - a), so that no category overflows.
                partition = partition + softplus(coordinate(theta, k) - partition)
        value = total * partition
        for k in range(dim):
            value = value - coordinate(weights, k) * coordinate(theta, k)
        return value

    def prior(theta: Any) -> Any:
        return log_ratio(theta, constant(theta, concentration))

    return prior, log_ratio


def draw(size: int, dim: int, seed: int) -> np.ndarray:
    """5 trials a datum, with the chances pi*, log(pi*_k/pi*_d) ~ N(0, 1/4). Shape (N, d + 1)."""
    check_amount(size, dim + 1)
    generator = np.random.default_rng(seed)
    odds = np.exp(np.append(generator.standard_normal(dim) / 2, 0.0))
    return frozen(generator.multinomial(TRIALS, odds / odds.sum(), size))


DIRICHLET_MULTINOMIAL = TargetKind(
    name="dirichlet-multinomial",
    summary="n_i ~ Multinomial(pi), pi ~ Dirichlet(concentration), in theta_k = log(pi_k/pi_d); data are d + 1 counts",
    source="Gelman et al. 2013, section 3.4",
    constants={"concentration": (SIMPLEX, 1.5)},
    potential=potential,
    data=DataLayout(draw, size=SIZE, labels=1, check=check_counts),
)
