"""Which floating-point formats flow through code, operation by operation."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor
from torch.utils._python_dispatch import TorchDispatchMode

WIDE = torch.float64


@dataclass(frozen=True)
class Narrow:
    """A floating tensor that is narrower than float64: its dtype, the operation that it met, and the line."""

    dtype: str
    operation: str
    line: str

    def __str__(self) -> str:
        return f"{self.dtype} at {self.line} ({self.operation})"


_SPELLED = {"lift_fresh": "tensor", "_to_copy": "to"}


class DtypeAudit:
    """Keeps what is narrower than float64 among the tensors of the operations that it is shown, and where it meets float64.

    `found` holds the places where it is seen, `met` those where an operation takes both, or makes one of the other.
    `files`: parts of the paths whose lines are named; a line elsewhere is named by its caller in one of these, or is
    "torch itself".
    """

    def __init__(self, files: tuple[str, ...]) -> None:
        self._files = files
        self.found: dict[tuple[str, str], Narrow] = {}
        self.operations = 0
        self.met: dict[str, Narrow] = {}

    def __call__(self, func: Any, given: Any, result: Any) -> None:
        """See an operation, its arguments and its result."""
        self.operations += 1
        kinds = {tensor.dtype for tensor in _tensors((given, result)) if tensor.is_floating_point()}
        for kind in kinds - {WIDE}:
            name, line = func._schema.name.partition("::")[2], self._line()
            seen = Narrow(str(kind), f"torch.{_SPELLED.get(name, name)}", line)
            self.found.setdefault((str(kind), line), seen)
            if WIDE in kinds:
                self.met.setdefault(line, seen)

    def _line(self) -> str:
        frame: Any = sys._getframe()
        while frame is not None:
            name = frame.f_code.co_filename
            if any(part in name for part in self._files) and "intercepted" not in name:
                return f"{name.rpartition('/')[2]}:{frame.f_lineno}"
            frame = frame.f_back
        return "torch itself"


class Audited(TorchDispatchMode):
    """While it is entered, `audit` is shown every operation."""

    def __init__(self, audit: DtypeAudit) -> None:
        super().__init__()
        self._audit = audit

    @classmethod
    def _should_skip_dynamo(cls) -> bool:
        # torch keeps its compiler out of these modes by importing it, more than a second: only where it is at work.
        return "torch._dynamo" in sys.modules

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = kwargs or {}
        result = func(*args, **kwargs)
        self._audit(func, (args, kwargs), result)
        return result


@contextmanager
def default_dtype(dtype: torch.dtype) -> Iterator[None]:
    """What torch.tensor(0.1), torch.randn(2) and their like are made in."""
    before = torch.get_default_dtype()
    torch.set_default_dtype(dtype)
    try:
        yield
    finally:
        torch.set_default_dtype(before)


def effect(take: Callable[[], Any]) -> list[float]:
    """How far each variable of a result moves when constants of the default dtype are float64 instead of float32.

    Infinite where it is finite in one of the two alone.
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


__all__ = ["Audited", "DtypeAudit", "Narrow", "default_dtype", "effect"]
