"""A run of a composite written down: what each step drew, felt and moved, and what the composite made of it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Generic, TypeVar

import numpy as np
import torch
from torch import Tensor

from sgverify.samplers.around import Around
from sgverify.samplers.gradients import Estimator
from sgverify.samplers.leg import Leg
from sgverify.samplers.motion import State
from sgverify.samplers.run import Ensemble
from sgverify.samplers.settings import one_thread
from sgverify.samplers.watching import Watch


@dataclass(frozen=True, eq=False)
class Felt:
    """One gradient: where it was asked for, on what data, (n, S, C), the scheme's own estimate and what the step was given.

    `chosen` is None where all data are used; the others have shape (S, C, d).
    """

    theta: np.ndarray
    chosen: np.ndarray | None
    plain: np.ndarray
    given: np.ndarray


@dataclass(eq=False)
class Step:
    """One step: its draws and gradients in turn, and the state that it left before the composite acted and after."""

    number: int
    draws: list[np.ndarray] = field(default_factory=list)
    felt: list[Felt] = field(default_factory=list)
    moved: list[np.ndarray] = field(default_factory=list)
    after: list[np.ndarray] = field(default_factory=list)


S = TypeVar("S", bound=Step)


class Writing(Watch, Generic[S]):
    """Writes down the steps of a composite; a subclass says what it keeps of one composite beside them."""

    def __init__(self, make: Callable[[int], S]) -> None:
        self._make, self.now = make, make(1)
        self.start: list[np.ndarray] = []
        self.steps: list[S] = []

    def begin(self, leg: Leg) -> Leg:
        """See `Watch.begin`."""
        assert leg.around is not None
        felt = _Heard(leg.felt, leg.estimator, lambda felt: self.now.felt.append(felt))
        if not self.steps:
            self.start = [array(value) for value in leg.start]
        told = leg.telling(lambda draw: self.now.draws.append(array(draw)))
        return replace(told, felt=felt, around=_Followed(leg.around, self))

    def prepared(self) -> None:
        """The random numbers of the next steps are drawn."""

    def keep(self, place: int) -> None:
        """The step at `place` of its block is done: keep what the composite holds now."""

    def settle(self, number: int) -> None:
        """The step of this number is over; the next one begins."""
        self.steps.append(self.now)
        self.now = self._make(number + 1)


def write(ensemble: Ensemble, writing: Writing[S], pause: int) -> bool:
    """Run all steps, paused after step `pause` and taken up from what is carried; whether a chain left every bound.

    What the composite does around the step at which one does is of no consequence, and the step is left out.
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
    """A copy in the tensor's own dtype."""
    return np.array(tensor.cpu().numpy())


class _Heard(Estimator):
    """Hands on what the estimator of the steps says, and tells it."""

    def __init__(self, felt: Estimator, own: Estimator, tell: Callable[[Felt], None]) -> None:
        super().__init__(own.potential)
        self._felt, self._own, self._tell = felt, own, tell

    def prepare(self, first: int, count: int) -> None:
        self._felt.prepare(first, count)

    def begin(self, step: int, theta: Tensor) -> None:
        self._felt.begin(step, theta)

    def evaluate(self, theta: Tensor, step: int, minibatch: int, evaluation: int) -> Tensor:
        given = self._felt.evaluate(theta, step, minibatch, evaluation)
        bent = self._felt is not self._own
        plain = self._own.evaluate(theta, step, minibatch, evaluation) if bent else given
        chosen = self._own.chosen(step, minibatch)
        self._tell(Felt(array(theta), None if chosen is None else array(chosen), array(plain), array(given)))
        return given


class _Followed(Around):
    """Hands on what a composite does around a step, and tells it."""

    def __init__(self, around: Around, writing: Writing[S]) -> None:
        self._around, self._writing = around, writing

    def prepare(self, first: int, count: int) -> None:
        self._around.prepare(first, count)
        self._writing.prepared()

    def after(self, place: int, number: int, state: State, steps: np.ndarray) -> State:
        now = self._writing.now
        now.moved = [array(value) for value in state]
        found = self._around.after(place, number, state, steps)
        now.after = [array(value) for value in found]
        self._writing.keep(place)
        self._writing.settle(number)
        return found

    @property
    def carried(self) -> tuple[Tensor, ...]:
        return self._around.carried


__all__ = ["Felt", "Step", "Writing", "array", "write"]
