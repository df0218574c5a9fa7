"""What does a kernel ask of a composite: what it holds, which numbers it needs, and what happens between steps?"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

import numpy as np
import torch
from torch import Tensor

from sgverify.errors import Unreached
from sgverify.samplers.fused.composites.energies import EnergyMinibatch, RecordedEnergies
from sgverify.samplers.fused.drawing import drawn_in_c
from sgverify.samplers.fused.gradients import TRACED, KernelGradient
from sgverify.samplers.fused.loops import TapeAt, taped
from sgverify.samplers.gradients.estimators import Estimator
from sgverify.samplers.gradients.minibatches import Iid, Minibatches, WithoutReplacement
from sgverify.samplers.randomness.philox import Stream
from sgverify.samplers.run.leg import Leg, Statistics
from sgverify.schemes import Scheme
from sgverify.schemes.definition.binding import Bound


@dataclass(frozen=True)
class Action:
    """What happens after some steps: a tape computes new values of the variables `changed`.

    `when` is a C condition on the step's number l = first + k + 1.
    """

    when: str
    at: TapeAt
    changed: list[str]


FRESH = "(fresh && k == 0)"
"""The C condition on the first step of a run, whose gradients carry nothing yet."""


def renewal(gradient: KernelGradient, replicas: int, groups: int) -> Action | None:
    """What the gradient estimator renews of every replica before some steps, such as a snapshot; None if nothing.

    Variable v of replica r is named Q{r}_{v}.
    """
    renew, potential = gradient.begin, gradient.potential
    if renew is None:
        return None
    theta = [
        torch.ones((groups, TRACED, potential.target.dim), dtype=potential.dtype) for _ in range(replicas)
    ]

    def begin() -> list[Tensor]:
        found = [renew(value) for value in theta]
        return [each[v] for v in range(len(gradient.widths)) for each in found]

    at = taped(begin, ((f"X{r}_0", value) for r, value in enumerate(theta)))
    changed = [f"Q{r}_{v}" for v in range(len(gradient.widths)) for r in range(replicas)]
    return Action(f"{FRESH} || (first + k) % {gradient.refresh} == 0", at, changed)


class EnergyStream:
    """Minibatches of a stream of their own, on which an action computes energies, the same for all replicas of a chain.

    After the steps l = every, 2 every, ... an action uses `each` minibatches of `batch` data, numbered from
    l // divisor * each - before on. Data drawn with replacement are drawn in the kernel, others for each call of it.
    """

    def __init__(
        self,
        source: Minibatches,
        replicas: int,
        *,
        rows: int,
        every: int,
        each: int = 1,
        divisor: int = 1,
        before: int = 0,
        patience: float,
    ) -> None:
        if not isinstance(source, (Iid, WithoutReplacement)):
            raise Unreached(f"energies over minibatches of {type(source).__name__}")
        self.size, self.batch, self.every, self.each = source._size, source._batch, every, each
        self._divisor, self._before = divisor, before
        self.keys = np.ascontiguousarray(source._stream.keys[::replicas])
        self._drawn = drawn_in_c(source, replicas, rows, patience)

    @property
    def event(self) -> str:
        """The C condition on a step after which an action uses the stream."""
        return f"(first + k + 1) % {self.every} == 0"

    @property
    def outside(self) -> int:
        """About how many numbers a step has that are drawn outside of the kernel."""
        return 0 if self._drawn is None else -(-self.each * self.batch // self.every)

    def minibatch(self, name: str, size: int) -> EnergyMinibatch:
        """The data of an event in C, where the stream is named `name`, in minibatches of `size` data each."""
        first = f"((first + k + 1) / {self._divisor} * {self.each} - {self._before}) * {self.batch}"
        return EnergyMinibatch(size, self.batch * self.each // size, f"take_apart(&{name}, {first}, {{}})")

    def given(self, first: int, count: int) -> np.ndarray | None:
        """The data of the events of these steps, uint32 of shape (events each n, G, C); None if the kernel draws them."""
        if self._drawn is None:
            return None
        after = range(-(-(first + 1) // self.every) * self.every, first + count + 1, self.every)
        numbers = [step // self._divisor * self.each - self._before for step in after]
        if not numbers:
            return None
        if len(numbers) == 1 or numbers[1] - numbers[0] == self.each:
            return self._drawn.block(numbers[0], len(numbers) * self.each)
        return np.concatenate([self._drawn.block(number, self.each) for number in numbers])


class Rule:
    """The actions of a composite in a leg; this base class has none, for a plain run.

    `held` names the variables, beside those of the states, that actions read or change: for each its replica, dtype and width.
    `numbers` is how many numbers a step has that all chains share. Actions compute energies of `energies` on the minibatches of
    `streams`, steps on those of gradients, of which `taken` are tensors; `minibatches` says where those of an input lie. Samples of
    energies are taken on as many minibatches, of as many data each, as `sampled` says. Of the first replica, `kept` names what
    belongs to a kept state. `uniforms` is the stream of the whole numbers below `finest` that actions read, None if they read none.
    In a proof, `put` holds numbers to be read in their places, see `choose`.
    """

    replicas, numbers, finest = 1, 0, 0
    streams: tuple[EnergyStream, ...] = ()
    taken: Mapping[str, Tensor] = MappingProxyType({})
    sampled: tuple[int, int] | None = None
    held: Sequence[tuple[str, int, torch.dtype, int]] = ()
    kept: tuple[str, ...] = ()
    uniforms: Stream | None = None
    put: np.ndarray | None = None
    energies: RecordedEnergies | None = None

    def __init__(self, leg: Leg, hooks: Any = None, patience: float = math.inf) -> None:
        self.hooks, self._leg = hooks, leg

    @property
    def bounds(self) -> list[Bound[Scheme]]:
        """The definition as each replica binds it."""
        return [self._leg.bound]

    @property
    def tensors(self) -> tuple[Tensor, ...]:
        """The tensors of the hooks behind `held`, one for all replicas, of shape (S, C, width)."""
        return ()

    def take(self, tensors: Sequence[Tensor]) -> None:
        """Hand the tensors after some steps back to the hooks."""

    def step_numbers(self, first: int, steps: np.ndarray) -> np.ndarray:
        """The numbers that chains share of the next steps, of sizes (K, S); shape (K, G, numbers)."""
        return np.empty((len(steps), len(self._leg.places) // self.replicas, self.numbers))

    def choose(self, count: int) -> None:
        """Make `put` for so many steps of a proof, shape (K, S, C): NaN leaves the number that the kernel draws.

        The kernel replaces the NaN by that number, so that `drew` can compare it.
        """

    def drew(self, hooks: Any) -> bool:
        """Are the numbers that the kernel drew, in `put`, those that these hooks drew for the same steps?"""
        return True

    @property
    def minibatches(self) -> dict[str, EnergyMinibatch]:
        """The minibatches that the steps and the actions read, by the name of the input."""
        return {}

    def statistics(
        self, first: int, marked: np.ndarray, kept: Sequence[np.ndarray], before: Sequence[Tensor]
    ) -> Statistics | None:
        """What is recorded of the kept states of steps from step `first` on, counted from 0; `marked`, shape (K,), marks them.

        `kept` holds the variables so named, each of shape (n, C), `before` the tensors of the hooks before these steps; `tensors`
        are those after them.
        """
        return None

    def bend(self, estimator: Estimator, held: dict[str, Tensor]) -> Estimator:
        """The estimator that steps use, made from their own one; `held` are the variables by name."""
        return estimator

    def actions(self) -> list[Action]:
        """What happens after steps."""
        return []

    def shown(self) -> Any:
        """Hooks for a proof, a copy at values at which a wrong action shows."""
        return None
