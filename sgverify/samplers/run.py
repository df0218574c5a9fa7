"""The chains of a sweep in motion: every step size and every chain in one tensor, step by step."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from itertools import islice
from typing import Any

import numpy as np
import torch
from torch import Tensor

from sgverify.errors import ConfigurationError
from sgverify.samplers import adapting as _adapting  # noqa: F401 - what adaptively weighted composites do around steps
from sgverify.samplers import exchange as _exchange  # noqa: F401 - registers replica exchange
from sgverify.samplers.around import Around, Stage, around_of, check_settings
from sgverify.samplers.blocks import (
    FAR,
    Block,
    Position,
    by_coordinate,
    check_shapes,
    divergences,
    far_out,
    whole_groups,
)
from sgverify.samplers.carrier import Chains
from sgverify.samplers.compiling import together
from sgverify.samplers.constants import Clock, Constant
from sgverify.samplers.differentiation import Potential
from sgverify.samplers.fused.driver import fused
from sgverify.samplers.gradient_kinds import make_estimator
from sgverify.samplers.gradients import Estimator
from sgverify.samplers.motion import Motion
from sgverify.samplers.naming import parameters_of
from sgverify.samplers.noise import Brownian, Mixed, Native, Noise, check_path, spans, stream_keys
from sgverify.samplers.philox import Stream
from sgverify.samplers.schedules import Fixed, Row, step_sizes
from sgverify.samplers.settings import Settings
from sgverify.samplers.variates import normals
from sgverify.samplers.watching import Watch
from sgverify.schemes import Scheme
from sgverify.schemes.abstract import Census
from sgverify.schemes.composites.composite import Composite
from sgverify.schemes.noise import Noise as Ingredient
from sgverify.targets import Target

# Random numbers that a block holds at once: enough to spread the cost of drawing them, and small.
_BLOCK = 1 << 19
_LONGEST = 512


class Ensemble:
    """A scheme bound to a target, the rows of a sweep and settings.

    Of a composite `scheme` is the scheme that it is made around, `around` what happens around the steps, and `rows` are
    those of all its replicas.

    Raises `ConfigurationError` where these do not go together. `hoist=False` evaluates every gradient by autograd
    over the data, `tape=False` runs the definition at every step, and `block` sets the number of steps drawn at
    once: none changes what is computed.
    """

    def __init__(
        self,
        scheme: Scheme | Composite,
        target: Target,
        rows: Sequence[Row],
        settings: Settings,
        *,
        hoist: bool = True,
        block: int | None = None,
        tape: bool = True,
    ) -> None:
        settings.check()
        self.around: Around | None = None
        if isinstance(scheme, Composite):
            check_settings(scheme, settings)
            self.around = around_of(scheme, settings)
            scheme, rows = scheme.scheme, self.around.rows(rows) if rows else rows
        if not rows:
            raise ConfigurationError(
                "rows=[]: expected at least one schedule; make some with fixed, horizon, power or cyclical"
            )
        self.scheme, self.target, self.rows, self.settings = scheme, target, tuple(rows), settings
        self.dtype, self.device = settings.torch_dtype, settings.torch_device
        self.potential = Potential(target, dtype=self.dtype, device=self.device, hoist=hoist)
        self.chains = range(settings.first_chain, settings.first_chain + settings.chains)
        self._steps_at_once, self._tape = block, tape
        self._clock = Clock()
        self._native: Native | None = None
        self._carried: tuple[Tensor, ...] = ()
        if settings.coupled == "brownian":
            check_path(scheme)
        self._spans = spans(self.rows) if settings.coupled == "brownian" else ()
        self.temperatures = np.full(len(self.rows), settings.temperature, dtype=np.float64)
        if self.around is not None:
            self.temperatures = self.around.temperatures(self.rows, settings)
        self._parameters = self._parameters_of(tuple(range(len(self.rows))))
        if settings.compiled is True and (settings.gradient.kind != "full" or self.potential.affine is None):
            raise ConfigurationError(
                f"compiled=True with gradient.kind={settings.gradient.kind!r} on the target {target.name}: only steps with "
                "full gradients of a quadratic potential are compiled; leave compiled=False"
            )
        # Made once here so that a choice which the target cannot have is refused before anything runs.
        self._estimator((0,), scheme.census)
        centre = target.location_float64(settings.temperature)
        self._spread = target.spread_float64(settings.temperature)
        self._start = centre + settings.start * self._spread
        scalars = [1.0, math.sqrt(self.temperatures.max()), settings.friction]
        self._bound = FAR * float(np.max(np.abs([*scalars, *self._spread, *centre, *self._start])))

    def begin(self) -> Position:
        """Where a run starts, before its first step."""
        rows = tuple(range(len(self.rows)))
        native = self._make_native() if self.settings.generator == "native" else None
        return Position(rows, 0, self._begin(rows), generators=native.positions() if native else ())

    def blocks(
        self, watch: Watch | None = None, *, start: Position | None = None, until: int | None = None
    ) -> Iterator[Block]:
        """Run every row to its last length, or until it diverges. A block ends at each length of a running row.

        `watch` is shown every state, with the rows that run, the number of the step and the step sizes. `start`: go on
        from there; `until`: stop after the step of this number.
        """
        now = start or self.begin()
        if self.settings.generator == "native":
            self._native = self._make_native()
            self._native.move_to(now.generators)
        while now.rows and (until is None or now.done < until):
            self._carried = now.carried
            for block in self._run(now.rows, now.state, now.done, watch, until):
                yield block
                last = block
            now = self.position(last)
            if self._native is not None:
                self._native.move_to(now.generators)

    def position(self, block: Block) -> Position:
        """Where the run stands at the end of its latest block."""
        kept = [
            i
            for i, row in enumerate(block.rows)
            if row not in block.diverged and self.rows[row].lengths[-1] > block.last
        ]
        index = torch.tensor(kept, dtype=torch.int64, device=self.device)
        state, carried = (
            tuple(by_coordinate(tensor.index_select(0, index)) for tensor in tensors)
            for tensors in (tuple(block.state[name] for name in self.scheme.state), self._carried)
        )
        generators = () if self._native is None else self._native.positions(kept)
        return Position(tuple(block.rows[i] for i in kept), block.last, state, carried, generators)

    def _run(
        self,
        alive: tuple[int, ...],
        start: tuple[Tensor, ...],
        done: int,
        watch: Watch | None,
        until: int | None,
    ) -> Iterator[Block]:
        """Blocks of the rows `alive`, until one of them ends or diverges, or step `until`."""
        noise, around = self._noise(alive), self.around
        own = estimator = self._estimator(alive, self.scheme.census)
        if around is not None:
            around.enter(self.stage(alive), start, self._carried)
            estimator = around.estimator(own)
            own.resume(self._carried[len(around.carried) :])
        else:
            estimator.resume(self._carried)
        running = [self.rows[row] for row in alive]
        moving = not all(isinstance(row.schedule, Fixed) for row in running)
        marks = sorted({length for row in alive for length in self.rows[row].lengths})
        end = min(self.rows[row].lengths[-1] for row in alive)
        end = end if until is None else min(end, until)
        marks = sorted({*(mark for mark in marks if mark < end), end})
        # Another estimator may do something else at another step.
        steady = self._tape and type(estimator) is Estimator
        parameters = self._parameters if around is None else self._parameters_of(alive)
        motion = Motion(self.scheme, parameters, self._clock, self._fixed(), tape=steady)
        fast = fused(self, alive, own, noise, start, range(done, end), watch)
        state, beyond, h = start, None, None
        while done < end and beyond is None:
            length = self._length(alive) if fast is None else fast.length
            count = min(length, next(mark for mark in marks if mark > done) - done)
            steps = step_sizes(running, done, count)
            if h is None or moving:
                h = Constant(steps if moving else steps[:1], self._clock, passing=moving)
            k = 0
            if fast is not None:
                state, beyond, k = fast.move(state, done, steps, h, watch, alive)
                count = k
            else:
                draws = self._draws(noise, done, count)
                estimator.prepare(done, count)
                if around is not None:
                    around.prepare(done, count)
            while k < count and beyond is None:
                many = together(self.settings.compiled, motion.tape, watch, count - k)
                if many:
                    drawn = [tuple(islice(draws, self.scheme.draws)) for _ in range(many)]
                    stretch = motion.move_compiled(state, drawn, k, None if watch is None else watch.tape)
                    for state, values in zip(stretch.states, stretch.values, strict=True):
                        beyond = far_out(state, self._bound)
                        if watch is not None:
                            watch.add(alive, done + k + 1, values, steps[k])
                        k += 1
                        if beyond is not None:
                            break
                    continue
                self._clock.now = k
                estimator.begin(k, state[0])
                drawn_now = tuple(islice(draws, self.scheme.draws))
                state = motion.move(state, drawn_now, h, partial(estimator.of_step, k))
                beyond = far_out(state, self._bound)
                if around is not None and beyond is None:
                    state = around.after(k, done + k + 1, state, steps[k])
                k += 1
                if watch is not None:
                    watch.show(alive, done + k, state, steps[k - 1])
            named = dict(zip(self.scheme.state, state, strict=True))
            check_shapes(self.scheme.name, named, self._shapes(len(alive)), self.dtype)
            block = Block(alive, done + 1, named, steps[:k], {})
            if beyond is not None:
                names = [row.name for row in self.rows]
                block.diverged.update(divergences(block, beyond, names, self.chains.start))
                if around is not None:
                    block.diverged.update(whole_groups(block.diverged, around.replicas))
            done = block.last
            self._carried = own.carried if around is None else (*around.carried, *own.carried)
            yield block

    def _fixed(self) -> tuple[Tensor, ...]:
        affine = self.potential.affine
        return () if affine is None else (affine.centre, affine.transposed, affine.offset)

    def _noise(self, alive: tuple[int, ...]) -> Noise:
        if self._native is not None:
            return self._native
        streams, laws = self._streams(alive), self.scheme.laws
        if self._spans:
            spanned = [self._spans[row] for row in alive]
            return Brownian(streams("noise"), spanned, draws=len(laws), **self._drawn())
        return Mixed(streams, "noise", laws, **self._drawn())

    def _make_native(self) -> Native:
        runs = stream_keys(self.settings.coupled, "noise", self.rows)
        return Native(
            runs,
            seed=self.settings.seed,
            chains=self.chains,
            device=self.device,
            laws=self.scheme.laws,
            **self._drawn(),
        )

    def _drawn(self) -> dict[str, Any]:
        return {"dim": self.target.dim, "dtype": self.dtype}

    def _draws(self, noise: Noise, done: int, count: int) -> Iterator[Tensor]:
        """The noise of the next `count` steps, one tensor (S, C, d) for each draw, in order."""
        return noise.take(done, count) if self.scheme.draws else iter(())

    def _begin(self, alive: tuple[int, ...]) -> tuple[Tensor, ...]:
        """X_0: theta off its mean, the momentum zero or stationary, a thermostat's friction at D."""
        shape = (len(alive), self.settings.chains)
        values: list[Tensor] = []
        for place, (name, kind) in enumerate(self.scheme.dynamics.shapes.items()):
            if place == 0:
                value = torch.tensor(self._start, dtype=torch.float64, device=self.device).expand(*shape, -1)
            elif kind == "scalar":
                value = torch.full(
                    (*shape, 1), self.settings.friction, dtype=torch.float64, device=self.device
                )
            elif name == "p" and self.settings.start_momentum == "stationary":
                drawn = normals(self._streams(alive)("momentum"), 0, self.target.dim).movedim(0, -1)
                value = (drawn * self._root_temperature(alive)).expand(*shape, -1)
            else:
                value = torch.zeros((*shape, self.target.dim), dtype=torch.float64, device=self.device)
            values.append(by_coordinate(value.to(self.dtype)))
        if not self.scheme.memory:
            return tuple(values)
        estimator = self._estimator(alive, self.scheme.starts, "memory-")
        estimator.prepare(0, 1)
        estimator.begin(0, values[0])
        h = Constant(np.array([[self.rows[row].at(1) for row in alive]]), self._clock)
        draw = Mixed(self._streams(alive), "memory-noise", self.scheme.starts.laws, **self._drawn()).take(
            0, 1
        )
        whole = self.scheme.start_memory(
            tuple(Chains(value) for value in values),
            h=h,
            grad=estimator.of_step(0),
            noise=Ingredient(lambda law: Chains(next(draw).expand(*shape, -1))),
            **self._parameters,
        )
        return tuple(value.tensor for value in whole)

    def _root_temperature(self, alive: tuple[int, ...]) -> Any:
        """sqrt(T), one for each row where they differ."""
        if self.around is None:
            return math.sqrt(self.settings.temperature)
        roots = [math.sqrt(temperature) for temperature in self.temperatures[list(alive)]]
        return torch.tensor(roots, dtype=torch.float64, device=self.device)[:, None, None]

    def _parameters_of(self, alive: tuple[int, ...]) -> dict[str, Any]:
        temperatures = None if self.around is None else self.temperatures[list(alive)]
        return parameters_of(self.scheme, self.settings, self.target.dim, self._clock, temperatures)

    def stage(self, alive: tuple[int, ...]) -> Stage:
        """What the rows `alive` are made of, for what happens around their steps."""
        rows, temperatures = tuple(self.rows[row] for row in alive), self.temperatures[list(alive)]
        return Stage(self.scheme, self.potential, rows, self.settings, temperatures, self._streams(alive))

    def _streams(self, alive: tuple[int, ...]) -> Callable[[str], Stream]:
        settings, rows = self.settings, [self.rows[row] for row in alive]
        return lambda kind: Stream.of(
            kind,
            seed=settings.seed,
            runs=stream_keys(settings.coupled, kind, rows),
            chains=self.chains,
            device=self.device,
        )

    def _estimator(self, alive: tuple[int, ...], asked: Census, purpose: str = "") -> Any:
        streams = self._streams(alive)
        return make_estimator(
            self.settings.gradient,
            self.potential,
            lambda kind: streams(purpose + kind),
            minibatches=max(1, asked.minibatches),
            evaluations=max(1, asked.gradients),
        )

    def _length(self, alive: tuple[int, ...]) -> int:
        """Steps per block: as many as keep the block's random numbers within _BLOCK."""
        if self._steps_at_once is not None:
            return self._steps_at_once
        choice, scheme = self.settings.gradient, self.scheme
        numbers = scheme.draws * self.target.dim if self.settings.generator == "philox" else 0
        if choice.kind != "full":
            # Minibatches are summed over the data that they hold, in as many numbers as a gradient has.
            numbers += (scheme.gradients + choice.batch * max(1, scheme.minibatches)) * self.target.dim
        return max(1, min(_LONGEST, _BLOCK // max(1, numbers * len(alive) * self.settings.chains)))

    def _shapes(self, rows: int) -> dict[str, tuple[int, ...]]:
        """The shape of each variable, (S, C, d or 1)."""
        widths = {
            name: self.target.dim if kind == "vector" else 1 for name, kind in self.scheme.shapes.items()
        }
        return {name: (rows, self.settings.chains, width) for name, width in widths.items()}
