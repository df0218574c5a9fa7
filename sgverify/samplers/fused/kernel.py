"""How does one call of a C kernel take many steps of a run, and which arrays go in and out?"""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import torch
from torch import Tensor

from sgverify.samplers.fused.compiler import build
from sgverify.samplers.fused.data_sums import SumText
from sgverify.samplers.fused.gradients import TRACED, kernel_gradient
from sgverify.samplers.fused.minibatches import DrawnInC, is_drawn_in_c
from sgverify.samplers.fused.program import (
    FEW,
    KernelShape,
    Recorded,
    Tapes,
    Translations,
    keep,
    kept_of,
    program,
)
from sgverify.samplers.fused.translation import NotTranslatable
from sgverify.samplers.reading.carrier import ObservedFunctions
from sgverify.samplers.reading.constants import Clock, Constant, derivation
from sgverify.samplers.reading.motion import State
from sgverify.samplers.reading.tape import Tape, record
from sgverify.samplers.run.leg import Leg, Room, Sums
from sgverify.schemes.definition.binding import in_order


class Kernel:
    """Many steps of all chains of the rows that run, in C.

    The kernel is generated from the definition, recorded by `record` on two chains. Every kernel records it, since its functions
    may read numbers that have changed; a C text is written once for the same operations on a target. Raises `NotTranslatable`,
    `NotRecordable` or `CannotBuild`, each with its reason, if it cannot be made.
    """

    def __init__(self, leg: Leg, asked: ObservedFunctions | None, patience: float) -> None:
        scheme, estimator = leg.bound.definition, leg.estimator
        dim, dtype = leg.target.dim, leg.start[0].dtype
        gradient = kernel_gradient(estimator, max(1, scheme.minibatches), max(1, scheme.gradients))
        if scheme.census.hessians:
            raise NotTranslatable("Hessian-vector products")
        self._bound, self._clock, self._gradient = leg.bound, leg.clock, gradient
        self._noise, self._draws = leg.streams("noise"), leg.draws
        self._batches = (
            leg.streams(leg.settings.gradient.kind) if gradient.minibatches and gradient.iid else None
        )
        self._dtype, self._rows, self._asked = dtype, len(leg.places), asked
        self._shape = KernelShape(
            dtype,
            dim,
            scheme.draws,
            gradient.minibatches,
            leg.settings.gradient.batch if gradient.minibatches and not gradient.noisy else 1,
            self._noise.chains,
            iid=gradient.iid or not gradient.minibatches,
            noisy=gradient.noisy,
            # Increments of one path, and draws of other laws, are drawn outside of the kernel.
            handed=leg.settings.coupled == "brownian" or not all(law.normal for law in scheme.laws),
            adds=gradient.adds or not gradient.minibatches,
            carried=gradient.widths,
            refresh=gradient.refresh,
            table=gradient.table,
        )
        self._state = [
            torch.ones((self._rows, TRACED, dim if kind == "vector" else 1), dtype=dtype)
            for kind in scheme.shapes.values()
        ]
        self._target, self._patience = leg.target, patience
        self._recorded: Recorded | None = None
        self._drawn: DrawnInC | None = None
        if gradient.minibatches and is_drawn_in_c(estimator.source):
            assert leg.target.size is not None
            self._drawn = DrawnInC(
                type(estimator.source),
                leg.streams(leg.settings.gradient.kind),
                rows=self._rows,
                size=leg.target.size,
                batch=self._shape.batch,
                patience=patience,
            )
        self._farthest = largest_within(leg.farthest, dtype)
        self._numbers = np.empty(0)
        self._started: tuple[Tensor, State] | None = None
        self._own: State = ()
        self._spare: State = ()

    def carried(self, leg: Leg, theta: Tensor) -> State:
        """What the gradient estimator of a leg carries at theta, where a run begins if it has carried nothing so far."""
        found: State = leg.estimator.carried
        if found or not self._gradient.widths:
            return found
        if self._started is None or self._started[0] is not theta:
            self._started = theta, self._gradient.started(theta)
        return self._started[1]

    @property
    def outside(self) -> int:
        """The number of random numbers of a step that are drawn outside of the kernel."""
        shape = self._shape
        each = 0 if shape.iid and not shape.noisy else shape.minibatches * shape.batch
        each *= shape.dim if shape.noisy else 1
        each += shape.draws * shape.dim if shape.handed else 0
        return each * self._rows * len(self._noise.chains)

    @property
    def text(self) -> str:
        """The C text; empty until the definition is recorded."""
        return "" if self._recorded is None else self._recorded.text

    def meet(self, h: Constant) -> None:
        """Compute the kernel's constants by the definition's operations for the step sizes h. Raises `NotTranslatable`."""
        given = (h, *(value for value in self._bound.given.values() if type(value) is Constant))
        if self._recorded is None:
            self._recorded, constants = self._record(h, given)
        else:
            constants = self._recorded.derivation.again(given)
        self._numbers = numbers_of(constants, self._rows, self._dtype)

    def _record(self, h: Constant, given: Sequence[Constant]) -> tuple[Recorded, Sequence[Constant]]:
        """What is recorded of the definition at the step sizes h, and the constants at these. Raises `NotTranslatable`."""
        begin, body = self._trace_gradient()
        tape, observed = self._trace(h), self._observed()
        begun, summed = (() if part is None else part.fixed for part in (begin, body))
        fixed = (*tape.fixed, *begun, *summed)
        if any(tensor.dtype != self._dtype for tensor in fixed):
            raise NotTranslatable("a constant of another dtype than the state's")
        how = derivation(tape.constants, given)
        if how is None:
            raise NotTranslatable("a constant that does not follow from h and the parameters")
        sums = None if body is None else self._sums(body, _size(tape.fixed) + _size(begun))
        kept = kept_of(self._target)
        text, call = self._translated(Tapes(tape, observed, begin, sums), body, fixed, kept)
        form = self._gradient.adds and not self._gradient.noisy, self._dtype
        kept.tables[form] = self._gradient.tables(kept.tables.get(form))
        keep(self._target, kept)
        flat = side_by_side(fixed, self._dtype)
        return Recorded(text, call, how, flat, kept.tables[form]), tape.constants

    def _translated(
        self, tapes: Tapes, body: Tape | None, fixed: Sequence[Tensor], kept: Translations
    ) -> tuple[str, Any]:
        """The C text of these tapes and its function: those that are kept where all that decides the text is the same."""
        recorded = [part for part in (tapes.step, tapes.observe, tapes.begin, body) if part is not None]
        sums: Any = tapes.sums
        key = (
            tuple(part.key for part in recorded),
            tuple(tuple(tensor.shape) for tensor in (*fixed, *self._state)),
            None if sums is None else replace(sums, body=None),
            replace(self._shape, chains=range(0)),
            self._shape.width,
        )
        if key not in kept.texts:
            text = program(self._shape, tapes, self._state)
            kept.texts[key] = text, _function(build(text, self._patience), self._dtype)
            kept.named.extend(part.space for part in recorded)
        return kept.texts[key]

    def _sums(self, body: Tape, offset: int) -> SumText:
        """The writer of sums over data, whose constants lie at `offset`."""
        return self._gradient.sum_text(body, self._shape.batch, self._shape.width <= FEW, offset)

    def move(
        self,
        state: State,
        carried: State,
        first: int,
        count: int,
        sums: Sums | None,
        room: Room | None = None,
    ) -> tuple[State, State, Tensor | None, int]:
        """The state and what is carried after `count` steps from step `first` on (counted from 0), the sums, and the steps taken.

        The kernel stops after the first step at which an entry of the state exceeds the bound of divergence. It writes the states
        that are kept to the arrays of `room`.
        """
        chains = len(self._noise.chains)
        table, held = carried[: self._gradient.table], carried[self._gradient.table :]
        before = [tensor.expand(self._rows, chains, -1).mT.contiguous() for tensor in (*state, *held)]
        indices, noise = self._indices(first, count), self._gradient.noise(first, count)
        # Rows that share a stream share what is drawn.
        noise = None if noise is None else noise.expand(-1, self._rows, -1, -1).contiguous()
        handed = self._handed(first, count)
        taken = count
        while True:
            after = [torch.empty_like(tensor) for tensor in before]
            total = (
                None if sums is None else torch.empty_like(sums.total, memory_format=torch.contiguous_format)
            )
            written = self._copied(table)
            beyond = self._advance(
                before, after, first, taken, sums, total, room, indices, handed, noise, written
            )
            if beyond in (0, taken):
                found = tuple(tensor.mT for tensor in after)
                # A table that this kernel made, and nobody holds any more, is written over by its next call.
                mine = all(one is other for one, other in zip(table, self._own, strict=False))
                self._spare, self._own = self._own if mine else (), written
                return found[: len(state)], (*written, *found[len(state) :]), total, taken
            # Some chains exceeded the bound on the way: all rows stop at that step.
            taken = beyond

    def _copied(self, table: State) -> State:
        """A copy of the table, which a kernel writes over, in memory that was used before if there is some."""
        room = self._spare or tuple(torch.empty(tensor.shape, dtype=tensor.dtype) for tensor in table)
        for tensor, given in zip(room, table, strict=True):
            tensor.copy_(given)
        return room

    def _indices(self, first: int, count: int) -> np.ndarray | None:
        """The data of the minibatches of these steps, shape (count m n, S, C); None if the kernel draws them."""
        each = self._shape.minibatches
        if self._drawn is not None:
            return self._drawn.block(first * each, count * each)
        found = self._gradient.indices(first, count)
        if found is None:
            return None
        # Rows that share a stream share what is drawn.
        shape = (len(found), self._rows, len(self._noise.chains))
        return np.ascontiguousarray(np.broadcast_to(found, shape))

    def _handed(self, first: int, count: int) -> Tensor | None:
        """The draws of these steps, shape (count draws, S, d, C), if they are drawn outside of the kernel."""
        if not self._shape.handed or not self._shape.draws:
            return None
        drawn = torch.stack(list(self._draws(first, count))).to(self._dtype).mT
        return drawn.expand(-1, self._rows, -1, len(self._noise.chains)).contiguous()

    def _advance(
        self,
        before: list[Tensor],
        after: list[Tensor],
        first: int,
        count: int,
        sums: Sums | None,
        total: Tensor | None,
        room: Room | None,
        indices: np.ndarray | None,
        handed: Tensor | None,
        added: Tensor | None,
        written: tuple[Tensor, ...],
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
        recorded = self._recorded
        assert recorded is not None
        tables = recorded.tables
        return int(
            recorded.call(
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
                recorded.flat.data_ptr(),
                tables.deviations.ctypes.data,
                tables.size,
                tables.offset.data_ptr(),
                tables.data.data_ptr(),
                tables.across.data_ptr(),
                None if tables.weights is None else tables.weights.data_ptr(),
                None if indices is None else indices.ctypes.data,
                None if handed is None else handed.data_ptr(),
                None if added is None else added.data_ptr(),
                written[0].data_ptr() if written else None,
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
        gradient = self._gradient
        state = [tensor.clone() for tensor in self._state]
        carried = [torch.ones((self._rows, TRACED, width), dtype=self._dtype) for width in gradient.widths]
        drawn = [torch.ones_like(state[0]) for _ in range(self._shape.draws)]
        given = gradient.given(self._rows)
        estimator = gradient.estimator.reading(gradient.potential, given, tuple(carried))

        def step() -> Sequence[Tensor]:
            return self._bound.step(state, h=h, grad=estimator.of_step(0), draw=in_order(drawn))

        # One run before the recording, so that the constants exist.
        step()
        return record(step, (*state, *carried, *drawn, *given), (), self._clock)[0]

    def _trace_gradient(self) -> tuple[Tape | None, Tape | None]:
        """The tapes of what is carried and of the gradient of one datum; None for what a step does not have."""
        gradient, theta = self._gradient, self._state[0].clone()
        renew, begin = gradient.begin, None
        if renew is not None:
            # One run before the recording, so that the constants exist.
            renew(theta)
            begin = record(lambda: renew(theta), (theta,), (), Clock())[0]
        return begin, gradient.potential.tape_of_one_datum(self._rows) if gradient.visits_data else None

    def _observed(self) -> Tape | None:
        asked = self._asked
        if asked is None:
            return None
        state = [tensor.clone() for tensor in self._state]
        return record(lambda: asked.evaluate(state), state, (), Clock())[0]


def largest_within(bound: float, dtype: torch.dtype) -> float:
    """The largest number of the dtype that does not exceed the bound."""
    limit = np.array(bound).astype(str(dtype).removeprefix("torch."))
    below = np.nextafter(limit, np.array(0, limit.dtype))
    return float(limit if float(limit) <= bound else below)


def equal_bits(one: Tensor, other: Tensor) -> bool:
    """Are all numbers of both tensors the same? 0 and -0 are not, and NaN is not itself."""
    return torch.equal(one, other) and torch.equal(one.signbit(), other.signbit())


def side_by_side(tensors: Sequence[Tensor], dtype: torch.dtype) -> Tensor:
    """The entries of all tensors, one after the other, and a 0, so that there is always one."""
    return torch.cat([*(tensor.flatten() for tensor in tensors), torch.zeros(1, dtype=dtype)]).contiguous()


def numbers_of(constants: Sequence[Constant], rows: int, dtype: torch.dtype) -> np.ndarray:
    """The values of a tape's constants in the dtype of the state, shape (K or 1, S, constants)."""
    longest = max((len(constant.value) for constant in constants), default=1)
    values = [np.broadcast_to(constant.value, (longest, rows)) for constant in constants]
    stacked = np.stack(values, axis=-1) if values else np.zeros((1, rows, 1))
    return np.ascontiguousarray(torch.from_numpy(np.ascontiguousarray(stacked)).to(dtype).numpy())


def _size(tensors: Sequence[Tensor]) -> int:
    return sum(tensor.numel() for tensor in tensors)


def _function(library: ctypes.CDLL, dtype: torch.dtype) -> Any:
    whole: Any = ctypes.c_int64
    address: Any = ctypes.c_void_p
    number: Any = ctypes.c_double if dtype == torch.float64 else ctypes.c_float
    function = library.advance
    function.restype = whole
    sizes, keys, arrays = [whole] * 5, [address, whole, address, whole], [address] * 3
    data = [whole, address, address, whole, *[address] * 8]
    function.argtypes = [*sizes, *keys, *arrays, *data, number, *[address] * 6]
    return function
