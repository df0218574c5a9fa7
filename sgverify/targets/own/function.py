"""The wrapper of a user's torch function: log p of theta, or of one datum given theta."""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import singledispatch
from pathlib import Path
from typing import Any

import numpy as np

from sgverify.errors import ConfigurationError, DefinitionError, UserError
from sgverify.schemes.user_files import place_of
from sgverify.targets.data import check_amount, frozen
from sgverify.targets.data_files import read_file
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


# The data of a user's own likelihood: arrays of any shapes are packed into rows of numbers, and rows into arguments.


# Whole numbers up to here are exact in float32, in which a run may hold them.
_LARGEST_WHOLE = 2**24


@dataclass(frozen=True)
class DatumLayout:
    """The layout of a likelihood's arguments in a row of numbers: their shapes, and which of them hold whole numbers."""

    shapes: tuple[tuple[int, ...], ...]
    whole: tuple[bool, ...]

    @property
    def width(self) -> int:
        """The numbers of a row."""
        return sum(math.prod(shape) for shape in self.shapes)

    def split(self, rows: Any) -> list[Any]:
        """The arguments of rows. Shape (*batch, w) -> (*batch, *shape) each."""
        found, first = [], 0
        for shape in self.shapes:
            last = first + math.prod(shape)
            found.append(rows[..., first:last].reshape((*rows.shape[:-1], *shape)))
            first = last
        return found


def read_arrays(data: Any) -> tuple[np.ndarray, DatumLayout]:
    """An array or tensor of N entries along its first axis, or a tuple of them, as rows (N, w). Raises `ConfigurationError`."""
    arrays = [_array(item) for item in (data if isinstance(data, tuple) else (data,))]
    if not arrays or any(not item.ndim or not len(item) or len(item) != len(arrays[0]) for item in arrays):
        raise ConfigurationError(
            f"data: has the shapes {', '.join(str(item.shape) for item in arrays) or '()'}; expected arrays of N entries along "
            "their first axis, as many in each; give one entry for each datum"
        )
    for item in arrays:
        if item.dtype.kind not in "fiub":
            raise ConfigurationError(f"data: holds {item.dtype}; expected numbers; leave other columns out")
        wrong = np.argwhere(~np.isfinite(item))
        if len(wrong):
            raise ConfigurationError(
                f"data: datum {int(wrong[0][0])} (from 0) holds {item[tuple(wrong[0])]}; expected finite numbers; mend this datum"
            )
        if item.dtype.kind in "iu" and np.abs(item).max() >= _LARGEST_WHOLE:
            raise ConfigurationError(
                "data: holds whole numbers beyond 2^24, which float32 does not hold; expected smaller ones; renumber them"
            )
    rows = np.concatenate([item.reshape(len(item), -1).astype(np.float64) for item in arrays], 1)
    check_amount(*rows.shape)
    layout = DatumLayout(
        tuple(item.shape[1:] for item in arrays), tuple(item.dtype.kind in "iub" for item in arrays)
    )
    return frozen(rows), layout


def read_configured(given: dict[str, Any], function: Callable[..., Any]) -> tuple[np.ndarray, DatumLayout]:
    """The data of `target.data` or `target.file`, for a function of theta and one or two arguments.

    A single data argument is the whole row, or its only number; of two, the second is the number in the last column. Shape
    (N, w).
    """
    if "file" in given and "data" in given:
        raise ConfigurationError(
            f"target.file={given['file']!r} and target.data are both given; expected one of the two; leave one out"
        )
    rows, _ = read_arrays(read_file(given) if "file" in given else _table(given["data"]))
    width, count = rows.shape[1], count_arguments(function) - 1
    if count == 1:
        return rows, DatumLayout(((width,) if width > 1 else (),), (False,))
    if count != 2 or width < 2:
        raise ConfigurationError(
            f"target.{'file' if 'file' in given else 'data'} has {width} numbers for each datum, and {function.__name__} takes "
            f"{count} arguments after theta; expected one, the row, or two, its first numbers and its last"
        )
    return rows, DatumLayout(((width - 1,) if width > 2 else (), ()), (False, False))


def count_arguments(function: Callable[..., Any]) -> int:
    """The number of required positional parameters of a function. Raises `DefinitionError` where it has none."""
    kinds = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    parameters = inspect.signature(function).parameters.values()
    found = [p for p in parameters if p.kind in kinds and p.default is inspect.Parameter.empty]
    if not found:
        raise DefinitionError(
            f"log_density: {function.__name__} takes no argument; expected theta; give it one"
        )
    return len(found)


def constants_of(function: Callable[..., Any]) -> dict[str, float]:
    """The constants that a function declares, with their defaults: its keyword-only parameters with numbers as defaults."""
    parameters = inspect.signature(function).parameters.values()
    found = {p.name: p.default for p in parameters if p.kind is inspect.Parameter.KEYWORD_ONLY}
    return {
        name: value
        for name, value in found.items()
        if isinstance(value, int | float) and not isinstance(value, bool)
    }


def _array(item: Any) -> np.ndarray:
    if hasattr(item, "detach"):
        item = item.detach().cpu()
    try:
        return np.asarray(item)
    except (ValueError, TypeError) as error:
        raise ConfigurationError(
            f"data: {type(item).__name__} is no array ({error}); expected arrays of numbers of N entries along the first axis"
        ) from None


def _table(value: Any) -> np.ndarray:
    found = _array(value)
    if found.ndim not in (1, 2):
        raise ConfigurationError(
            f"target.data has the shape {found.shape}; expected N numbers, or N lists of them"
        )
    return found
