"""How does one call of a C kernel take many steps of a run, with a composite's actions, and which arrays go in and out?"""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import torch
from torch import Tensor

from sgverify.errors import Unreached
from sgverify.samplers.fused.choosing import RECORDED
from sgverify.samplers.fused.compiler import build
from sgverify.samplers.fused.composites.rule import Rule
from sgverify.samplers.fused.drawing import drawn_in_c
from sgverify.samplers.fused.gradients import DataTables
from sgverify.samplers.fused.program import FixedTensors, KernelCall
from sgverify.samplers.fused.recorded import RecordedLeg
from sgverify.samplers.reading.carrier import ObservedFunctions
from sgverify.samplers.reading.constants import Constant, Derivation, derivation
from sgverify.samplers.reading.motion import State
from sgverify.samplers.run.leg import Leg, Room, Sums


@dataclass(frozen=True, eq=False)
class Translations:
    """What is kept of a target: C texts with their functions by all that decides them, and data by the form in which they are read.

    `named` are the objects whose names are in the recorded operations, kept so that no other object gets their address.
    """

    texts: dict[tuple[Any, ...], tuple[str, Any]] = field(default_factory=dict)
    tables: dict[tuple[Any, ...], DataTables] = field(default_factory=dict)
    named: list[Any] = field(default_factory=list)


@dataclass(frozen=True, eq=False)
class Recorded:
    """A definition on a target, translated: what is the same at all step sizes.

    The C text, its function, the data, and the constants of the tapes in a row for each dtype; `derivation` computes the constants
    of a run from h, T and D by the operations of the definition, in their order.
    """

    text: str
    call: Any
    derivation: Derivation
    flat: Sequence[Tensor]
    tables: DataTables


@dataclass(frozen=True, eq=False)
class Moved:
    """The state after `taken` steps, what hooks and gradients hold there, and the sums of test functions."""

    state: State
    tensors: State
    carried: State
    total: Tensor | None
    taken: int


