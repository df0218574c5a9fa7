"""Normal numbers that are handed out in order to the draws of a step, and a record of what was asked for."""

from __future__ import annotations

import math
from collections.abc import Iterable

import torch
from torch import Tensor

from sgverify.errors import SgverifyError
from sgverify.samplers.intercepted.laws import NORMAL, DrawLaw

MOST_DRAWS = 1_000
"""Draws of one step at most."""

DEPENDENT = DrawLaw("of chances that differ from chain to chain")
"""What a draw is whose chances depend on what was drawn before."""


class TooManyDrawsError(SgverifyError):
    """A step goes on drawing."""

    def __init__(self) -> None:
        super().__init__(f"one step drew more than {MOST_DRAWS} times: does a loop wait for its draws?")


class Handed:
    """A list of normal numbers handed out in order: a vector z, cut into the shapes that are asked for.

    `asked` keeps the shapes, `laws` the law of each number of one chain. With `rows`, z has the shape (chains, m), and each
    draw one row for each chain.
    """

    def __init__(self, values: Tensor | None, *, rows: bool = False) -> None:
        self._values, self._rows = values, rows
        self.asked: list[tuple[int, ...]] = []
        self.laws: list[DrawLaw] = []
        self._used = 0
        self._random: torch.Generator | None = None

    def __call__(
        self, shape: tuple[int, ...], law: DrawLaw = NORMAL, chances: Tensor | None = None
    ) -> Tensor:
        """The next numbers in this shape; some that have nothing special where there is no list, or no longer one.

        `chances`: those of the outcomes that they will be made, shape (*shape, n).
        """
        self.asked.append(shape)
        if len(self.asked) > MOST_DRAWS:
            raise TooManyDrawsError
        count = math.prod(shape[1:] if self._rows else shape)
        self.laws.extend([law] * count if chances is None else self._outcomes(shape, chances))
        if self._values is None:
            return self._spare(shape)
        taken = self._values[..., self._used : self._used + count]
        self._used += count
        if taken.numel() != math.prod(shape):
            return self._spare(shape)
        return taken.reshape(shape).clone()

    def _spare(self, shape: tuple[int, ...]) -> Tensor:
        if self._random is None:
            self._random = torch.Generator().manual_seed(0)
        return torch.empty(shape, dtype=torch.float64).normal_(generator=self._random)

    def _outcomes(self, shape: tuple[int, ...], chances: Tensor) -> list[DrawLaw]:
        given = chances.detach().to(torch.float64)
        rows = given.reshape(shape[0] if self._rows and shape else 1, -1, given.shape[-1])
        if not torch.equal(rows, rows[:1].expand_as(rows)):
            return [DEPENDENT] * rows.shape[1]
        return [DrawLaw("outcomes", tuple(row)) for row in rows[0].tolist()]

    @property
    def used(self) -> int:
        """How many numbers of a chain were asked for."""
        return self._used if self._values is not None else total(self.asked, self._rows)


def total(shapes: Iterable[tuple[int, ...]], rows: bool) -> int:
    """The numbers in draws of these shapes, of one chain."""
    return sum(math.prod(shape[1:] if rows else shape) for shape in shapes)


__all__ = ["DEPENDENT", "Handed", "TooManyDrawsError", "total"]
