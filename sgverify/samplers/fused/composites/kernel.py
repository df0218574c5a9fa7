"""How does one call of a C kernel take many steps of a composite, and which arrays go in and out?"""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
import torch
from torch import Tensor

from sgverify.samplers.fused.compiler import build
from sgverify.samplers.fused.composites.energies import EnergyText, TapeAt
from sgverify.samplers.fused.composites.observing import observed_tape
from sgverify.samplers.fused.composites.program import (
    CompositeTapes,
    ConstantPlaces,
    Sizes,
    StepKey,
    Variable,
    composite_program,
)
from sgverify.samplers.fused.composites.rule import Rule, renewal
from sgverify.samplers.fused.gradients import TRACED, kernel_gradient
from sgverify.samplers.fused.kernel import largest_within, numbers_of, side_by_side
from sgverify.samplers.fused.minibatches import DrawnInC, is_drawn_in_c
from sgverify.samplers.fused.program import FEW, KernelShape
from sgverify.samplers.fused.translation import NotTranslatable
from sgverify.samplers.reading.binding import bind_settings
from sgverify.samplers.reading.carrier import ObservedFunctions
from sgverify.samplers.reading.constants import Clock, Constant
from sgverify.samplers.reading.motion import State
from sgverify.samplers.reading.tape import Tape, record
from sgverify.samplers.run.leg import Leg, Room, Sums
from sgverify.schemes.definition.binding import in_order


