"""What is sampled: the topics' parameters under minibatches of documents, whose tokens' topics are sampled or enumerated."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import torch
from torch import Tensor

from reports.applications.chains import SampledModel, streams
from reports.applications.lda.corpus import Corpus
from reports.applications.lda.gibbs import Documents, Sweeps, sample_counts
from reports.applications.lda.parametrisations import Parametrisation
from sgverify.samplers.gradients.minibatches import WithoutReplacement
from sgverify.samplers.randomness.philox import LANES
from sgverify.samplers.randomness.variates import normals, uniforms

SPREAD = 1.0
"""The standard deviation of theta at the start, expanded-natural; topics that start equal would stay so without noise."""

Expectation = Callable[[np.ndarray, Documents, int], np.ndarray]
"""(topics (R, V, K), documents, number of the evaluation) -> E(n | w, pi) of the minibatch, or an estimate, shape (R, V, K)."""


class TopicModel(SampledModel):
    """K topics over the words of a corpus: U(theta) = -log p(theta) - sum_d log p(w_d | theta), p(w_d | theta) with z summed out.

    The gradient on a minibatch B of n documents out of N is

        grad U ~ -grad log p(theta) - N/n sum_{d in B} E(grad log p(w_d, z | theta) | w_d, theta)

    with the expectation over z estimated by Gibbs sampling (`sample_counts`; Fisher's identity: Patterson and Teh 2013, (13)).
    Minibatches are drawn without replacement, for each chain its own. `expectation` replaces Gibbs sampling, as by enumeration.
    """

    def __init__(
        self,
        corpus: Corpus,
        parametrisation: Parametrisation,
        *,
        topics: int,
        alpha: float,
        batch: int,
        sweeps: Sweeps,
        seed: int,
        chains: range,
        expectation: Expectation | None = None,
        compiled: bool | str = "auto",
    ) -> None:
        self.corpus, self.parametrisation = corpus, parametrisation
        self.topics, self.alpha, self.batch, self.sweeps = topics, alpha, batch, sweeps
        self.dim, self.far, self.rowwise = corpus.size * topics, parametrisation.far, True
        self.seeds, self.compiled = chains, compiled
        self._streams = streams(seed, chains)
        # A chain draws the topics of tokens from all lanes of a group: they are computed at once.
        self._wide = streams(seed, range(chains.start * LANES, chains.stop * LANES))
        self._minibatches = WithoutReplacement(self._streams("minibatches"), corpus.documents, batch)
        self._expectation = expectation or self._sampled
        self._longest = int(corpus.lengths.max())

    @property
    def scale(self) -> float:
        """N/n, by which a minibatch's likelihood stands for that of all documents."""
        return self.corpus.documents / self.batch

    def start(self, chains: range) -> Tensor:
        """Topics log-normal around the uniform one: the same topics for every parametrisation."""
        drawn = normals(self._streams("start"), 0, self.dim).movedim(0, -1)
        theta = SPREAD * drawn
        if self.parametrisation.name == "expanded-mean":
            theta = theta.exp()
        return theta.contiguous()

    def matrix(self, theta: Tensor) -> Tensor:
        """theta as a matrix: shape (S, C, d) to (S, C, V, K)."""
        return theta.unflatten(-1, (self.corpus.size, self.topics))

    def gradient(self, theta: Tensor, step: int, minibatch: int) -> Tensor:
        """See the class, and `SampledModel.gradient`."""
        held = self.matrix(theta)
        pi = self.parametrisation.topics(held)
        # Minibatch m of step l has the number l + m 2^32 in the streams: no run takes as many steps.
        number = step + (minibatch << 32)
        documents = self.corpus.padded(self.chosen(number))
        counts = self._expectation(pi.flatten(0, 1).numpy(), documents, number)
        likelihood = self.parametrisation.likelihood(held, pi, torch.from_numpy(counts).reshape(pi.shape))
        return (self.parametrisation.prior(held) - self.scale * likelihood).flatten(-2)

    def prior(self, theta: Tensor) -> Tensor:
        """See `SampledModel.prior`."""
        return self.parametrisation.prior(self.matrix(theta)).flatten(-2)

    def chosen(self, number: int) -> np.ndarray:
        """The numbers of the documents of the minibatch of this number, shape (C, n)."""
        return self._minibatches.block(number, 1)[0, :, 0].numpy().T

    def _sampled(self, pi: np.ndarray, documents: Documents, number: int) -> np.ndarray:
        drawn = self.uniforms("gibbs", number, documents)
        return sample_counts(
            pi, documents, drawn, alpha=self.alpha, sweeps=self.sweeps, compiled=self.compiled
        ).by_word

    def uniforms(
        self, kind: str, number: int, documents: Documents, sweeps: Sweeps | None = None
    ) -> np.ndarray:
        """Numbers between 0 and 1 for each token and sweep, shape (C, n, sweeps, M), of the evaluation of this number.

        An evaluation takes as many numbers of the stream as the longest document of the corpus could need.
        """
        each = (sweeps or self.sweeps).all
        count, longest = documents.words.shape[1:]
        wide = count * each * max(self._longest, longest)
        needed = count * each * longest
        held = uniforms(1.0, self._wide(kind), number * -(-wide // LANES), -(-needed // LANES))[:, 0]
        by_chain = (held.unflatten(1, (-1, LANES)).movedim(1, 0).flatten(1)[:, :needed] + 1) / 2
        return by_chain.reshape(-1, count, each, longest).numpy()
