"""Counts in K categories with a Dirichlet prior on their chances pi, in one number a category: two expanded parametrisations.

A vector of K chances has K - 1 free numbers; here it is written by K, of which only the shares matter:

    expanded-natural    pi_k = exp theta_k / sum_j exp theta_j,    exp theta_k ~ Gamma(a_k, 1)
    expanded-mean       pi_k = theta_k / sum_j theta_j,            theta_k ~ Gamma(a_k, 1), theta_k > 0

so that pi ~ Dirichlet(a) a priori, and pi ~ Dirichlet(a + n) after the counts n, independent of the sum, which stays
Gamma(sum a, 1).
In the log ratios of pi, K - 1 numbers, the same posterior is the target `dirichlet-multinomial`.

Source: Patterson and Teh 2013, section 4 and table 1, which prints the gradients of log p(theta | n).
"""

from __future__ import annotations

from typing import Any

import numpy as np

from sgverify.schemes.definition.mathematics import exp, log, softplus
from sgverify.targets.constants import MOST_COORDINATES
from sgverify.targets.data import check_amount, check_counts, frozen
from sgverify.targets.kind import POSITIVE_VECTOR, DataLayout, TargetKind
from sgverify.targets.potential import PairPotential, Potential, Vector, constant, coordinate

SIZE = 20
TRIALS = 5
SOURCE = "Patterson and Teh 2013, section 4"


def natural_prior_energy(theta: Any, a: Any) -> Any:
    """-log p(theta_k) = exp theta_k - a theta_k, up to a constant: exp theta_k ~ Gamma(a, 1), and d theta = d lambda/lambda."""
    return exp(theta) - a * theta


def mean_prior_energy(theta: Any, a: Any) -> Any:
    """-log p(theta_k) = theta_k - (a - 1) log theta_k, up to a constant: theta_k ~ Gamma(a, 1)."""
    return theta - (a - 1) * log(theta)


def natural_potential(*, concentration: Vector) -> tuple[Potential, PairPotential]:
    """-log p(n | theta) = (sum_k n_k) log sum_k exp theta_k - sum_k n_k theta_k for the counts n of one datum."""
    dim = len(concentration.entries)

    def prior(theta: Any) -> Any:
        a = constant(theta, concentration)
        return sum(natural_prior_energy(coordinate(theta, k), coordinate(a, k)) for k in range(dim))

    def likelihood(theta: Any, counts: Any) -> Any:
        partition = coordinate(theta, 0)
        for k in range(1, dim):
            # log(e^a + e^b) = a + softplus(b - a), so that no category overflows.
            partition = partition + softplus(coordinate(theta, k) - partition)
        total = sum(coordinate(counts, k) for k in range(dim))
        return total * partition - sum(coordinate(counts, k) * coordinate(theta, k) for k in range(dim))

    return prior, likelihood


def mean_potential(*, concentration: Vector) -> tuple[Potential, PairPotential]:
    """-log p(n | theta) = (sum_k n_k) log sum_k theta_k - sum_k n_k log theta_k for the counts n of one datum."""
    dim = len(concentration.entries)

    def prior(theta: Any) -> Any:
        a = constant(theta, concentration)
        return sum(mean_prior_energy(coordinate(theta, k), coordinate(a, k)) for k in range(dim))

    def likelihood(theta: Any, counts: Any) -> Any:
        total = sum(coordinate(counts, k) for k in range(dim))
        parts = sum(coordinate(counts, k) * log(coordinate(theta, k)) for k in range(dim))
        return total * log(sum(coordinate(theta, k) for k in range(dim))) - parts

    return prior, likelihood


def draw(size: int, dim: int, seed: int) -> np.ndarray:
    """5 trials a datum, with chances of log pi*_k ~ N(0, 1/4) up to their sum. Shape (N, K)."""
    check_amount(size, dim)
    generator = np.random.default_rng(seed)
    odds = np.exp(generator.standard_normal(dim) / 2)
    return frozen(generator.multinomial(TRIALS, odds / odds.sum(), size))


_LAYOUT = DataLayout(draw, size=SIZE, check=check_counts)
_DIMS = tuple(range(2, MOST_COORDINATES + 1))

EXPANDED_NATURAL = TargetKind(
    name="expanded-natural",
    summary="n_i ~ Multinomial(pi), pi_k = exp theta_k / sum exp theta, exp theta_k ~ Gamma(concentration, 1); data are counts",
    source=SOURCE,
    constants={"concentration": (POSITIVE_VECTOR, 1.5)},
    potential=natural_potential,
    data=_LAYOUT,
    dims=_DIMS,
)

EXPANDED_MEAN = TargetKind(
    name="expanded-mean",
    summary="n_i ~ Multinomial(pi), pi_k = theta_k / sum theta, theta_k ~ Gamma(concentration, 1), theta > 0; data are counts",
    source=SOURCE,
    constants={"concentration": (POSITIVE_VECTOR, 1.5)},
    potential=mean_potential,
    data=_LAYOUT,
    dims=_DIMS,
    positive=True,
)
