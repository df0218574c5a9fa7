"""Random draws of torch code, of any law: recorded as they fall, and handed out again."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor
from torch.utils._python_dispatch import TorchDispatchMode

from sgverify.errors import SgverifyError


class ReplayError(SgverifyError):
    """What was recorded does not fit what is drawn; the message says how."""


class Recording(TorchDispatchMode):
    """While it is entered, keeps the result of every random operation, in order."""

    def __init__(self) -> None:
        super().__init__()
        self.values: list[Tensor] = []

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        result = func(*args, **(kwargs or {}))
        if is_random(func):
            self.values.append(_only(func, result).detach().clone())
        return result


class Replay(TorchDispatchMode):
    """While it is entered, every random operation runs, and its result becomes the next of `values`.

    Whatever generator it asks moves on as it does by itself. Raises `ReplayError` where the shapes differ, or where more is
    drawn than was recorded; `finish` raises it for less.
    """

    def __init__(self, values: Sequence[Tensor]) -> None:
        super().__init__()
        self._values, self._next = list(values), 0

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        result = func(*args, **(kwargs or {}))
        if is_random(func):
            drawn = _only(func, result)
            if self._next == len(self._values):
                raise ReplayError(f"it draws more than the {len(self._values)} times of before")
            value = self._values[self._next]
            if value.shape != drawn.shape:
                raise ReplayError(
                    f"it draws a tensor of shape {tuple(drawn.shape)} where it drew one of {tuple(value.shape)} before"
                )
            drawn.detach().copy_(value)
            self._next += 1
        return result

    def finish(self) -> None:
        """Raise `ReplayError` where something was not asked for."""
        if self._next < len(self._values):
            raise ReplayError(f"it draws {self._next} times where it drew {len(self._values)} times before")


class RowReplay(TorchDispatchMode):
    """While it is entered, each row of a draw becomes what a chain that was run alone drew there.

    `alone[k]`: the draws of the k-th chain, whose row is the first; `rows[i]`: the number of the chain that row i is. Draws with
    neither one row for each chain nor as many spare rows as the chain alone draws are left as they fall, and kept in `odd`;
    `shapes` are those of all draws.
    """

    def __init__(self, alone: Sequence[Sequence[Tensor]], rows: Sequence[int]) -> None:
        super().__init__()
        self._alone, self._rows = alone, list(rows)
        self.shapes: list[tuple[int, ...]] = []
        self.odd: list[tuple[int, ...]] = []

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        result = func(*args, **(kwargs or {}))
        if is_random(func):
            drawn = _only(func, result)
            value = self._of_rows(len(self.shapes), tuple(drawn.shape))
            self.shapes.append(tuple(drawn.shape))
            if value is None:
                self.odd.append(tuple(drawn.shape))
            else:
                drawn.detach().copy_(value)
        return result

    def _of_rows(self, number: int, shape: tuple[int, ...]) -> Tensor | None:
        if any(number >= len(draws) for draws in self._alone):
            return None
        single = [draws[number] for draws in self._alone]
        if any(not value.ndim for value in single):
            return None
        own = torch.cat([value[:1] for value in single])[self._rows]
        if all(len(value) == 1 and shape == (len(own), *value.shape[1:]) for value in single):
            return own
        if all(len(value) > len(own) and shape == tuple(value.shape) for value in single):
            # Drawn for more chains than there are: each has the row of its number.
            return torch.cat([own, single[0][len(own) :]])
        return None


def is_random(func: Any) -> bool:
    """Whether torch tags the operation as one that asks a random number generator."""
    return torch.Tag.nondeterministic_seeded in func.tags


def _only(func: Any, result: Any) -> Tensor:
    if not isinstance(result, Tensor):
        raise ReplayError(f"it draws by torch's {func._schema.name}, whose result is more than one tensor")
    return result


__all__ = ["Recording", "Replay", "ReplayError", "RowReplay", "is_random"]