class CompositeKernel:
    """Many steps of all chains of the rows that run, in C, with the actions of a composite.

    Raises `NotTranslatable`, `NotRecordable` or `CannotBuild`, each with its reason, if it cannot be made.
    """

    def __init__(self, leg: Leg, rule: Rule, asked: ObservedFunctions | None, patience: float) -> None:
        scheme = leg.bound.definition
        gradient = kernel_gradient(leg.estimator, max(1, scheme.minibatches), max(1, scheme.gradients))
        if gradient.noisy or gradient.table:
            raise NotTranslatable(
                "noisy gradients, or a table of gradients, between the actions of a composite"
            )
        if scheme.census.hessians:
            raise NotTranslatable("Hessian-vector products")
        if not all(law.normal for law in scheme.laws):
            raise NotTranslatable("draws of another law than the normal one")
        self._rule, self._gradient, self._asked, self._patience = rule, gradient, asked, patience
        self._replicas = rule.replicas
        self._groups = len(leg.places) // rule.replicas
        self._dtype, dim = leg.start[0].dtype, leg.target.dim
        self._noise = leg.streams("noise")
        iid = gradient.iid or not gradient.minibatches
        self._batches = leg.streams(leg.settings.gradient.kind) if gradient.minibatches and iid else None
        self._clock = Clock()
        temperatures = rule.hooks.temperatures(leg.rows, leg.settings)
        self._bounds = [
            bind_settings(
                scheme,
                leg.settings,
                dim,
                self._clock,
                np.ascontiguousarray(temperatures[r :: self._replicas]),
            )
            for r in range(self._replicas)
        ]
        self._shape = KernelShape(
            self._dtype,
            dim,
            scheme.draws,
            gradient.minibatches,
            leg.settings.gradient.batch if gradient.minibatches else 1,
            self._noise.chains,
            iid=iid,
            adds=gradient.adds or not gradient.minibatches,
        )
        self._drawn: DrawnInC | None = None
        if not iid and not is_drawn_in_c(leg.estimator.source):
            raise NotTranslatable(f"minibatches of {type(leg.estimator.source).__name__}")
        if gradient.minibatches and is_drawn_in_c(leg.estimator.source):
            stream = leg.streams(leg.settings.gradient.kind)
            self._drawn = DrawnInC(
                type(leg.estimator.source),
                replace(stream, keys=np.ascontiguousarray(stream.keys[:: self._replicas])),
                rows=self._groups,
                size=len(leg.estimator.potential.data),
                batch=self._shape.batch,
                patience=patience,
            )
        widths = [dim if kind == "vector" else 1 for kind in scheme.shapes.values()]
        self._each = len(widths)
        self._states = [
            Variable(f"X{r}_{v}", self._dtype, width)
            for r in range(self._replicas)
            for v, width in enumerate(widths)
        ]
        self._held = [Variable(name, dtype, width) for name, _, dtype, width in rule.held]
        # What the gradient estimator carries from step to step.
        self._held += [
            Variable(f"Q{r}_{v}", self._dtype, width)
            for v, width in enumerate(gradient.widths)
            for r in range(self._replicas)
        ]
        self._begin = renewal(gradient, self._replicas, self._groups)
        # Of the first replica.
        self._kept = [*self._states[: self._each], *(v for v in self._held if v.name in rule.kept)]
        self._actions = rule.actions()
        body = None
        if gradient.visits_data:
            body = gradient.potential.tape_of_one_datum(self._groups)
        self._body = body
        self._datum = rule.energies.tape_of_one_datum(self._groups)
        # A sample of energies is taken on as many minibatches, of so many data each.
        self._sample = (
            None if rule.sampled is None else rule.energies.tape_of_a_sample(rule.sampled[1], self._groups)
        )
        self._weighted = rule.hooks.weighted
        replicas = [self._states[r * self._each : (r + 1) * self._each] for r in range(self._replicas)]
        self._observed = observed_tape(asked, replicas, self._groups, weighted=self._weighted)
        self._tables = gradient.tables()
        self._energy_tables = rule.energies.tables()
        self._farthest = largest_within(leg.farthest, self._dtype)
        self._key = StepKey()
        self._call: Any = None
        self._numbers, self._flat, self._wide = np.empty(0), torch.empty(0), torch.empty(0)

    def follow(self, rule: Rule) -> None:
        """Take the numbers of the actions from this rule from now on, which is that of other hooks of the same run."""
        self._rule = rule

    def meet(self, h: Constant) -> None:
        """Recompute the kernel's constants from the definition for the step sizes h, shape (K or 1, S).

        Raises `NotTranslatable`.
        """
        step, inputs = self._trace(h)
        real, shape = self._dtype, self._shape
        sample = None if self._sample is None else self._sample[0]
        tapes = [
            step,
            *(action.tape for action in self._actions),
            self._observed[0],
            None if self._begin is None else self._begin.tape,
            sample,
            self._datum,
            self._body,
        ]
        places = ConstantPlaces(None, real)
        starts = []
        for tape in tapes:
            starts.append(places)
            places = places.after(tape)
        datum = self._datum
        if any(t is not None and any(x.dtype != real for x in t.fixed) for t in (datum, self._body)):
            raise NotTranslatable("a constant of another dtype than the state's")
        sums = None
        if self._body is not None:
            few = shape.width <= FEW
            sums = self._gradient.sum_text(self._body, shape.batch, few, starts[-1].narrow)
        rule = self._rule
        sampled = None
        if self._sample is not None:
            wide = None if real == torch.float64 else starts[-3].wide
            sampled = TapeAt(*self._sample, starts[-3].narrow, wide)
        energies = EnergyText(rule.energies, datum, starts[-2].narrow, sampled, rule.minibatches)
        if self._key.is_new(step):
            text = composite_program(
                shape,
                CompositeTapes(
                    step, inputs, self._begin, self._actions, *self._observed, sums, energies, rule.streams
                ),
                self._states,
                self._held,
                self._kept,
                Sizes(self._replicas, rule.numbers, self._weighted, rule.finest),
            )
            self._call = _function(build(text, self._patience), real)
        fixed = [tensor for tape in tapes if tape is not None for tensor in tape.fixed]
        self._flat = side_by_side([x for x in fixed if x.dtype == real], real)
        self._wide = side_by_side([x for x in fixed if x.dtype != real], torch.float64)
        self._numbers = numbers_of(step.constants, self._groups, real)

    def move(
        self,
        state: State,
        first: int,
        steps: np.ndarray,
        sums: Sums | None,
        place: int,
        room: Room | None = None,
        carried: State = (),
    ) -> tuple[State, tuple[Tensor, ...], Tensor | None, int]:
        """The state after steps of sizes `steps`, shape (K, S), tensors of hooks and of gradients, the sums, and the steps taken.

        The first of them is step `first`, counted from 0, at `place` among the step sizes that were met. They end before the first
        step at which an entry of the state exceeds the bound of divergence. What is kept is written to the arrays of `room`, one
        for each variable of a state and each of `Rule.kept`.
        """
        rule, taken, R = self._rule, len(steps), self._replicas
        chains = len(self._noise.chains)
        held = (*rule.tensors, *carried)
        whole = [tensor.expand(len(state[0]), chains, -1) for tensor in (*state, *held)]
        before = [whole[v][r::R].mT.contiguous() for r in range(R) for v in range(self._each)]
        before += [tensor[r::R].mT.contiguous() for tensor in whole[self._each :] for r in range(R)]
        numbers = rule.step_numbers(first, steps)
        given = [stream.given(first, taken) for stream in rule.streams]
        indices = self._indices(first, taken)
        while True:
            after = [torch.empty_like(tensor) for tensor in before]
            total = (
                None if sums is None else torch.empty_like(sums.total, memory_format=torch.contiguous_format)
            )
            beyond = 0
            if taken:
                beyond = self._advance(
                    before, after, first, taken, place, numbers, given, indices, sums, total, room
                )
            else:
                after, total = before, None if sums is None else sums.total.clone()
            if not beyond:
                break
            # Some chains exceed the bound at that step, which torch takes.
            taken = beyond - 1
        found = [tensor.mT for tensor in after]
        new = tuple(_interleaved(found[v : self._each * R : self._each]) for v in range(self._each))
        rest = found[self._each * R :]
        tensors = tuple(_interleaved(rest[n * R : (n + 1) * R]) for n in range(len(held)))
        return new, tensors, total, taken

    def _indices(self, first: int, count: int) -> np.ndarray | None:
        """The data of the minibatches of these steps, shape (count m n, G, C); None if the kernel draws them."""
        each = self._shape.minibatches
        if self._drawn is not None:
            return self._drawn.block(first * each, count * each)
        return None

    def _advance(
        self,
        before: list[Tensor],
        after: list[Tensor],
        first: int,
        count: int,
        place: int,
        numbers: np.ndarray,
        given: Sequence[np.ndarray | None],
        indices: np.ndarray | None,
        sums: Sums | None,
        total: Tensor | None,
        room: Room | None,
    ) -> int:
        pointers = ctypes.c_void_p * len(before)
        noise = np.ascontiguousarray(self._noise.keys)
        batches = (
            noise if self._batches is None else np.ascontiguousarray(self._batches.keys[:: self._replicas])
        )
        stream, put = self._rule.uniforms, self._rule.put
        uniforms = None if stream is None else np.ascontiguousarray(stream.keys)
        start = None if sums is None else sums.total.contiguous()
        weights = None if sums is None else np.ascontiguousarray(sums.weights, dtype=np.float64)
        counted = None if sums is None else np.ascontiguousarray(sums.counted, dtype=np.uint8)
        marked = None if room is None else np.ascontiguousarray(room.marked, dtype=np.uint8)
        arrays_kept = () if room is None else room.arrays
        places = [None if array is None else array.ctypes.data for array in arrays_kept]
        tables, energies = self._tables, self._energy_tables
        drawn = (ctypes.c_void_p * (3 * len(given) + 1))(
            *(
                part
                for stream, array in zip(self._rule.streams, given, strict=True)
                for part in (
                    stream.keys.ctypes.data,
                    None if array is None else array.ctypes.data,
                    stream.size,
                )
            )
        )
        arrays = (ctypes.c_void_p * 10)(
            energies.rows.ctypes.data,
            energies.data.data_ptr(),
            energies.whole.data_ptr(),
            energies.weights.data_ptr(),
            tables.deviations.ctypes.data,
            tables.size,
            tables.offset.data_ptr(),
            tables.data.data_ptr(),
            tables.across.data_ptr(),
            None if tables.weights is None else tables.weights.data_ptr(),
        )
        return int(
            self._call(
                self._groups,
                len(self._noise.chains),
                self._noise.chains.start,
                first,
                count,
                noise.ctypes.data,
                batches.ctypes.data,
                pointers(*(tensor.data_ptr() for tensor in before)),
                pointers(*(tensor.data_ptr() for tensor in after)),
                self._numbers[place if len(self._numbers) > 1 else 0 :].ctypes.data,
                self._numbers.shape[-1] * self._groups if len(self._numbers) > 1 else 0,
                self._flat.data_ptr(),
                self._wide.data_ptr(),
                arrays,
                None if indices is None else indices.ctypes.data,
                drawn,
                numbers.ctypes.data,
                None if uniforms is None else uniforms.ctypes.data,
                None if put is None else put.ctypes.data,
                self._farthest,
                None if weights is None else weights.ctypes.data,
                None if counted is None else counted.ctypes.data,
                None if start is None else start.data_ptr(),
                None if total is None else total.data_ptr(),
                None if marked is None else marked.ctypes.data,
                (ctypes.c_void_p * len(self._kept))(*places),
            )
        )

    def carried(self, leg: Leg, theta: Tensor) -> State:
        """What the gradient estimator of a leg carries at theta, where a run begins if it has carried nothing so far."""
        found: State = leg.estimator.carried
        return found if found or not self._gradient.widths else self._gradient.started(theta)

    def _trace(self, h: Constant) -> tuple[Tape, list[tuple[str, Tensor]]]:
        """The tape of the step of all replicas on two chains, and its inputs in C."""
        self._clock.now = 0
        gradient, R, vector = self._gradient, self._replicas, (self._groups, TRACED, self._shape.dim)
        sizes = [
            Constant(
                np.ascontiguousarray(h.value[:, r::R] if h.value.shape[1] > 1 else h.value),
                self._clock,
                passing=h.passing,
            )
            for r in range(R)
        ]
        state = [torch.ones((self._groups, TRACED, v.width), dtype=self._dtype) for v in self._states]
        drawn = [torch.ones(vector, dtype=self._dtype) for _ in range(R * self._shape.draws)]
        given = gradient.given(self._groups)
        held = {v.name: torch.full((self._groups, TRACED, v.width), 0.5, dtype=v.dtype) for v in self._held}
        estimators = [
            self._rule.bend(
                gradient.estimator.reading(
                    gradient.potential, given, tuple(held[f"Q{r}_{v}"] for v in range(len(gradient.widths)))
                ),
                held,
            )
            for r in range(R)
        ]

        def step() -> Sequence[Tensor]:
            found: list[Tensor] = []
            self._rule.energies.begin()
            for r, bound in enumerate(self._bounds):
                mine = state[r * self._each : (r + 1) * self._each]
                draws = drawn[r * self._shape.draws : (r + 1) * self._shape.draws]
                found += bound.step(mine, h=sizes[r], grad=estimators[r].of_step(0), draw=in_order(draws))
            return found

        # One run before the recording, so that the constants exist.
        step()
        taken = self._rule.taken
        tape = record(step, (*state, *drawn, *given, *held.values(), *taken.values()), (), self._clock)[0]
        named = partial(str.format, "g[{}]" if self._shape.adds else "{}")
        inputs = [(v.name, tensor) for v, tensor in zip(self._states, state, strict=True)]
        inputs += [(f"z[{k}]", tensor) for k, tensor in enumerate(drawn)]
        inputs += [(named(m), drawn[0]) for m in range(len(given))]
        inputs += [*held.items(), *taken.items()]
        return tape, inputs


def _interleaved(replicas: Sequence[Tensor]) -> Tensor:
    """The rows of all groups, the replicas of a group side by side, in the memory layout of states."""
    return torch.stack([tensor.mT for tensor in replicas], dim=1).flatten(0, 1).mT


def _function(library: ctypes.CDLL, dtype: torch.dtype) -> Any:
    whole: Any = ctypes.c_int64
    address: Any = ctypes.c_void_p
    number: Any = ctypes.c_double if dtype == torch.float64 else ctypes.c_float
    function = library.advance_together
    function.restype = whole
    function.argtypes = [*[whole] * 5, *[address] * 5, whole, *[address] * 8, number, *[address] * 6]
    return function
