"""The wrapper of a user's torch function: log p of theta, or of one datum given theta."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import singledispatch
from pathlib import Path
from typing import Any

from sgverify.errors import DefinitionError, UserError
from sgverify.schemes.loading import place_of
from sgverify.targets.own.data import DatumLayout
from sgverify.targets.potential import Vector


@dataclass(frozen=True, eq=False)
class OwnFunction:
    """A user's log p(theta), or log p(x | theta) of one datum with the given `layout`, up to a constant.

    `batched`: whether it takes any number of leading axes, shape (*chains, d) -> (*chains), or one theta alone; None where
    a trial has to tell. `constants`: the values of its keyword-only parameters.
    """

    function: Callable[..., Any] = field(repr=False)
    role: str
    name: str
    dim: int
    layout: DatumLayout | None = None
    batched: bool | None = None
    constants: Mapping[str, float] = field(default_factory=dict)

    def __call__(self, theta: Any, *data: Any) -> Any:
        """The value of the function; an exception in it becomes a `UserError` that names file and line."""
        try:
            return self.function(theta, *data, **self.constants)
        except (UserError, KeyboardInterrupt):
            raise
        except Exception as error:
            path = Path(inspect.unwrap(self.function).__code__.co_filename)
            raise UserError(
                f"{self}: {place_of(error, path)} raised {type(error).__name__}: {error}; expected a function of "
                f"{self.expected}; mend it there"
            ) from None

    @property
    def expected(self) -> str:
        """The arguments that the function takes, in words."""
        chains = f"a torch tensor of shape (*chains, {self.dim}), any number of leading axes"
        if self.layout is None:
            return f"{chains}, or of one theta of shape ({self.dim},)"
        each = ", ".join(str(shape) for shape in self.layout.shapes)
        return f"one theta of shape ({self.dim},) and one datum of shape {each}, or of {chains} and the like of the data"

    def __str__(self) -> str:
        return f"{self.role} {self.name!r}"


@dataclass(frozen=True, eq=False)
class OwnPotential:
    """The potential -log p as a function of theta, shape (*batch, d) -> (*batch), or of theta and rows of data (*batch, w)."""

    own: OwnFunction

    def __call__(self, theta: Any, *rows: Any) -> Any:
        """The potential on tensors and arrays; other values raise `DefinitionError`."""
        return -evaluate(theta, self.own, *rows)


@singledispatch
def evaluate(theta: Any, own: OwnFunction, *rows: Any) -> Any:
    """log p at theta; carriers whose values are, or become, torch tensors register their types here."""
    raise DefinitionError(
        f"{own} was evaluated on a {type(theta).__name__}; it is a function of torch tensors; expected "
        "a reading that samples it; import sgverify.samplers, which teaches arrays to become tensors"
    )


@evaluate.register
def _(theta: Vector, own: OwnFunction, *rows: Any) -> Any:
    raise DefinitionError(f"{own} is a function of torch tensors")
