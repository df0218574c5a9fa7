"""What are the exact gradient of a tiny corpus, and the bias that a burn-in leaves? Every assignment of topics is enumerated.

A document of L tokens has K^L assignments z; p(w, z | pi) = p(z | alpha) prod_i pi_{z_i}(w_i), with
p(z | alpha) = Gamma(K alpha)/Gamma(K alpha + L) prod_k Gamma(alpha + n_k)/Gamma(alpha).
"""

from __future__ import annotations

from itertools import product

import numpy as np
import torch
from scipy.special import gammaln
from torch import Tensor

from reports.applications.lda.gibbs import Documents, Sweeps
from sgverify.errors import ConfigurationError

MOST = 1 << 16
"""The most assignments of a document that are enumerated."""


def assignments(length: int, topics: int) -> np.ndarray:
    """Every z of a document, shape (K^L, L). Raises `ConfigurationError` beyond `MOST`."""
    if topics**length > MOST:
        raise ConfigurationError(
            f"a document of {length} tokens with {topics} topics has {topics**length} assignments; expected at most {MOST}"
        )
    return np.array([*product(range(topics), repeat=length)], dtype=np.int64).reshape(-1, length)


def log_joint(pi: Tensor, words: np.ndarray, alpha: float) -> Tensor:
    """log p(w, z | pi) of every z of one document; pi has shape (V, K), the result (K^L,). It can be differentiated in pi."""
    topics = pi.shape[1]
    z = assignments(len(words), topics)
    counts = (z[:, :, None] == np.arange(topics)).sum(1)
    weights = (gammaln(alpha + counts) - gammaln(alpha)).sum(1)
    weights += gammaln(topics * alpha) - gammaln(topics * alpha + len(words))
    of_words = torch.log(pi)[torch.from_numpy(words.astype(np.int64))[None, :], torch.from_numpy(z)].sum(1)
    return torch.from_numpy(weights) + of_words


def log_likelihood(pi: Tensor, documents: Documents, alpha: float) -> Tensor:
    """sum_d log p(w_d | pi) of the documents of the first chain."""
    held = [
        torch.logsumexp(log_joint(pi, words[:length], alpha), 0)
        for words, length in zip(documents.words[0], documents.lengths[0], strict=True)
    ]
    return torch.stack(held).sum()


def exact_counts(pi: np.ndarray, documents: Documents, alpha: float) -> np.ndarray:
    """E(n_kw | w, pi) summed over the documents, exactly; shape (R, V, K) as `sample_counts`."""
    found = np.zeros(pi.shape)
    seeds = len(documents.words)
    for r in range(len(pi)):
        for words, length in zip(documents.words[r % seeds], documents.lengths[r % seeds], strict=True):
            own = words[:length]
            chance = torch.softmax(log_joint(torch.from_numpy(pi[r]), own, alpha), 0).numpy()
            found[r] += _counts_under(chance, own, *pi.shape[1:])
    return found


def expected_counts(pi: np.ndarray, words: np.ndarray, alpha: float, sweeps: Sweeps) -> np.ndarray:
    """What Gibbs sampling returns on average for one document, burn-in included, exactly; pi and the result have shape (V, K).

    The law over all z after the first sweep is a product of its conditional draws; every further sweep multiplies it by the
    transition matrix of each token in turn.
    """
    length, topics = len(words), pi.shape[1]
    z = assignments(length, topics)
    law = np.ones(len(z))
    for i in range(length):
        law = law * _conditional(pi, words, z, i, alpha, seen=i)
    found = np.zeros(pi.shape)
    for t in range(sweeps.all):
        for i in range(length if t else 0):
            law = _redrawn(law, length, topics, i) * _conditional(pi, words, z, i, alpha, seen=length)
        if t >= sweeps.burn:
            found += _counts_under(law, words, *pi.shape) / sweeps.kept
    return found


def _conditional(
    pi: np.ndarray, words: np.ndarray, z: np.ndarray, i: int, alpha: float, seen: int
) -> np.ndarray:
    """p(z_i | the other z_j, j < seen) at every z."""
    others = np.delete(z[:, :seen], i, axis=1) if i < seen else z[:, :seen]
    counts = (others[:, :, None] == np.arange(pi.shape[1])).sum(1)
    weights = pi[words[i]] * (alpha + counts)
    chosen: np.ndarray = weights[np.arange(len(z)), z[:, i]] / weights.sum(1)
    return chosen


def _redrawn(law: np.ndarray, length: int, topics: int, i: int) -> np.ndarray:
    """The law of all tokens but i, at every z: summed over z_i."""
    table = law.reshape((topics,) * length)
    return np.broadcast_to(table.sum(i, keepdims=True), table.shape).reshape(-1)


def _counts_under(law: np.ndarray, words: np.ndarray, size: int, topics: int) -> np.ndarray:
    """sum_z law(z) n_kw(z), shape (V, K)."""
    z = assignments(len(words), topics)
    found = np.zeros((size, topics))
    for i, word in enumerate(words):
        found[word] += np.bincount(z[:, i], weights=law, minlength=topics)
    return found
