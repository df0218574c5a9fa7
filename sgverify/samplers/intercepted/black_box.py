"""A torch step bound to a gradient and to numbers: the map (state, draws) -> state."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import torch
from torch import Tensor

from sgverify.errors import DefinitionError, SgverifyError, UserError
from sgverify.samplers.intercepted.interception import (
    Handed,
    Interception,
    TooManyDrawsError,
    UnreadableDrawError,
    Witness,
    total,
)
from sgverify.samplers.intercepted.kept_state import kept_shapes
from sgverify.samplers.intercepted.real_calls import copies, keep_debut, shapes_before
from sgverify.samplers.intercepted.replacing import DrawLaw
from sgverify.schemes.torch_step import TorchStep

State = tuple[Tensor, ...]
GradientFunction = Callable[[Tensor, int], Tensor]
"""theta and the number of the minibatch -> the gradient estimate, in theta's shape and dtype."""


class BlackBoxError(SgverifyError):
    """A black box cannot be read; the message says why."""


class CodeError(UserError):
    """The code of a step raises, whoever draws for it."""


class KeptShapeError(BlackBoxError):
    """The code keeps tensors of other shapes than those that it is given; `made` are those that an earlier call left there."""

    def __init__(self, message: str, made: tuple[str, ...]) -> None:
        super().__init__(message)
        self.made = made


