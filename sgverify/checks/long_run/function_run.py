"""A plain torch step as a run: each result is handed to the next call, as it is."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor

from sgverify.law.chosen_step import started
from sgverify.law.torch_chain import setting_of
from sgverify.samplers.intercepted.black_box import BlackBox
from sgverify.samplers.intercepted.dtypes import default_dtype
from sgverify.samplers.intercepted.interception import Interception
from sgverify.schemes.torch_step import TorchStep


@dataclass(frozen=True)
class Rows:
    """The copies of a run, with their numbers h, T and D."""

    name: str
    size: int
    numbers: Mapping[str, float]


class FunctionRun:
    """A run of a step on an isotropic Gaussian, from a draw of its target and from the start of its memory.

    `dim` is that of one call and `rows` the chains of one, for a step that takes many. With `alone` each entry is a copy.
    """

    kept = True

    def __init__(
        self,
        step: TorchStep,
        numbers: Mapping[str, float],
        centre: float,
        rate: float,
        dim: int,
        rows: int,
        alone: bool,
    ) -> None:
        self._step, self._numbers, self._h = step, numbers, numbers["h"]
        count = dim * rows
        told = f"{count:,} entries" if alone else f"{rows:,} chains" if step.chains else "one chain"
        self.parts: Sequence[Any] = (Rows(told, count if alone else rows, numbers),)
        one = 1 if alone else dim
        self._setting = setting_of(step, numbers, np.full(one, centre), rate)
        given = {name: numbers[name] for name in step.parameters}
        self._box = BlackBox(step, lambda theta, _: rate * (theta - centre), dim, given)
        mean, spreads = self._setting.law[0], self._setting.spreads
        state = torch.tensor(mean) + torch.tensor(spreads) * torch.randn(
            (count // one, len(mean)), dtype=torch.float64
        )
        if alone:
            # Entries side by side: the values of each variable follow each other, and there is one of a scalar.
            parts = [
                part[:full, 0].reshape(1, -1)
                for full, part in zip(step.sizes(dim), state.split(1, dim=1), strict=True)
            ]
        else:
            parts = list(state.split(list(self._setting.sizes), dim=1))
        whole = step.tensors(torch.cat(parts, dim=1) if step.chains else torch.cat(parts, dim=1)[0], dim)
        self.state: tuple[Tensor, ...] = tuple(value.contiguous() for value in whole)
        known = len(step.dynamics.state)
        if step.memory:
            self.state = (*self.state[:known], *started(step, self.state)[:])
        self.variables: int | None = None
        if alone and all(value.numel() == count for value in self.state):
            self.variables = len(self.state)
        elif not alone:
            self.variables = len(mean)
        self._alone = alone
        self.drawn = 0

    def step(self) -> None:
        """One step as it is."""
        with default_dtype(torch.float64):
            self.state = self._box.handed_on(self.state, self._h)

    def flat(self) -> np.ndarray:
        """The state, theta first; of whole chains, value after value of all chains."""
        if self._alone or not self._step.chains:
            return torch.cat([value.reshape(-1) for value in self.state]).to(torch.float64).numpy()
        rows = len(self.state[0])
        return (
            torch.cat([value.reshape(rows, -1) for value in self.state], dim=1)
            .to(torch.float64)
            .T.reshape(-1)
            .numpy()
        )

    @property
    def operations(self) -> int:
        """The number of torch's operations in a step."""
        counted = 0

        def count(*_: Any) -> None:
            nonlocal counted
            counted += 1

        with torch.random.fork_rng(devices=[]), default_dtype(torch.float64):
            self._box.run(self.state, None, self._h, others=torch.Generator().manual_seed(0), witness=count)
        return counted

    def held(self, state: np.ndarray, draw: float) -> np.ndarray:
        """The state after a step from a state, where every number behind its draws is `draw`."""
        parts, ends = [], 0
        for value in self.state:
            parts.append(torch.from_numpy(state[ends : ends + value.numel()].copy()).reshape(value.shape))
            ends += value.numel()
        kept, self.drawn = self.state, 0

        def put(shape: tuple[int, ...], law: Any = None, chances: Any = None) -> Tensor:
            self.drawn += int(np.prod(shape, dtype=int))
            return torch.full(shape, draw, dtype=torch.float64)

        with torch.random.fork_rng(devices=[]), Interception(put), default_dtype(torch.float64):
            self.state = self._box.real_state(parts, self._h)
            moved = self.flat()
        self.state = kept
        return moved
