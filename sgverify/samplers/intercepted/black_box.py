"""How is a torch step, bound to a gradient and to parameters, evaluated as a map (state, draws) -> state?"""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import torch
from torch import Tensor

from sgverify.errors import DefinitionError, SgverifyError, Unreached, UserError
from sgverify.samplers.intercepted.interception import Handed, Interception, Witness, total
from sgverify.samplers.intercepted.log_density import LogDensityOf
from sgverify.samplers.intercepted.repeated_step import copies
from sgverify.samplers.intercepted.replacing import DrawLaw
from sgverify.schemes.torch_step import TorchStep, written

State = tuple[Tensor, ...]
GradientFunction = Callable[[Tensor, int], Tensor]
"""A function of theta and the number of the minibatch: the gradient estimate, in theta's shape and dtype."""


SMALL = range(1, 9)
"""The dimensions in which code is tried that raises in another one."""


class NotFiniteError(UserError):
    """Raised if a step returns NaN or an infinite number from a finite state; the message names the state."""


class CodeError(UserError):
    """Raised if the code of a step raises, with its own draws as well as with prescribed ones."""


@dataclass(frozen=True)
class BlackBox:
    """`step` with this gradient, dimension and parameters.

    `gradient(theta, minibatch)` has shape (dim,), or (chains, dim) for a step that takes many chains. Every run gets new
    tensors, so that a step that writes to its arguments does not affect the next run.
    """

    step: TorchStep
    gradient: GradientFunction = field(repr=False)
    dim: int
    parameters: Mapping[str, float]
    dtype: torch.dtype = torch.float64
    potential: Callable[[Tensor], Tensor] | None = field(default=None, repr=False)
    """U, of theta in shapes as those of `gradient`, where it is known."""

    def run(
        self,
        state: Sequence[Tensor],
        draws: Tensor | None,
        h: float,
        *,
        others: torch.Generator | None = None,
        witness: Witness | None = None,
    ) -> tuple[State, list[tuple[int, ...]]]:
        """X_1 and the shapes of the step's draws, in order.

        `draws` are the normal numbers from which all draws are made (`laws`), of shape (m,), or (chains, m) for a step that
        takes many chains; None takes generic numbers. Raises `UnreadableDrawError` for draws that cannot be made of normal
        numbers (unless the generator `others` provides them), `Unreached` if the step draws other than m numbers,
        `DefinitionError` for a result that is no state, and `UserError` if the code itself raises.
        """
        moved, handed = self.take(state, draws, h, others=others, witness=witness)
        return moved, handed.asked

    def take(
        self,
        state: Sequence[Tensor],
        draws: Tensor | None,
        h: float,
        *,
        others: torch.Generator | None = None,
        witness: Witness | None = None,
    ) -> tuple[State, Handed]:
        """X_1 as from `run`, and the record of the draws: their shapes and the law of each number."""
        handed = Handed(draws, rows=self.step.chains)
        mode = Interception(handed, others=others, witness=witness)
        given = self._given(h, mode)
        try:
            with mode:
                result = self._call(state, given)
            self._check_shapes(result, state)
            moved = self.finite(result, state, h)
        except UserError as error:
            self._refuse_draws(error, state, h)
            raise
        if draws is not None and handed.used != draws.shape[-1]:
            raise Unreached(
                f"it drew {handed.used} random numbers in one run and {draws.shape[-1]} in another: how many a step draws "
                "depends on its state or on its draws"
            )
        return moved, handed

    def real(self, state: Sequence[Tensor], h: float) -> State:
        """The result of the unchanged step on these very tensors, with draws from torch's generator; it may be infinite."""
        given = self._given(h, Interception(Handed(None)))
        result = self._call(state, given)
        self._check_shapes(result, state)
        return result

    def real_state(self, state: Sequence[Tensor], h: float) -> State:
        """X_1 of the unchanged step, with its own draws, from a copy of the state; raises as `run` if X_1 is no state."""
        return self.finite(self.real(copies(state), h), state, h)

    def handed_on(self, state: Sequence[Tensor], h: float) -> State:
        """X_1 of the unchanged step on these very tensors, with whatever it keeps on them but graphs; raises as `real_state`."""
        moved = self.real(state, h)
        self.finite(moved, state, h)
        return tuple(value.detach() if value.requires_grad else value for value in moved)

    def _given(self, h: float, mode: Interception) -> dict[str, Any]:
        """The ingredients of a call, of which the code takes those that it names."""
        gradient = BlackBoxGradient(self, mode)
        density = LogDensityOf(
            gradient, self.step.place, positive=self.step.dynamics.positive, potential=self.potential
        )
        return {**self.parameters, "h": h, "dim": self.dim, "grad": gradient, "log_density": density}

    def _call(self, state: Sequence[Tensor], given: Mapping[str, Any]) -> tuple[Any, ...]:
        """The step's result; an exception or an exit of the code becomes a `UserError`."""
        try:
            # Gradients are enabled, as by default in torch: the code may differentiate.
            with torch.enable_grad():
                return self.step.step(tuple(state), **given)
        except SgverifyError:
            raise
        except (Exception, SystemExit) as error:
            raised = f"scheme={self.step.name!r} ({self.step.place}): raised {type(error).__name__}: {error}"
            self._refuse_dimension(raised, state[0].shape[: self.step.chains])
            numbers = _without_graph(self.step.function) if "does not require grad" in str(error) else ""
            raise CodeError(
                f"{raised}; expected a step that runs on tensors of shapes {self._shapes(state)}, in {state[0].dtype}{numbers}"
            ) from error

    def _refuse_dimension(self, raised: str, rows: Sequence[int]) -> None:
        """Raise `Unreached` if the code that raised in this dimension runs in another one, which its error may name."""
        named = {int(number) for number in re.findall(r"\b\d{1,4}\b", raised)}
        for dim in (self.dim, *sorted({*SMALL, *named} - {0, self.dim})):
            if not self._runs_in(dim, rows):
                continue
            if dim == self.dim:
                return
            raise Unreached(
                f"{raised}; it runs in dimension {dim}, and it is called in several: an optimizer or a buffer that outlives a call "
                "belongs to one. Make it from theta within the step, hand what is to be kept on as state, or set target.dim and "
                "proof_dim to the dimension that it was made for"
            )

    def _runs_in(self, dim: int, rows: Sequence[int]) -> bool:
        box = replace(self, dim=dim, gradient=lambda theta, _: theta)
        size = sum(self.step.sizes(dim))
        state = self.step.tensors(torch.ones((*rows, size), dtype=self.dtype), dim)
        try:
            with torch.enable_grad(), torch.random.fork_rng(devices=[]):
                self.step.step(state, **box._given(1e-3, Interception(Handed(None))))
        except (Exception, SystemExit):
            return False
        return True

    def _refuse_draws(self, error: UserError, state: Sequence[Tensor], h: float) -> None:
        """Raise `Unreached` if the code runs with its own draws but fails with prescribed draws."""
        try:
            self.real_state(state, h)
        except SgverifyError:
            return
        raise Unreached(
            f"it runs with draws of its own, and with draws that are put in it does not: {error}"
        ) from error

    def asked(self, state: Sequence[Tensor], h: float) -> list[tuple[int, ...]]:
        """The shapes of the draws of a step from this state, in order; raises as `run` does."""
        return self.run(state, None, h)[1]

    def laws(self, state: Sequence[Tensor], h: float) -> tuple[DrawLaw, ...]:
        """The law of each random number that one chain draws in a step from this state, in order; raises as `run` does."""
        _, handed = self.take(state, None, h)
        self.check_rows(handed.asked, len(state[0]) if self.step.chains else 1)
        return tuple(handed.laws)

    def census(self, state: Sequence[Tensor], h: float) -> int:
        """The number of random numbers that one chain draws in a step from this state; raises as `run` does.

        For a step that takes many chains, a draw without one row for each chain raises `Unreached`.
        """
        _, shapes = self.run(state, None, h, others=torch.Generator().manual_seed(0))
        self.check_rows(shapes, len(state[0]) if self.step.chains else 1)
        return total(shapes, self.step.chains)

    def check_rows(self, shapes: Sequence[tuple[int, ...]], chains: int) -> None:
        """Raise `Unreached` if a step takes many chains and one of its draws has not one row for each chain."""
        for shape in shapes:
            if self.step.chains and (not shape or shape[0] != chains):
                raise Unreached(
                    f"it draws a tensor of shape {shape} for a batch of {chains}: expected one row for each chain, as "
                    "torch.randn_like(theta) draws"
                )

    def _check_shapes(self, result: tuple[Any, ...], state: Sequence[Tensor]) -> None:
        step = self.step
        names = ", ".join(step.state)
        if len(result) != len(state):
            raise DefinitionError(
                f"{step.place}: `{step.name}` returned {len(result)} value{'s' * (len(result) != 1)}; expected the whole "
                f"state ({names}), changed or not, in this order{self._further(len(result) - len(state))}"
            )
        for name, value, before in zip(step.state, result, state, strict=True):
            if not isinstance(value, Tensor) or value.shape != before.shape:
                got = (
                    f"a tensor of shape {tuple(value.shape)}"
                    if isinstance(value, Tensor)
                    else type(value).__name__
                )
                raise DefinitionError(
                    f"{step.place}: `{step.name}` returned {got} for `{name}`; expected a tensor of shape {tuple(before.shape)}"
                )
            if not value.is_floating_point():
                raise DefinitionError(
                    f"{step.place}: `{step.name}` returned a tensor of {value.dtype} for `{name}`; expected {before.dtype}"
                )

    def _further(self, more: int) -> str:
        """The advice for a step that returns `more` tensors than its state."""
        if more <= 0:
            return ""
        return (
            f"; what else it carries on from step to step, such as a second moment, is memory: declare it by "
            f"@torch_step({self.step.dynamics.name}, memory=[...]) and take it as another positional parameter"
        )

    def finite(self, result: State, state: Sequence[Tensor], h: float) -> State:
        """The result, without a graph; raises `NotFiniteError` if it is not finite."""
        step = self.step
        for name, value in zip(step.state, result, strict=True):
            if not value.isfinite().all():
                got = "NaN" if value.isnan().any() else "an infinite number"
                raise NotFiniteError(
                    f"{step.place}: `{step.name}` returned {got} for `{name}` at {self._shown(state)}, h={h:.3g}; expected a "
                    "finite one from a finite state"
                )
        return tuple(value.detach() for value in result)

    def _shown(self, state: Sequence[Tensor]) -> str:
        """The first chain's state as text."""
        values = [value[0] if self.step.chains else value for value in state]
        return ", ".join(
            f"{name}=[{', '.join(f'{x:.3g}' for x in value.reshape(-1).tolist())}]"
            for name, value in zip(self.step.state, values, strict=True)
        )

    def _shapes(self, state: Sequence[Tensor]) -> str:
        return ", ".join(
            f"{name} {tuple(value.shape)}" for name, value in zip(self.step.state, state, strict=True)
        )


