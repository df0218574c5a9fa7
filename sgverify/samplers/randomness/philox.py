"""How are the random words of a run computed? By the counter-based generator Philox4x64-10, as in numpy.

A word is a pure function of (seed, kind of stream, run, chain, position in the stream). Nothing is carried
from call to call, so that a chain's draws do not depend on which other chains and step sizes share its
tensors, nor on how many steps are drawn at once. Words are made on the processor and then moved to the device, so
that every device sees the same ones.

Source: Salmon, Moraes, Dror, Shaw 2011, "Parallel random numbers: as easy as 1, 2, 3".
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import torch
from torch import Tensor

ROWS = 16
"""The number of words of a chain in a cell; a cell is the part of the stream that is computed at once."""

LANES = 64
"""The number of chains whose words lie side by side: chain c is the lane c % LANES of the group c // LANES."""

_BLOCKS = ROWS * LANES // 4


@dataclass(frozen=True, eq=False)
class Stream:
    """The random words of one kind for a batch of runs and chains.

    `keys` holds each run's 128-bit key as two words, shape (S, 2). A coupled batch has one key for all of its
    runs: S = 1. Word `row` of cell k of chain c is word LANES row + c % LANES of the Philox blocks with the
    counters (1 + _BLOCKS (c // LANES) + i, 0, k, 0), i = 0, ..., _BLOCKS - 1, four words each. `drawing`, if given, may draw the
    variates of the stream faster, with equal bits (`sgverify.samplers.fused.drawing`).
    """

    keys: np.ndarray
    chains: range
    device: torch.device
    _generator: np.random.Philox = field(repr=False)
    drawing: Any = field(default=None, repr=False, kw_only=True)

    @staticmethod
    def of(
        kind: str,
        *,
        seed: int,
        runs: Sequence[bytes],
        chains: range,
        device: torch.device | str = "cpu",
        drawing: Any = None,
    ) -> Stream:
        """The stream `kind` of every run; the key of a run is a hash of (seed, kind, run)."""
        keys = np.stack([_key(kind, seed, run) for run in runs])
        return Stream(keys, chains, torch.device(device), np.random.Philox(key=keys[0]), drawing=drawing)

    @property
    def runs(self) -> int:
        """S, the number of runs."""
        return len(self.keys)

    @property
    def width(self) -> int:
        """S * C, the number of generators that run side by side."""
        return self.runs * len(self.chains)

    def bits(self, cells: range, runs: range, chains: range) -> Tensor:
        """The words of several cells for these chains, int64 of shape (cells, ROWS, runs, chains).

        For few chains the other lanes are dropped immediately, so that many cells fit in a core's cache.
        """
        groups = range(chains.start // LANES, -(-chains.stop // LANES))
        skip = chains.start - groups.start * LANES
        lanes = slice(skip, skip + len(chains)) if len(groups) == 1 else slice(None)
        wide = len(chains) if len(groups) == 1 else LANES
        made = np.empty((len(cells), ROWS, len(runs), len(groups), wide), dtype=np.uint64)
        for k, cell in enumerate(cells):
            for i, run in enumerate(runs):
                raw = self._raw(run, cell, groups).reshape(len(groups), ROWS, LANES)
                made[k, :, i] = raw[..., lanes].swapaxes(0, 1)
        bits = torch.from_numpy(made.view(np.int64)).to(self.device).flatten(3)
        return bits if len(groups) == 1 else bits[..., skip : skip + len(chains)]

    def _raw(self, run: int, cell: int, groups: range) -> np.ndarray:
        counter = np.array([groups.start * _BLOCKS, 0, cell, 0], dtype=np.uint64)
        # numpy increments the counter before it computes a block: hence the 1 in the counters.
        self._generator.state = {
            "bit_generator": "Philox",
            "state": {"counter": counter, "key": self.keys[run]},
            "buffer": _EMPTY,
            "buffer_pos": len(_EMPTY),
            "has_uint32": 0,
            "uinteger": 0,
        }
        return self._generator.random_raw(len(groups) * ROWS * LANES)


_EMPTY = np.zeros(4, dtype=np.uint64)


def _key(kind: str, seed: int, run: bytes) -> np.ndarray:
    text = f"sgverify/{kind}/{seed}/".encode() + run
    return np.frombuffer(hashlib.blake2b(text, digest_size=16).digest(), dtype="<u8").astype(np.uint64)
