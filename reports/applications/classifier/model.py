"""The posterior of a network given labelled images: its energy, in one definition, with full and stochastic gradients by autograd.

    U(theta) = lambda |theta|^2 / 2 + sum_i l_i(theta),        l_i = -log softmax(f(theta, x_i))_(y_i)

over N training images; lambda is the precision of the prior. vr-resgld, equation (2).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor
from torch.nn.functional import cross_entropy

from reports.applications.chains import SampledModel, streams
from reports.applications.classifier.data import ClassImages
from reports.applications.classifier.network import ResidualNetwork
from sgverify.errors import ConfigurationError
from sgverify.samplers.gradients.minibatches import WithoutReplacement
from sgverify.samplers.randomness.variates import normals

BLOCK = 64
"""Minibatches that are drawn at once."""

AT_ONCE = 1 << 22
"""Outputs of networks on images that are computed at once, at most."""


@dataclass(frozen=True, eq=False)
class Posterior:
    """U and its estimates for a network, training images and a prior precision lambda.

    It answers what replica exchange asks of a potential (`sgverify.samplers.gradients.differentiation.Potential`): `energy` and
    `energy_over`, and `target.size` with `target.check_data`.
    """

    network: ResidualNetwork
    images: ClassImages
    precision: float

    @property
    def target(self) -> Any:
        """The number of data, where replica exchange asks for it."""
        return _Size(len(self.images.train), self.network.dim)

    def prior(self, theta: Tensor) -> Tensor:
        """lambda |theta|^2 / 2; shape (*batch, d) -> (*batch)."""
        return self.precision / 2 * (theta * theta).sum(-1)

    def losses(self, theta: Tensor, images: Tensor, labels: Tensor) -> Tensor:
        """l_i(theta), shape (*batch, n), for images (*batch, n, inputs) and labels (*batch, n); their batch axes may be 1."""
        found = self.network.outputs(theta, images)
        classes = labels.expand(found.shape[:-1])
        each = cross_entropy(found.flatten(0, -2), classes.flatten(), reduction="none")
        return each.reshape(classes.shape)

    def each(self, theta: Tensor) -> Tensor:
        """l_i(theta) of all training images, shape (*batch, d) -> (*batch, N), a part of the images at a time."""
        size = len(self.images.train)
        share = max(1, AT_ONCE // (max(1, theta[..., 0].numel()) * self.network.inputs))
        lead = (1,) * (theta.ndim - 1)
        with torch.no_grad():
            return torch.cat(
                [
                    self.losses(
                        theta,
                        self.images.train[first : first + share].reshape(*lead, -1, self.network.inputs),
                        self.images.train_labels[first : first + share].reshape(*lead, -1),
                    )
                    for first in range(0, size, share)
                ],
                dim=-1,
            )

    def energy(self, theta: Tensor) -> Tensor:
        """U(theta); shape (*batch, d) -> (*batch)."""
        return self.prior(theta) + self.each(theta).sum(-1)

    def energy_over(self, theta: Tensor, chosen: Tensor) -> Tensor:
        """prior + N/n sum of l_i over a minibatch, indices (n, *batch) or what broadcasts to it; (*batch, d) -> (*batch)."""
        with torch.no_grad():
            return self.estimate(theta, chosen)

    def estimate(self, theta: Tensor, chosen: Tensor) -> Tensor:
        """`energy_over`, through which autograd differentiates."""
        size, batch = len(self.images.train), len(chosen)
        if theta.ndim > 3 and theta.stride(0) == 0:
            # r minibatches at one theta: their images side by side.
            places = chosen.movedim(0, 1).flatten(0, 1).movedim(0, -1)
            losses = self._at(theta[0], places).unflatten(-1, (theta.shape[0], batch))
            return self.prior(theta[0]) + size / batch * losses.sum(-1).movedim(-1, 0)
        return self.prior(theta) + size / batch * self._at(theta, chosen.movedim(0, -1)).sum(-1)

    def gradient(self, theta: Tensor, chosen: Tensor) -> Tensor:
        """The gradient of `energy_over`: lambda theta + N/n sum of grad l_i; shape (*batch, d)."""
        with torch.enable_grad():
            at = theta.detach().requires_grad_(True)
            (found,) = torch.autograd.grad(self.estimate(at, chosen).sum(), at)
        return found

    def _at(self, theta: Tensor, places: Tensor) -> Tensor:
        return self.losses(theta, self.images.train[places], self.images.train_labels[places])


@dataclass(frozen=True)
class _Size:
    """N and d, in the place of a target."""

    size: int
    dim: int

    def check_data(self) -> None:
        """There are data."""


class ClassifierModel(SampledModel):
    """The posterior as a model whose chains are moved, on minibatches of `batch` images without replacement.

    All settings of a step share their minibatch, chain by chain. A weight or a momentum beyond `far` has left the posterior:
    at temperatures of at most 1 its density is below exp(-lambda `far`^2 / 2) of the mode's. Raises `ConfigurationError` for a
    batch that is not smaller than half of the data.
    """

    far = 1e4
    rowwise = True

    def __init__(self, posterior: Posterior, *, batch: int, seed: int, chains: range) -> None:
        size = len(posterior.images.train)
        if not 2 <= batch <= (size - 1) // 2:
            raise ConfigurationError(
                f"batch={batch}: expected 2 to {(size - 1) // 2}, less than half of the {size} training images, since minibatches "
                "of twice the size are asked about, too"
            )
        self.posterior, self.dim, self.batch = posterior, posterior.network.dim, batch
        self._seed, self._streams = seed, streams(seed, chains)
        self._minibatches = WithoutReplacement(self._streams("minibatch"), size, batch)
        self._drawn: tuple[int, Tensor] | None = None

    def start(self, chains: range) -> Tensor:
        """See `SampledModel.start`."""
        drawn = normals(streams(self._seed, chains)("start"), 0, self.dim).movedim(0, -1)
        return self.posterior.network.start(drawn)

    def gradient(self, theta: Tensor, step: int, minibatch: int) -> Tensor:
        """See `SampledModel.gradient`."""
        return self.posterior.gradient(theta, self._chosen(step, minibatch))

    def prior(self, theta: Tensor) -> Tensor:
        """See `SampledModel.prior`: lambda theta."""
        return self.posterior.precision * theta

    def _chosen(self, step: int, minibatch: int) -> Tensor:
        """The indices of a minibatch, shape (n, 1, C); minibatch m of step l has the number l + m 2^32 in the stream."""
        number = step + (minibatch << 32)
        first = number - number % BLOCK
        if self._drawn is None or self._drawn[0] != first:
            self._drawn = (first, self._minibatches.block(first, BLOCK))
        return self._drawn[1][number - first]
