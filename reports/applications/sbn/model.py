"""The sigmoid belief network with one hidden layer: its densities, and its exact likelihood where hidden states can be enumerated.

A binary image v of D pixels is made by J binary hidden units h,

    p(h_j = 1) = sigma(b_j),    p(v_d = 1 | h) = sigma(psi_d),    psi = c + sum_j h_j W_j,

with sigma(x) = 1/(1 + exp(-x)). theta = (W row by row, c, b), of length J D + D + J. Every entry of theta has the prior N(0, s^2),
by default with s = 1. chen2015 prints no prior; N(0, 1) is that of the code published with its reference [18] (Gan et al. 2015,
"Scalable deep Poisson factor analysis for topic modeling"), to which chen2015, section 5, refers for learning this model.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cache

import torch
from torch import Tensor
from torch.nn.functional import softplus

from sgverify.errors import ConfigurationError

MOST_ENUMERATED = 15
"""Hidden units up to which all 2^J hidden states are enumerated."""


@dataclass(frozen=True)
class BeliefNetwork:
    """A sigmoid belief network of D = `visible` pixels and J = `hidden` units, with the prior N(0, `prior_variance`) on theta.

    Raises `ConfigurationError` for sizes below 1 and a variance that is not positive and finite.
    """

    visible: int
    hidden: int
    prior_variance: float = 1.0

    def __post_init__(self) -> None:
        if self.visible < 1 or self.hidden < 1:
            raise ConfigurationError(
                f"visible={self.visible}, hidden={self.hidden}: expected at least one pixel and one hidden unit"
            )
        if not 0 < self.prior_variance < math.inf:
            raise ConfigurationError(
                f"prior_variance={self.prior_variance}: expected a positive, finite number"
            )

    @property
    def dim(self) -> int:
        """The length of theta, J D + D + J."""
        return (self.hidden + 1) * self.visible + self.hidden

    def parts(self, theta: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """Views of theta of shape (*batch, dim): W of shape (*batch, J, D), c of (*batch, D) and b of (*batch, J)."""
        weights = self.hidden * self.visible
        return (
            theta[..., :weights].unflatten(-1, (self.hidden, self.visible)),
            theta[..., weights : weights + self.visible],
            theta[..., weights + self.visible :],
        )

    def joined(self, weights: Tensor, pixels: Tensor, units: Tensor) -> Tensor:
        """The theta of these `parts`, shape (*batch, dim)."""
        return torch.cat((weights.flatten(-2), pixels, units), dim=-1)

    def activation(self, theta: Tensor, states: Tensor) -> Tensor:
        """psi = c + h W of hidden states of shape (*batch, n, J); shape (*batch, n, D)."""
        weights, pixels, _ = self.parts(theta)
        return states @ weights + pixels[..., None, :]

    def conditional(self, theta: Tensor, images: Tensor, states: Tensor) -> Tensor:
        """log p(v_i | h_i) of images (*batch, n, D) and hidden states (*batch, n, J); shape (*batch, n)."""
        psi = self.activation(theta, states)
        return (images * psi - softplus(psi)).sum(-1)

    def hidden_prior(self, theta: Tensor, states: Tensor) -> Tensor:
        """log p(h_i) of hidden states of shape (*batch, n, J); shape (*batch, n)."""
        units = self.parts(theta)[2][..., None, :]
        return (states * units - softplus(units)).sum(-1)

    def prior(self, theta: Tensor) -> Tensor:
        """log p(theta) without its constant, -theta.theta / (2 s^2); shape (*batch)."""
        return -(theta * theta).sum(-1) / (2 * self.prior_variance)

    def joint(self, theta: Tensor, images: Tensor) -> Tensor:
        """log p(v_i, h) for every image (n, D) and each of the 2^J hidden states; shape (*batch, n, 2^J).

        Raises `ConfigurationError` for more than `MOST_ENUMERATED` hidden units.
        """
        states = all_states(self.hidden).to(theta.dtype)
        psi = self.activation(theta, states)
        each = self.hidden_prior(theta, states) - softplus(psi).sum(-1)
        return images @ psi.mT + each[..., None, :]

    def log_likelihood(self, theta: Tensor, images: Tensor) -> Tensor:
        """log p(v_i) = log sum_h p(v_i, h), by enumeration; shape (*batch, n). Raises as `joint` does."""
        return self.joint(theta, images).logsumexp(-1)

    def posterior(self, theta: Tensor, images: Tensor) -> Tensor:
        """p(h | v_i) for each of the 2^J hidden states, by enumeration; shape (*batch, n, 2^J). Raises as `joint` does."""
        return self.joint(theta, images).softmax(-1)

    def energy(self, theta: Tensor, images: Tensor) -> Tensor:
        """U(theta) = -log p(theta) - sum_i log p(v_i) over all images, by enumeration; shape (*batch). Raises as `joint` does."""
        return -self.prior(theta) - self.log_likelihood(theta, images).sum(-1)


@cache
def all_states(hidden: int) -> Tensor:
    """The 2^J states of J hidden units, float64 of shape (2^J, J); unit j is bit j of the row's number.

    Raises `ConfigurationError` for more than `MOST_ENUMERATED` units.
    """
    if hidden > MOST_ENUMERATED:
        raise ConfigurationError(
            f"hidden={hidden}: the 2^{hidden} hidden states are not enumerated; expected at most {MOST_ENUMERATED} units; "
            "estimate by Gibbs sampling and annealed importance sampling instead"
        )
    return (torch.arange(2**hidden)[:, None] >> torch.arange(hidden) & 1).to(torch.float64)