class Kernel:
    """Many steps of all chains of the rows that run, in C, with the actions of a composite.

    The kernel is generated from the definition, recorded on two chains. Every kernel records it, since its functions may read
    numbers that have changed; a C text is written once for the same operations on a target. Another `rule`, of other hooks of the
    same run, may take the place of the first one. Raises `Unreached` or `CannotBuild`,
    each with its reason, if it cannot be made.
    """

    def __init__(self, leg: Leg, rule: Rule, asked: ObservedFunctions | None, patience: float) -> None:
        self._recording = RecordedLeg(leg, rule, asked)
        self._leg, self.rule, self._patience = leg, rule, patience
        self._gradient, self._shape = self._recording.gradient, self._recording.shape
        R, kind, minibatches = rule.replicas, leg.settings.gradient.kind, self._shape.minibatches
        self._groups = len(leg.places) // R
        noise = leg.streams("noise")
        self._noise_keys = np.ascontiguousarray(noise.keys)
        batches = leg.streams(kind) if minibatches and self._shape.iid else noise
        self._batch_keys = np.ascontiguousarray(batches.keys[::R])
        source = leg.estimator.source if minibatches else None
        self._drawn = drawn_in_c(source, R, self._groups, patience)
        self._energy_tables = None if rule.energies is None else rule.energies.tables()
        self._farthest = largest_within(leg.farthest, self._shape.dtype)
        self._recorded: Recorded | None = None
        self._numbers = np.empty(0)
        self._own: State = ()
        self._spare: State = ()

    @property
    def outside(self) -> int:
        """The number of random numbers of a step that are drawn outside of the kernel."""
        shape = self._shape
        each = 0 if shape.iid and not shape.noisy else shape.minibatches * shape.batch
        each *= shape.dim if shape.noisy else 1
        each += shape.replicas * shape.draws * shape.dim if shape.handed else 0
        each += sum(stream.outside for stream in self.rule.streams)
        return each * self._groups * len(shape.chains)

    @property
    def has_table(self) -> bool:
        """Does each chain carry a table of gradients, of minibatches that are independent?"""
        return self._shape.table and self._shape.iid

    @property
    def text(self) -> str:
        """The C text; empty until the definition is recorded."""
        return "" if self._recorded is None else self._recorded.text

    def meet(self, h: Constant) -> None:
        """Compute the kernel's constants by the definition's operations for the step sizes h, shape (K or 1, S).

        Raises `Unreached`.
        """
        sizes = self._recording.sizes(h)
        bound = (value for bound in self._recording.bounds for value in bound.given.values())
        given = (*sizes, *(value for value in bound if type(value) is Constant))
        if self._recorded is None:
            self._recorded, constants = self._record(sizes, given)
        else:
            constants = self._recorded.derivation.again(given)
        self._numbers = numbers_of(constants, self._groups, self._shape.dtype)

    def _record(
        self, sizes: Sequence[Constant], given: Sequence[Constant]
    ) -> tuple[Recorded, Sequence[Constant]]:
        """What is recorded of the definition at the step sizes h, and the constants at these. Raises `Unreached`."""
        fixed, gradient = FixedTensors(self._shape.dtype), self._gradient
        program = self._recording.program(sizes, fixed)
        constants = program.step.tape.constants
        how = derivation(constants, given)
        if how is None:
            raise Unreached("a constant that does not follow from h and the parameters")
        kept: Translations = RECORDED.setdefault(self._leg.target, Translations())
        key = program.key
        if key not in kept.texts:
            text = program.text
            call = build(text, self._patience).advance
            call.restype = ctypes.c_int64
            kept.texts[key] = text, call
            kept.named.extend(tape.space for tape in program.tapes)
        form = gradient.adds and not gradient.noisy, self._shape.dtype
        kept.tables[form] = gradient.tables(kept.tables.get(form))
        return Recorded(*kept.texts[key], how, fixed.flat(), kept.tables[form]), constants

    def move(
        self,
        state: State,
        carried: State,
        first: int,
        steps: np.ndarray,
        sums: Sums | None = None,
        room: Room | None = None,
        place: int = 0,
    ) -> Moved:
        """Take steps of sizes `steps`, shape (K, S), from step `first` on, which is at `place` among the sizes that were met.

        `carried` is what the gradient estimator carries, nothing before the first step of a run. The steps end before the first
        one at which an entry of the state exceeds the bound of divergence. What is kept is written to the arrays of `room`, one
        for each variable of a state and each of `Rule.kept`.
        """
        rule, taken, R = self.rule, len(steps), self._shape.replicas
        each = len(state)
        rows, chains = len(state[0]), len(self._shape.chains)
        given = self._given(first, steps, place, rows)
        table, held = carried[: self._shape.table], carried[self._shape.table :]
        if not carried:
            held = tuple(state[0].new_zeros((rows, 1, width)) for width in self._shape.carried)
        whole = [tensor.expand(rows, chains, -1) for tensor in (*state, *rule.tensors, *held)]
        before = [whole[v][r::R].mT.contiguous() for r in range(R) for v in range(each)]
        before += [tensor[r::R].mT.contiguous() for tensor in whole[each:] for r in range(R)]
        while taken:
            after = [torch.empty_like(tensor) for tensor in before]
            total = None if sums is None else torch.empty(sums.total.shape, dtype=sums.total.dtype)
            written = self._room_for(table, rows)
            numbers = {"first": first, "count": taken, "fresh": not carried}
            beyond = self._advance(numbers, given, before, after, written, sums, total, room)
            if not beyond:
                break
            # Some chains exceed the bound at that step, which torch takes.
            taken = beyond - 1
        if not taken:
            return Moved(state, rule.tensors, carried, None if sums is None else sums.total.clone(), 0)
        # A table that this kernel made, and nobody holds any more, is written over by its next call.
        mine = all(one is other for one, other in zip(table, self._own, strict=False))
        self._spare, self._own = self._own if mine else (), written
        found = [tensor.mT for tensor in after]
        new = [_interleaved(found[v : each * R : each]) for v in range(each)]
        rest = [_interleaved(found[n : n + R]) for n in range(each * R, len(found), R)]
        count = len(rule.tensors)
        return Moved(tuple(new), tuple(rest[:count]), (*written, *rest[count:]), total, taken)

    def _room_for(self, table: State, rows: int) -> State:
        """A copy of the table, which a kernel writes over, in memory that was used before if there is some; room for a new one."""
        shape = self._shape
        if not shape.table:
            return ()
        size = self._tables.size * shape.dim
        room = self._spare or (torch.empty((rows, len(shape.chains), size), dtype=self._shape.dtype),)
        for tensor, given in zip(room, table, strict=False):
            tensor.copy_(given)
        return room

    @property
    def _tables(self) -> DataTables:
        assert self._recorded is not None
        return self._recorded.tables

    def _given(self, first: int, steps: np.ndarray, place: int, rows: int) -> dict[str, Any]:
        """The random numbers and the numbers of these steps that the kernel is given."""
        rule, shape, count, R = self.rule, self._shape, len(steps), self._shape.replicas
        found: dict[str, Any] = {"numbers": rule.step_numbers(first, steps)}
        if self._drawn is not None:
            found["indices"] = self._drawn.block(first * shape.minibatches, count * shape.minibatches)
        elif (indices := self._gradient.indices(first, count)) is not None:
            # Rows that share a stream share what is drawn.
            of_groups = indices[:, ::R]
            wide = (len(indices), self._groups, indices.shape[-1])
            found["indices"] = np.ascontiguousarray(np.broadcast_to(of_groups, wide))
        if (noise := self._gradient.noise(first, count)) is not None:
            found["added"] = noise.expand(-1, rows, -1, -1).contiguous()
        if shape.handed and shape.draws:
            drawn = torch.stack(list(self._leg.draws(first, count))).to(self._shape.dtype).mT
            found["handed"] = drawn.expand(-1, rows, -1, len(shape.chains)).contiguous()
        found["drawn"] = [(stream, stream.given(first, count)) for stream in rule.streams]
        found["constants"] = self._numbers[place if len(self._numbers) > 1 else 0 :]
        return found

    def _advance(
        self,
        numbers: dict[str, int],
        given: dict[str, Any],
        before: list[Tensor],
        after: list[Tensor],
        table: State,
        sums: Sums | None,
        total: Tensor | None,
        room: Room | None,
    ) -> int:
        rule, shape, recorded, energies = self.rule, self._shape, self._recorded, self._energy_tables
        assert recorded is not None
        tables, noise = recorded.tables, self._noise_keys
        arrays: dict[str, np.ndarray | Tensor | None] = {
            **given,
            "noise_keys": noise,
            "batch_keys": self._batch_keys,
            "uniform_keys": None if rule.uniforms is None else np.ascontiguousarray(rule.uniforms.keys),
            "f": recorded.flat[0],
            "fw": recorded.flat[1],
            "deviations": tables.deviations,
            "offset": tables.offset,
            "data": tables.data,
            "data_across": tables.across,
            "data_weights": tables.weights,
            "put": rule.put,
            "table": table[0] if table else None,
        }
        if energies is not None:
            arrays |= {
                f"energy_{name}": getattr(energies, name) for name in ("rows", "data", "whole", "weights")
            }
        if sums is not None:
            arrays["weights"] = np.ascontiguousarray(sums.weights, dtype=np.float64)
            arrays["counted"] = np.ascontiguousarray(sums.counted, dtype=np.uint8)
            arrays["sums_before"], arrays["sums_after"] = sums.total.contiguous(), total
        if room is not None:
            arrays["kept"] = np.ascontiguousarray(room.marked, dtype=np.uint8)
        kept = () if room is None else room.arrays
        streams: Any = [(s.keys, found, s.size) for s, found in arrays.pop("drawn")]  # type: ignore[union-attr]
        lists = {"before": before, "after": after, "kept_values": kept, "drawn": sum(streams, ())}
        pointers = {
            name: (ctypes.c_void_p * max(1, len(values)))(*map(_address, values))
            for name, values in lists.items()
        }
        asked = KernelCall(
            rows=self._groups,
            chains=len(shape.chains),
            first_chain=shape.chains.start,
            noise_stride=2 if len(noise) > 1 else 0,
            batch_stride=2 if len(self._batch_keys) > 1 else 0,
            constants_stride=self._numbers.shape[-1] * self._groups if len(self._numbers) > 1 else 0,
            size=tables.size,
            bound=self._farthest,
            **numbers,
            **{name: _address(array) for name, array in arrays.items()},
            **{name: ctypes.addressof(array) for name, array in pointers.items()},
        )
        return int(recorded.call(ctypes.byref(asked)))


