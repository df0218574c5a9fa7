"""What does each step of a run add to its expected state? Sums over copies, which show mean, size and dependence of innovations.

An innovation is (X_(n+1) - E[X_(n+1) | X_n])/sd, by the law of one step: if that is the law of every step, innovations have mean 0
and variance 1, and are independent of the state before, of each other, and of those of other steps. Copies are entries of tensors,
rows of a batch, or chains; those of one tensor are a block.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from scipy.fft import next_fast_len

KEPT = 256
"""The most copies whose whole series are kept, to see dependence between steps."""

LOOKED_AT = 160
"""The number of steps at which dependence between copies is looked for at every distance."""

FEW, TINY = 30, 1e-9
"""A block of fewer copies has no size of its own at one step; of a size below the second number there is no noise at all."""

SINGLE = 4
"""A block of at most this many copies is held against every other copy."""


@dataclass(frozen=True)
class CopyBlock:
    """Copies that follow each other in a state, such as the entries of one tensor."""

    name: str
    size: int


class Innovations:
    """Sums over the innovations of a run, which are added in stretches of steps.

    `normal`: they are normal numbers; otherwise their kurtosis is estimated. `error` bounds the error of the law by which they were
    computed, in their own units.
    """

    def __init__(
        self,
        blocks: Sequence[CopyBlock],
        steps: int,
        *,
        normal: bool = True,
        error: float = 0.0,
        seed: int = 0,
    ) -> None:
        self.blocks, self.steps, self.normal, self.error = tuple(blocks), steps, normal, error
        sizes = np.array([block.size for block in blocks])
        self.starts = np.concatenate([[0], np.cumsum(sizes)])
        copies = int(self.starts[-1])
        self.sums = np.zeros((5, steps, len(blocks)))
        self.done = 0
        random = np.random.default_rng(seed)
        share = max(1, KEPT // len(blocks))
        kept = []
        for start, size in zip(self.starts[:-1], sizes, strict=True):
            # The first ones are in the same places of all blocks; the others are anywhere.
            first = np.arange(min(size, share // 2))
            rest = random.choice(
                np.arange(len(first), size), min(size - len(first), share - len(first)), False
            )
            kept.append(start + np.sort(np.concatenate([first, rest])).astype(int))
        self.of_block = tuple(len(part) for part in kept)
        self._kept = np.concatenate(kept)
        self.series = np.zeros((steps, len(self._kept)), dtype=np.float32)
        looked = random.choice(steps, min(LOOKED_AT, steps), False)
        self._looked = np.sort(looked)
        self._length = next_fast_len(2 * copies, real=True)
        self._spectra = np.zeros((len(looked), self._length // 2 + 1))
        small = [range(a, b) for a, b in pairwise(self.starts.tolist()) if b - a <= SINGLE]
        self._alone = np.array([copy for block in small for copy in block], dtype=int)
        self.beside = np.zeros((len(self._alone), copies))

    @property
    def copies(self) -> int:
        """The number of copies."""
        return int(self.starts[-1])

    @property
    def alone(self) -> np.ndarray:
        """The copies that are held against all others."""
        return self._alone

    def add(self, innovations: np.ndarray, states: np.ndarray | None = None) -> None:
        """The innovations of the next steps, shape (steps, copies), and the states before them, from their mean."""
        here = slice(self.done, self.done + len(innovations))
        for number, (a, b) in enumerate(pairwise(self.starts)):
            part = innovations[:, a:b]
            squares = part * part
            self.sums[0, here, number] = part.sum(1)
            self.sums[1, here, number] = squares.sum(1)
            self.sums[2, here, number] = np.einsum("ij,ij->i", squares, squares)
            self.sums[3, here, number] = np.einsum("ij,ij->i", part[:, 1:], part[:, :-1])
            if states is not None:
                size = np.sqrt(np.einsum("ij,ij->i", states[:, a:b], states[:, a:b]))
                along = np.einsum("ij,ij->i", part, states[:, a:b])
                self.sums[4, here, number] = along / np.where(size > 0, size, 1.0)
        self.series[here] = innovations[:, self._kept]
        rows = slice(*np.searchsorted(self._looked, (here.start, here.stop)))
        looked = innovations[self._looked[rows] - here.start].copy()
        if len(looked):
            for a, b in pairwise(self.starts):
                # Correlations, whatever the size of the noise is.
                size = np.sqrt((looked[:, a:b] ** 2).mean(1, keepdims=True))
                looked[:, a:b] /= np.where(size > TINY, np.maximum(size, 1.0) if b - a < FEW else size, 1.0)
            found = np.fft.rfft(looked, self._length, axis=1)
            self._spectra[rows] = found.real**2 + found.imag**2
        if len(self._alone):
            size = np.maximum(np.einsum("ij,ij->i", innovations, innovations) / self.copies, 1.0)
            self.beside += (innovations[:, self._alone] / size[:, None]).T @ innovations
        self.done = here.stop

    def between_copies(self, known: np.ndarray) -> np.ndarray:
        """Correlations of copies at every distance over some steps, each a standard normal number where copies are independent."""
        chosen = self._looked[self._looked < self.done]
        spectrum = self._spectra[: len(chosen)][known[chosen]].sum(0)
        lags = np.arange(1, self.copies)
        found = np.fft.irfft(spectrum, self._length)[1 : self.copies]
        return np.asarray(found / np.sqrt(self.looked(known) * (self.copies - lags)))

    def looked(self, known: np.ndarray) -> int:
        """The number of some steps at which copies were looked at beside each other."""
        return int(known[self._looked[self._looked < self.done]].sum())
