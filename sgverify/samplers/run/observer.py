"""Who is told of a run as it goes: the one way to record it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from torch import Tensor

from sgverify.samplers.reading.carrier import ObservedFunctions
from sgverify.samplers.reading.motion import State
from sgverify.samplers.reading.tape import Tape
from sgverify.samplers.run.leg import Leg


class RunObserver:
    """Records a run; this one records nothing.

    `tape`: what is read of a state, recorded; where there is one, steps that torch has compiled are told by `add`.
    """

    tape: Tape | None = None

    def begin(self, leg: Leg) -> Leg:
        """The leg that is run in place of this one, before its first step.

        A recorder of more than states hands back a leg whose draws, gradients or composite tell it of what they do.
        """
        return leg

    def show(self, rows: tuple[int, ...], number: int, state: State, steps: np.ndarray) -> None:
        """The state of the rows after step `number` of sizes `steps`, shape (S,)."""

    def add(self, rows: tuple[int, ...], number: int, values: Sequence[Tensor], steps: np.ndarray) -> None:
        """The same step, told by the values of `tape` at its state."""
        raise NotImplementedError(f"{type(self).__name__} has no tape")


@dataclass(frozen=True)
class Sums:
    """What some steps add to sums of test functions along the chains.

    `total` holds the sums so far, float64, shape (observables, S, C), by which `weights` each step's values are
    multiplied and whether they are `counted` at all, both (K, S).
    """

    asked: ObservedFunctions
    total: Tensor
    weights: np.ndarray
    counted: np.ndarray


class Summing(RunObserver):
    """Adds test functions up, and can be told the sums of many steps instead of every state."""

    def sums(self, rows: tuple[int, ...], number: int, steps: np.ndarray) -> Sums:
        """What the steps number, number + 1, ... of sizes `steps`, shape (K, S), are to add to."""
        raise NotImplementedError

    def settle(self, rows: tuple[int, ...], sums: Sums, total: Tensor) -> None:
        """The sums after these steps."""
        raise NotImplementedError
