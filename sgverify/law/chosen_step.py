"""How is one step of a subject run on a chosen state, chosen draws and chosen minibatches, whose gradient it is handed?"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, cast

import torch
from torch import Tensor

from sgverify.samplers.gradients.differentiation import Potential
from sgverify.samplers.gradients.kinds import effective_potential
from sgverify.samplers.intercepted.black_box import BlackBox
from sgverify.schemes.definition.binding import parameters_of
from sgverify.schemes.memory import axes_of, shape_at, size_at
from sgverify.schemes.torch_step import TorchStep
from sgverify.subject.seeds import run_seed
from sgverify.subject.subject import Subject
from sgverify.targets import Target


class ChosenGradient:
    """The gradient estimate at theta on the k-th of some chosen minibatches; without minibatches, on all data.

    theta and the estimate have shape (dim,) or (*chains, dim). `choice` holds the configured `scale` and `clip`.
    """

    def __init__(
        self,
        target: Target,
        *,
        dtype: torch.dtype = torch.float64,
        minibatches: Sequence[Sequence[int]] = (),
        choice: Any = None,
    ) -> None:
        potential = Potential(target, dtype=dtype, device="cpu")
        self.potential: Any = potential if choice is None else effective_potential(potential, choice)
        self.dtype = dtype
        self._centre: Tensor | None = None
        centre = None if choice is None else choice.estimator.centre_float64(target)
        if centre is not None:
            self._centre = torch.tensor(centre, dtype=dtype)[None]
        self.minibatches = [torch.tensor(list(batch), dtype=torch.int64) for batch in minibatches]

    def __call__(self, theta: Tensor, minibatch: int) -> Tensor:
        """The estimate, in the dtype of theta."""
        at = theta.detach().to(self.dtype).reshape(-1, theta.shape[-1])
        if not self.minibatches:
            value = self.potential.full(at)
        else:
            data = self.potential.data
            chosen = data[self.minibatches[minibatch % len(self.minibatches)]][:, None, :]
            total = self.potential.sum_over(at, chosen)
            if self._centre is not None:
                total = total - self.potential.sum_over(self._centre.expand_as(at), chosen)
            value = self.potential.prior(at) + (len(data) / len(chosen)) * total
            if self._centre is not None:
                value = value + (self.potential.full(self._centre) - self.potential.prior(self._centre))
        return value.reshape(theta.shape).to(theta.dtype).clone()


MOST_MINIBATCHES = 16
"""The number of minibatches that are drawn in advance; a step that uses more gets the first ones again."""

REACHED = 3
"""The number of steps by which memory moves away from its start before code is tried with it."""

OTHERS = 7
"""The seed of all draws that are not normal; every run of a step starts from it."""


@dataclass(frozen=True)
class StepInput:
    """A state, the draws of a step from it, and its step size."""

    state: tuple[Tensor, ...]
    draws: Tensor
    h: float


def chosen_gradient(
    subject: Subject, *, dtype: torch.dtype = torch.float64, seed: int | None = None
) -> ChosenGradient:
    """The configured gradient estimate, on minibatches that depend on `seed` alone; without a seed, on all data."""
    choice = subject.configuration.gradient
    batches: list[list[int]] = []
    if seed is not None and choice.estimator.draws_data and subject.target.size is not None:
        chosen = torch.Generator().manual_seed(seed)
        size, replaced = subject.target.size, choice.estimator.replaced
        for _ in range(MOST_MINIBATCHES):
            drawn = (
                torch.randint(size, (choice.batch,), generator=chosen)
                if replaced
                else torch.randperm(size, generator=chosen)[: choice.batch]
            )
            batches.append(drawn.tolist())
    return ChosenGradient(subject.target, dtype=dtype, minibatches=batches, choice=choice)


def black_box(subject: Subject, *, dtype: torch.dtype = torch.float64, seed: int | None = None) -> BlackBox:
    """The torch step of a subject, bound to its target."""
    step, gradient = cast(TorchStep, subject.scheme), chosen_gradient(subject, dtype=dtype, seed=seed)
    return BlackBox(step, gradient, subject.target.dim, parameters(subject), dtype)


def taker(
    subject: Subject,
) -> tuple[Callable[..., Sequence[Tensor]], Callable[[Sequence[Tensor]], int]]:
    """Two functions: `take(state, draws, h)`, one step, and `count(state)`, the number of draws in a step from a state.

    The minibatches follow from the configuration's seed.
    """
    seed = run_seed(subject, "minibatches")
    box = black_box(subject, seed=seed)

    def take(state: Sequence[Tensor], draws: Tensor, h: float, **more: Any) -> Sequence[Tensor]:
        # Draws that are not normal restart from one seed at each run, so that every run gets equal ones.
        return box.run(state, draws, h, others=torch.Generator().manual_seed(OTHERS), **more)[0]

    return take, lambda state: box.census(state, subject.step)


def states_of(subject: Subject, count: int) -> list[tuple[Tensor, ...]]:
    """Random states of the chain, `count` of them.

    theta lies about one spread from the target's location, p ~ N(0, T), xi lies about D, and memory is drawn as theta, or
    reached from its start if torch code states one.
    """
    c, scheme = subject.configuration, subject.scheme
    random = torch.Generator().manual_seed(run_seed(subject, "states"))
    dim = subject.target.dim
    found = []
    for _ in range(count):
        values = []
        for name, shape in scheme.shapes.items():
            z = torch.randn(size_at(shape, dim), generator=random, dtype=torch.float64)
            if not axes_of(shape):
                value = c.friction * (1 + z / 4)
                value = value if subject.front else value.reshape(())
            elif name == "p":
                value = c.temperature**0.5 * z
            elif len(z) == dim:
                theta = subject.target.at_deviations_float64(z.numpy(), c.temperature)
                value = torch.from_numpy(theta).reshape(shape_at(shape, dim))
            else:
                value = z.reshape(shape_at(shape, dim))
            values.append(value.reshape((*subject.front, *value.shape)))
        found.append(tuple(values))
    if isinstance(scheme, TorchStep) and any(item.start is not None for item in scheme.memory):
        found = _with_reached_memory(subject, found)
    return [tuple(value.to(torch.float64) for value in state) for state in found]


def _with_reached_memory(subject: Subject, states: list[tuple[Tensor, ...]]) -> list[tuple[Tensor, ...]]:
    """The states with each memory that has a start replaced by one that `REACHED` steps from that state lead to."""
    step, box = cast(TorchStep, subject.scheme), black_box(subject, seed=run_seed(subject, "minibatches"))
    kept = len(step.dynamics.state)
    found = []
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(run_seed(subject, "memory"))
        for state in states:
            memory = started(step, state)
            for _ in range(REACHED):
                memory = box.real_state((*state[:kept], *memory), subject.step)[kept:]
            found.append((*state[:kept], *memory))
    return found


def started(step: TorchStep, state: Sequence[Tensor]) -> tuple[Tensor, ...]:
    """The memory of a step at its start; where none is stated, the memory of `state`."""
    kept = len(step.dynamics.state)
    found = []
    for item, value in zip(step.memory, state[kept:], strict=True):
        if item.start is None:
            found.append(value)
        elif callable(item.start):
            first = torch.as_tensor(item.start(*state[:kept]), dtype=torch.float64)
            found.append(first.expand(value.shape).clone())
        else:
            found.append(torch.full_like(value, float(item.start)))
    return tuple(found)


def questions_of(subject: Subject, count: int, numbers: int) -> list[StepInput]:
    """`count` inputs of one step, each a state with its own draws; every second one has half the step size."""
    random = torch.Generator().manual_seed(run_seed(subject, "draws"))
    return [
        StepInput(
            state,
            torch.randn((*subject.front, numbers), generator=random, dtype=torch.float64),
            subject.step / (1 + k % 2),
        )
        for k, state in enumerate(states_of(subject, count))
    ]


def parameters(subject: Subject) -> dict[str, float]:
    """The values of T and D, as far as the step takes them as parameters."""
    return {name: parameters_of(subject.configuration)[name] for name in subject.scheme.parameters}
