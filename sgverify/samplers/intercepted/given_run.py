"""The sampler's own loop on states, draws and minibatches that are given: every step of it can then be checked."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np
import torch
from torch import Tensor

from sgverify.samplers.blocks import by_coordinate
from sgverify.samplers.gradients import GradientChoice
from sgverify.samplers.leg import Leg
from sgverify.samplers.motion import State
from sgverify.samplers.run import Ensemble
from sgverify.samplers.schedules import fixed
from sgverify.samplers.settings import Settings, one_thread
from sgverify.samplers.transcript import Given
from sgverify.samplers.watching import RunObserver
from sgverify.schemes import Scheme
from sgverify.targets import Target


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
    """X_0, X_1, ..., X_L of the sampler, each variable in float64. Shapes (C, d or 1).

    `draws`: shape (L, K, C, d), K the draws of a step. `minibatches`: the data of each minibatch of a step, the same at
    every step and for every chain; none for full gradients. Definition, recording, playing, estimator and constants are the
    sampler's; the run's start and its random streams alone are replaced.
    """
    length, _, chains, _ = draws.shape
    choice = settings.gradient
    kept = replace(settings, chains=chains, first_chain=0, coupled=False, generator="philox", compiled=False)
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
    """Puts draws, shape (L, K, C, d), and minibatches in, and keeps the states."""

    def __init__(self, draws: Tensor, minibatches: Sequence[Sequence[int]]) -> None:
        self._draws, self._minibatches = draws, minibatches
        self.states: list[list[np.ndarray]] = []

    def begin(self, leg: Leg) -> Leg:
        if self._minibatches:
            leg.estimator.source = Given(torch.tensor(self._minibatches)[:, :, None, None])
        # A state that leaves every bound is shown like any other.
        return replace(leg, draws=self._take, farthest=float("inf"))

    def show(self, rows: tuple[int, ...], number: int, state: State, steps: np.ndarray) -> None:
        self.states.append([np.array(value[0].to(torch.float64).cpu().numpy()) for value in state])

    def _take(self, first: int, count: int) -> Iterator[Tensor]:
        # As the sampler's own draws lie in memory.
        return (by_coordinate(draw[None]) for draw in self._draws[first : first + count].flatten(0, 1))


__all__ = ["run_given"]
