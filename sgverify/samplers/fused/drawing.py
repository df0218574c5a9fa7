"""Who draws the random numbers of a run whose steps are taken on torch: torch, or C with equal bits?

On torch a number takes some ten operations on tensors; C needs a tenth of the time. Its library is the same for every run with as
many chains, and is stored, so that it is compiled once.
"""

from __future__ import annotations

import ctypes
import time
from collections.abc import Callable
from dataclasses import replace

import numpy as np
import torch
from torch import Tensor

from sgverify.samplers.fused.choosing import TIMED
from sgverify.samplers.fused.compiler import SLOWEST, CannotBuild, build, is_built
from sgverify.samplers.fused.kernel import equal_bits
from sgverify.samplers.fused.program import KernelShape, program_of_streams
from sgverify.samplers.randomness import variates
from sgverify.samplers.randomness.philox import Stream

_FAR = 1 << 40
"""A number of a stream that no run reaches soon, at which C is compared with torch, too."""

_COMPARED = 64
"""The numbers that are compared there, more than two cells of them."""


class Drawing:
    """Draws the numbers of streams by torch, and in C once torch has spent as long as C costs to begin with.

    C is used only after it has reproduced the bits of torch, on the numbers that torch drew last and on others far from them.
    One object serves all streams of a run.
    """

    def __init__(self) -> None:
        self._spent: dict[str, float] = {}
        self._libraries: dict[str, ctypes.CDLL | None] = {}
        self._unbuilt: set[str] = set()

    def normals(self, stream: Stream, first: int, count: int, dtype: torch.dtype) -> Tensor:
        """See `variates.normals`."""

        def on_torch(plain: Stream, first: int, count: int) -> Tensor:
            return variates.normals(plain, first, count, dtype)

        return self._numbers("draw_normals", dtype, stream, first, count, on_torch)

    def indices(self, stream: Stream, first: int, count: int, bound: int) -> Tensor:
        """See `variates.indices`."""

        def on_torch(plain: Stream, first: int, count: int) -> Tensor:
            return variates.indices(plain, first, count, bound)

        return self._numbers("draw_indices", torch.int64, stream, first, count, on_torch, bound)

    def _numbers(
        self,
        name: str,
        dtype: torch.dtype,
        stream: Stream,
        first: int,
        count: int,
        on_torch: Callable[[Stream, int, int], Tensor],
        *more: int,
    ) -> Tensor:
        kind = f"{name} {dtype}"
        library = self._libraries.get(kind)
        if library is not None and count:
            return _drawn(library, name, dtype, stream, first, count, *more)
        plain, started = replace(stream, drawing=None), time.perf_counter()
        found = on_torch(plain, first, count)
        if kind not in self._libraries:
            self._spent[kind] = self._spent.get(kind, 0.0) + time.perf_counter() - started
            library = self._ready(kind, dtype, stream)
            if library is not None:
                far = on_torch(plain, _FAR, _COMPARED)
                same = equal_bits(_drawn(library, name, dtype, stream, first, count, *more), found)
                same = same and equal_bits(_drawn(library, name, dtype, stream, _FAR, _COMPARED, *more), far)
                self._libraries[kind] = library if same else None
        return found

    def _ready(self, kind: str, dtype: torch.dtype, stream: Stream) -> ctypes.CDLL | None:
        """The library, if torch has spent as long as it costs to load it, or to build it where it is not built yet."""
        if self._spent[kind] < TIMED:
            return None
        if self._spent[kind] < SLOWEST and kind in self._unbuilt:
            return None
        real = torch.float64 if dtype == torch.int64 else dtype
        text = program_of_streams(KernelShape(real, 1, 0, 0, 0, stream.chains))
        if self._spent[kind] < SLOWEST and not is_built(text):
            # Asked once: to look for a library takes as long as to draw a few numbers.
            self._unbuilt.add(kind)
            return None
        try:
            return build(text)
        except CannotBuild:
            self._libraries[kind] = None
            return None


def _drawn(
    library: ctypes.CDLL, name: str, dtype: torch.dtype, stream: Stream, first: int, count: int, *more: int
) -> Tensor:
    """The numbers first, ..., first + count - 1 of every run and chain by the library, shape (count, S, C)."""
    out = torch.empty((count, stream.runs, len(stream.chains)), dtype=dtype)
    keys = np.ascontiguousarray(stream.keys)
    for run in range(stream.runs):
        whole = (len(stream.chains), stream.chains.start, first, count)
        getattr(library, name)(
            *map(ctypes.c_int64, whole),
            ctypes.c_void_p(keys[run].ctypes.data),
            ctypes.c_int64(out.stride(0)),
            ctypes.c_void_p(out[:, run].data_ptr()),
            *map(ctypes.c_int64, more),
        )
    return out
