"""How are K topics over V words written as numbers without a constraint? Expanded-natural and expanded-mean.

theta has V K numbers, word by word: a tensor (..., V, K). In both a topic pi_k ~ Dirichlet(beta) a priori.

    expanded-natural    pi_kw = exp theta_kw / sum_v exp theta_kv,   exp theta_kw ~ Gamma(beta, 1)
    expanded-mean       pi_kw = theta_kw / sum_v theta_kv,           theta_kw ~ Gamma(beta, 1), theta > 0

Source: Patterson and Teh 2013, section 4 and table 1, where the gradients of log p(theta | n) are printed; here those of
U = -log p. The priors are those of the targets `expanded-natural` and `expanded-mean`, which have one topic. chen2015 samples in
expanded-natural and does not print the prior on theta.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from sgverify.samplers.reading.carrier import Chains
from sgverify.targets.catalogue.conjugate import mean_prior_energy, natural_prior_energy


@dataclass(frozen=True)
class Parametrisation:
    """One way to write the topics; `beta` is the Dirichlet parameter of each word.

    `far` bounds |theta|: beyond it, a topic cannot be computed in float64, or has a prior probability of 0 in it.
    """

    beta: float

    name = ""
    far = 1e4

    def topics(self, theta: Tensor) -> Tensor:
        """pi, shape (..., V, K), which sums to 1 over V."""
        raise NotImplementedError

    def prior_energy(self, theta: Tensor) -> Tensor:
        """-log p(theta) up to a constant; shape (...)."""
        raise NotImplementedError

    def prior(self, theta: Tensor) -> Tensor:
        """The gradient of `prior_energy`; shape (..., V, K)."""
        raise NotImplementedError

    def likelihood(self, theta: Tensor, pi: Tensor, counts: Tensor) -> Tensor:
        """The gradient of sum_kw n_kw log pi_kw in theta; `counts` has shape (..., V, K)."""
        raise NotImplementedError


class ExpandedNatural(Parametrisation):
    """U = sum exp theta - beta theta, without the likelihood: exp theta ~ Gamma(beta, 1) as a law of theta."""

    name = "expanded-natural"

    def topics(self, theta: Tensor) -> Tensor:
        """See `Parametrisation.topics`."""
        return torch.softmax(theta, -2)

    def prior_energy(self, theta: Tensor) -> Tensor:
        """See `Parametrisation.prior_energy`."""
        return _summed(natural_prior_energy, theta, self.beta)

    def prior(self, theta: Tensor) -> Tensor:
        """exp theta - beta."""
        return theta.exp() - self.beta

    def likelihood(self, theta: Tensor, pi: Tensor, counts: Tensor) -> Tensor:
        """n_kw - pi_kw sum_v n_kv."""
        return counts - pi * counts.sum(-2, keepdim=True)


class ExpandedMean(Parametrisation):
    """U = sum theta - (beta - 1) log theta on theta > 0, without the likelihood."""

    name = "expanded-mean"
    far = 1e9

    def topics(self, theta: Tensor) -> Tensor:
        """See `Parametrisation.topics`."""
        return theta / theta.sum(-2, keepdim=True)

    def prior_energy(self, theta: Tensor) -> Tensor:
        """See `Parametrisation.prior_energy`."""
        return _summed(mean_prior_energy, theta, self.beta)

    def prior(self, theta: Tensor) -> Tensor:
        """1 - (beta - 1)/theta."""
        return 1 - (self.beta - 1) / theta

    def likelihood(self, theta: Tensor, pi: Tensor, counts: Tensor) -> Tensor:
        """n_kw/theta_kw - sum_v n_kv / sum_v theta_kv."""
        return counts / theta - counts.sum(-2, keepdim=True) / theta.sum(-2, keepdim=True)


def _summed(energy: Callable[[Any, float], Any], theta: Tensor, beta: float) -> Tensor:
    """The energies of all V K numbers, summed; shape (..., V, K) -> (...)."""
    found: Tensor = energy(Chains(theta), beta).tensor.sum((-2, -1))
    return found
