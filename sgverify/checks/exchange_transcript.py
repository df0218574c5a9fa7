"""A short run of replica exchange, watched: all that each step drew, felt, moved and kept.

It goes over from block to block, and is paused on the way. Half of the uniform numbers are put in its way, so small that a
swap is made wherever one has a chance.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import torch
from torch import Tensor

from sgverify.samplers.around import Stage
from sgverify.samplers.exchange import Exchange
from sgverify.samplers.gradients import Estimator
from sgverify.samplers.run import Ensemble
from sgverify.samplers.settings import one_thread

BLOCK, PAUSE = 7, 11
"""Steps drawn at once, and the step after which the run is paused and taken up again."""

SURE = -1e300
"""The logarithm of a uniform number below every chance that is not 0."""


@dataclass(eq=False)
class Step:
    """One step: what was drawn and felt in it, the state that it left before swaps and after, and what is kept then.

    `felt`: each gradient, where it was asked for and what was said, shape (S, C, d); `chosen`: the data of each, (n, S, C).
    `swapped_on`, `spread_on`: data of the energies, and of the draws that measure their variance, (n, S, C) and (n, r, S, C).
    `drawn_uniforms`: as the run drew them, `uniforms`: as they were put in; logarithms, (S, C). `controls`: theta^, the full
    energy there and the coefficient.
    """

    number: int
    draws: list[np.ndarray] = field(default_factory=list)
    felt: list[tuple[np.ndarray, np.ndarray]] = field(default_factory=list)
    chosen: list[np.ndarray] = field(default_factory=list)
    moved: list[np.ndarray] = field(default_factory=list)
    swapped_on: np.ndarray | None = None
    spread_on: np.ndarray | None = None
    share: float = 1.0
    drawn_uniforms: np.ndarray = field(default_factory=lambda: np.empty(0))
    uniforms: np.ndarray = field(default_factory=lambda: np.empty(0))
    after: list[np.ndarray] = field(default_factory=list)
    controls: tuple[np.ndarray, ...] | None = None
    variance: np.ndarray = field(default_factory=lambda: np.empty(0))
    recorded: dict[str, np.ndarray] = field(default_factory=dict)


@dataclass(eq=False)
class Transcript:
    """A whole run: how it began, its steps, and whether chains left every bound."""

    start: list[np.ndarray]
    first_controls: tuple[np.ndarray, ...] | None
    first_variance: np.ndarray
    steps: list[Step]
    diverged: bool


def transcript_of(ensemble: Ensemble, seed: int) -> Transcript:
    """Run all steps of an ensemble of one schedule, made with `block=BLOCK`."""
    around = ensemble.around
    assert isinstance(around, Exchange)
    watching = _Watching(ensemble, around, np.random.default_rng(seed))
    diverged = False
    with one_thread(), torch.no_grad():
        position = ensemble.begin()
        start = [_array(value) for value in position.state]
        for until in (PAUSE, None):
            for block in ensemble.blocks(start=position, until=until):
                diverged |= bool(block.diverged)
            if diverged:
                break
            position = ensemble.position(block)
    return Transcript(start, watching.first_controls, watching.first_variance, watching.steps, diverged)


class _Watching:
    """Wraps, for one run alone, what it asks of others, and takes down what was said."""

    first_controls: tuple[np.ndarray, ...] | None
    first_variance: np.ndarray

    def __init__(self, ensemble: Ensemble, around: Exchange, random: np.random.Generator) -> None:
        self.steps: list[Step] = []
        self._around, self._random = around, random
        self._now = Step(1)
        self._own: dict[str, Any] = {
            name: getattr(around, name) for name in ("enter", "estimator", "prepare", "after")
        }
        self._own_draws = ensemble._draws
        held: Any = around
        held.enter, held.estimator, held.prepare, held.after = (
            self._enter,
            lambda own: _Recording(own, lambda: self._now),
            self._prepare,
            self._after,
        )
        ensemble._draws = self._draws  # type: ignore[method-assign]

    def _enter(self, stage: Stage, state: tuple[Tensor, ...], carried: tuple[Tensor, ...]) -> None:
        self._own["enter"](stage, state, carried)
        if not self.steps:
            self.first_controls, self.first_variance = self._controls(), _array(self._around.variance)
        energies: Any = self._around.energies
        if energies.exact:
            return
        minibatch, spread = energies.minibatch, energies.spread

        def watched_minibatch(number: int) -> Tensor:
            found: Tensor = minibatch(number)
            self._now.swapped_on = _array(found)
            return found

        def watched_spread(event: int) -> tuple[Tensor, float]:
            found, share = spread(event)
            self._now.spread_on, self._now.share = _array(found), share
            return found, share

        energies.minibatch, energies.spread = watched_minibatch, watched_spread

    def _draws(self, noise: Any, done: int, count: int) -> Iterator[Tensor]:
        for drawn in self._own_draws(noise, done, count):
            self._now.draws.append(_array(drawn))
            yield drawn

    def _prepare(self, first: int, count: int) -> None:
        self._own["prepare"](first, count)
        self._drawn = self._around.log_uniforms
        put = torch.from_numpy(self._random.random(self._drawn.shape) < 0.5)
        self._around.log_uniforms = torch.where(put, SURE, self._drawn)

    def _after(self, place: int, number: int, state: tuple[Tensor, ...], steps: np.ndarray) -> Any:
        now = self._now
        now.moved = [_array(value) for value in state]
        now.drawn_uniforms = _array(self._drawn[place])
        now.uniforms = _array(self._around.log_uniforms[place])
        found = self._own["after"](place, number, state, steps)
        now.after = [_array(value) for value in found]
        now.controls, now.variance = self._controls(), _array(self._around.variance)
        now.recorded = {name: _array(value) for name, value in self._around.recorded().items()}
        self.steps.append(now)
        self._now = Step(number + 1)
        return found

    def _controls(self) -> tuple[np.ndarray, ...] | None:
        controls = self._around.controls
        return None if controls is None else tuple(_array(tensor) for tensor in controls.tensors)


class _Recording(Estimator):
    """Hands on what the run's own estimator says, and takes it down."""

    def __init__(self, own: Estimator, now: Callable[[], Step]) -> None:
        super().__init__(own.potential)
        self._own, self._now = own, now

    def prepare(self, first: int, count: int) -> None:
        """See `Estimator.prepare`."""
        self._own.prepare(first, count)

    def begin(self, step: int, theta: Tensor) -> None:
        """See `Estimator.begin`."""
        self._own.begin(step, theta)

    def evaluate(self, theta: Tensor, step: int, minibatch: int, evaluation: int) -> Tensor:
        """See `Estimator.evaluate`."""
        found = self._own.evaluate(theta, step, minibatch, evaluation)
        chosen, now = self._own.chosen(step, minibatch), self._now()
        now.felt.append((_array(theta), _array(found)))
        if chosen is not None:
            now.chosen.append(_array(chosen))
        return found


def _array(tensor: Tensor) -> np.ndarray:
    return np.array(tensor.cpu().numpy())


__all__ = ["BLOCK", "PAUSE", "SURE", "Step", "Transcript", "transcript_of"]
