"""How are a definition, a composite's actions and test functions recorded for a kernel, on two chains, as one program?"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial

import numpy as np
import torch
from torch import Tensor

from sgverify.errors import Unreached
from sgverify.samplers.composites.hooks import with_weights
from sgverify.samplers.fused.composites.energies import EnergyText
from sgverify.samplers.fused.composites.rule import Rule, renewal
from sgverify.samplers.fused.gradients import TRACED, kernel_gradient
from sgverify.samplers.fused.loops import TapeAt, taped
from sgverify.samplers.fused.program import FixedTensors, Program, Variable
from sgverify.samplers.fused.shape import FEW, KernelShape
from sgverify.samplers.fused.translation import NUMBER
from sgverify.samplers.reading.carrier import ObservedFunctions
from sgverify.samplers.reading.constants import Constant
from sgverify.samplers.reading.tape import Tape
from sgverify.samplers.run.leg import Leg
from sgverify.schemes.definition.binding import in_order


class RecordedLeg:
    """The shape of a leg's kernel, the variables that it holds, of which some are kept, and the program that moves them.

    Raises `Unreached`.
    """

    def __init__(self, leg: Leg, rule: Rule, asked: ObservedFunctions | None) -> None:
        scheme, R, choice = leg.bound.definition, rule.replicas, leg.settings.gradient
        dim, dtype = leg.target.dim, leg.start[0].dtype
        gradient = kernel_gradient(leg.estimator, max(1, scheme.minibatches), max(1, scheme.gradients))
        if scheme.census.hessians:
            raise Unreached("Hessian-vector products")
        if leg.hooks is not None and (gradient.noisy or gradient.table):
            raise Unreached("noisy gradients, or a table of gradients, between the actions of a composite")
        self._leg, self._rule, self._asked, self.gradient = leg, rule, asked, gradient
        self.bounds, self._groups = rule.bounds, len(leg.places) // R
        self.shape = KernelShape(
            dtype,
            dim,
            scheme.draws,
            gradient.minibatches,
            choice.batch if gradient.minibatches and not gradient.noisy else 1,
            leg.streams("noise").chains,
            iid=gradient.iid or not gradient.minibatches,
            noisy=gradient.noisy,
            # Increments of one path, and draws of other laws, are drawn outside of the kernel.
            handed=leg.settings.coupled == "brownian" or not all(law.normal for law in scheme.laws),
            adds=gradient.adds or not gradient.minibatches,
            carried=gradient.widths,
            refresh=gradient.refresh,
            table=gradient.table,
            replicas=R,
            numbers=rule.numbers,
            finest=rule.finest,
            weighted=leg.hooks is not None and leg.hooks.weighted,
        )
        widths = [dim if kind == "vector" else 1 for kind in scheme.shapes.values()]
        self._each = len(widths)
        self.states = [Variable(f"X{r}_{v}", dtype, w) for r in range(R) for v, w in enumerate(widths)]
        self.held = [Variable(name, kind, width) for name, _, kind, width in rule.held]
        # What the gradient estimator carries from step to step.
        carried = [(v, width) for v, width in enumerate(gradient.widths)]
        self.held += [Variable(f"Q{r}_{v}", dtype, width) for v, width in carried for r in range(R)]
        # Of the first replica.
        self.kept = [*self.states[: self._each], *(v for v in self.held if v.name in rule.kept)]

    def sizes(self, h: Constant) -> list[Constant]:
        """The step sizes of each replica, of those of all rows."""
        R, value = self.shape.replicas, h.value
        if R == 1:
            return [h]
        own = (np.ascontiguousarray(value[:, r::R] if value.shape[1] > 1 else value) for r in range(R))
        return [Constant(each, self._leg.clock, passing=h.passing) for each in own]

    def program(self, sizes: Sequence[Constant], fixed: FixedTensors) -> Program:
        """What the kernel runs at these step sizes; the fixed tensors of its tapes enter `fixed`."""
        gradient, rule = self.gradient, self._rule
        step = fixed.put(self._step(sizes))
        begin = renewal(gradient, self.shape.replicas, self._groups)
        actions = [replace(action, at=fixed.put(action.at)) for action in rule.actions()]
        seen = self._observed()
        sums = energies = None
        if gradient.visits_data:
            body = self._of_one_datum(fixed, gradient.potential.tape_of_one_datum(self._groups))
            sums = gradient.sum_text(body.tape, self.shape.batch, self.shape.width <= FEW, body.narrow)
        if rule.energies is not None:
            datum, sample = rule.energies.tape_of_one_datum(self._groups), None
            if rule.sampled is not None:
                # A sample of energies is taken on as many minibatches, of so many data each.
                sample = fixed.put(rule.energies.tape_of_a_sample(rule.sampled[1], self._groups))
            offset = 0 if datum is None else self._of_one_datum(fixed, datum).narrow
            energies = EnergyText(rule.energies, datum, offset, sample, rule.minibatches)
        return Program(
            self.shape,
            self.states,
            self.held,
            self.kept,
            step,
            None if begin is None else replace(begin, at=fixed.put(begin.at)),
            actions,
            None if seen is None else fixed.put(seen),
            sums,
            energies,
            rule.streams,
        )

    def _of_one_datum(self, fixed: FixedTensors, tape: Tape) -> TapeAt:
        if any(tensor.dtype != self.shape.dtype for tensor in tape.fixed):
            raise Unreached("a constant of another dtype than the state's")
        return fixed.put(TapeAt(tape, ()))

    def _step(self, sizes: Sequence[Constant]) -> TapeAt:
        """The tape of the step of all replicas on two chains; the operations are the same for any number of chains."""
        rule, gradient, shape = self._rule, self.gradient, self.shape
        self._leg.clock.now = 0
        state = [torch.ones((self._groups, TRACED, v.width), dtype=v.dtype) for v in self.states]
        drawn = [torch.ones_like(state[0]) for _ in range(shape.replicas * shape.draws)]
        given = gradient.given(self._groups)
        held = {v.name: torch.full((self._groups, TRACED, v.width), 0.5, dtype=v.dtype) for v in self.held}
        estimators = []
        for r in range(shape.replicas):
            carried = tuple(held[f"Q{r}_{v}"] for v in range(len(gradient.widths)))
            own = gradient.estimator.reading(gradient.potential, given, carried)
            estimators.append(rule.bend(own, held))

        def step() -> Sequence[Tensor]:
            found: list[Tensor] = []
            if rule.energies is not None:
                rule.energies.begin()
            for r, bound in enumerate(self.bounds):
                mine = state[r * self._each : (r + 1) * self._each]
                draws = drawn[r * shape.draws : (r + 1) * shape.draws]
                found += bound.step(mine, h=sizes[r], grad=estimators[r].of_step(0), draw=in_order(draws))
            return found

        named = partial(str.format, "g[{}]" if shape.adds else "{}")
        inputs = [(v.name, tensor) for v, tensor in zip(self.states, state, strict=True)]
        inputs += [(f"z[{k}]", tensor) for k, tensor in enumerate(drawn)]
        inputs += [(named(m), tensor) for m, tensor in enumerate(given)]
        inputs += [*held.items(), *rule.taken.items()]
        return taped(step, inputs, self._leg.clock)

    def _observed(self) -> TapeAt | None:
        """The tape of the test functions of all replicas; with weighted states, of the sums after a state."""
        asked = self._asked
        if asked is None:
            return None
        state = [torch.ones((self._groups, TRACED, v.width), dtype=v.dtype) for v in self.states]
        parts = [state[n : n + self._each] for n in range(0, len(state), self._each)]
        inputs = [(v.name, value) for v, value in zip(self.states, state, strict=True)]
        if not self.shape.weighted:
            return taped(lambda: [value for part in parts for value in asked.evaluate(part)], inputs)
        log = torch.ones((self._groups, TRACED, 1), dtype=torch.float64)
        factor = torch.ones((), dtype=torch.float64)
        sums = [torch.ones_like(log) for _ in range(len(asked.observables) + 2)]
        inputs += [("L0", log), (f"{NUMBER}weight0", factor)]
        inputs += [(f"(sums + {o})", value) for o, value in enumerate(sums)]

        def summed() -> Sequence[Tensor]:
            return with_weights([value[..., 0] for value in sums], asked.evaluate(state), log[..., 0], factor)

        return taped(summed, inputs)