def _address(array: np.ndarray | Tensor | int | None) -> int | None:
    """Where an array lies; a number among pointers is passed on as it is."""
    if array is None or isinstance(array, int):
        return array
    return array.data_ptr() if isinstance(array, Tensor) else array.ctypes.data


def _interleaved(replicas: Sequence[Tensor]) -> Tensor:
    """The rows of all groups, the replicas of a group side by side, in the memory layout of states."""
    if len(replicas) == 1:
        return replicas[0]
    return torch.stack([tensor.mT for tensor in replicas], dim=1).flatten(0, 1).mT


def largest_within(bound: float, dtype: torch.dtype) -> float:
    """The largest number of the dtype that does not exceed the bound."""
    limit = np.array(bound).astype(str(dtype).removeprefix("torch."))
    below = np.nextafter(limit, np.array(0, limit.dtype))
    return float(limit if float(limit) <= bound else below)


def numbers_of(constants: Sequence[Constant], rows: int, dtype: torch.dtype) -> np.ndarray:
    """The values of a tape's constants in the dtype of the state, shape (K or 1, S, constants)."""
    longest = max((len(constant.value) for constant in constants), default=1)
    values = [np.broadcast_to(constant.value, (longest, rows)) for constant in constants]
    stacked = np.stack(values, axis=-1) if values else np.zeros((1, rows, 1))
    return np.ascontiguousarray(torch.from_numpy(np.ascontiguousarray(stacked)).to(dtype).numpy())
