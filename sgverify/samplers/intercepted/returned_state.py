"""Does a step work in a loop that hands it its own results, or does it keep attributes or autograd graphs on them?"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import Tensor

from sgverify.samplers.intercepted.interception import Recording, Replay, ReplayError

State = tuple[Tensor, ...]

STEPS = 24
"""The number of steps in the loop."""

_KNOWN = frozenset(dir(Tensor))

MOST_NODES = 10_000
"""The most nodes of autograd's graph that are counted."""


def loop_faults(call: Callable[[State], State], names: Sequence[str], start: State) -> list[str]:
    """Sentences about differences between a loop over the step and single steps from copies of the same states.

    `call` runs the unchanged step, with its own draws, on the very tensors that it is given, and returns its result.
    """
    given, results, draws = [], [], []
    graphs: list[int] = []
    state = tuple(value.clone() for value in start)
    with torch.random.fork_rng(devices=[]):
        for _ in range(STEPS):
            given.append(_copied(state))
            with Recording() as recording:
                state = call(state)
            if not all(value.isfinite().all() for value in state):
                given.pop()
                break
            results.append(_copied(state))
            draws.append(recording.values)
            graphs.append(max(map(_nodes, state)))
        faults = _graph_fault(names, state, graphs)
        for number in range(len(given)):
            why = _differs(call, names, given[number], results[number], draws[number])
            if why:
                kept = _kept(names, state) or "nothing that can be seen on them"
                faults.append(
                    f"handed its own result back, it does otherwise than on a copy of it: at step {number + 1} of a loop, {why}; "
                    f"kept on what it returns: {kept}"
                )
                return faults
    marked = _marks(state)
    read = sorted(marked & _names_read(call, start)) if marked else []
    if read:
        faults.append(
            f"it keeps state on the tensors that it returns, and reads it there at the next step: the attribute {', '.join(read)}"
        )
    return faults


def _differs(
    call: Callable[[State], State],
    names: Sequence[str],
    given: State,
    result: State,
    draws: Sequence[Tensor],
) -> str:
    """A sentence about a step from a copied state that differs from the loop's step; "" if none does."""
    try:
        with Replay(draws) as replay:
            again = call(_copied(given))
        replay.finish()
    except ReplayError as error:
        return f"with the draws put in again {error}"
    for name, one, other in zip(names, result, again, strict=True):
        other = other.detach()
        if one.dtype != other.dtype or not torch.equal(one.nan_to_num(), other.nan_to_num()):
            return f"{name} is another, apart by {float((one - other).abs().max()):.3g}"
    return ""


def _graph_fault(names: Sequence[str], state: State, graphs: Sequence[int]) -> list[str]:
    leaking = [name for name, value in zip(names, state, strict=True) if value.requires_grad]
    if not leaking:
        return []
    grows = (
        f", and autograd's graph grows from step to step: {graphs[0]} nodes after the first, {graphs[-1]} after {len(graphs)}"
        if graphs[-1] > graphs[0]
        else ""
    )
    return [
        f"what it returns for {leaking[0]} requires a gradient although what it was given did not{grows}; return "
        f"{leaking[0]}.detach(), or run the step under torch.no_grad()"
    ]


def _nodes(value: Tensor) -> int:
    """The number of nodes in the autograd graph of the tensor."""
    seen: set[Any] = set()
    left = [value.grad_fn] if value.grad_fn is not None else []
    while left and len(seen) < MOST_NODES:
        node = left.pop()
        if node in seen:
            continue
        seen.add(node)
        left += [inner for inner, _ in node.next_functions if inner is not None]
    return len(seen)


def _kept(names: Sequence[str], state: State) -> str:
    """A sentence about attributes of the returned tensors besides their values; "" if there are none."""
    found = []
    for name, value in zip(names, state, strict=True):
        found += [f"the attribute {key} of {name}" for key in sorted(vars(value))]
        if value.is_leaf and value.grad is not None:
            found.append(f"the gradient that {name} carries (.grad)")
        if value.requires_grad:
            found.append(f"that {name} requires a gradient")
        if value.untyped_storage().nbytes() > value.numel() * value.element_size():
            found.append(f"more memory than {name} shows of it")
    return ", ".join(found)


def _marks(state: State) -> set[str]:
    return {key for value in state for key in vars(value)}


def _names_read(call: Callable[[State], State], start: State) -> set[str]:
    """The names of attributes that the step looks up on its arguments and that no tensor has by itself."""
    found: set[str] = set()

    class Watched(Tensor):
        __torch_function__ = torch._C._disabled_torch_function_impl  # type: ignore[assignment]

        def __getattribute__(self, name: str) -> Any:
            if name not in _KNOWN:
                found.add(name)
            return super().__getattribute__(name)

    with torch.random.fork_rng(devices=[]):
        try:
            call(tuple(value.clone().as_subclass(Watched) for value in start))
        except Exception:
            # The step runs on plain tensors, as in a sampler.
            return found
    return found


def _copied(state: State) -> State:
    return tuple(value.detach().clone() for value in state)


__all__ = ["loop_faults"]
