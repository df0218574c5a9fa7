"""The stochastic gradient where hidden states are too many to enumerate: Gibbs sampling of h given v, anew at every step.

The estimate on a minibatch B of n of the N images, with states h_ik, k = 1, ..., K, of image i, is

    theta / s^2 - N/n sum_{i in B} 1/K sum_k d log p(v_i, h_ik) / d theta:

the likelihood's part is scaled by N/n and the prior's is not. The states of an image start from p(h), are swept `burn_in` times,
and are then kept after each of K `kept` sweeps. By Fisher's identity the estimate is unbiased as burn_in grows; what few sweeps
leave is measured by `remaining_bias` where hidden states can be enumerated.

chen2015 does not say how its gradient averages over h. The code of its reference [18] (Gan et al. 2015), to which section 5 refers
for this model, does it so: states that start anew in every minibatch, 20 sweeps, then 3 states, each 2 sweeps after the one before.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from reports.applications.sbn import exact_gradient
from reports.applications.sbn.hidden_units import gibbs
from reports.applications.sbn.model import BeliefNetwork
from sgverify.errors import ConfigurationError


@dataclass(frozen=True)
class GibbsSweeps:
    """The Gibbs sweeps of a gradient: `burn_in` sweeps, then `kept` states, one after each further sweep.

    Raises `ConfigurationError` for no kept state, or a negative number.
    """

    burn_in: int = 2
    kept: int = 1

    def __post_init__(self) -> None:
        if self.burn_in < 0 or self.kept < 1:
            raise ConfigurationError(
                f"burn_in={self.burn_in}, kept={self.kept}: expected at least 0 sweeps before the first of at least 1 kept state"
            )

    @property
    def uniforms(self) -> int:
        """The uniform numbers that a hidden unit of an image needs: one for its start, one for each sweep."""
        return 1 + self.burn_in + self.kept


def estimate(
    network: BeliefNetwork, theta: Tensor, images: Tensor, size: int, uniforms: Tensor, sweeps: GibbsSweeps
) -> Tensor:
    """The estimate from n images (R, n, D) for each of R networks (R, dim); shape (R, dim).

    `uniforms` has shape (R, n, 1 + burn_in + kept, J), and `size` is N.
    """
    units = network.parts(theta)[2]
    states = (uniforms[:, :, 0] < torch.sigmoid(units)[:, None]).to(theta.dtype)
    total = torch.zeros_like(theta)
    first = 1
    for k in range(sweeps.kept):
        last = first + 1 + (sweeps.burn_in if k == 0 else 0)
        states = gibbs(network, theta, images, states, uniforms[:, :, first:last])
        total += complete_slopes(network, theta, images, states)
        first = last
    return theta / network.prior_variance - size / images.shape[-2] / sweeps.kept * total


def complete_slopes(network: BeliefNetwork, theta: Tensor, images: Tensor, states: Tensor) -> Tensor:
    """sum_i d log p(v_i, h_i) / d theta of images (R, n, D) and states (R, n, J); shape (R, dim)."""
    missing = images - torch.sigmoid(network.activation(theta, states))
    units = network.parts(theta)[2]
    return network.joined(
        states.mT @ missing, missing.sum(-2), states.sum(-2) - images.shape[-2] * torch.sigmoid(units)
    )


def remaining_bias(
    network: BeliefNetwork,
    theta: Tensor,
    images: Tensor,
    sweeps: GibbsSweeps,
    *,
    draws: int = 64,
    seed: int = 0,
) -> tuple[float, float]:
    """How far is the average of estimates from the enumerated gradient of the likelihood, relative to it, and with what error?

    Returns (bias, error): |mean of the draws - exact|^2 less its expectation for an unbiased estimate, over |exact|^2, as a signed
    square root; and the standard error of the mean, |s.e.| / |exact|, which is the smallest bias that these draws can show. theta
    has shape (dim), images (n, D). Raises `ConfigurationError` for too many hidden units, or fewer than two draws.
    """
    if draws < 2:
        raise ConfigurationError(f"draws={draws}: expected at least 2; their spread gives the error")
    exact = exact_gradient.slopes(network, theta, images)
    words = np.random.Generator(np.random.Philox(seed))
    shape = (draws, len(images), sweeps.uniforms, network.hidden)
    found = estimate(
        network,
        theta.expand(draws, -1),
        images.expand(draws, -1, -1),
        len(images),
        torch.from_numpy(words.random(shape)),
        sweeps,
    )
    found = theta / network.prior_variance - found
    variance = float((found.var(0) / draws).sum())
    squared = float(((found.mean(0) - exact) ** 2).sum()) - variance
    norm = float(exact.norm())
    return float(np.copysign(abs(squared) ** 0.5, squared)) / norm, variance**0.5 / norm
