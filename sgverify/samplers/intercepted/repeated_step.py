"""Is a step a function of its state, its draws and its minibatch: does it give equal bits when these come again?

A loop hands the step its own results, with draws of its own, which are recorded. Then each of its steps is taken twice more, in
another order, from a copy of its state and with its draws put in. A step that gives the same bits each time has a law that depends
on its state alone, and that is what all laws of one step need. What it keeps elsewhere and never uses again in these steps is left
to long runs.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise

import torch
from torch import Tensor

from sgverify.samplers.intercepted.interception import Recording, Replay, ReplayError

State = tuple[Tensor, ...]
Call = Callable[[State, int], State]
"""A step as it is, on these very tensors, with draws of its own; the number chooses among step sizes."""

STEPS = 24
"""The number of steps in the loop."""


@dataclass(frozen=True)
class Repetition:
    """The faults of a step, as sentences, and what is no function of its state and draws, which a run may show to be right.

    `noise` says that all steps have equal draws; `calls` is the number of calls; `aliased` are the variables whose argument itself
    was returned.
    """

    noise: str = ""
    faults: tuple[str, ...] = ()
    unrepeated: str = ""
    calls: int = 0
    aliased: tuple[str, ...] = ()


def judge_repetition(call: Call, names: Sequence[str], start: State) -> Repetition:
    """Take the steps of a loop again, from copies of their states with their draws: a step of its arguments gives equal bits."""
    given: list[State] = []
    results: list[State] = []
    draws: list[list[Tensor]] = []
    faults: dict[str, str] = {}
    aliased: dict[str, None] = {}
    state = copies(start)
    with torch.random.fork_rng(devices=[]):
        for number in range(STEPS):
            before = copies(state)
            with Recording() as recording:
                after = tuple(call(state, number))
            faults.update(_of_arguments(names, before, state, after))
            aliased.update(
                (name, None) for name, one, to in zip(names, after, state, strict=True) if _shared(one, to)
            )
            if not all(value.isfinite().all() for value in after):
                break
            given.append(before)
            results.append(copies(after))
            draws.append(recording.values)
            state = after
        order = list(range(len(given)))
        random.Random(STEPS).shuffle(order)
        said: dict[int, str] = {}
        for number in (*order, *reversed(order)):
            again = _again(call, number, given[number], results[number], draws[number], names)
            said[number] = said.get(number) or again
        if given and _of_the_state(call, given[-1]):
            faults["noise"] = (
                "the noise is a function of the state: a step draws the same numbers whenever it comes to the same state"
            )
    noise = "every step has the same noise: steps in succession draw the same numbers"
    unrepeated = ""
    other = min((number for number in order if said[number]), default=None)
    if other is not None:
        kept = _kept(names, state)
        unrepeated = (
            f"the same state, draws and minibatch do not decide a step: when those of step {other + 1} of a loop came again, "
            f"{said[other]}{kept and f'; kept on what it returns: {kept}'}"
        )
    return Repetition(
        noise if _equal(draws) else "",
        tuple(faults.values()),
        unrepeated,
        STEPS + 2 * len(order),
        tuple(aliased),
    )


def take_again(call: Call, start: State) -> Callable[[], State]:
    """A function that takes one step from a state, with the draws of its first call put in."""
    with torch.random.fork_rng(devices=[]), Recording() as recording:
        call(copies(start), 0)

    def take() -> State:
        with torch.random.fork_rng(devices=[]), Replay(recording.values):
            return copies(call(copies(start), 0))

    return take


def copies(state: Sequence[Tensor]) -> State:
    """Copies of the tensors, so that a step that writes to its arguments does not affect the next step."""
    return tuple(value.detach().clone() for value in state)


def _again(
    call: Call, number: int, given: State, result: State, draws: Sequence[Tensor], names: Sequence[str]
) -> str:
    """How a step from a copied state differs from that of the loop; "" if it does not."""
    try:
        with Replay(draws) as replay:
            again = copies(call(copies(given), number))
        replay.finish()
    except ReplayError as error:
        return str(error)
    for name, one, other in zip(names, result, again, strict=True):
        if one.dtype != other.dtype or not torch.equal(one.nan_to_num(), other.nan_to_num()):
            return f"{name} is another, apart by {float((one - other).abs().max()):.3g}"
    return ""


def _equal(draws: Sequence[Sequence[Tensor]]) -> bool:
    """Do all steps in succession draw equal numbers, of which two are equal by chance with a probability of next to nothing?"""
    noisy = [[value for value in each if value.is_floating_point() and value.frac().any()] for each in draws]
    return (
        len(noisy) > 1
        and bool(noisy[0])
        and all(
            len(one) == len(other) and all(map(torch.equal, one, other)) for one, other in pairwise(noisy)
        )
    )


def _of_the_state(call: Call, state: State) -> bool:
    """Are draws equal in two calls from one state, and others in two from another? Of a counter that is held all are equal."""

    def drawn(here: State) -> list[Tensor]:
        with Recording() as recording:
            call(copies(here), 0)
        return recording.values

    other = (state[0] + 1, *state[1:])
    first, second = (tuple(drawn(here) for _ in range(2)) for here in (state, other))
    return _equal(first) and _equal(second) and not _equal((first[0], second[0]))


def _of_arguments(names: Sequence[str], before: State, given: State, after: State) -> dict[str, str]:
    """Sentences about arguments that a call wrote to, and about results that carry an autograd graph."""
    faults = {
        f"argument {name}": f"it writes to its argument {name}: the caller's state is no longer what it was"
        for name, kept, value in zip(names, before, given, strict=True)
        if not torch.equal(kept, value)
    }
    for name, value in zip(names, after, strict=True):
        if value.requires_grad:
            faults.setdefault(
                "graph",
                f"what it returns for {name} requires a gradient although what it was given did not, so that autograd's graph "
                f"grows from step to step; return {name}.detach(), or run the step under torch.no_grad()",
            )
    return faults


def _kept(names: Sequence[str], state: State) -> str:
    """The attributes of returned tensors besides their values; "" if there are none."""
    found = []
    for name, value in zip(names, state, strict=True):
        found += [f"the attribute {key} of {name}" for key in sorted(vars(value))]
        if value.is_leaf and value.grad is not None:
            found.append(f"the gradient that {name} carries (.grad)")
        if value.untyped_storage().nbytes() > value.numel() * value.element_size():
            found.append(f"more memory than {name} shows of it")
    return ", ".join(found)


def _shared(value: Tensor, given: Tensor) -> bool:
    return value.numel() > 0 and value.untyped_storage().data_ptr() == given.untyped_storage().data_ptr()
