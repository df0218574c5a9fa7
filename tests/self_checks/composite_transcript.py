"""Which draws, gradients and states has each step of a composite's run, and how does the composite change them?"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Generic, TypeVar

import numpy as np
import torch
from torch import Tensor

from sgverify.samplers.composites.hooks import StepHooks
from sgverify.samplers.gradients.estimators import Estimator
from sgverify.samplers.reading.motion import State
from sgverify.samplers.run.leg import Leg, RunObserver
from sgverify.samplers.run.run import Ensemble
from sgverify.samplers.run.settings import one_thread


@dataclass(frozen=True, eq=False)
class GradientCall:
    """One gradient evaluation: its place `theta`, the scheme's own estimate `plain`, and the value `given` to the step.

    All have shape (S, C, d). `chosen` are the data of the minibatch, (n, S, C); None where all data are used.
    """

    theta: np.ndarray
    chosen: np.ndarray | None
    plain: np.ndarray
    given: np.ndarray


@dataclass(eq=False)
class CompositeStep:
    """The record of one step: its draws and gradients in order, the state `moved` by the scheme, and that `after` the composite."""

    number: int
    draws: list[np.ndarray] = field(default_factory=list)
    gradient_calls: list[GradientCall] = field(default_factory=list)
    moved: list[np.ndarray] = field(default_factory=list)
    after: list[np.ndarray] = field(default_factory=list)


S = TypeVar("S", bound=CompositeStep)


class Writing(RunObserver, Generic[S]):
    """A run observer that records the steps of a composite; a subclass records further values of its composite."""

    def __init__(self, make: Callable[[int], S]) -> None:
        self._make, self.now = make, make(1)
        self.start: list[np.ndarray] = []
        self.steps: list[S] = []

    def begin(self, leg: Leg) -> Leg:
        """See `RunObserver.begin`."""
        assert leg.hooks is not None
        estimator = _RecordedEstimator(leg.applied_estimator, leg.estimator, self._note)
        if not self.steps:
            self.start = [array(value) for value in leg.start]
        told = leg.telling(lambda draw: self.now.draws.append(array(draw)))
        return replace(told, applied_estimator=estimator, hooks=_Followed(leg.hooks, self))

    def _note(self, call: GradientCall) -> None:
        self.now.gradient_calls.append(call)

    def prepared(self) -> None:
        """Called after the random numbers of the next block of steps are drawn."""

    def keep(self, place: int) -> None:
        """Called after the step at `place` of its block: record the values that the composite holds now."""

    def settle(self, number: int) -> None:
        """Close the record of step `number` and begin that of the next step."""
        self.steps.append(self.now)
        self.now = self._make(number + 1)


def write(ensemble: Ensemble, writing: Writing[S], pause: int) -> bool:
    """Run and record all steps, pausing after step `pause` and resuming from the carried tensors; did a chain diverge?

    The step at which a chain diverges is left out of the record.
    """
    with one_thread(), torch.no_grad():
        position = ensemble.begin()
        for until in (pause, None):
            for block in ensemble.blocks(writing, start=position, until=until):
                if block.diverged:
                    del writing.steps[block.last - 1 :]
                    return True
            position = ensemble.position(block)
    return False


def array(tensor: Tensor) -> np.ndarray:
    """A copy of a tensor as a numpy array of the same dtype."""
    return np.array(tensor.cpu().numpy())


class _RecordedEstimator(Estimator):
    """The estimator that the steps use, with each of its values passed to `tell`."""

    def __init__(self, applied: Estimator, own: Estimator, tell: Callable[[GradientCall], None]) -> None:
        super().__init__(own.potential)
        self._applied, self._own, self._tell = applied, own, tell

    def prepare(self, first: int, count: int) -> None:
        self._applied.prepare(first, count)

    def begin(self, step: int, theta: Tensor) -> None:
        self._applied.begin(step, theta)

    def evaluate(self, theta: Tensor, step: int, minibatch: int, evaluation: int) -> Tensor:
        given = self._applied.evaluate(theta, step, minibatch, evaluation)
        bent = self._applied is not self._own
        plain = self._own.evaluate(theta, step, minibatch, evaluation) if bent else given
        chosen = self._own.chosen(step, minibatch)
        self._tell(
            GradientCall(array(theta), None if chosen is None else array(chosen), array(plain), array(given))
        )
        return given


class _Followed(StepHooks):
    """The hooks of a composite, with each of their calls reported to a `Writing`."""

    def __init__(self, hooks: StepHooks, writing: Writing[S]) -> None:
        self._hooks, self._writing = hooks, writing

    def prepare(self, first: int, count: int) -> None:
        self._hooks.prepare(first, count)
        self._writing.prepared()

    def after(self, place: int, number: int, state: State, steps: np.ndarray) -> State:
        now = self._writing.now
        now.moved = [array(value) for value in state]
        found = self._hooks.after(place, number, state, steps)
        now.after = [array(value) for value in found]
        self._writing.keep(place)
        self._writing.settle(number)
        return found

    @property
    def carried(self) -> tuple[Tensor, ...]:
        return self._hooks.carried


__all__ = ["CompositeStep", "GradientCall", "Writing", "array", "write"]