def _without_graph(function: Any) -> str:
    """The usual reason for a derivative of what has no graph: no graph is recorded, or a second derivative is asked for."""
    names = getattr(getattr(inspect.unwrap(written(function)), "__code__", None), "co_names", ())
    off = next((name for name in ("no_grad", "inference_mode") if name in names), None)
    # A decorator leaves its name in no code of the function, only in the one that wraps it.
    wrapped = getattr(written(function), "__wrapped__", None) is not None
    if off is None and wrapped:
        off = "no_grad"
    if off is not None:
        return (
            f"; no graph is recorded under torch.{off}(): differentiate under torch.enable_grad(), with a copy of theta that "
            "requires a gradient"
        )
    return "; what grad returns are numbers, without a graph"


class BlackBoxGradient:
    """The ingredient `grad` of one run: a call gives the gradient on its minibatch, `fresh()` a `grad` on another one."""

    def __init__(self, box: BlackBox, mode: Interception, counter: list[int] | None = None) -> None:
        self._box, self._mode = box, mode
        self._counter = [0] if counter is None else counter
        self._minibatch = -1

    def __call__(self, theta: Tensor) -> Tensor:
        """The gradient estimate at theta, a new tensor of its shape and dtype."""
        if not isinstance(theta, Tensor):
            raise DefinitionError(
                f"{self._box.step.place}: grad() of a {type(theta).__name__}; expected the position, a tensor"
            )
        if not 1 <= theta.ndim <= 2 or theta.shape[-1] != self._box.dim:
            raise DefinitionError(
                f"{self._box.step.place}: grad() of a tensor of shape {tuple(theta.shape)}; expected a whole position of dimension "
                f"{self._box.dim}, as the step is given"
            )
        if self._minibatch < 0:
            self._minibatch = self._counter[0]
            self._counter[0] += 1
        with self._mode.paused():
            return self._box.gradient(theta.detach(), self._minibatch)

    def fresh(self) -> BlackBoxGradient:
        """The gradient on another minibatch of the same step."""
        return BlackBoxGradient(self._box, self._mode, self._counter)
