"""How far are the mean counts of few Gibbs sweeps from those of enumeration, on the first tokens of held-out documents?"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from reports.applications.lda.corpus import Corpus
from reports.applications.lda.enumeration import MOST, exact_counts, expected_counts
from reports.applications.lda.gibbs import Sweeps
from sgverify.evidence import Study, Table

BURN_INS = (0, 1, 2, 4, 8)

DOCUMENTS, LONGEST = 4, 6
"""The documents that are cut short, and the most tokens that are left of each."""


@dataclass(frozen=True)
class GibbsBias:
    """(sweeps before, bias) on documents of `length` tokens, both expectations exact.

    The bias is half the sum of |E(counts by Gibbs sampling) - E(counts)| over the number of tokens, averaged over the documents.
    """

    length: int
    documents: int
    kept: int
    biases: tuple[tuple[int, float], ...]


def measure(held_out: Corpus, topics: np.ndarray, *, alpha: float, kept: int) -> GibbsBias | None:
    """The bias at the topics pi, shape (K, V), with `kept` sweeps averaged; None for topics too many to enumerate two tokens."""
    count = len(topics)
    length = max((tokens for tokens in range(1, LONGEST + 1) if count**tokens <= MOST), default=0)
    numbers = np.flatnonzero(held_out.lengths >= length)[:DOCUMENTS]
    if length < 2 or not len(numbers):
        return None
    pi = np.ascontiguousarray(topics.T)
    short = [held_out.tokens[held_out.offsets[number] :][:length] for number in numbers]
    exact = [
        exact_counts(
            pi[None],
            Corpus(words, np.array([0, length]), held_out.size, "cut").padded(np.array([[0]])),
            alpha,
        )[0]
        for words in short
    ]
    biases = []
    for burn in BURN_INS:
        gaps = [
            np.abs(expected_counts(pi, words, alpha, Sweeps(burn, kept)) - true).sum() / (2 * length)
            for words, true in zip(short, exact, strict=True)
        ]
        biases.append((burn, float(np.mean(gaps))))
    return GibbsBias(length, len(short), kept, tuple(biases))


def study(found: GibbsBias) -> Study:
    """The measurement as a table."""
    return Study(
        "lda/exactness",
        "The counts of few Gibbs sweeps against enumeration",
        "the gradient of Patterson and Teh 2013, (13)",
        f"The first {found.length} tokens of {found.documents} held-out documents, all of whose topics are enumerated, at the true "
        f"topics: the share of tokens by which the mean counts of {found.kept} sweeps are off, after some before. Nothing "
        "is sampled. Longer documents forget their start more slowly.",
        tables=(
            Table(
                "Bias of the counts",
                ("sweeps before", "share of tokens"),
                tuple((burn, float(f"{bias:.3g}")) for burn, bias in found.biases),
            ),
        ),
    )
