"""How do many chains of many settings move, in one tensor, by a scheme of the catalogue on a model's own stochastic gradient?

The chains of setting s are the row s of a tensor (S, C, d): C independent chains, one for each seed. The scheme is the definition
that is proved, bound to tensors (`sgverify.samplers.reading`); the noise comes from Philox streams, so that a chain's draws depend
on its seed and its number alone. By default all rows share their noise, seed by seed: each row alone has independent draws, and two
settings are compared on the same ones.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor

from reports.applications.keeping import Arrays, KeptParts
from reports.applications.result import DivergedChain
from sgverify.errors import ConfigurationError
from sgverify.samplers.fused.drawing import Drawing
from sgverify.samplers.randomness.noise import Mixed
from sgverify.samplers.randomness.philox import Stream
from sgverify.samplers.randomness.variates import normals
from sgverify.samplers.reading.binding import bind_numbers
from sgverify.samplers.reading.carrier import Chains
from sgverify.samplers.reading.constants import Clock, Constant
from sgverify.samplers.run.schedules import Fixed
from sgverify.schemes import Scheme
from sgverify.schemes.definition.binding import GradientIngredient, in_order

BLOCK = 1 << 22
"""The most random numbers that are drawn at once."""


@dataclass(frozen=True)
class ChainSetting:
    """One row: a step size, or a schedule of step sizes (anything with `at(l)`, l = 1, 2, ...), friction D, temperature T.

    Friction and temperature may have `at(l)`, too; a name is then given.
    """

    step: Any
    friction: Any = 1.0
    temperature: Any = 1.0
    name: str = ""

    def __str__(self) -> str:
        if self.name:
            return self.name
        step = f"h = {self.step:.4g}" if isinstance(self.step, int | float) else f"h: {self.step}"
        return f"{step}, D = {self.friction:.4g}"


class SampledModel:
    """What is sampled: dim d, a start, and a stochastic gradient of U; a subclass defines `start` and `gradient`.

    A chain has diverged if a variable of its state is NaN, or beyond `far` in a coordinate.
    """

    dim: int
    far: float = 1e9
    rowwise = False
    """Is the gradient of a row a function of that row alone? Rows whose chains have all diverged are then left out of `theta`."""

    def start(self, chains: range) -> Tensor:
        """theta_0 of these chains, float64 of shape (1, C, d): the same for every setting."""
        raise NotImplementedError

    def gradient(self, theta: Tensor, step: int, minibatch: int) -> Tensor:
        """grad prior + N/n sum over a minibatch of grad likelihood at theta; both have shape (S, C, d).

        The estimate is a function of theta, of the step's number 0, 1, ..., and of the number of the minibatch within the step,
        alone: random numbers come from streams (`streams`), at positions that follow from these. N/n scales the likelihood, not the
        prior (chen2015, section 2). `theta` is finite and not to be changed.
        """
        raise NotImplementedError

    def prior(self, theta: Tensor) -> Tensor:
        """The prior's part of the gradient, for schemes that ask for it; both have shape (S, C, d)."""
        raise NotImplementedError

    def arrays(self) -> Arrays:
        """What the model remembers from step to step, if anything, for a run that goes on."""
        return {}

    def resume(self, arrays: Arrays) -> None:
        """Take up what another object of the same model remembered."""


class ChainRecorder:
    """What is kept of the states. A subclass defines `see`, and what it has found as arrays.

    `at` are the numbers of the steps, increasing, after which `see` is called; step 0 is the start.
    """

    at: Sequence[int] = ()

    def see(self, number: int, state: dict[str, Tensor], alive: np.ndarray) -> None:
        """The state after step `number`: each variable of shape (S, C, d or 1), `alive` of shape (S, C).

        Chains that have diverged stand at their start; what is found of them is left out, or NaN. The tensors are not to be kept.
        """

    def arrays(self) -> Arrays:
        """What was found so far, for a run that goes on."""
        return {}

    def resume(self, arrays: Arrays) -> None:
        """Take up what was found by another object."""


