"""What is a corpus: documents as the words of a vocabulary, token by token, and how is it divided and drawn from?"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from reports.applications.lda.gibbs import Documents
from sgverify.errors import ConfigurationError


@dataclass(frozen=True, eq=False)
class Corpus:
    """Documents over a vocabulary of `size` words.

    `tokens` are the words of all documents, one document after another, int32 in 0, ..., size - 1; document d has the tokens
    offsets[d], ..., offsets[d + 1] - 1. `vocabulary` are the words as text, or (). `source` says where the corpus comes from;
    `topics`, shape (K, V), are the topics that generated it, where they are known. Empty documents are refused.
    """

    tokens: np.ndarray
    offsets: np.ndarray
    size: int
    source: str
    vocabulary: tuple[str, ...] = ()
    topics: np.ndarray | None = field(default=None, repr=False)

    def __post_init__(self) -> None:
        lengths = np.diff(self.offsets)
        if not len(lengths) or lengths.min() < 1:
            raise ConfigurationError(
                f"corpus {self.source}: expected documents of at least one word each; leave empty ones out"
            )
        if self.tokens.min() < 0 or self.tokens.max() >= self.size:
            raise ConfigurationError(
                f"corpus {self.source}: a word has the number {self.tokens.max()}; expected 0 to {self.size - 1}"
            )
        if self.vocabulary and len(self.vocabulary) != self.size:
            raise ConfigurationError(
                f"corpus {self.source}: {len(self.vocabulary)} words in the vocabulary; expected {self.size}"
            )

    @property
    def documents(self) -> int:
        """N, the number of documents."""
        return len(self.offsets) - 1

    @property
    def lengths(self) -> np.ndarray:
        """The number of tokens of each document."""
        return np.diff(self.offsets)

    @property
    def sha256(self) -> str:
        """The hash of the tokens and where the documents begin."""
        held = self.tokens.astype("<i4").tobytes() + self.offsets.astype("<i8").tobytes()
        return hashlib.sha256(held).hexdigest()

    def chosen(self, numbers: np.ndarray) -> Corpus:
        """The corpus of these documents, in this order."""
        lengths = self.lengths[numbers]
        offsets = np.concatenate([[0], np.cumsum(lengths)])
        places = np.repeat(self.offsets[numbers] - offsets[:-1], lengths) + np.arange(offsets[-1])
        return Corpus(self.tokens[places], offsets, self.size, self.source, self.vocabulary, self.topics)

    def padded(self, numbers: np.ndarray) -> Documents:
        """The documents of these numbers, shape (C, n), side by side."""
        lengths = self.lengths[numbers].astype(np.int32)
        words = np.zeros((*numbers.shape, int(lengths.max())), dtype=np.int32)
        inside = np.arange(words.shape[-1]) < lengths[..., None]
        places = self.offsets[numbers][..., None] + np.arange(words.shape[-1])
        words[inside] = self.tokens[places[inside]]
        return Documents(words, lengths)

    def divided(self, held_out: int, *, seed: int) -> tuple[Corpus, Corpus]:
        """The corpus without `held_out` documents that are chosen at random, and these documents.

        Raises `ConfigurationError` where none would be left.
        """
        if not 1 <= held_out < self.documents:
            raise ConfigurationError(
                f"--held-out {held_out}: expected 1 to {self.documents - 1} of {self.documents} documents; give fewer"
            )
        order = generator("held-out", seed).permutation(self.documents)
        return self.chosen(np.sort(order[held_out:])), self.chosen(np.sort(order[:held_out]))

    def halves(self, *, seed: int) -> tuple[Corpus, Corpus]:
        """Each document of two tokens or more, divided at random in two: the first half, rounded up, and the rest."""
        usable = np.flatnonzero(self.lengths >= 2)
        if not len(usable):
            raise ConfigurationError(
                f"corpus {self.source}: no held-out document has two words; expected documents that can be completed"
            )
        random = generator("halves", seed)
        first: list[np.ndarray] = []
        second: list[np.ndarray] = []
        for number in usable:
            held = random.permutation(self.tokens[self.offsets[number] : self.offsets[number + 1]])
            first.append(held[: -(-len(held) // 2)])
            second.append(held[-(-len(held) // 2) :])
        return self._of(first), self._of(second)

    def _of(self, documents: Sequence[np.ndarray]) -> Corpus:
        offsets = np.concatenate([[0], np.cumsum([len(item) for item in documents])])
        return Corpus(np.concatenate(documents), offsets, self.size, self.source, self.vocabulary)


def generator(kind: str, seed: int) -> np.random.Generator:
    """numpy's generator on a Philox stream for one purpose."""
    key = hashlib.blake2b(f"lda/{kind}/{seed}".encode(), digest_size=16).digest()
    return np.random.Generator(np.random.Philox(key=np.frombuffer(key, dtype="<u8").astype(np.uint64)))


def generated(
    *, documents: int, size: int, topics: int, length: int, alpha: float, beta: float, seed: int
) -> Corpus:
    """A corpus of the model itself, with its topics: pi_k ~ Dirichlet(beta), proportions ~ Dirichlet(alpha), lengths 2 + Poisson.

    The mean length is `length`. The tokens are drawn at once, by the inverse of the cumulated probabilities.
    """
    random = generator("corpus", seed)
    drawn = random.standard_gamma(beta, size=(topics, size))
    # A gamma variate of a small shape may be 0 in floating point; a topic's words are then of that probability.
    true = drawn / drawn.sum(1, keepdims=True)
    proportions = random.dirichlet(np.full(topics, alpha), size=documents)
    lengths = 2 + random.poisson(max(0, length - 2), size=documents)
    owner = np.repeat(np.arange(documents), lengths)
    topic = (np.cumsum(proportions, 1)[owner] < random.random(len(owner))[:, None]).sum(1)
    topic = np.minimum(topic, topics - 1)
    uniform = random.random(len(owner))
    tokens = np.empty(len(owner), dtype=np.int32)
    for k in range(topics):
        edges = np.cumsum(true[k])
        here = topic == k
        tokens[here] = np.minimum(np.searchsorted(edges, uniform[here] * edges[-1], side="right"), size - 1)
    offsets = np.concatenate([[0], np.cumsum(lengths)])
    source = f"generated, seed {seed}"
    return Corpus(tokens, offsets, size, source, topics=true)
