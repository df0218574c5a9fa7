"""The sampler's own loop on states, draws and minibatches that are given: every step of it can then be checked."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import torch
from torch import Tensor

from sgverify.samplers.blocks import by_coordinate
from sgverify.samplers.gradients import GradientChoice, MinibatchEstimator
from sgverify.samplers.run import Ensemble
from sgverify.samplers.schedules import fixed
from sgverify.samplers.settings import Settings, one_thread
from sgverify.schemes import Scheme
from sgverify.schemes.abstract import Census
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
    run = _Given(scheme, target, fixed([h], [length]), kept)
    run.given = (state, draws, minibatches)
    # A state that leaves every bound is shown like any other.
    run.farthest = float("inf")
    shown = _Shown()
    with one_thread(), torch.no_grad():
        for _ in run.blocks(shown):
            continue
    return [[np.asarray(value, dtype=np.float64) for value in state], *shown.states]


class _Given(Ensemble):
    given: Any = None

    def _begin(self, alive: tuple[int, ...]) -> tuple[Tensor, ...]:
        state = self.given[0]
        return tuple(by_coordinate(torch.tensor(value[None]).to(self.dtype)) for value in state)

    def _noise(self, alive: tuple[int, ...]) -> Any:
        return _Draws(self.given[1], self.dtype)

    def _estimator(self, alive: tuple[int, ...], asked: Census, purpose: str = "") -> Any:
        estimator = super()._estimator(alive, asked, purpose)
        if self.given and self.given[2] and isinstance(estimator, MinibatchEstimator):
            estimator._source = _Minibatches(self.given[2])
        return estimator


class _Draws:
    def __init__(self, draws: np.ndarray, dtype: torch.dtype) -> None:
        self._draws = torch.tensor(draws, dtype=torch.float64).to(dtype)

    def take(self, first: int, count: int) -> Iterator[Tensor]:
        part = self._draws[first : first + count].flatten(0, 1)
        # As the sampler's own draws lie in memory.
        return iter([by_coordinate(draw[None]) for draw in part])


class _Minibatches:
    """The same minibatches at every step, in the order in which a step names them."""

    def __init__(self, given: Sequence[Sequence[int]]) -> None:
        self._drawn = torch.tensor([list(batch) for batch in given], dtype=torch.int64)[:, :, None, None]

    def block(self, first: int, count: int) -> Tensor:
        places = [place % len(self._drawn) for place in range(first, first + count)]
        return self._drawn[places]


class _Shown:
    tape = None

    def __init__(self) -> None:
        self.states: list[list[np.ndarray]] = []

    def show(self, rows: tuple[int, ...], number: int, state: tuple[Tensor, ...], steps: np.ndarray) -> None:
        self.states.append([np.array(value[0].to(torch.float64).cpu().numpy()) for value in state])

    def add(self, rows: tuple[int, ...], number: int, values: Sequence[Tensor], steps: np.ndarray) -> None:
        """Never called: nothing is compiled."""


__all__ = ["run_given"]
