"""What does a step with memory do once its memory has come to rest at a fixed state?

As h -> 0 the state hardly moves while a memory forgets. A memory that follows the state and not the draws, such as a running mean
of squared gradients, is then a function of the state, and the step with this memory has the law that the chain tends to.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import torch
from torch import Tensor
from torch.utils._python_dispatch import _disable_current_modes

from sgverify.errors import Unreached
from sgverify.schemes.definition.declaration import Declaration
from sgverify.schemes.torch_step import TorchStep

ROUNDS = 12
"""The most rounds of the search for the memory at rest."""

AT_REST = 1e-13
"""The relative change by one more step that ends the search."""

NEAR = 1e-9
"""The relative change that is accepted after all rounds."""

ROUNDED = 1e-9
"""The rounding of an extrapolation relative to its terms: 1e-16/(1 - a)^2 of a memory that keeps the share a of itself in a
step, for a up to 0.9997."""

NOTHING = 1e-100
"""A memory of this size is 0: each extrapolation divides the distance from a limit of 0 by 1e13 or so."""

State = Sequence[Tensor]


def equilibrated(step: TorchStep) -> TorchStep:
    """The step without memory that a step makes from the memory at which it comes to rest, state and minibatch held.

    Calls of the step raise `Unreached` if there is no such memory.
    """
    declaration = Declaration(step.dynamics.state, step.declaration.ingredients)
    return replace(
        step,
        function=_Equilibrated(step),
        declaration=declaration,
        memory=(),
        order=None,
        invariant_order=None,
    )


class _Equilibrated:
    def __init__(self, step: TorchStep) -> None:
        self._step = step
        self.function = self.__wrapped__ = step.function
        self.__name__ = step.name

    def __call__(self, *state: Tensor, **given: Any) -> tuple[Tensor, ...]:
        step, kept = self._step, len(state)

        def after(memory: State, seed: int = 0) -> tuple[Tensor, ...]:
            # Not torch.manual_seed, which writes down the stack for every kind of device: 3 ms a call.
            torch.default_generator.manual_seed(seed)
            copies = (value.clone() for value in (*state, *memory))
            found = step.step(tuple(copies), **given)
            return tuple(value.detach() for value in found[kept:])

        with _disable_current_modes(), torch.random.fork_rng(devices=[]), torch.enable_grad():
            found = _at_rest(after, self._start(state))
            # Rounding leaves a limit of 0 on either side of it, where a root has no value.
            memory = [value * (value.abs() > NOTHING) for value in found]
        return step.step((*state, *memory), **given)[:kept]

    def _start(self, state: State) -> tuple[Tensor, ...]:
        """The stated first values; 1 where none is stated, since some memory is divided by."""
        theta, found = state[0], []
        many = theta.ndim > 1
        dim = theta.shape[-1]
        for item in self._step.memory:
            shape = item.shape_at(dim)
            shape = (len(theta), *(shape or (1,))) if many else shape
            if callable(item.start):
                first = torch.as_tensor(item.start(*state), dtype=theta.dtype)
            else:
                first = torch.tensor(1.0 if item.start is None else float(item.start), dtype=theta.dtype)
            found.append(first.expand(shape).clone())
        return tuple(found)


def _at_rest(after: Callable[..., tuple[Tensor, ...]], memory: tuple[Tensor, ...]) -> tuple[Tensor, ...]:
    """The fixed point of the memory, by Aitken's extrapolation in each coordinate: exact where it forgets geometrically."""
    if any(not torch.equal(a, b) for a, b in zip(after(memory), after(memory, seed=1), strict=True)):
        raise Unreached("the memory depends on the draws")
    change = float("inf")
    for _ in range(ROUNDS):
        once = after(memory)
        change = _largest(memory, once)
        if change <= AT_REST:
            return once
        twice = after(once)
        memory = tuple(_aitken(*parts) for parts in zip(memory, once, twice, strict=True))
    if not change <= NEAR:
        raise Unreached(
            f"the memory does not come to rest: one more step changes it by {change:.2g} of its size"
        )
    return memory


def _largest(memory: State, once: State) -> float:
    """The largest change of a coordinate, relative to the largest coordinate of its variable."""
    found = [0.0]
    for a, b in zip(memory, once, strict=True):
        if not (a.isfinite().all() and b.isfinite().all()):
            raise Unreached("the memory is not finite where it is followed")
        if a.numel():
            apart = (a - b).abs() / torch.maximum(a.abs(), b.abs()).clamp(min=NOTHING)
            found.append(float(apart.max()))
    return max(found)


def _aitken(x: Tensor, once: Tensor, twice: Tensor) -> Tensor:
    bend = twice - 2 * once + x
    straight = bend.abs() <= 1e-15 * torch.maximum(once.abs(), twice.abs())
    found = torch.where(
        straight, twice, x - (once - x) ** 2 / torch.where(straight, torch.ones_like(bend), bend)
    )
    # Rounding may take a limit of 0 to the other side of it, where another memory that is made of its root has no value.
    sizes = torch.stack([x, once, twice])
    other = ((sizes >= 0).all(0) & (found < 0)) | ((sizes <= 0).all(0) & (found > 0))
    return torch.where(other & (found.abs() <= ROUNDED * sizes.abs().amax(0)), torch.zeros_like(found), found)