def streams(
    seed: int, chains: range, *, keys: Sequence[bytes] = (b"coupled",), drawing: Any = None
) -> Callable[[str], Stream]:
    """The random streams of these chains by kind: one for each key, by default one for all settings."""
    return lambda kind: Stream.of(
        f"app-{kind}", seed=seed, runs=list(keys), chains=chains, device="cpu", drawing=drawing
    )


class BetweenSteps:
    """What happens to the states after each step, beside the scheme; a subclass defines `__call__`, and what it remembers."""

    def __call__(self, number: int, state: tuple[Tensor, ...]) -> tuple[Tensor, ...]:
        """The state from which the step after `number` starts; `state` may be overwritten."""
        raise NotImplementedError

    def arrays(self) -> Arrays:
        """What it remembers from step to step, for a run that goes on."""
        return {}

    def resume(self, arrays: Arrays) -> None:
        """Take up what another object remembered."""


class ChainRun:
    """The chains of a scheme on a model, C chains for each of S settings, until step `steps`.

    `coupled`: all settings share their noise, seed by seed; else each has its own, or, where it is one number for each setting,
    those with the same number share theirs. `start_momentum` is "zero" or "stationary", N(0, T I). `after(number, state)`, if
    given, is called after each step and returns the state from which the next one starts: swaps of replicas, momenta that are
    drawn anew; `BetweenSteps` is one that remembers something. Raises `ConfigurationError` for schemes with a memory of their own
    and for parameters other than D and T.
    """

    def __init__(
        self,
        scheme: Scheme,
        model: SampledModel,
        settings: Sequence[ChainSetting],
        *,
        steps: int,
        seed: int = 0,
        chains: int | range = 2,
        coupled: bool | Sequence[int] = True,
        start_momentum: str = "zero",
        dtype: torch.dtype = torch.float64,
        after: Callable[[int, tuple[Tensor, ...]], tuple[Tensor, ...]] | None = None,
    ) -> None:
        _check(scheme, settings, start_momentum)
        self.scheme, self.model, self.settings, self.steps = scheme, model, tuple(settings), steps
        self.chains = range(chains) if isinstance(chains, int) else chains
        self.dtype, self._after, self._start_momentum = dtype, after, start_momentum
        groups = range(len(settings)) if coupled is False else coupled
        numbers = [0] * len(settings) if groups is True else list(groups)
        shared = sorted(set(numbers))
        keys = (b"coupled",) if coupled is True else tuple(str(number).encode() for number in shared)
        # The row of the drawn noise that each setting takes.
        self._noise_of = np.array([shared.index(number) for number in numbers])
        self._streams = streams(seed, self.chains, keys=keys, drawing=Drawing())
        self._width = len(keys) * len(self.chains) * model.dim * max(1, scheme.draws)
        self._clock = Clock()
        self._steps = [
            item.step if hasattr(item.step, "at") else Fixed(float(item.step)) for item in settings
        ]
        self._moving = not all(isinstance(item, Fixed) for item in self._steps)
        self._cooling = any(
            hasattr(value, "at") for item in settings for value in (item.temperature, item.friction)
        )
        self._rows = np.arange(len(settings))
        self._noise = Mixed(self._streams, "noise", scheme.laws, dim=model.dim, dtype=dtype)
        self._drawn: Iterator[Tensor] = iter(())
        self._drawn_until = 0
        self._bind(1)
        self.done = 0
        self.first = self._begin()
        self.state = self.first
        self.diverged_at = np.zeros((len(self.settings), len(self.chains)), dtype=np.int64)

    @property
    def alive(self) -> np.ndarray:
        """Which chains have not diverged; shape (S, C)."""
        found: np.ndarray = self.diverged_at == 0
        return found

    def diverged(self, sampler: str = "") -> tuple[DivergedChain, ...]:
        """The chains that have diverged, each with its step."""
        return tuple(
            DivergedChain(
                sampler=sampler or self.scheme.name,
                setting=str(self.settings[s]),
                chain=self.chains[c],
                step=int(self.diverged_at[s, c]),
                why=f"a coordinate was NaN or beyond {self.model.far:g}",
            )
            for s, c in zip(*np.nonzero(self.diverged_at), strict=True)
        )

    def named(self) -> dict[str, Tensor]:
        """The state by the names of its variables."""
        return dict(zip(self.scheme.state, self.state, strict=True))

    def step(self) -> None:
        """Take one step of all chains; those that diverge are noted, and stand at their start from then on."""
        number = self.done + 1
        if self._moving or self._cooling:
            self._bind(number)
        gradient = _Gradient(self.model, self.done)
        whole = len(self._rows) == len(self.settings)
        moving = self.state if whole else tuple(tensor[self._rows] for tensor in self.state)
        new = self._bound.step(moving, h=self._h, grad=gradient, draw=in_order(self._draws()))
        new = tuple(tensor.contiguous() for tensor in new)
        if not whole:
            new = tuple(
                old.index_copy(0, self._index, part) for old, part in zip(self.state, new, strict=True)
            )
        if self._after is not None:
            new = self._after(number, new)
        self.done = number
        self.state = self._held(new, number)
        self._leave_out()

    def _leave_out(self) -> None:
        """Compute only the rows with a chain that has not diverged, where the model and the run allow it."""
        if not self.model.rowwise or self._after is not None:
            return
        rows = np.flatnonzero(self.alive.any(1))
        if 0 < len(rows) < len(self._rows):
            self._rows = rows
            self._bind(self.done + 1)

    def run(
        self,
        recorder: ChainRecorder,
        *,
        kept: KeptParts | None = None,
        part: str = "",
        tell: Callable[[int], None] | None = None,
    ) -> None:
        """Move to the last step, or until every chain has diverged; `recorder` sees the states, `tell` the number of each step.

        With `kept` the state is stored from time to time under the name `part`, and a run that was killed goes on from there.
        """
        found = None if kept is None else kept.load(part)
        if found is not None:
            self._resume(*found, recorder)
            if found[0]["finished"]:
                return
        at = set(recorder.at)
        if self.done == 0 and 0 in at and found is None:
            recorder.see(0, self.named(), self.alive)
        while self.done < self.steps and self.alive.any():
            self.step()
            if self.done in at:
                recorder.see(self.done, self.named(), self.alive)
            if tell is not None:
                tell(self.done)
            if kept is not None and kept.due and self.done < self.steps:
                self._store(kept, part, recorder)
        # States that no chain has reached are seen as such: every chain has diverged.
        for number in sorted(number for number in at if number > self.done):
            recorder.see(number, self.named(), self.alive)
        if kept is not None:
            self._store(kept, part, recorder, finished=True)

    def _bind(self, number: int) -> None:
        """The scheme, bound with the step sizes and temperatures of a step; constants stay where they do not change."""
        here = [self.settings[row] for row in self._rows]
        known = {
            "D": np.array([_value(item.friction, number) for item in here], dtype=np.float64),
            "T": np.array([_value(item.temperature, number) for item in here], dtype=np.float64),
        }
        used = {name: known[name] for name in self.scheme.parameters}
        self._temperatures = known["T"]
        self._bound = bind_numbers(self.scheme, used, self.model.dim, self._clock)
        self._h = Constant(np.array([[self._steps[row].at(number) for row in self._rows]]), self._clock)
        self._index = torch.from_numpy(self._rows)

    def _draws(self) -> Iterator[Tensor]:
        """The draws of the next step, each of shape (S or 1, C, d) with its coordinates side by side."""
        if not self.scheme.draws:
            return iter(())
        if self.done >= self._drawn_until:
            count = max(1, min(BLOCK // self._width, self.steps - self.done))
            self._drawn = self._noise.take(self.done, count)
            self._drawn_until = self.done + count
        drawn = [next(self._drawn) for _ in range(self.scheme.draws)]
        if len(drawn[0]) == 1:
            return iter([draw.contiguous() for draw in drawn])
        rows = torch.from_numpy(self._noise_of[self._rows])
        return iter([draw[rows].contiguous() for draw in drawn])

    def _begin(self) -> tuple[Tensor, ...]:
        """X_0: theta at the model's start, the momentum zero or stationary, a thermostat's friction at D."""
        shape = (len(self.settings), len(self.chains))
        values = []
        for place, (name, kind) in enumerate(self.scheme.dynamics.shapes.items()):
            if place == 0:
                value = self.model.start(self.chains).expand(*shape, -1)
            elif kind == "scalar":
                frictions = torch.tensor([_value(item.friction, 1) for item in self.settings])
                value = frictions.to(torch.float64)[:, None, None].expand(*shape, 1)
            elif name == "p" and self._start_momentum == "stationary":
                drawn = normals(self._streams("momentum"), 0, self.model.dim).movedim(0, -1)[self._noise_of]
                value = (drawn * torch.from_numpy(np.sqrt(self._temperatures))[:, None, None]).expand(
                    *shape, -1
                )
            else:
                value = torch.zeros((*shape, self.model.dim), dtype=torch.float64)
            values.append(value.to(self.dtype).contiguous())
        return tuple(values)

    def _held(self, new: tuple[Tensor, ...], number: int) -> tuple[Tensor, ...]:
        """The new state, with chains that have diverged at their start."""
        # A NaN compares as false.
        good = torch.stack([tensor.abs().amax(-1) <= self.model.far for tensor in new]).all(0).numpy()
        self.diverged_at[~good & self.alive] = number
        if self.alive.all():
            return new
        stays = torch.from_numpy(self.alive)[:, :, None]
        return tuple(torch.where(stays, tensor, start) for tensor, start in zip(new, self.first, strict=True))

    def _store(self, kept: KeptParts, part: str, recorder: ChainRecorder, *, finished: bool = False) -> None:
        """Store what the run goes on from; of a finished one, what was found alone."""
        states = {} if finished else self.named()
        arrays = {f"state.{name}": tensor.numpy() for name, tensor in states.items()}
        arrays |= {f"model.{name}": value for name, value in self.model.arrays().items()}
        arrays |= {f"found.{name}": value for name, value in recorder.arrays().items()}
        if isinstance(self._after, BetweenSteps):
            arrays |= {f"after.{name}": value for name, value in self._after.arrays().items()}
        kept.store(
            part, {"done": self.done, "finished": finished}, {**arrays, "diverged_at": self.diverged_at}
        )

    def _resume(self, header: dict[str, Any], arrays: Arrays, recorder: ChainRecorder) -> None:
        self.done, self.diverged_at = int(header["done"]), arrays["diverged_at"].copy()
        if not header["finished"]:
            self.state = tuple(torch.from_numpy(arrays[f"state.{name}"]) for name in self.scheme.state)
        owners: list[tuple[str, Any]] = [("model.", self.model), ("found.", recorder)]
        if isinstance(self._after, BetweenSteps):
            owners.append(("after.", self._after))
        for group, owner in owners:
            owner.resume(
                {name[len(group) :]: value for name, value in arrays.items() if name.startswith(group)}
            )
        self._drawn_until = 0
        self._leave_out()


class _Gradient(GradientIngredient):
    """The ingredient `grad` of one step: the model's estimate on values (S, C, d)."""

    def __init__(self, model: SampledModel, step: int) -> None:
        super().__init__()
        self._model, self._step = model, step

    def evaluate(self, place: Chains, minibatch: int) -> Chains:
        """See `GradientIngredient.evaluate`."""
        return Chains(self._model.gradient(place.tensor, self._step, minibatch))

    def prior(self, place: Chains) -> Chains:
        """See `GradientIngredient.prior`."""
        return Chains(self._model.prior(place.tensor))


def _value(value: Any, number: int) -> float:
    """A number, or the value of a schedule at step l = `number`."""
    return float(value.at(number) if hasattr(value, "at") else value)


def _check(scheme: Scheme, settings: Sequence[ChainSetting], start_momentum: str) -> None:
    if not settings:
        raise ConfigurationError("settings=[]: expected at least one; give a step size")
    if scheme.memory:
        raise ConfigurationError(
            f"scheme={scheme.name!r} has a memory of its own; expected a scheme whose state is that of its dynamics; its chains "
            "are run by `sgverify sample`"
        )
    if unknown := sorted(set(scheme.parameters) - {"D", "T"}):
        raise ConfigurationError(
            f"scheme={scheme.name!r} asks for the parameter {unknown[0]}; expected D (friction) and T (temperature) alone"
        )
    if start_momentum not in ("zero", "stationary"):
        raise ConfigurationError(f"start_momentum={start_momentum!r}: expected 'zero' or 'stationary'")
