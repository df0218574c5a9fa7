"""The belief network as a model whose chains are moved: its start, its stochastic gradient, and what is kept of the states.

All settings of a step share minibatches and the uniform numbers of the Gibbs sweeps, chain by chain, as they share the noise: each
setting alone has independent draws, and two settings are compared on the same ones.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import torch
from torch import Tensor

from reports.applications.chains import ChainRecorder, SampledModel, streams
from reports.applications.keeping import Arrays
from reports.applications.sbn import exact_gradient
from reports.applications.sbn.annealing import AnnealedSampling, log_likelihood
from reports.applications.sbn.model import BeliefNetwork
from reports.applications.sbn.sampled_gradient import GibbsSweeps, estimate
from sgverify.errors import ConfigurationError
from sgverify.samplers.gradients.minibatches import WithoutReplacement
from sgverify.samplers.randomness.variates import normals

START = 0.1
"""The standard deviation of each weight at the start; c and b start at 0. So does the code of reference [18] of chen2015."""


class NetworkModel(SampledModel):
    """The posterior of a belief network's theta given N training images, with minibatches of `batch` images without replacement.

    `sweeps` are those of the sampled gradient; None enumerates the hidden states. A weight beyond `far` has a prior density below
    exp(-`far`^2/2) of its mode's, and a momentum p_i a stationary one below exp(-`far`^2/2): such chains have left the posterior.
    Raises `ConfigurationError` for a batch that is larger than the data set.
    """

    far = 1e3

    def __init__(
        self,
        network: BeliefNetwork,
        images: Tensor,
        *,
        batch: int,
        sweeps: GibbsSweeps | None,
        seed: int,
        chains: range,
    ) -> None:
        if not 1 <= batch <= len(images):
            raise ConfigurationError(
                f"batch={batch}: expected 1 to {len(images)}, the number of training images"
            )
        self.network, self.dim, self.sweeps = network, network.dim, sweeps
        self._images, self._batch = images, batch
        self._seed, self._chains, self._streams = seed, chains, streams(seed, chains)
        self._minibatches = WithoutReplacement(self._streams("minibatch"), len(images), batch)
        self._drawn: tuple[tuple[int, int], Tensor, Tensor] | None = None

    def start(self, chains: range) -> Tensor:
        """See `SampledModel.start`: weights from N(0, `START`^2), biases 0."""
        found = torch.zeros((1, len(chains), self.dim), dtype=torch.float64)
        weights = self.network.hidden * self.network.visible
        drawn = normals(streams(self._seed, chains)("start"), 0, weights)
        found[..., :weights] = START * drawn.movedim(0, -1)
        return found

    def gradient(self, theta: Tensor, step: int, minibatch: int) -> Tensor:
        """See `SampledModel.gradient`."""
        images, uniforms = self._randomness(step, minibatch)
        size = len(self._images)
        if self.sweeps is None:
            return torch.stack([exact_gradient.gradient(self.network, row, images, size) for row in theta])
        return torch.stack(
            [estimate(self.network, row, images, size, uniforms, self.sweeps) for row in theta]
        )

    def prior(self, theta: Tensor) -> Tensor:
        """See `SampledModel.prior`: theta / s^2."""
        return theta / self.network.prior_variance

    def _randomness(self, step: int, minibatch: int) -> tuple[Tensor, Tensor]:
        """The images of a minibatch, (C, n, D), and the uniform numbers of its sweeps, (C, n, 1 + sweeps, J)."""
        if self._drawn is None or self._drawn[0] != (step, minibatch):
            # Minibatch m of step l has the number l + m 2^32 in the stream: no run takes as many steps.
            number = step + (minibatch << 32)
            chosen = self._minibatches.block(number, 1)[0, :, 0].T
            count = 0 if self.sweeps is None else self.sweeps.uniforms
            shape = (self._batch, count, self.network.hidden)
            uniforms = [_uniforms(self._seed, chain, number, shape) for chain in self._chains]
            self._drawn = ((step, minibatch), self._images[chosen], torch.from_numpy(np.stack(uniforms)))
        return self._drawn[1:]


def _uniforms(seed: int, chain: int, number: int, shape: tuple[int, ...]) -> np.ndarray:
    """Uniform numbers of a gradient of a chain, by Philox: a function of the seed, the chain and the gradient's number alone."""
    sequence = np.random.SeedSequence([seed, chain, int.from_bytes(b"sbn")])
    return np.random.Generator(np.random.Philox(sequence, counter=[0, 0, number, 0])).random(shape)


class TestLikelihoods(ChainRecorder):
    """After the steps `at`: log p(v) of every test image under every chain, annealed or, without `annealing`, enumerated.

    `found` has shape (len(at), S, C, n), with NaN where a chain has diverged; `last`, (S, dim), is the last theta of chain 0.
    """

    __test__ = False

    def __init__(
        self,
        network: BeliefNetwork,
        images: Tensor,
        annealing: AnnealedSampling | None,
        *,
        at: Sequence[int],
        settings: int,
        chains: range,
        seed: int,
    ) -> None:
        self.at = tuple(at)
        self._network, self._images, self._annealing, self._seed = network, images, annealing, seed
        self._chains = chains
        shape = (len(self.at), settings, len(chains), len(images))
        self.found = np.full(shape, np.nan)
        self.last = np.zeros((settings, network.dim))

    def see(self, number: int, state: dict[str, Tensor], alive: np.ndarray) -> None:
        """See `ChainRecorder.see`. Settings share the draws of annealing; each chain, and each step of `at`, has its own.

        The standard error over chains so holds that of annealing, too.
        """
        theta, place = state["theta"], self.at.index(number)
        for s, c in zip(*np.nonzero(alive), strict=True):
            if self._annealing is None:
                found = self._network.log_likelihood(theta[s, c], self._images)
            else:
                found = log_likelihood(
                    self._network,
                    theta[s, c],
                    self._images,
                    self._annealing,
                    seed=self._seed,
                    part=place + (self._chains[c] << 32),
                ).log_likelihood
            self.found[place, s, c] = found.numpy()
        self.last[:] = theta[:, 0].numpy()

    def arrays(self) -> Arrays:
        """See `ChainRecorder.arrays`."""
        return {"found": self.found, "last": self.last}

    def resume(self, arrays: Arrays) -> None:
        """See `ChainRecorder.resume`."""
        self.found, self.last = arrays["found"].copy(), arrays["last"].copy()
