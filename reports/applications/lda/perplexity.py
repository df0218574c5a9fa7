"""How well do sampled topics predict documents that were held out? Perplexity by document completion, and the recovered topics."""

from __future__ import annotations

import numpy as np
from scipy.optimize import linear_sum_assignment
from torch import Tensor

from reports.applications.chains import ChainRecorder
from reports.applications.keeping import Arrays
from reports.applications.lda.corpus import Corpus
from reports.applications.lda.gibbs import Sweeps, sample_counts
from reports.applications.lda.model import TopicModel

COMPLETION = Sweeps(burn=10, kept=10)
"""The sweeps over the first half of a held-out document."""


def predictive(model: TopicModel, pi: np.ndarray, first: Corpus, second: Corpus, number: int) -> np.ndarray:
    """p(w) of each token of the second halves, sum_k eta_k pi_k(w), with the proportions eta of the first half; shape (R, tokens).

    eta = (mean n_k + alpha) / (length + K alpha), the counts by Gibbs sampling given the topics pi, shape (R, V, K).
    """
    seeds = len(model.seeds)
    documents = first.padded(np.tile(np.arange(first.documents), (seeds, 1)))
    drawn = model.uniforms("completion", number, documents, COMPLETION)
    counts = sample_counts(
        pi, documents, drawn, alpha=model.alpha, sweeps=COMPLETION, compiled=model.compiled
    ).by_document
    eta = (counts + model.alpha) / (first.lengths[:, None] + model.topics * model.alpha)
    owner = np.repeat(np.arange(second.documents), second.lengths)
    return np.stack([np.einsum("ik,ik->i", eta[r, owner], pi[r, second.tokens]) for r in range(len(pi))])


def perplexity(chances: np.ndarray) -> np.ndarray:
    """exp(-mean log p) over the tokens, the last axis; infinite where a token has the probability 0.

    >>> round(float(perplexity(np.array([0.25, 0.25]))), 12)
    4.0
    """
    with np.errstate(divide="ignore"):
        found: np.ndarray = np.exp(-np.log(chances).mean(-1))
    return found


def matched_variation(topics: np.ndarray, truth: np.ndarray) -> float:
    """The mean total variation distance 1/2 sum_w |pi_k(w) - truth_j(w)| over the best matching of topics to true ones.

    Both have shape (K, V). With fewer topics than true ones (or more), the unmatched ones are left out.

    >>> matched_variation(np.eye(3), np.eye(3)[::-1])
    0.0
    """
    distances = np.stack([np.abs(truth - topic).sum(1) / 2 for topic in topics])
    rows, columns = linear_sum_assignment(distances)
    return float(distances[rows, columns].mean())


class Completion(ChainRecorder):
    """The perplexity of chains along their run.

    `along[s, c, j, v]`: that of the state after step at[j] alone, on the even documents (v = 0) and on the odd ones (v = 1). From
    step `burn` on, the predictive probabilities of the states are averaged, and so are the topics: `averaged[s, c, j, v]` is the
    perplexity of the average so far, NaN before there is one. A chain that has diverged has NaN from then on.
    """

    def __init__(
        self, model: TopicModel, halves: tuple[Corpus, Corpus], rows: int, *, at: tuple[int, ...], burn: int
    ) -> None:
        self.at, self._model, self._halves, self._burn = at, model, halves, burn
        shape = (rows, len(model.seeds))
        self.along = np.full((*shape, len(at), 2), np.nan)
        self.averaged = np.full((*shape, len(at), 2), np.nan)
        self._odd = np.repeat(np.arange(halves[1].documents) % 2, halves[1].lengths)
        self._sum = np.zeros((*shape, len(halves[1].tokens)))
        self._topics = np.zeros((*shape, model.corpus.size, model.topics))
        self._count = np.zeros((), dtype=np.int64)

    def see(self, number: int, state: dict[str, Tensor], alive: np.ndarray) -> None:
        """See `ChainRecorder.see`."""
        place = self.at.index(number)
        pi = self._model.parametrisation.topics(self._model.matrix(state["theta"]))
        chances = predictive(self._model, pi.flatten(0, 1).numpy(), *self._halves, place)
        held = chances.reshape(*alive.shape, -1)
        self.along[..., place, :] = self._in_halves(held, alive)
        if number > self._burn:
            self._count += 1
            self._sum += held
            self._topics += pi.numpy()
            self.averaged[..., place, :] = self._in_halves(self._sum / self._count, alive)

    def _in_halves(self, chances: np.ndarray, alive: np.ndarray) -> np.ndarray:
        """The perplexities on the even and the odd documents, shape (S, C, 2)."""
        both = [perplexity(chances[..., self._odd == half]) for half in (0, 1)]
        return np.where(alive[..., None], np.stack(both, -1), np.nan)

    @property
    def topics(self) -> np.ndarray:
        """The topics averaged over the states after the burn-in, shape (S, C, K, V)."""
        return np.moveaxis(self._topics / max(1, int(self._count)), -1, -2)

    def arrays(self) -> Arrays:
        """See `ChainRecorder.arrays`."""
        return {
            "along": self.along,
            "averaged": self.averaged,
            "sum": self._sum,
            "topics": self._topics,
            "count": self._count,
        }

    def resume(self, arrays: Arrays) -> None:
        """See `ChainRecorder.resume`."""
        self.along, self.averaged = arrays["along"].copy(), arrays["averaged"].copy()
        self._sum, self._topics = arrays["sum"].copy(), arrays["topics"].copy()
        self._count = arrays["count"].copy()
