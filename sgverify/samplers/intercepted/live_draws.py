"""Which normal numbers drive the draws of torch code while it runs with its own generators?"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from sgverify.samplers.intercepted.interception import Interception
from sgverify.samplers.intercepted.replacing import NORMAL, DrawLaw


class LiveDraws(Interception):
    """A context in which every draw is made of normal numbers from the very generator that the code would have used.

    A generator that the code seeds anew, or puts back, gives equal numbers again. `numbers` holds those of each draw, in order,
    each a float64 tensor of the draw's shape. Raises `UnreadableDrawError` for a draw that cannot be made of normal numbers.
    """

    def __init__(self) -> None:
        super().__init__(self._live)
        self.numbers: list[Tensor] = []
        self._generator: torch.Generator | None = None

    def _random(self, func: Any, args: Any, kwargs: dict[str, Any]) -> Any:
        self._generator = kwargs.get("generator")
        return super()._random(func, args, kwargs)

    def _live(self, shape: tuple[int, ...], law: DrawLaw = NORMAL, chances: Tensor | None = None) -> Tensor:
        with self.paused():
            z = torch.empty(shape, dtype=torch.float64).normal_(generator=self._generator)
        self.numbers.append(z.clone())
        return z


__all__ = ["LiveDraws"]
