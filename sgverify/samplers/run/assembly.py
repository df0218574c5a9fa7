"""How are the chains of a sweep set up: their start, their noise, their gradient estimator, and the bound scheme?"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import torch
from torch import Tensor

from sgverify.errors import ConfigurationError
from sgverify.samplers.composites.hooks import (
    Stage,
    StepHooks,
    hooks_of,
    make_annealing,
    starts_of,
)
from sgverify.samplers.fused.drawing import Drawing
from sgverify.samplers.gradients.differentiation import Potential
from sgverify.samplers.gradients.kinds import make_estimator
from sgverify.samplers.randomness.noise import (
    Brownian,
    Mixed,
    check_path,
    spans,
    stream_keys,
)
from sgverify.samplers.randomness.philox import Stream
from sgverify.samplers.randomness.variates import normals
from sgverify.samplers.reading.binding import bind_settings
from sgverify.samplers.reading.constants import Clock, Constant
from sgverify.samplers.run.leg import FAR, by_coordinate
from sgverify.samplers.run.schedules import Row
from sgverify.samplers.run.settings import Settings
from sgverify.schemes import Scheme
from sgverify.schemes.composites.composite import Composite
from sgverify.schemes.definition.abstract import Census
from sgverify.schemes.definition.binding import Bound
from sgverify.targets import Target


class Assembly:
    """A scheme bound to a target, the rows of a sweep and settings.

    For a composite, `scheme` is the scheme inside it, `hooks` its actions around the steps, and `rows` those of all replicas.

    Raises `ConfigurationError` if scheme, target, rows and settings contradict one another. `hoist=False` evaluates every
    gradient by autograd over the data, `tape=False` runs the definition at every step, and `block` sets the number of steps per
    block; none of them changes the results. `streams` replaces the run's own random streams, by kind.
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
        streams: Callable[[str], Stream] | None = None,
    ) -> None:
        self.hooks: StepHooks | None = None
        if isinstance(scheme, Composite):
            # Each registers what its composites do around steps; a plain scheme needs neither.
            from sgverify.samplers.composites import adapting, exchange  # noqa: F401

            self.hooks = hooks_of(scheme, settings)
            scheme, rows = scheme.scheme, self.hooks.rows(rows) if rows else rows
        if not rows:
            raise ConfigurationError(
                "rows=[]: expected at least one schedule; make some with fixed, horizon, power, cyclical or annealed"
            )
        if settings.annealing is not None and settings.exchange is None and self.hooks is not None:
            # The default options are those of the hooks; F is annealed from theirs.
            settings = replace(settings, exchange=getattr(self.hooks, "choice", None))
        self.scheme, self.target, self.rows, self.settings = scheme, target, tuple(rows), settings
        self.dtype, self.device = settings.torch_dtype, settings.torch_device
        self.potential = Potential(target, dtype=self.dtype, device=self.device, hoist=hoist)
        self.chains = range(settings.first_chain, settings.first_chain + settings.chains)
        self._steps_at_once, self._tape, self._given_streams = block, tape, streams
        self._clock = Clock()
        in_c = settings.compiled is not False and self.device.type == "cpu"
        self._drawing = Drawing() if in_c else None
        # The seconds of a step on torch, once they are measured.
        self._pace: float | None = None
        self._carried: tuple[Tensor, ...] = ()
        if settings.coupled == "brownian":
            check_path(scheme)
        self._spans = spans(self.rows) if settings.coupled == "brownian" else ()
        self.temperatures = np.full(len(self.rows), settings.temperature, dtype=np.float64)
        if self.hooks is not None:
            self.temperatures = self.hooks.temperatures(self.rows, settings)
        self.annealing = make_annealing(settings, target)
        self.bound = self._bound_to(tuple(range(len(self.rows))))
        # Made here once, so that a gradient estimator that the target does not support is refused before the run.
        self.estimator((0,), scheme.census)
        centre = target.location_float64(settings.temperature)
        settings = replace(settings, start=starts_of(settings.start, self.rows, self.hooks))
        self._spread = target.spread_float64(settings.temperature)
        self._start = target.at_deviations_float64(settings.start, settings.temperature)
        scalars = [1.0, math.sqrt(self.temperatures.max()), settings.friction]
        self.farthest = FAR * float(np.max(np.abs([*scalars, *self._spread, *centre, *self._start.flat])))

    def stage(self, alive: tuple[int, ...], done: int = 0) -> Stage:
        """The stage of the rows `alive` after `done` steps, for the hooks of a composite."""
        rows, settings = tuple(self.rows[row] for row in alive), self.settings_at(done)
        temperatures = self._temperatures_at(alive, done)
        return Stage(self.scheme, self.potential, rows, settings, temperatures, self._streams(alive))

    def settings_at(self, done: int) -> Settings:
        """The settings of the step after `done` steps."""
        return self.settings if self.annealing is None else self.annealing.settings(self.settings, done)

    def _temperatures_at(self, alive: tuple[int, ...], done: int) -> np.ndarray:
        """The temperature of each row in the step after `done` steps."""
        if self.annealing is None or self.hooks is None:
            return np.asarray(self.temperatures[list(alive)])
        return self.hooks.temperatures([self.rows[row] for row in alive], self.settings_at(done))

    def _root_temperature(self, alive: tuple[int, ...], done: int = 0) -> Any:
        """sqrt(T): one number, or one for each row if temperatures differ."""
        if self.hooks is None:
            return math.sqrt(self.settings_at(done).temperature)
        roots = [math.sqrt(temperature) for temperature in self._temperatures_at(alive, done)]
        return torch.tensor(roots, dtype=torch.float64, device=self.device)[:, None, None]

    def _bound_to(self, alive: tuple[int, ...], done: int = 0) -> Bound[Scheme]:
        temperatures = None if self.hooks is None else self._temperatures_at(alive, done)
        return bind_settings(self.scheme, self.settings_at(done), self.target.dim, self._clock, temperatures)

    def _resampled(self, alive: tuple[int, ...], state: tuple[Tensor, ...], done: int) -> tuple[Tensor, ...]:
        """The state from which the next leg begins: p is drawn from N(0, T I) where `done` is a multiple of `resample_momentum`."""
        every = self.settings.resample_momentum
        if every is None or done == 0 or done % every or "p" not in self.scheme.dynamics.state:
            return state
        values = dict(zip(self.scheme.state, state, strict=True))
        drawn = normals(self._streams(alive)("momentum"), done // every, self.target.dim).movedim(0, -1)
        new = (drawn * self._root_temperature(alive, done)).expand(values["p"].shape)
        values["p"] = by_coordinate(new.to(self.dtype))
        return tuple(values.values())

    def _streams(self, alive: tuple[int, ...]) -> Callable[[str], Stream]:
        if self._given_streams is not None:
            return self._given_streams
        settings, rows = self.settings, [self.rows[row] for row in alive]
        return lambda kind: Stream.of(
            kind,
            seed=settings.seed,
            runs=stream_keys(settings.coupled, kind, rows),
            chains=self.chains,
            device=self.device,
            drawing=self._drawing,
        )

    def estimator(self, alive: tuple[int, ...], asked: Census, purpose: str = "") -> Any:
        """The gradient estimator of the rows `alive`.

        `asked` counts the minibatches and evaluations of a step; `purpose` is the prefix of the names of the random streams.
        """
        streams = self._streams(alive)
        return make_estimator(
            self.settings.gradient,
            self.potential,
            lambda kind: streams(purpose + kind),
            minibatches=max(1, asked.minibatches),
            evaluations=max(1, asked.gradients),
        )

    def _noise(self, alive: tuple[int, ...]) -> Brownian | Mixed:
        streams, laws = self._streams(alive), self.scheme.laws
        if self._spans:
            spanned = [self._spans[row] for row in alive]
            return Brownian(streams("noise"), spanned, draws=len(laws), **self._drawn())
        return Mixed(streams, "noise", laws, **self._drawn())

    def _drawn(self) -> dict[str, Any]:
        return {"dim": self.target.dim, "dtype": self.dtype}

    def _draws(self, noise: Brownian | Mixed, done: int, count: int) -> Iterator[Tensor]:
        """The noise of the next `count` steps: one tensor (S, C, d) for each draw, in order."""
        return noise.take(done, count) if self.scheme.draws else iter(())

    def _begin(self, alive: tuple[int, ...]) -> tuple[Tensor, ...]:
        """X_0: theta at its start relative to the mean, the momentum zero or stationary, a thermostat's friction at D."""
        shape = (len(alive), self.settings.chains)
        values: list[Tensor] = []
        for place, (name, kind) in enumerate(self.scheme.dynamics.shapes.items()):
            if place == 0:
                start = torch.tensor(self._start[list(alive)], dtype=torch.float64, device=self.device)
                value = start[:, None, :].expand(*shape, -1)
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
        estimator = self.estimator(alive, self.scheme.starts, "memory-")
        estimator.prepare(0, 1)
        estimator.begin(0, values[0])
        h = Constant(np.array([[self.rows[row].at(1) for row in alive]]), self._clock)
        draw = Mixed(self._streams(alive), "memory-noise", self.scheme.starts.laws, **self._drawn()).take(
            0, 1
        )
        return self.bound.start(
            values,
            h=h,
            grad=estimator.of_step(0),
            draw=lambda law: next(draw).expand(*shape, -1),
        )
