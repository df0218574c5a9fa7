"""A torch step bound to a gradient and to numbers: the map (state, normal draws) -> state."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import Tensor

from sgverify.errors import DefinitionError, SgverifyError, UserError
from sgverify.samplers.intercepted.interception import (
    Handed,
    Interception,
    UnreadableDrawError,
    Witness,
    total,
)
from sgverify.schemes.torch_step import TorchStep

State = tuple[Tensor, ...]
Slope = Callable[[Tensor, int], Tensor]
"""theta and the number of the minibatch -> the gradient estimate, in theta's shape and dtype."""


class BlackBoxError(SgverifyError):
    """A black box cannot be read; the message says why."""


@dataclass(frozen=True)
class BlackBox:
    """`step` with this gradient, dimension and parameters.

    `gradient(theta, minibatch)`: shape (dim,), or (chains, dim) for a step of `chains`. Every run gets new tensors, so
    that nothing which a step does to its arguments reaches the next.
    """

    step: TorchStep
    gradient: Slope = field(repr=False)
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

        `draws`: the normal numbers, shape (m,), or (chains, m) for a step of `chains`; None for zeros. Raises
        `UnreadableDrawError` for other draws unless `others` provides them, `BlackBoxError` where their number is not m,
        `DefinitionError` for a result that is no state, and `UserError` where the code itself raises.
        """
        handed = Handed(draws, rows=self.step.chains)
        mode = Interception(handed, others=others, witness=witness)
        given: dict[str, Any] = {**self.parameters, "h": h, "dim": self.dim, "grad": Gradient(self, mode)}
        try:
            with torch.no_grad(), mode:
                result = self.step.step(tuple(state), **given)
        except SgverifyError:
            raise
        except Exception as error:
            raise UserError(
                f"scheme={self.step.name!r} ({self.step.place}): raised {type(error).__name__}: {error}; expected a step that "
                f"runs on tensors of shapes {self._shapes(state)}"
            ) from error
        if draws is not None and handed.used != draws.shape[-1]:
            raise BlackBoxError(
                f"it drew {handed.used} normal numbers in one run and {draws.shape[-1]} in another: how many a step draws "
                "depends on its state or on its draws"
            )
        return self._checked(result, state), handed.asked

    def census(self, state: Sequence[Tensor], h: float) -> int:
        """How many normal numbers a step from this state draws, of one chain; raises as `run` does.

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
                    f"it draws a tensor of shape {shape} for {chains} chains: the chains share these numbers"
                )

    def _checked(self, result: tuple[Any, ...], state: Sequence[Tensor]) -> State:
        step = self.step
        names = ", ".join(step.state)
        if len(result) != len(state):
            raise DefinitionError(
                f"{step.place}: `{step.name}` returned {len(result)} value{'s' * (len(result) != 1)}; expected the whole "
                f"state ({names}), changed or not, in this order"
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
        return result

    def _shapes(self, state: Sequence[Tensor]) -> str:
        return ", ".join(
            f"{name} {tuple(value.shape)}" for name, value in zip(self.step.state, state, strict=True)
        )


class Gradient:
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
        if self._minibatch < 0:
            self._minibatch = self._counter[0]
            self._counter[0] += 1
        with self._mode.paused():
            return self._box.gradient(theta.detach(), self._minibatch)

    def fresh(self) -> Gradient:
        """The gradient on another minibatch of the same step."""
        return Gradient(self._box, self._mode, self._counter)


__all__ = ["BlackBox", "BlackBoxError", "Gradient", "State", "UnreadableDrawError"]
