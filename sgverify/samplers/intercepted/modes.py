"""Under which kind of mode are the operations of some code seen?"""

from __future__ import annotations

import sys
from contextlib import AbstractContextManager
from typing import Any

import torch
from torch.utils._python_dispatch import TorchDispatchMode


class OperationMode(TorchDispatchMode):
    """A context in which `__torch_dispatch__` handles every operation, with torch's compiler kept out of the code within.

    torch itself wraps the handler of a mode so that its compiler does not compile it: 8 us an operation, more than most operations
    take, and more than a second for the compiler's import. Under a mode compiled functions run as they are written; if the compiler
    is loaded, that is told to it when the mode is entered instead.
    """

    @classmethod
    def _should_skip_dynamo(cls) -> bool:
        return False

    def __enter__(self) -> Any:
        found = super().__enter__()
        self._stances: list[AbstractContextManager[Any] | None] = [*getattr(self, "_stances", ()), _eager()]
        return found

    def __exit__(self, *raised: Any) -> None:
        stance = self._stances.pop()
        if stance is not None:
            stance.__exit__(*raised)
        super().__exit__(*raised)


def _eager() -> AbstractContextManager[Any] | None:
    """The compiler's stance by which compiled functions run as they are written, in force; None if it is not loaded."""
    if "torch._dynamo" not in sys.modules or not hasattr(torch.compiler, "set_stance"):
        return None
    # In force from its construction on.
    return torch.compiler.set_stance("force_eager")


__all__ = ["OperationMode"]
