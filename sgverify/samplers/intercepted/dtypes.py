"""Which floating-point formats occur in the torch operations of some code?"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

WIDE = torch.float64


@dataclass(frozen=True)
class Narrow:
    """A floating tensor narrower than float64: its dtype, the operation that used it, and the line of code."""

    dtype: str
    operation: str
    line: str

    def __str__(self) -> str:
        return f"{self.dtype} at {self.line} ({self.operation})"


_SPELLED = {"lift_fresh": "tensor", "_to_copy": "to"}


class DtypeAudit:
    """Collects the floating tensors narrower than float64 in the operations that it is shown.

    `found` holds the places where a narrow tensor occurs; `met` those where an operation takes both a narrow and a float64
    tensor, or converts one into the other. `files` are parts of paths whose lines are named; an operation elsewhere is
    attributed to its caller's line in one of these files, else to "torch itself".
    """

    def __init__(self, files: tuple[str, ...]) -> None:
        self._files = files
        self.found: dict[tuple[str, str], Narrow] = {}
        self.operations = 0
        self.met: dict[str, Narrow] = {}

    def __call__(self, func: Any, given: Any, result: Any) -> None:
        """Record the narrow tensors among the arguments `given` and the result of an operation."""
        self.operations += 1
        kinds = {tensor.dtype for tensor in _tensors((given, result)) if tensor.is_floating_point()}
        for kind in kinds - {WIDE}:
            name, line = func._schema.name.partition("::")[2], self._line()
            seen = Narrow(str(kind), f"torch.{_SPELLED.get(name, name)}", line)
            self.found.setdefault((str(kind), line), seen)
            if WIDE in kinds:
                self.met.setdefault(line, seen)

    def foreign(self, operations: int, narrow: Sequence[Narrow], met: Sequence[Narrow]) -> None:
        """Record operations outside of torch: their number, and the narrow values in them, of which `met` meet float64."""
        self.operations += operations
        for seen in narrow:
            self.found.setdefault((seen.dtype, seen.line), seen)
        for seen in met:
            self.met.setdefault(seen.line, seen)

    def _line(self) -> str:
        frame: Any = sys._getframe()
        while frame is not None:
            name = frame.f_code.co_filename
            if any(part in name for part in self._files) and "intercepted" not in name:
                return f"{name.rpartition('/')[2]}:{frame.f_lineno}"
            frame = frame.f_back
        return "torch itself"


@contextmanager
def default_dtype(dtype: torch.dtype) -> Iterator[None]:
    """A context with another default dtype, that of torch.tensor(0.1), torch.randn(2) and the like."""
    before = torch.get_default_dtype()
    torch.set_default_dtype(dtype)
    try:
        yield
    finally:
        torch.set_default_dtype(before)


def effect(take: Callable[[], Any]) -> list[float]:
    """The largest change of each variable of a result if constants of the default dtype are float64 instead of float32.

    The change is infinite if the variable is finite with one of the two dtypes only.
    """
    results = []
    for dtype in (torch.float32, WIDE):
        with default_dtype(dtype):
            results.append([value.to(WIDE) for value in take()])
    moved = []
    for narrow, wide in zip(*results, strict=True):
        if torch.equal(narrow.isfinite(), wide.isfinite()):
            apart = (narrow.nan_to_num() - wide.nan_to_num()).abs()
            moved.append(float(apart.max()) if apart.numel() else 0.0)
        else:
            moved.append(float("inf"))
    return moved


def _tensors(value: Any) -> Iterator[Tensor]:
    if isinstance(value, Tensor):
        yield value
    elif isinstance(value, (tuple, list)):
        for part in value:
            yield from _tensors(part)
    elif isinstance(value, dict):
        yield from _tensors(tuple(value.values()))