@dataclass(frozen=True)
class BlackBox:
    """`step` with this gradient, dimension and parameters.

    `gradient(theta, minibatch)`: shape (dim,), or (chains, dim) for a step of `chains`. Every run gets new tensors, so
    that nothing which a step does to its arguments reaches the next.
    """

    step: TorchStep
    gradient: GradientFunction = field(repr=False)
    dim: int
    parameters: Mapping[str, float]
    dtype: torch.dtype = torch.float64

    def run(
        self,
        state: Sequence[Tensor],
        draws: Tensor | None,
        h: float,
        *,
        others: torch.Generator | None = None,
        witness: Witness | None = None,
    ) -> tuple[State, list[tuple[int, ...]]]:
        """X_1 and the shapes of the draws that were asked for, in order.

        `draws`: the normal numbers that all draws are made of (`laws`), shape (m,), or (chains, m) for a step of `chains`;
        None for some that have nothing special. Raises `UnreadableDrawError` for draws that are made of none unless `others`
        provides them, `BlackBoxError` where their number is not m, `DefinitionError` for a result that is no state, and
        `UserError` where the code itself raises.
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
        """As `run`, with all that is known of the draws: their shapes and the law of each number."""
        self.make_debut(state, h)
        handed = Handed(draws, rows=self.step.chains)
        mode = Interception(handed, others=others, witness=witness)
        given: dict[str, Any] = {
            **self.parameters,
            "h": h,
            "dim": self.dim,
            "grad": BlackBoxGradient(self, mode),
        }
        try:
            with mode:
                result = self._call(state, given)
            self._check_shapes(result, state)
            moved = self._finite(result, state, h)
        except TooManyDrawsError as error:
            raise BlackBoxError(str(error)) from None
        except UserError as error:
            self._refuse_draws(error, state, h)
            raise
        if draws is not None and handed.used != draws.shape[-1]:
            raise BlackBoxError(
                f"it drew {handed.used} random numbers in one run and {draws.shape[-1]} in another: how many a step draws "
                "depends on its state or on its draws"
            )
        return moved, handed

    def real(self, state: Sequence[Tensor], h: float) -> State:
        """What the step as it is returns for the very tensors that are given, its draws its own; it may be infinite."""
        given: dict[str, Any] = {**self.parameters, "h": h, "dim": self.dim}
        given["grad"] = BlackBoxGradient(self, Interception(Handed(None)))
        result = self._call(state, given)
        self._check_shapes(result, state)
        return result

    def real_state(self, state: Sequence[Tensor], h: float) -> State:
        """X_1 of the step as it is, from a copy of the state; raises as `run` does where that is no state."""
        return self._finite(self.real(copies(state), h), state, h)

    def _call(self, state: Sequence[Tensor], given: Mapping[str, Any]) -> tuple[Any, ...]:
        """The step's result; whatever the code raises, or an exit, is the user's to mend."""
        try:
            # As code is run where nobody says otherwise: it may differentiate.
            with torch.enable_grad():
                return self.step.step(tuple(state), **given)
        except SgverifyError:
            raise
        except (Exception, SystemExit) as error:
            raised = f"scheme={self.step.name!r} ({self.step.place}): raised {type(error).__name__}: {error}"
            refuse_kept_shapes(self.step.function, state, raised)
            # Second derivatives are the usual reason.
            numbers = (
                "; what grad returns are numbers, without a graph"
                if "does not require grad" in str(error)
                else ""
            )
            raise CodeError(
                f"{raised}; expected a step that runs on tensors of shapes {self._shapes(state)}, in {state[0].dtype}{numbers}"
            ) from error

    def _refuse_draws(self, error: UserError, state: Sequence[Tensor], h: float) -> None:
        """Raise `BlackBoxError` where the code runs as it is, and fails with the draws that are put in."""
        try:
            self.real_state(state, h)
        except SgverifyError:
            return
        raise BlackBoxError(
            f"it runs with draws of its own, and with draws that are put in it does not: {error}"
        ) from error

    def make_debut(self, state: Sequence[Tensor], h: float) -> None:
        """Make the first call of the code, if it has not been made; see `keep_debut`."""
        kept, gradient, step = copies(state), self.gradient, self.step
        dim, parameters, dtype = self.dim, dict(self.parameters), self.dtype
        shell = replace(step, function=_nothing)

        # It holds no function: what is kept by function would keep it alive.
        def again(function: Any, place: Sequence[Tensor] = kept) -> State:
            box = BlackBox(replace(shell, function=function), gradient, dim, parameters, dtype)
            return box.real(copies(place), h)

        def elsewhere(function: Any) -> State:
            return again(function, [0.7 - 1.3 * value for value in kept])

        keep_debut(step.function, again, elsewhere)

    def asked(self, state: Sequence[Tensor], h: float) -> list[tuple[int, ...]]:
        """The shapes of the draws of a step from this state, in order; raises as `run` does."""
        return self.run(state, None, h)[1]

    def laws(self, state: Sequence[Tensor], h: float) -> tuple[DrawLaw, ...]:
        """The law of each random number of a step from this state, of one chain, in order; raises as `run` does."""
        _, handed = self.take(state, None, h)
        self.check_rows(handed.asked, len(state[0]) if self.step.chains else 1)
        return tuple(handed.laws)

    def census(self, state: Sequence[Tensor], h: float) -> int:
        """How many random numbers a step from this state draws, of one chain; raises as `run` does.

        A draw of a step of `chains` that has not one row for each chain raises `BlackBoxError`.
        """
        _, shapes = self.run(state, None, h, others=torch.Generator().manual_seed(0))
        self.check_rows(shapes, len(state[0]) if self.step.chains else 1)
        return total(shapes, self.step.chains)

    def check_rows(self, shapes: Sequence[tuple[int, ...]], chains: int) -> None:
        """Raise `BlackBoxError` where a draw of a step of `chains` has not one row for each chain."""
        for shape in shapes:
            if self.step.chains and (not shape or shape[0] != chains):
                raise BlackBoxError(
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
        """The way on for what a step returns besides its state."""
        if more <= 0:
            return ""
        return (
            f"; what else it carries on from step to step, such as a second moment, is memory: declare it by "
            f"@torch_step({self.step.dynamics.name}, memory=[...]) and take it as another positional parameter"
        )

    def _finite(self, result: State, state: Sequence[Tensor], h: float) -> State:
        step = self.step
        for name, value in zip(step.state, result, strict=True):
            if not value.isfinite().all():
                got = "NaN" if value.isnan().any() else "an infinite number"
                raise UserError(
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


def refuse_kept_shapes(function: Any, state: Sequence[Tensor], raised: str) -> None:
    """Raise `KeptShapeError` where the code can reach tensors that have another number of coordinates or of chains.

    `raised`: what happened, the beginning of the message.
    """
    fitting = {1, *(size for value in state for size in value.shape)}
    kept = kept_shapes(function)
    unfit = {place: shape for place, shape in kept.items() if not fitting.issuperset(shape)}
    if not unfit:
        return
    before = shapes_before(function)
    made = tuple(place for place, shape in unfit.items() if before is not None and before.get(place) != shape)
    told = ", ".join(f"{place} of shape {shape}" for place, shape in list(unfit.items())[:3])
    when = " since an earlier call, in another dimension" if made else ""
    raise KeptShapeError(
        f"{raised}; between calls the code keeps {told}{when}, and it is called in several dimensions: an optimizer or a buffer "
        "that outlives a call belongs to one. Make it from theta within the step, hand what is to be kept on as state, or set "
        "target.dim and proof_dim to the dimension that it was made for",
        made,
    )


def _nothing() -> None:
    """Stands for the function where none is to be held."""


class BlackBoxGradient:
    """The ingredient `grad` of one run: call it for the gradient on its minibatch, `fresh()` for another one."""

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


__all__ = [
    "BlackBox",
    "BlackBoxError",
    "BlackBoxGradient",
    "CodeError",
    "KeptShapeError",
    "State",
    "UnreadableDrawError",
]
