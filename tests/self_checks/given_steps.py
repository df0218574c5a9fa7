"""The states that the sampler computes from given states, draws and minibatches.

`run_given` runs the sampler's own loop; `PlainStep` runs a single step of a definition.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
import torch
from torch import Tensor

from sgverify.law.chosen_step import ChosenGradient, chosen_gradient, parameters
from sgverify.samplers.gradients.estimators import Estimator, GradientChoice
from sgverify.samplers.reading.binding import bind_numbers
from sgverify.samplers.reading.constants import Clock
from sgverify.samplers.reading.motion import State
from sgverify.samplers.run.leg import Leg, RunObserver, by_coordinate
from sgverify.samplers.run.run import Ensemble
from sgverify.samplers.run.schedules import fixed
from sgverify.samplers.run.settings import Settings, one_thread
from sgverify.schemes import Scheme
from sgverify.schemes.definition.binding import in_order
from sgverify.subject.subject import Subject
from sgverify.targets import Target
from sgverify.targets.metric import MetricText
from tests.self_checks.run_transcript import Given


def run_given(
    scheme: Scheme,
    target: Target,
    *,
    h: float,
    state: Sequence[np.ndarray],
    draws: np.ndarray,
    minibatches: Sequence[Sequence[int]],
    settings: Settings,
) -> list[list[np.ndarray]]:
    """X_0, X_1, ..., X_L of the sampler, each variable in float64 of shape (C, d or 1).

    `draws` has shape (L, K, C, d), with K draws per step. `minibatches` holds the data indices of each minibatch of a step, the
    same at every step and for every chain; it is empty for full gradients. Definition, recording, playing, estimator and
    constants are the sampler's own; only the run's start and its random streams are replaced.
    """
    length, _, chains, _ = draws.shape
    choice = settings.gradient
    kept = replace(settings, chains=chains, first_chain=0, coupled=False, compiled=False)
    if not minibatches:
        full = GradientChoice(kind="full", scale=choice.scale, clip=choice.clip)
        kept = replace(kept, gradient=full)
    ensemble = Ensemble(scheme, target, fixed([h], [length]), kept)
    given = _Given(torch.tensor(draws, dtype=torch.float64).to(ensemble.dtype), minibatches)
    values = tuple(by_coordinate(torch.tensor(value[None]).to(ensemble.dtype)) for value in state)
    with one_thread(), torch.no_grad():
        for _ in ensemble.blocks(given, start=replace(ensemble.begin(), state=values)):
            continue
    return [[np.asarray(value, dtype=np.float64) for value in state], *given.states]


class _Given(RunObserver):
    """Replaces the draws of a run by given ones, shape (L, K, C, d), and its minibatches, and records the states."""

    def __init__(self, draws: Tensor, minibatches: Sequence[Sequence[int]]) -> None:
        self._draws, self._minibatches = draws, minibatches
        self.states: list[list[np.ndarray]] = []

    def begin(self, leg: Leg) -> Leg:
        if self._minibatches:
            leg.estimator.source = Given(torch.tensor(self._minibatches)[:, :, None, None])
        # No bound of divergence: every state is recorded.
        return replace(leg, draws=self._take, farthest=float("inf"))

    def show(self, rows: tuple[int, ...], number: int, state: State, steps: np.ndarray) -> None:
        self.states.append([np.array(value[0].to(torch.float64).cpu().numpy()) for value in state])

    def _take(self, first: int, count: int) -> Iterator[Tensor]:
        # In the memory layout of the sampler's own draws.
        return (by_coordinate(draw[None]) for draw in self._draws[first : first + count].flatten(0, 1))


class ChosenGradientEstimator(Estimator):
    """A `ChosenGradient` in the form of the sampler's estimators, so that a definition can use it as `grad`."""

    def __init__(self, gradient: ChosenGradient) -> None:
        super().__init__(gradient.potential)
        self._gradient = gradient

    def evaluate(self, theta: Tensor, step: int, minibatch: int, evaluation: int) -> Tensor:
        """See `Estimator.evaluate`."""
        return self._gradient(theta, minibatch)


@dataclass(frozen=True)
class PlainStep:
    """`scheme` with this gradient, dimension and parameters (T, D by name)."""

    scheme: Scheme
    gradient: ChosenGradient = field(repr=False)
    dim: int
    parameters: Mapping[str, float]
    metric: MetricText | None = None

    @property
    def numbers(self) -> int:
        """The number of random numbers in one step of one chain."""
        return self.scheme.draws * self.dim

    def run(self, state: Sequence[Tensor], draws: Tensor, h: float) -> tuple[Tensor, ...]:
        """X_1 from a state with variables of shape (*chains, dim) or (*chains, 1), and draws (*chains, draws * dim)."""
        bound = bind_numbers(self.scheme, self.parameters, self.dim, Clock(), self.metric)
        parts = draws.to(state[0].dtype).split(self.dim, dim=-1) if self.numbers else ()
        with torch.no_grad():
            return bound.step(
                state, h=h, grad=ChosenGradientEstimator(self.gradient).of_step(0), draw=in_order(parts)
            )


def plain_step(subject: Subject, *, seed: int | None = None) -> PlainStep:
    """The definition of a subject on tensors, bound to its target."""
    return PlainStep(
        subject.scheme,
        chosen_gradient(subject, seed=seed),
        subject.target.dim,
        parameters(subject),
        subject.configuration.metric,
    )
