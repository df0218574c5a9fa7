"""Which topics have the tokens of a document, given the topics' words? Collapsed Gibbs sampling, and its mean counts.

With the proportions of a document integrated out, token i takes topic k with a probability proportional to

    pi_k(w_i) (alpha + n_k),    n_k the number of the document's other tokens in topic k

(Patterson and Teh 2013, section 5). A sweep visits the tokens in order; the first one begins without any token in a topic. The
counts are averaged over the sweeps after a burn-in: their expectation is E(n | w, pi) up to the burn-in, whose bias `enumeration`
computes.
"""

from __future__ import annotations

import ctypes
from dataclasses import dataclass
from functools import cache
from importlib import resources
from typing import Any

import numpy as np

from sgverify.errors import ConfigurationError
from sgverify.samplers.fused.compiler import CannotBuild, build

SOURCE = "gibbs.c"

LANES = 8
"""The documents that move side by side in C."""


@dataclass(frozen=True, eq=False)
class Documents:
    """Documents of C chains, side by side: words int32 of shape (C, n, M), padded, and lengths int32 of shape (C, n)."""

    words: np.ndarray
    lengths: np.ndarray

    def __post_init__(self) -> None:
        if self.words.ndim != 3 or self.lengths.shape != self.words.shape[:2]:
            raise ConfigurationError(
                f"words of shape {self.words.shape}, lengths of shape {self.lengths.shape}: expected (C, n, M) and (C, n)"
            )


@dataclass(frozen=True)
class Sweeps:
    """The first `burn` sweeps over the tokens of a document do not count, the next `kept` ones are averaged."""

    burn: int = 2
    kept: int = 3

    @property
    def all(self) -> int:
        """The number of sweeps."""
        return self.burn + self.kept


@dataclass(frozen=True, eq=False)
class TopicCounts:
    """Mean counts over the sweeps that are kept: by_word of shape (R, V, K), by_document of shape (R, n, K)."""

    by_word: np.ndarray
    by_document: np.ndarray


def sample_counts(
    pi: np.ndarray,
    documents: Documents,
    uniforms: np.ndarray,
    *,
    alpha: float,
    sweeps: Sweeps,
    compiled: bool | str = "auto",
) -> TopicCounts:
    """The mean counts of R = S C rows of topics; row r reads the documents and the uniforms of chain r % C.

    `pi` has shape (R, V, K), float64, and sums to 1 over V; `uniforms` has shape (C, n, sweeps, M), between 0 and 1. `compiled`
    takes the sweeps in C, "auto" where there is a compiler, with equal bits. Raises `ConfigurationError` with `compiled=True` where
    there is none.
    """
    ready = _library() if compiled is not False else None
    if compiled is True and ready is None:
        raise ConfigurationError(
            "compiled=True: there is no C compiler here; install gcc or the extra 'kernel', or leave compiled='auto'"
        )
    run = _in_numpy if ready is None else _in_c
    found = run(np.ascontiguousarray(pi), documents, np.ascontiguousarray(uniforms), alpha, sweeps)
    for counts in (found.by_word, found.by_document):
        counts /= sweeps.kept
    return found


def source() -> str:
    """The text of the sweeps in C."""
    return resources.files(__package__).joinpath(SOURCE).read_text(encoding="utf-8")


@cache
def _library() -> Any:
    return compile_source(source())


def compile_source(text: str) -> Any:
    """The function `gibbs` of a C text; None where there is no compiler."""
    try:
        function = build(text).gibbs
    except CannotBuild:
        return None
    array, whole = ctypes.c_void_p, ctypes.c_int64
    function.argtypes = [*[array] * 6, *[whole] * 8, ctypes.c_double, *[array] * 3]
    function.restype = None
    return function


def _in_c(
    pi: np.ndarray, documents: Documents, uniforms: np.ndarray, alpha: float, sweeps: Sweeps
) -> TopicCounts:
    rows, vocabulary, topics = pi.shape
    seeds, count, longest = documents.words.shape
    words = np.ascontiguousarray(documents.words, dtype=np.int32)
    lengths = np.ascontiguousarray(documents.lengths, dtype=np.int32)
    found = TopicCounts(np.zeros(pi.shape), np.zeros((rows, count, topics)))
    room = (np.zeros(max(1, longest) * LANES, dtype=np.int32), *np.zeros((2, topics, LANES)))
    arrays = (pi, words, lengths, uniforms, found.by_word, found.by_document)
    _library()(
        *(array.ctypes.data for array in arrays),
        *(rows, seeds, count, longest, vocabulary, topics, sweeps.burn, sweeps.all, alpha),
        *(array.ctypes.data for array in room),
    )
    return found


def _in_numpy(
    pi: np.ndarray, documents: Documents, uniforms: np.ndarray, alpha: float, sweeps: Sweeps
) -> TopicCounts:
    """All documents of all rows side by side: arrays of shape (K, R n), token by token."""
    rows, vocabulary, topics = pi.shape
    seeds, count, longest = documents.words.shape
    chain = np.arange(rows) % seeds
    words = documents.words[chain].reshape(-1, longest).T.astype(np.int64)
    lengths = documents.lengths[chain].reshape(-1)
    own = np.repeat(np.arange(rows), count)
    by_topic = np.ascontiguousarray(np.moveaxis(pi, 2, 0)).reshape(topics, -1)
    drawn = np.moveaxis(uniforms[chain].reshape(-1, sweeps.all, longest), 0, 2)
    wide = np.arange(len(own))
    z = np.zeros((longest, len(own)), dtype=np.int64)
    counts = np.zeros((topics, len(own)))
    found = TopicCounts(np.zeros(pi.shape), np.zeros((rows, count, topics)))
    flat = found.by_word.reshape(-1)
    for t in range(sweeps.all):
        for i in range(longest):
            here = i < lengths
            if t > 0:
                counts[z[i][here], wide[here]] -= 1.0
            weights = by_topic[:, own * vocabulary + words[i]] * (counts + alpha)
            # A running sum in the order of k, as in C.
            sums = np.add.accumulate(weights, axis=0)
            z[i] = (sums[:-1] < drawn[t, i] * sums[-1]).sum(0)
            counts[z[i][here], wide[here]] += 1.0
            if t >= sweeps.burn:
                places = (own * vocabulary + words[i]) * topics + z[i]
                np.add.at(flat, places[here], 1.0)
        if t >= sweeps.burn:
            found.by_document[...] += np.moveaxis(counts, 0, 1).reshape(rows, count, topics)
    return found
