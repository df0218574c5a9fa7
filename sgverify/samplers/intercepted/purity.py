"""Whether a step is a function of its state, its draws and its minibatches, and of nothing else."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from sgverify.samplers.intercepted.surroundings import changed, surroundings

State = tuple[Tensor, ...]
Take = Callable[[State, Tensor, float], Sequence[Tensor]]
"""One step from a state with these draws and this step size."""


@dataclass(frozen=True)
class StepInput:
    """A state, the draws of a step from it, and its step size."""

    state: State
    draws: Tensor
    h: float


@dataclass(frozen=True)
class Purity:
    """What speaks against purity, one sentence each; `aliased` are the variables that were returned as they came."""

    faults: tuple[str, ...]
    calls: int
    places: int
    aliased: tuple[str, ...] = ()


def judge_purity(
    take: Take, names: Sequence[str], questions: Sequence[StepInput], functions: Sequence[Any]
) -> Purity:
    """Ask the same questions in several orders: a pure step gives each the same bits, and leaves all else alone.

    `take` runs the step; `names` are those of the state; `functions` are the code whose surroundings are watched. The
    first calls, which may fill a cache, are not counted.
    """
    asked = _Asked(take, names)
    for question in questions:
        asked.ask(question)
    # What was kept so far may be constants; from here on it must stay.
    before = [surroundings(function) for function in functions]
    outside = _changing(lambda: asked.ask(questions[0]), functions)
    first = [asked.ask(question) for question in questions]
    for number in _orders(len(questions)):
        asked.compare(first[number], asked.ask(questions[number]), outside)
    faults = asked.faults
    after = [surroundings(function) for function in functions]
    moved = [place for a, b in zip(before, after, strict=True) for place in changed(a, b)]
    for place in dict.fromkeys(moved):
        if place in outside and "answer" in faults:
            # Named already, with what it does.
            continue
        if "random generator" in place:
            faults.setdefault(place, f"{place} moves at a step: it draws from there, not from torch")
        else:
            faults.setdefault(place, f"{place} changes from call to call: state outside the state")
    watched = {place for found in before for place in found}
    return Purity(tuple(faults.values()), asked.calls, len(watched), tuple(dict.fromkeys(asked.aliased)))


def _changing(call: Callable[[], Any], functions: Sequence[Any]) -> list[str]:
    """The places that one call changes."""
    before = [surroundings(function) for function in functions]
    call()
    after = [surroundings(function) for function in functions]
    return [place for a, b in zip(before, after, strict=True) for place in changed(a, b)]


def _orders(count: int) -> list[int]:
    """Backwards, then each of them twice: neighbours of every kind."""
    return [*reversed(range(count)), *(k for k in range(count) for _ in range(2))]


class _Asked:
    def __init__(self, take: Take, names: Sequence[str]) -> None:
        self._take, self._names = take, tuple(names)
        self.faults: dict[str, str] = {}
        self.aliased: list[str] = []
        self.calls = 0

    def ask(self, question: StepInput) -> list[Tensor]:
        """The step's result, copied; an argument that it wrote to is a fault."""
        self.calls += 1
        state = tuple(value.clone() for value in question.state)
        result = list(self._take(state, question.draws.clone(), question.h))
        for name, given, kept in zip(self._names, state, question.state, strict=True):
            if not torch.equal(given, kept):
                self.faults.setdefault(
                    f"argument {name}",
                    f"it writes to its argument {name}: the caller's state is no longer what it was",
                )
        for name, value in zip(self._names, result, strict=True):
            if any(_shared(value, given) for given in state):
                self.aliased.append(name)
        return [value.detach().clone() for value in result]

    def compare(self, first: list[Tensor], again: list[Tensor], outside: Sequence[str]) -> None:
        """Keep the fault where the same question got another answer."""
        for name, one, other in zip(self._names, first, again, strict=True):
            if one.dtype == other.dtype and torch.allclose(one, other, rtol=0.0, atol=0.0, equal_nan=True):
                continue
            apart = float((one - other).abs().max())
            kept = (
                f"; what changes is {', '.join(outside)}" if outside else "; nothing that can be seen changes"
            )
            self.faults.setdefault(
                "answer",
                f"the same state, draws and minibatch gave another {name}, apart by {apart:.3g}, when they came again{kept}",
            )
            return


def _shared(value: Tensor, given: Tensor) -> bool:
    return value.numel() > 0 and value.untyped_storage().data_ptr() == given.untyped_storage().data_ptr()


__all__ = ["Purity", "StepInput", "Take", "judge_purity"]
