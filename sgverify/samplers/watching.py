"""Who is shown every state of a run."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from torch import Tensor

from sgverify.samplers.motion import State
from sgverify.samplers.observation import Asked
from sgverify.samplers.tape import Tape


class Watch(Protocol):
    """Who is shown every state."""

    @property
    def tape(self) -> Tape | None:
        """What is read of a state, recorded; None where it is not."""

    def show(self, rows: tuple[int, ...], number: int, state: State, steps: np.ndarray) -> None:
        """The state of the rows after step `number` of sizes `steps`, shape (S,)."""

    def add(self, rows: tuple[int, ...], number: int, values: Sequence[Tensor], steps: np.ndarray) -> None:
        """The same, when what is read of it is there already."""


@dataclass(frozen=True)
class Sums:
    """What some steps add to sums of test functions along the chains.

    `total` holds the sums so far, float64, shape (observables, S, C), by which `weights` each step's values are
    multiplied and whether they are `counted` at all, both (K, S).
    """

    asked: Asked
    total: Tensor
    weights: np.ndarray
    counted: np.ndarray


class Summing(Watch, Protocol):
    """Who adds test functions up, and can be told the sums of many steps instead of every state."""

    def sums(self, rows: tuple[int, ...], number: int, steps: np.ndarray) -> Sums:
        """What the steps number, number + 1, ... of sizes `steps`, shape (K, S), are to add to."""

    def settle(self, rows: tuple[int, ...], sums: Sums, total: Tensor) -> None:
        """The sums after these steps."""
