"""Annealed importance sampling of p(v): an estimate of the likelihood of an image under a network with many hidden units.

From beta_0 = 0 to beta_K = 1 the laws f_k(h) = p(h) p(v | h)^beta_k lead from p(h), which is drawn exactly, to p(v, h), whose sum
over h is p(v). With h_1 drawn from p(h), and h_(k+1) from h_k by a Gibbs sweep that leaves f_k invariant,

    log w = sum_{k=1..K} (beta_k - beta_(k-1)) log p(v | h_k),        E[w] = p(v).

The mean of M weights is therefore unbiased for p(v), for every number of temperatures; its logarithm is on average too small, by
about var(w) / (2 M p(v)^2), and a negative log-likelihood too large. Source: Neal 2001, "Annealed importance sampling"; for belief
networks Salakhutdinov and Murray 2008, reference [21] of chen2015, which tells neither temperatures nor chains.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import torch
from torch import Tensor

from reports.applications.sbn.hidden_units import gibbs
from reports.applications.sbn.model import BeliefNetwork
from sgverify.errors import ConfigurationError


@dataclass(frozen=True)
class AnnealedSampling:
    """K `temperatures`, and M `chains` for each image. beta_k = (k/K)^`power`.

    Raises `ConfigurationError` for none, and for a power that is not positive and finite.
    """

    temperatures: int = 100
    chains: int = 2
    power: float = 1.0

    def __post_init__(self) -> None:
        if self.temperatures < 1 or self.chains < 1 or not 0 < self.power < math.inf:
            raise ConfigurationError(
                f"temperatures={self.temperatures}, chains={self.chains}, power={self.power}: expected at least one of each, and a "
                "positive power"
            )

    def betas(self) -> list[float]:
        """beta_0 = 0, ..., beta_K = 1."""
        return [(k / self.temperatures) ** self.power for k in range(self.temperatures + 1)]


@dataclass(frozen=True)
class Estimated:
    """Estimates of log p(v) for n images, shape (n): the logarithm of the mean weight, and its standard error.

    `spread` is the relative variance of the mean weight, var(w) / (M mean(w)^2), and None for one chain. The logarithm is too
    small by about half of it, where the weights of the M chains show their spread; few of them may not.
    """

    log_likelihood: Tensor
    spread: Tensor | None

    @property
    def standard_error(self) -> float | None:
        """The standard error of the mean of log p(v) over the images from annealing alone; None for one chain."""
        return None if self.spread is None else math.sqrt(float(self.spread.sum())) / len(self.spread)


def log_likelihood(
    network: BeliefNetwork,
    theta: Tensor,
    images: Tensor,
    annealing: AnnealedSampling,
    *,
    seed: int,
    part: int = 0,
) -> Estimated:
    """The estimates for images (n, D) under theta (dim). `part` numbers the calls of a run, whose draws are separate."""
    return estimated(log_weights(network, theta, images, annealing, seed=seed, part=part))


def estimated(weights: Tensor) -> Estimated:
    """The estimates from log weights of shape (M, n)."""
    chains = len(weights)
    whole = weights.logsumexp(0) - math.log(chains)
    if chains == 1:
        return Estimated(whole, None)
    return Estimated(whole, (weights - whole).exp().var(0) / chains)


def log_weights(
    network: BeliefNetwork,
    theta: Tensor,
    images: Tensor,
    annealing: AnnealedSampling,
    *,
    seed: int,
    part: int = 0,
) -> Tensor:
    """log w of M chains for each image, shape (M, n); theta has shape (dim), images (n, D)."""
    words = np.random.Generator(np.random.Philox(key=seed, counter=[0, 0, 0, part]))
    shape = (1, annealing.chains * len(images), 1, network.hidden)
    one, many = theta[None], images.repeat(annealing.chains, 1)[None]
    units = network.parts(one)[2]
    states = (torch.from_numpy(words.random(shape)[:, :, 0]) < torch.sigmoid(units)[:, None]).to(theta.dtype)
    betas = annealing.betas()
    total = torch.zeros(many.shape[:2], dtype=theta.dtype)
    for before, beta in pairwise(betas):
        total += (beta - before) * network.conditional(one, many, states)
        if beta < 1:
            uniforms = torch.from_numpy(words.random(shape))
            states = gibbs(network, one, many, states, uniforms, beta=beta)
    return total.view(annealing.chains, len(images))
