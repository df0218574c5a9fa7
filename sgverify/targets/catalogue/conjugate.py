"""Posteriors of counts and outcomes with a conjugate prior: on a probability, a rate, and a simplex in three parametrisations."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from sgverify.schemes.definition.mathematics import exp, log, softplus
from sgverify.targets.constants import MOST_COORDINATES
from sgverify.targets.data import check_amount, check_counts, checked, frozen, is_outcome
from sgverify.targets.kind import POSITIVE_VECTOR, SIMPLEX, DataLayout, TargetKind
from sgverify.targets.potential import PairPotential, Potential, Vector, constant, coordinate

SIZE = 20


def _over_coordinates(dim: int, energy: Callable[..., Any], *constants: Vector) -> Callable[..., Any]:
    """The sum over the coordinates of an energy of one, which takes theta_k, those of data, and of constants."""

    def summed(theta: Any, *data: Any) -> Any:
        given = (theta, *data, *(constant(theta, value) for value in constants))
        return sum(energy(*(coordinate(part, k) for part in given)) for k in range(dim))

    return summed


# Successes and failures with a beta prior on their chance: a conjugate posterior in theta = log odds.


def beta_bernoulli_potential(*, alpha: Vector, beta: Vector) -> tuple[Potential, PairPotential]:
    """x_i ~ Bernoulli(pi), pi ~ Beta(alpha, beta), theta = log(pi/(1 - pi)); coordinates are independent.

    d pi/d theta = pi (1 - pi), so -log p(theta) = (alpha + beta) softplus(theta) - alpha theta, and
    -log p(x | theta) = softplus(theta) - x theta, constants left out. Gelman et al. 2013, section 2.4.
    """
    dim = len(alpha.entries)
    prior = _over_coordinates(dim, lambda place, a, b: (a + b) * softplus(place) - a * place, alpha, beta)
    return prior, _over_coordinates(dim, lambda place, x: softplus(place) - x * place)


def draw_beta_bernoulli(size: int, dim: int, seed: int) -> np.ndarray:
    """x_i = 1 with the chance pi*, log(pi*/(1 - pi*)) ~ N(1, 1/4) for each coordinate. Shape (N, d)."""
    check_amount(size, dim)
    generator = np.random.default_rng(seed)
    chances = 1 / (1 + np.exp(-1 - generator.standard_normal(dim) / 2))
    return frozen(generator.random((size, dim)) < chances)


CHECK_OUTCOMES = checked(
    is_outcome,
    "0 or 1; write a count of successes as that many ones, or take target.name='dirichlet-multinomial'",
)

BETA_BERNOULLI = TargetKind(
    name="beta-bernoulli",
    summary="x_i ~ Bernoulli(pi), pi ~ Beta(alpha, beta), in theta = log(pi/(1 - pi)); data are 0 or 1",
    source="Gelman et al. 2013, section 2.4",
    constants={"alpha": (POSITIVE_VECTOR, 2), "beta": (POSITIVE_VECTOR, 1.5)},
    potential=beta_bernoulli_potential,
    smooth=True,
    data=DataLayout(draw_beta_bernoulli, size=SIZE, check=CHECK_OUTCOMES, condensable=True),
)


# Counts with a gamma prior on their rate: a conjugate posterior that is not Gaussian, in theta = log rate.


def gamma_poisson_potential(*, shape: Vector, rate: Vector) -> tuple[Potential, PairPotential]:
    """x_i ~ Poisson(lambda), lambda ~ Gamma(shape, rate), theta = log lambda; coordinates are independent.

    The density of theta is that of lambda times d lambda/d theta = lambda, so -log p(theta) = rate e^theta -
    shape theta, and -log p(x | theta) = e^theta - x theta, constants left out. Gelman et al. 2013, section 2.6.
    """
    dim = len(shape.entries)
    prior = _over_coordinates(dim, lambda place, a, b: b * exp(place) - a * place, shape, rate)
    return prior, _over_coordinates(dim, lambda place, x: exp(place) - x * place)


def draw_gamma_poisson(size: int, dim: int, seed: int) -> np.ndarray:
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
    potential=gamma_poisson_potential,
    smooth=True,
    data=DataLayout(draw_gamma_poisson, size=SIZE, check=check_counts, condensable=True),
)


TRIALS = 5


# Counts in d + 1 categories with a Dirichlet prior on their chances: a conjugate posterior that couples coordinates.


def dirichlet_multinomial_potential(*, concentration: Vector) -> tuple[Potential, PairPotential]:
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


def draw_dirichlet_multinomial(size: int, dim: int, seed: int) -> np.ndarray:
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
    potential=dirichlet_multinomial_potential,
    smooth=True,
    data=DataLayout(draw_dirichlet_multinomial, size=SIZE, labels=1, check=check_counts),
)


# Counts in K categories with a Dirichlet prior on their chances pi, in one number a category: two expanded parametrisations.
#
# A vector of K chances has K - 1 free numbers; here it is written by K, of which only the shares matter:
#
#     expanded-natural    pi_k = exp theta_k / sum_j exp theta_j,    exp theta_k ~ Gamma(a_k, 1)
#     expanded-mean       pi_k = theta_k / sum_j theta_j,            theta_k ~ Gamma(a_k, 1), theta_k > 0
#
# so that pi ~ Dirichlet(a) a priori, and pi ~ Dirichlet(a + n) after the counts n, independent of the sum, which stays
# Gamma(sum a, 1).
# In the log ratios of pi, K - 1 numbers, the same posterior is the target `dirichlet-multinomial`.
#
# Source: Patterson and Teh 2013, section 4 and table 1, which prints the gradients of log p(theta | n).


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

    def likelihood(theta: Any, counts: Any) -> Any:
        partition = coordinate(theta, 0)
        for k in range(1, dim):
            # log(e^a + e^b) = a + softplus(b - a), so that no category overflows.
            partition = partition + softplus(coordinate(theta, k) - partition)
        total = sum(coordinate(counts, k) for k in range(dim))
        return total * partition - sum(coordinate(counts, k) * coordinate(theta, k) for k in range(dim))

    return _over_coordinates(dim, natural_prior_energy, concentration), likelihood


def mean_potential(*, concentration: Vector) -> tuple[Potential, PairPotential]:
    """-log p(n | theta) = (sum_k n_k) log sum_k theta_k - sum_k n_k log theta_k for the counts n of one datum."""
    dim = len(concentration.entries)

    def likelihood(theta: Any, counts: Any) -> Any:
        total = sum(coordinate(counts, k) for k in range(dim))
        parts = sum(coordinate(counts, k) * log(coordinate(theta, k)) for k in range(dim))
        return total * log(sum(coordinate(theta, k) for k in range(dim))) - parts

    return _over_coordinates(dim, mean_prior_energy, concentration), likelihood


def draw_expanded_simplex(size: int, dim: int, seed: int) -> np.ndarray:
    """5 trials a datum, with chances of log pi*_k ~ N(0, 1/4) up to their sum. Shape (N, K)."""
    check_amount(size, dim)
    generator = np.random.default_rng(seed)
    odds = np.exp(generator.standard_normal(dim) / 2)
    return frozen(generator.multinomial(TRIALS, odds / odds.sum(), size))


_LAYOUT = DataLayout(draw_expanded_simplex, size=SIZE, check=check_counts)
_DIMS = tuple(range(2, MOST_COORDINATES + 1))

EXPANDED_NATURAL = TargetKind(
    name="expanded-natural",
    summary="n_i ~ Multinomial(pi), pi_k = exp theta_k / sum exp theta, exp theta_k ~ Gamma(concentration, 1); data are counts",
    source=SOURCE,
    constants={"concentration": (POSITIVE_VECTOR, 1.5)},
    potential=natural_potential,
    smooth=True,
    data=_LAYOUT,
    dims=_DIMS,
)

EXPANDED_MEAN = TargetKind(
    name="expanded-mean",
    summary="n_i ~ Multinomial(pi), pi_k = theta_k / sum theta, theta_k ~ Gamma(concentration, 1), theta > 0; data are counts",
    source=SOURCE,
    constants={"concentration": (POSITIVE_VECTOR, 1.5)},
    potential=mean_potential,
    smooth=True,
    data=_LAYOUT,
    dims=_DIMS,
    positive=True,
)
