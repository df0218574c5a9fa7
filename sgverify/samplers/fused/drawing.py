"""How are random numbers drawn in C, with the bits of torch: those of steps on torch, and minibatches for a kernel?

On torch a number takes some ten operations on tensors; C needs a tenth of the time. Its library is the same for every run with as
many chains, and is stored, so that it is compiled once. Minibatches without replacement, and blocks of permutations, lie outside
of a kernel's text: a permutation serves many steps, and is kept from one call of the kernel to the next.
"""

from __future__ import annotations

import ctypes
import math
import time
from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from torch import Tensor

from sgverify.samplers.fused.choosing import TIMED
from sgverify.samplers.fused.compiler import SLOWEST, CannotBuild, build, is_built
from sgverify.samplers.gradients.minibatches import Reshuffle, Symmetric, WithoutReplacement
from sgverify.samplers.randomness import variates
from sgverify.samplers.randomness.philox import Stream

if TYPE_CHECKING:
    from sgverify.samplers.fused.shape import KernelShape

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
        from sgverify.samplers.fused.shape import KernelShape, program_of_streams

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


def equal_bits(one: Tensor, other: Tensor) -> bool:
    """Are all numbers of both tensors the same? 0 and -0 are not, and NaN is not itself."""
    return torch.equal(one, other) and torch.equal(one.signbit(), other.signbit())


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
        from sgverify.samplers.fused.shape import KernelShape

        self._rows, self._chains, self._size, self._batch = rows, stream.chains, size, batch
        self._keys = np.ascontiguousarray(stream.keys)
        shape = KernelShape(torch.float64, 1, 0, 0, 1, stream.chains)
        library = build(minibatch_text(shape), patience)
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


def drawn_in_c(source: Any, replicas: int, rows: int, patience: float) -> DrawnInC | None:
    """The minibatches of a source, one for all replicas of a chain, in C; None for sources that are not drawn so."""
    if type(source) not in (*_SWEEPS, WithoutReplacement):
        return None
    stream = replace(source._stream, keys=np.ascontiguousarray(source._stream.keys[::replicas]))
    return DrawnInC(
        type(source), stream, rows=rows, size=source._size, batch=source._batch, patience=patience
    )


def minibatch_text(shape: KernelShape) -> str:
    """The C text for the chains of a kernel's shape."""
    from sgverify.samplers.fused.shape import c_text, definitions

    defined = [*definitions(shape, 0, 0), f"#define COMPARED {COMPARED}"]
    return "\n".join([*defined, c_text("variates.c"), c_text("minibatches.c")])
