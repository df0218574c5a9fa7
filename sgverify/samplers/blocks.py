"""What a run hands on: the states of a few steps of the rows that still run, and which of them left every bound."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
import torch
from torch import Tensor

from sgverify.errors import SgverifyError

FAR = 1e9
"""A chain has diverged where a coordinate is NaN or beyond FAR units from 0. The unit is the largest of 1, sqrt(T),
the friction, the start's and the mean's distance from 0 and the standard deviations of the target."""


@dataclass(frozen=True)
class Divergence:
    """A row that left every bound: its schedule, the step at which, the numbers of the chains that did, and what may be why."""

    schedule: str
    step_number: int
    chains: tuple[int, ...]
    why: str = field(default="", compare=False)

    def __str__(self) -> str:
        named = ", ".join(map(str, self.chains[:5])) + (", ..." if len(self.chains) > 5 else "")
        return f"{self.schedule} diverged at step {self.step_number} (chains {named}){self.why}"


@dataclass(frozen=True)
class Block:
    """The steps l = first, ..., first + K - 1 of the rows that still run, and the state X_l at their end.

    `rows` are their places in the sweep; `state` maps each variable to a tensor (S, C, d or 1), to be read before the
    run goes on; `steps` holds h_l, float64, shape (K, S); `diverged` the rows whose last state is not to be used.
    """

    rows: tuple[int, ...]
    first: int
    state: Mapping[str, Tensor]
    steps: np.ndarray
    diverged: dict[int, Divergence]

    @property
    def last(self) -> int:
        """The number of the last step."""
        return self.first + len(self.steps) - 1


def divergences(
    block: Block, beyond: np.ndarray, schedules: Sequence[str], first_chain: int
) -> dict[int, Divergence]:
    """The rows of a block with chains that are `beyond` every bound, shape (S, C); `schedules` names all rows."""
    found = {}
    for i, row in enumerate(block.rows):
        chains = tuple(int(chain) + first_chain for chain in np.flatnonzero(beyond[i]))
        if chains:
            found[row] = Divergence(schedules[row], block.last, chains)
    return found


def whole_groups(diverged: Mapping[int, Divergence], size: int) -> dict[int, Divergence]:
    """The same for every row of a group of `size` consecutive ones: each ends with the first that left every bound."""
    found = dict(diverged)
    for row in sorted(diverged):
        first = row - row % size
        for other in range(first, first + size):
            found.setdefault(other, diverged[row])
    return found


@dataclass(frozen=True, eq=False)
class Position:
    """Where a run stands between two steps, and all that the next one needs.

    `rows` are the places of those that go on, after `done` steps; `state` their variables, each (S, C, d or 1),
    `carried` what a composite and the gradient estimator keep, `generators` the positions of torch's own generators, if they draw.
    """

    rows: tuple[int, ...]
    done: int
    state: tuple[Tensor, ...]
    carried: tuple[Tensor, ...] = ()
    generators: tuple[Tensor, ...] = ()


def check_shapes(
    name: str, state: Mapping[str, Tensor], expected: Mapping[str, tuple[int, ...]], dtype: torch.dtype
) -> None:
    """Raise `SgverifyError` where a step has changed the dtype or the shape of a variable."""
    for variable, value in state.items():
        if value.dtype != dtype or tuple(value.shape) != expected[variable]:
            raise SgverifyError(
                f"scheme={name!r}: {variable} became {value.dtype} of shape {tuple(value.shape)}; expected {dtype} of shape "
                f"{expected[variable]}"
            )


def by_coordinate(tensor: Tensor) -> Tensor:
    """The same values, the chains side by side in memory for each coordinate. Shape (S, C, d)."""
    return tensor.mT.contiguous().mT


def far_out(state: Sequence[Tensor], bound: float) -> np.ndarray | None:
    """Which chains are NaN or beyond `bound`, shape (S, C); None where none is. One number is read from the device."""
    dense = [tensor if tensor.is_contiguous() else tensor.mT for tensor in state]
    flat = [tensor.reshape(-1) for tensor in dense]
    # One pass first: no entry is larger than the root of the sum of squares. NaN compares as false.
    squares = sum((torch.dot(entries, entries) for entries in flat[1:]), torch.dot(flat[0], flat[0]))
    if squares.item() <= bound * bound or all(_within(tensor, bound) for tensor in dense):
        return None
    beyond = torch.stack([~(tensor.abs().amax(-1) <= bound) for tensor in state])
    return np.asarray(beyond.any(0).cpu().numpy())


def _within(dense: Tensor, bound: float) -> bool:
    low, high = torch.aminmax(dense)
    return -bound <= low.item() and high.item() <= bound
