"""Philox4x64-10 streams against the published answers and against a second implementation."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from sgverify.samplers.randomness.philox import LANES, ROWS, Stream

FULL = (1 << 64) - 1

# kat_vectors of the Random123 distribution (Salmon et al. 2011): counter, key, answer of philox4x64 with 10 rounds.
KNOWN = [
    (
        (0, 0, 0, 0),
        (0, 0),
        (0x16554D9ECA36314C, 0xDB20FE9D672D0FDC, 0xD7E772CEE186176B, 0x7E68B68AEC7BA23B),
    ),
    (
        (FULL,) * 4,
        (FULL,) * 2,
        (0x87B092C3013FE90B, 0x438C3C67BE8D0224, 0x9CC7D7C69CD777B6, 0xA09CAEBF594F0BA0),
    ),
]


def by_hand(counter: tuple[int, ...], key: tuple[int, ...]) -> tuple[int, ...]:
    """The round function as the paper writes it, on Python's unbounded integers."""
    (c0, c1, c2, c3), (k0, k1) = counter, key
    for _ in range(10):
        high0, low0 = divmod(0xD2E7470EE14C6C93 * c0, 1 << 64)
        high1, low1 = divmod(0xCA5A826395121157 * c2, 1 << 64)
        c0, c1, c2, c3 = high1 ^ c1 ^ k0, low1, high0 ^ c3 ^ k1, low0
        k0, k1 = (k0 + 0x9E3779B97F4A7C15) & FULL, (k1 + 0xBB67AE8584CAA73B) & FULL
    return c0, c1, c2, c3


@pytest.mark.parametrize(("counter", "key", "answer"), KNOWN)
def test_known_answers(counter: tuple[int, ...], key: tuple[int, ...], answer: tuple[int, ...]) -> None:
    assert by_hand(counter, key) == answer


def word(stream: Stream, run: int, chain: int, cell: int, row: int) -> int:
    """One word of a stream, by its definition."""
    place = LANES * row + chain % LANES
    block = 1 + ROWS * LANES // 4 * (chain // LANES) + place // 4
    key = tuple(int(part) for part in stream.keys[run])
    return by_hand((block, 0, cell, 0), key)[place % 4]


@pytest.mark.parametrize("cell", [0, 1, 7, 1 << 40])
def test_a_stream_counts_cells_chains_and_rows(cell: int) -> None:
    stream = Stream.of("noise", seed=7, runs=[b"a", b"b"], chains=range(60, 200))
    cells, chains = range(cell, cell + 1), range(4 * LANES)
    (bits,) = stream.bits(cells, range(2), chains)
    assert bits.shape == (ROWS, 2, 4 * LANES)
    flat = bits.numpy().view(np.uint64)
    for run in range(2):
        for chain in (0, 63, 64, 65, 131, 255):
            for row in (0, 1, ROWS - 1):
                assert int(flat[row, run, chain]) == word(stream, run, chain, cell, row)
    for part in (range(64, 192), range(3, 5), range(60, 200), range(65, 66)):
        assert torch.equal(stream.bits(cells, range(1, 2), part)[0], bits[:, 1:, part.start : part.stop])


def test_cells_made_together_are_those_made_alone() -> None:
    stream = Stream.of("noise", seed=7, runs=[b"a", b"b"], chains=range(3, 5))
    for part in (stream.chains, range(60, 200)):
        together = stream.bits(range(4, 9), range(2), part)
        alone = [stream.bits(range(cell, cell + 1), range(2), part) for cell in range(4, 9)]
        assert torch.equal(together, torch.cat(alone))


def test_keys_differ_by_seed_kind_and_run() -> None:
    def key(kind: str, seed: int, run: bytes) -> tuple[int, ...]:
        return tuple(Stream.of(kind, seed=seed, runs=[run], chains=range(1)).keys[0].tolist())

    choices = [
        (kind, seed, run) for kind in ("noise", "iid") for seed in (0, 1, 2**63 - 1) for run in (b"a", b"b")
    ]
    assert len({key(*choice) for choice in choices}) == len(choices)
