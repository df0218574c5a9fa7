"""How does one call of a C kernel take many steps of a run, and which arrays go in and out?"""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from torch import Tensor

from sgverify.samplers.fused.compiler import CannotBuild, build
from sgverify.samplers.fused.program import KernelShape, padded, program
from sgverify.samplers.fused.translation import NotTranslatable
from sgverify.samplers.gradients.estimators import Estimator, MinibatchEstimator
from sgverify.samplers.gradients.minibatches import Iid
from sgverify.samplers.reading.carrier import ObservedFunctions
from sgverify.samplers.reading.constants import Clock, Constant
from sgverify.samplers.reading.motion import State
from sgverify.samplers.reading.tape import NotRecordable, Tape, record
from sgverify.samplers.run.leg import Leg, Room, Sums
from sgverify.schemes.definition.binding import in_order

_TRACED = 2


class Kernel:
    """Many steps of all chains of the rows that run, in C.

    The kernel is generated from the definition, recorded by `record` on two chains. Raises `NotTranslatable`,
    `NotRecordable` or `CannotBuild`, each with its reason, if it cannot be made.
    """

    def __init__(self, leg: Leg, asked: ObservedFunctions | None, patience: float) -> None:
        scheme, estimator = leg.bound.definition, leg.estimator
        dim, dtype = leg.target.dim, leg.start[0].dtype
        affine = estimator.potential.affine
        minibatches = type(estimator) is MinibatchEstimator
        if affine is None or (minibatches and affine.deviations is None):
            raise NotTranslatable("the gradient is not one matrix, the same for all data")
        if not minibatches and type(estimator) is not Estimator:
            raise NotTranslatable(f"gradients by {type(estimator).__name__}")
        if minibatches and type(estimator.source) is not Iid:
            raise NotTranslatable(f"minibatches by {type(estimator.source).__name__}")
        if scheme.census.hessians or scheme.census.parts:
            raise NotTranslatable("Hessian-vector products, or prior and likelihood apart")
        if not all(law.normal for law in scheme.laws):
            raise NotTranslatable("draws of another law than the normal one")
        self._bound, self._clock = leg.bound, leg.clock
        self._estimator, self._affine = estimator, affine
        self._noise = leg.streams("noise")
        self._batches = leg.streams("iid") if minibatches else None
        self._dtype, self._rows, self._asked = dtype, len(leg.places), asked
        batch = leg.settings.gradient.batch if minibatches else 1
        self._shape = KernelShape(
            dtype,
            dim,
            scheme.draws,
            max(1, scheme.minibatches) if minibatches else 0,
            batch,
            self._noise.chains,
        )
        self._state = [
            torch.ones((self._rows, _TRACED, dim if kind == "vector" else 1), dtype=dtype)
            for kind in scheme.shapes.values()
        ]
        self._fixed = (affine.centre, affine.transposed, affine.offset)
        self._flat = torch.cat([tensor.flatten() for tensor in self._fixed]).contiguous()
        self._deviations = np.zeros((1, padded(dim)))
        if minibatches and affine.deviations is not None:
            found = affine.deviations.numpy()
            self._deviations = np.zeros((len(found), padded(dim)))
            self._deviations[:, :dim] = found
        farthest = leg.farthest
        limit = np.array(farthest).astype(str(dtype).removeprefix("torch."))
        # The largest number of the dtype that does not exceed the bound.
        below = np.nextafter(limit, np.array(0, limit.dtype))
        self._farthest = float(limit if float(limit) <= farthest else below)
        self._text, self._patience = "", patience
        self._call: Any = None
        self._numbers = np.empty(0)

    def meet(self, h: Constant) -> None:
        """Recompute the kernel's constants from the definition for the step sizes h."""
        tape = self._trace(h)
        text = program(self._shape, tape, self._state, self._observed())
        if text != self._text:
            self._text, self._call = text, _function(build(text, self._patience), self._dtype)
        longest = max((len(constant.value) for constant in tape.constants), default=1)
        values = [np.broadcast_to(constant.value, (longest, self._rows)) for constant in tape.constants]
        stacked = np.stack(values, axis=-1) if values else np.zeros((1, self._rows, 1))
        self._numbers = np.ascontiguousarray(
            torch.from_numpy(np.ascontiguousarray(stacked)).to(self._dtype).numpy()
        )

    def move(
        self, state: State, first: int, count: int, sums: Sums | None, room: Room | None = None
    ) -> tuple[State, Tensor | None, int]:
        """The state after `count` steps from step `first` on (counted from 0), the sums, and the number of steps taken.

        The kernel stops after the first step at which an entry of the state exceeds the bound of divergence. It writes the states
        that are kept to the arrays of `room`.
        """
        before = [tensor.mT.contiguous() for tensor in state]
        taken = count
        while True:
            after = [torch.empty_like(tensor) for tensor in before]
            total = (
                None if sums is None else torch.empty_like(sums.total, memory_format=torch.contiguous_format)
            )
            beyond = self._advance(before, after, first, taken, sums, total, room)
            if beyond in (0, taken):
                return tuple(tensor.mT for tensor in after), total, taken
            # Some chains exceeded the bound on the way: all rows stop at that step.
            taken = beyond

    def _advance(
        self,
        before: list[Tensor],
        after: list[Tensor],
        first: int,
        count: int,
        sums: Sums | None,
        total: Tensor | None,
        room: Room | None,
    ) -> int:
        pointers = ctypes.c_void_p * len(before)
        width = self._numbers.shape[-1] * self._rows
        noise = np.ascontiguousarray(self._noise.keys)
        batches = noise if self._batches is None else np.ascontiguousarray(self._batches.keys)
        start = None if sums is None else sums.total.contiguous()
        weights = None if sums is None else np.ascontiguousarray(sums.weights, dtype=np.float64)
        counted = None if sums is None else np.ascontiguousarray(sums.counted, dtype=np.uint8)
        marked = None if room is None else np.ascontiguousarray(room.marked, dtype=np.uint8)
        arrays = () if room is None else room.arrays
        places = [None if array is None else array.ctypes.data for array in arrays]
        return int(
            self._call(
                self._rows,
                len(self._noise.chains),
                self._noise.chains.start,
                first,
                count,
                noise.ctypes.data,
                2 if len(noise) > 1 else 0,
                batches.ctypes.data,
                2 if len(batches) > 1 else 0,
                pointers(*(tensor.data_ptr() for tensor in before)),
                pointers(*(tensor.data_ptr() for tensor in after)),
                self._numbers.ctypes.data,
                width if len(self._numbers) > 1 else 0,
                self._flat.data_ptr(),
                self._deviations.ctypes.data,
                len(self._deviations),
                self._affine.offset.data_ptr(),
                self._farthest,
                None if weights is None else weights.ctypes.data,
                None if counted is None else counted.ctypes.data,
                None if start is None else start.data_ptr(),
                None if total is None else total.data_ptr(),
                None if marked is None else marked.ctypes.data,
                pointers(*places),
            )
        )

    def _trace(self, h: Constant) -> Tape:
        """The tape of the step on two chains; the operations are the same for any number of chains."""
        self._clock.now = 0
        state = [tensor.clone() for tensor in self._state]
        drawn = [torch.ones_like(state[0]) for _ in range(self._shape.draws)]
        terms = [torch.ones_like(state[0]) for _ in range(self._shape.minibatches)]
        estimator = self._estimator
        if isinstance(estimator, MinibatchEstimator):
            estimator = estimator.adding(tuple(terms))

        def step() -> Sequence[Tensor]:
            return self._bound.step(state, h=h, grad=estimator.of_step(0), draw=in_order(drawn))

        # One run before the recording, so that the constants exist.
        step()
        return record(step, (*state, *drawn, *terms), self._fixed, self._clock)[0]

    def _observed(self) -> Tape | None:
        asked = self._asked
        if asked is None:
            return None
        state = [tensor.clone() for tensor in self._state]
        return record(lambda: asked.evaluate(state), state, (), Clock())[0]


def _function(library: ctypes.CDLL, dtype: torch.dtype) -> Any:
    whole: Any = ctypes.c_int64
    address: Any = ctypes.c_void_p
    number: Any = ctypes.c_double if dtype == torch.float64 else ctypes.c_float
    function = library.advance
    function.restype = whole
    sizes, keys, arrays = [whole] * 5, [address, whole, address, whole], [address] * 3
    data = [whole, address, address, whole, address]
    function.argtypes = [*sizes, *keys, *arrays, *data, number, *[address] * 6]
    return function


__all__ = ["CannotBuild", "Kernel", "NotRecordable", "NotTranslatable"]
