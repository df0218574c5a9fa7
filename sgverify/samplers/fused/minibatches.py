"""How are minibatches without replacement, and blocks of permutations, drawn in C for a kernel?

The draws are those of `sgverify.samplers.gradients.minibatches`, with equal bits. They lie outside of the kernel's text: a
permutation serves many steps, and is kept from one call of the kernel to the next.
"""

from __future__ import annotations

import ctypes
import math
from typing import Any

import numpy as np
import torch

from sgverify.samplers.fused.compiler import build
from sgverify.samplers.fused.program import KernelShape, c_text, definitions
from sgverify.samplers.gradients.minibatches import Minibatches, Reshuffle, Symmetric, WithoutReplacement
from sgverify.samplers.randomness.philox import Stream

COMPARED = 64
"""The largest minibatch without replacement whose data are compared in pairs; in larger ones a table says which are taken."""

_SWEEPS: dict[type[Any], int] = {Reshuffle: 1, Symmetric: 2}


class DrawnInC:
    """Minibatches of `batch` out of `size` data for all rows and chains of a run, as a source of this kind draws them.

    Rows share the stream if it has one key. The permutations of the present epoch are kept: S C N numbers of 32 bits. Raises
    `CannotBuild` if there is no compiler; see `build` for `patience`.
    """

    def __init__(
        self,
        kind: type[Any],
        stream: Stream,
        *,
        rows: int,
        size: int,
        batch: int,
        patience: float = math.inf,
    ) -> None:
        self._rows, self._chains, self._size, self._batch = rows, stream.chains, size, batch
        self._keys = np.ascontiguousarray(stream.keys)
        shape = KernelShape(torch.float64, 1, 0, 0, 1, stream.chains)
        library = build(text(shape), patience)
        self._kept: tuple[np.ndarray, ...] = ()
        self._sweeps: tuple[int, ...] = ()
        self._call: Any = library.subsets
        if kind in _SWEEPS:
            width = shape.width
            groups = rows * (-(-stream.chains.stop // width) - stream.chains.start // width)
            self._call, self._sweeps = library.blocks, (_SWEEPS[kind],)
            self._kept = (
                np.empty((groups, width, size), dtype=np.uint32),
                np.full(groups, -1, dtype=np.int64),
            )
        whole: Any = ctypes.c_int64
        address: Any = ctypes.c_void_p
        numbers, arrays = 8 + len(self._sweeps), 1 + len(self._kept)
        self._call.argtypes = [address, *[whole] * numbers, *[address] * arrays]

    def block(self, first: int, count: int) -> np.ndarray:
        """The data of the minibatches `first`, ..., `first` + `count` - 1: uint32 of shape (count n, S, C)."""
        chains = self._chains
        out = np.empty((count * self._batch, self._rows, len(chains)), dtype=np.uint32)
        failed = self._call(
            self._keys.ctypes.data,
            2 if len(self._keys) > 1 else 0,
            self._rows,
            chains.start,
            len(chains),
            self._size,
            self._batch,
            *self._sweeps,
            first,
            count,
            *(array.ctypes.data for array in self._kept),
            out.ctypes.data,
        )
        if failed:
            raise MemoryError(f"minibatches of {self._batch} out of {self._size} data")
        return out


def is_drawn_in_c(source: Minibatches) -> bool:
    """Are the minibatches of this source drawn by `DrawnInC`?"""
    return type(source) in (*_SWEEPS, WithoutReplacement)


def text(shape: KernelShape) -> str:
    """The C text for the chains of a kernel's shape."""
    defined = [*definitions(shape, 0, 0), f"#define COMPARED {COMPARED}"]
    return "\n".join([*defined, c_text("variates.c"), c_text("minibatches.c")])
