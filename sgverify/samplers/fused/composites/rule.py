"""What does a kernel ask of a composite: what it holds, which numbers it needs, and what happens between steps?"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor

from sgverify.samplers.fused.composites.energies import RecordedEnergies
from sgverify.samplers.gradients.estimators import Estimator
from sgverify.samplers.reading.tape import Tape

LEAST = 4
"""The fewest steps between two that torch takes for which a kernel is made."""


@dataclass(frozen=True)
class Action:
    """What happens after some steps: `tape` computes new values of the variables `changed` from its `inputs`.

    `when` is a C condition on the step's number l = first + k + 1; `inputs` are C arrays or numbers with tensors of their shapes.
    """

    when: str
    tape: Tape
    inputs: list[tuple[str, Tensor]]
    changed: list[str]


class Rule:
    """The actions of a composite in a leg.

    `held` names the variables, beside those of the states, that actions read or change: for each its replica, dtype and width.
    `numbers` is how many numbers a step has that all chains share. Actions compute energies of `energies`, on minibatches of
    `batch` data, one for each step at which the C condition `event` holds; `batch` is 0 without minibatches.
    """

    hooks: Any
    replicas: int
    numbers: int
    batch: int
    event: str
    held: list[tuple[str, int, torch.dtype, int]]
    energies: RecordedEnergies

    @property
    def tensors(self) -> tuple[Tensor, ...]:
        """The tensors of the hooks behind `held`, one for all replicas, of shape (S, C, width)."""
        raise NotImplementedError

    def take(self, tensors: Sequence[Tensor]) -> None:
        """Hand the tensors after some steps back to the hooks."""
        raise NotImplementedError

    def until_torch(self, done: int) -> int | None:
        """The steps after step `done` before one that torch has to take; None if there is none."""
        return None

    def step_numbers(self, first: int, steps: np.ndarray) -> np.ndarray:
        """The numbers that chains share of the next steps, of sizes (K, S); shape (K, G, numbers)."""
        raise NotImplementedError

    def chances(self, first: int, count: int) -> np.ndarray:
        """The logarithms of the uniform numbers of the next steps, shape (K, S, C)."""
        raise NotImplementedError

    def indices(self, first: int, count: int) -> np.ndarray | None:
        """The data of the minibatches of the next steps' energies, uint32 of shape (events n, G, C); None without minibatches."""
        return None

    def bend(self, estimator: Estimator, held: dict[str, Tensor]) -> Estimator:
        """The estimator that steps use, made from their own one; `held` are the variables by name."""
        return estimator

    def actions(self) -> list[Action]:
        """What happens after steps."""
        raise NotImplementedError

    def shown(self) -> Any:
        """Hooks for a proof, a copy at values at which a wrong action shows."""
        raise NotImplementedError
