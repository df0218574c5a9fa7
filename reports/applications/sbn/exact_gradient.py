"""The gradient of the energy where hidden states are enumerated: no sampling, up to `MOST_ENUMERATED` hidden units.

With U(theta) = theta.theta / (2 s^2) - sum_i log p(v_i), and the average over h with the law p(h | v_i),

    -d log p(v) / dW_jd = -E[h_j (v_d - sigma(psi_d))],   / dc_d = -E[v_d - sigma(psi_d)],   / db_j = -E[h_j - sigma(b_j)].

A minibatch B of n of the N images has the estimate theta / s^2 - N/n sum_{i in B} d log p(v_i), which is unbiased.
"""

from __future__ import annotations

import torch
from torch import Tensor

from reports.applications.sbn.model import BeliefNetwork, all_states


def gradient(network: BeliefNetwork, theta: Tensor, images: Tensor, size: int) -> Tensor:
    """The estimate of the gradient of U from n images (*batch, n, D) of a data set of `size` images; shape (*batch, dim).

    With all images, n = `size`, it is the gradient itself. Raises `ConfigurationError` for too many hidden units.
    """
    return theta / network.prior_variance - size / images.shape[-2] * slopes(network, theta, images)


def slopes(network: BeliefNetwork, theta: Tensor, images: Tensor) -> Tensor:
    """sum_i d log p(v_i) / d theta over the images (*batch, n, D), by enumeration; shape (*batch, dim)."""
    states = all_states(network.hidden).to(theta.dtype)
    law = network.posterior(theta, images)
    each = law.sum(-2)
    missing = law.mT @ images - each[..., None] * torch.sigmoid(network.activation(theta, states))
    units = network.parts(theta)[2]
    return network.joined(
        states.mT @ missing,
        missing.sum(-2),
        each @ states - images.shape[-2] * torch.sigmoid(units),
    )
