"""Counter-based random words: Philox4x32-10 in torch integer arithmetic, on any device.

A word is a pure function of (seed, kind of stream, run, chain, position in the stream). Nothing is carried
from call to call, so that a chain's draws do not depend on which other chains and step sizes share its
tensors, nor on how many steps are drawn at once.

Source: Salmon, Moraes, Dror, Shaw 2011, "Parallel random numbers: as easy as 1, 2, 3".
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

MASK = 0xFFFFFFFF
_ROUNDS = 10
_MULTIPLIERS = (0xD2511F53, 0xCD9E8D57)
_WEYL = (0x9E3779B9, 0xBB67AE85)


@dataclass(frozen=True)
class Stream:
    """The random words of one kind for a batch of runs and chains.

    `key` holds the two halves of each run's 64-bit key, shape (S, 1) each; `chains` the number of each
    chain, shape (1, C). A coupled batch has one key for all of its runs: S = 1.
    """

    key: tuple[Tensor, Tensor]
    chains: Tensor

    @staticmethod
    def of(
        kind: str, *, seed: int, runs: Sequence[bytes], chains: range, device: torch.device | str = "cpu"
    ) -> Stream:
        """The stream `kind` of every run; the key of a run is a hash of (seed, kind, run)."""
        keys = [_key(kind, seed, run) for run in runs]
        low = torch.tensor([key & MASK for key in keys], dtype=torch.int64, device=device)[:, None]
        high = torch.tensor([key >> 32 for key in keys], dtype=torch.int64, device=device)[:, None]
        numbers = torch.arange(chains.start, chains.stop, dtype=torch.int64, device=device)[None, :]
        return Stream((low, high), numbers)

    @property
    def width(self) -> int:
        """S * C, the number of generators that run side by side."""
        return self.key[0].shape[0] * self.chains.shape[1]

    def blocks(self, first: int, count: int) -> tuple[Tensor, Tensor, Tensor, Tensor]:
        """The four words of each of the blocks first, ..., first + count - 1; shape (count, S, C), in [0, 2^32)."""
        index = torch.arange(first, first + count, dtype=torch.int64, device=self.chains.device)[
            :, None, None
        ]
        return philox((index & MASK, index >> 32, self.chains & MASK, self.chains >> 32), self.key)


def philox(counter: Sequence[Tensor], key: Sequence[Tensor]) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """Philox4x32-10 of 32-bit words held in int64 tensors; counter and key broadcast against one another.

    Products wrap modulo 2^64, of which `>> 32` and `& MASK` take the halves. The words 1 and 3 are left with
    junk above bit 31 between rounds, since the next round masks what it makes of them.
    """
    shape = torch.broadcast_shapes(*(word.shape for word in (*counter, *key)))
    x0, x1, x2, x3 = (word.expand(shape).clone(memory_format=torch.contiguous_format) for word in counter)
    k0, k1 = key
    high = torch.empty_like(x0)
    for number in range(_ROUNDS):
        bump0, bump1 = ((weyl * number) & MASK for weyl in _WEYL)
        x0.mul_(_MULTIPLIERS[0])
        x2.mul_(_MULTIPLIERS[1])
        torch.bitwise_right_shift(x2, 32, out=high)
        x1.bitwise_xor_(high).bitwise_xor_((k0 + bump0) & MASK).bitwise_and_(MASK)
        torch.bitwise_right_shift(x0, 32, out=high)
        x3.bitwise_xor_(high).bitwise_xor_((k1 + bump1) & MASK).bitwise_and_(MASK)
        x0, x1, x2, x3 = x1, x2, x3, x0
    return x0, x1.bitwise_and_(MASK), x2, x3.bitwise_and_(MASK)


def _key(kind: str, seed: int, run: bytes) -> int:
    text = f"sgverify/{kind}/{seed}/".encode() + run
    return int.from_bytes(hashlib.blake2b(text, digest_size=8).digest(), "little")
