"""Philox4x32-10 against its published answers and against a second implementation."""

from __future__ import annotations

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from sgverify.samplers.philox import MASK, Stream, philox

# kat_vectors of the Random123 distribution (Salmon et al. 2011): counter, key, answer of philox4x32 with 10 rounds.
KNOWN = [
    ((0, 0, 0, 0), (0, 0), (0x6627E8D5, 0xE169C58D, 0xBC57AC4C, 0x9B00DBD8)),
    ((MASK,) * 4, (MASK,) * 2, (0x408F276D, 0x41C83B0E, 0xA20BC7C6, 0x6D5451FD)),
    (
        (0x243F6A88, 0x85A308D3, 0x13198A2E, 0x03707344),
        (0xA4093822, 0x299F31D0),
        (0xD16CFE09, 0x94FDCCEB, 0x5001E420, 0x24126EA1),
    ),
]

WORDS = st.integers(0, MASK)


def by_hand(counter: tuple[int, ...], key: tuple[int, ...]) -> tuple[int, ...]:
    """The round function as the paper writes it, on Python's unbounded integers."""
    (c0, c1, c2, c3), (k0, k1) = counter, key
    for _ in range(10):
        high0, low0 = divmod(0xD2511F53 * c0, 1 << 32)
        high1, low1 = divmod(0xCD9E8D57 * c2, 1 << 32)
        c0, c1, c2, c3 = high1 ^ c1 ^ k0, low1, high0 ^ c3 ^ k1, low0
        k0, k1 = (k0 + 0x9E3779B9) % (1 << 32), (k1 + 0xBB67AE85) % (1 << 32)
    return c0, c1, c2, c3


def on_torch(counter: tuple[int, ...], key: tuple[int, ...]) -> tuple[int, ...]:
    words = philox([torch.tensor([word]) for word in counter], [torch.tensor([word]) for word in key])
    return tuple(int(word) for word in words)


@pytest.mark.parametrize(("counter", "key", "answer"), KNOWN)
def test_known_answers(counter: tuple[int, ...], key: tuple[int, ...], answer: tuple[int, ...]) -> None:
    assert on_torch(counter, key) == answer
    assert by_hand(counter, key) == answer


@given(st.tuples(WORDS, WORDS, WORDS, WORDS), st.tuples(WORDS, WORDS))
def test_agrees_with_a_second_implementation(counter: tuple[int, ...], key: tuple[int, ...]) -> None:
    assert on_torch(counter, key) == by_hand(counter, key)


def test_a_stream_counts_blocks_and_chains() -> None:
    stream = Stream.of("noise", seed=7, runs=[b"a", b"b"], chains=range(3, 6))
    first = (1 << 32) - 2
    words = torch.stack(stream.blocks(first, 4))
    assert words.shape == (4, 4, 2, 3)
    for k in range(4):
        for s in range(2):
            for c in range(3):
                key = (int(stream.key[0][s]), int(stream.key[1][s]))
                index = first + k
                counter = (index & MASK, index >> 32, 3 + c, 0)
                assert tuple(int(word) for word in words[:, k, s, c]) == by_hand(counter, key)


def test_keys_differ_by_seed_kind_and_run() -> None:
    def key(kind: str, seed: int, run: bytes) -> tuple[int, int]:
        stream = Stream.of(kind, seed=seed, runs=[run], chains=range(1))
        return int(stream.key[0]), int(stream.key[1])

    choices = [
        (kind, seed, run) for kind in ("noise", "iid") for seed in (0, 1, 2**63 - 1) for run in (b"a", b"b")
    ]
    assert len({key(*choice) for choice in choices}) == len(choices)
