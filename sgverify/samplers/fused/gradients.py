"""How does a kernel compute gradients over data: which loops, over which data, and what is carried from step to step?

The gradient of one datum is recorded as a tape of its own, which becomes the body of a loop over the data of a minibatch, or over
all data. A step's tape only names the sums: `sum_of_gradients` is one operation on it.
"""

from __future__ import annotations

from collections.abc import Callable
from copy import copy
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import torch
from torch import Tensor
from torch.overrides import handle_torch_function, has_torch_function

from sgverify.errors import Unreached
from sgverify.samplers.fused.data_sums import SumText
from sgverify.samplers.fused.loops import taped
from sgverify.samplers.gradients.control_variates import CentredEstimator, TableEstimator
from sgverify.samplers.gradients.differentiation import Potential
from sgverify.samplers.gradients.estimators import (
    AdditiveEstimator,
    Estimator,
    MinibatchEstimator,
    SnapshotEstimator,
)
from sgverify.samplers.gradients.minibatches import Iid
from sgverify.samplers.reading.arithmetic import RUN
from sgverify.samplers.reading.tape import Tape

TRACED = 2
"""The number of chains on which operations are recorded; they are the same for any number."""


def sum_of_gradients(theta: Tensor, data: Tensor | None) -> Tensor:
    """sum_i grad likelihood(theta, x_i) over the data of a minibatch, None for all: one operation on a tape."""
    given = (theta,) if data is None else (theta, data)
    if has_torch_function(given):
        found: Tensor = handle_torch_function(sum_of_gradients, given, theta, data)
        return found
    return torch.ones_like(theta)


def change_of_gradients(theta: Tensor, data: Tensor) -> Tensor:
    """sum_i (grad likelihood(theta, x_i) - a_i) over a minibatch, a_i of a table of gradients: one operation on a tape."""
    if has_torch_function((theta, data)):
        found: Tensor = handle_torch_function(change_of_gradients, (theta, data), theta, data)
        return found
    return torch.ones_like(theta)


class RecordedTable(TableEstimator):
    """SAGA whose changes from the table are single operations; all other operations are those of the given estimator."""

    def __init__(self, estimator: TableEstimator) -> None:
        vars(self).update(vars(estimator))

    def reading(
        self, potential: Potential, given: tuple[Tensor, ...], carried: tuple[Tensor, ...]
    ) -> RecordedTable:
        """See `Estimator.reading`; what is carried is the sum of the table alone."""
        other = copy(self)
        other.potential, (other._sum,) = potential, carried
        other._gathered = dict(enumerate(given))
        return other

    def _change(self, theta: Tensor, number: int, minibatch: int) -> Tensor:
        return change_of_gradients(theta, self._chosen_data(number))


class RecordedPotential(Potential):
    """A potential whose sums over data are single operations; all other operations are those of the given potential."""

    def __init__(self, potential: Potential) -> None:
        vars(self).update(vars(potential))
        self.of = potential

    def sum_over(self, theta: Tensor, data: Tensor) -> Tensor:
        """See `Potential.sum_over`."""
        return sum_of_gradients(theta, data)

    def sum_over_all(self, theta: Tensor) -> Tensor:
        """See `Potential.sum_over_all`."""
        return sum_of_gradients(theta, None)

    def tape_of_one_datum(self, rows: int) -> Tape:
        """The tape of the gradient of one datum, a function of theta and the datum. Raises `Unreached`."""
        if not self.tracked_likelihood:
            raise Unreached("the gradient of a likelihood in torch code of a user")
        assert self.data is not None
        dtype, width = self.data.dtype, self.data.shape[1]
        theta = torch.ones((rows, TRACED, self.target.dim), dtype=dtype)
        datum = torch.ones((rows, TRACED, width), dtype=dtype)
        return taped(lambda: (self.of.of_one_datum(theta, datum),), [("", theta), ("", datum)]).tape


@dataclass(frozen=True)
class KernelGradient:
    """The gradient estimates of a kernel.

    `potential` records sums over data as single operations. A step reads `minibatches` minibatches, each as a tensor of
    the shape of a state variable that it `adds` to the gradient, or as data. `widths` are the widths of the carried tensors, which
    `begin` recomputes from theta at the steps 0, m, 2m, ..., m = `refresh`. With a `table` of each datum's last gradient, the table
    is carried before them, and its sum recomputed at these steps.
    """

    estimator: Estimator
    potential: RecordedPotential
    minibatches: int
    adds: bool
    widths: tuple[int, ...] = ()
    refresh: int = 0
    begin: Callable[[Tensor], tuple[Tensor, ...]] | None = None
    table: bool = False

    @property
    def iid(self) -> bool:
        """Are the minibatches drawn in the kernel itself?"""
        return type(self.estimator.source) is Iid

    @property
    def noisy(self) -> bool:
        """Is what is added to the gradients noise, drawn outside of the kernel?"""
        return isinstance(self.estimator, AdditiveEstimator)

    @property
    def visits_data(self) -> bool:
        """Does an estimate, or what is carried, sum the gradients of data?"""
        potential = self.potential
        if potential.data is None or (self.adds and not self.noisy):
            return False
        return (self.minibatches > 0 and not self.noisy) or potential.affine is None

    def given(self, rows: int) -> tuple[Tensor, ...]:
        """Tensors of the shapes that a step reads of its minibatches: see `Estimator.given`."""
        data, dim = self.potential.data, self.potential.target.dim
        shape = (rows, TRACED, dim) if self.adds or data is None else (1, rows, TRACED, data.shape[1])
        return tuple(torch.ones(shape, dtype=self.potential.dtype) for _ in range(self.minibatches))

    def indices(self, first: int, count: int) -> np.ndarray | None:
        """The data of the minibatches of `count` steps from step `first` on, uint32 of shape (count m n, S, C).

        None if the kernel draws them.
        """
        if self.iid or self.noisy or not self.minibatches:
            return None
        source: Any = self.estimator.source
        drawn = source.block(first * self.minibatches, count * self.minibatches)
        return np.ascontiguousarray(drawn.flatten(0, 1).numpy().astype(np.uint32))

    def noise(self, first: int, count: int) -> Tensor | None:
        """What is added to the gradients of `count` steps from step `first` on, shape (count m, S, d, C); None without noise."""
        if not isinstance(self.estimator, AdditiveEstimator):
            return None
        drawn = self.estimator.source.block(first * self.minibatches, count * self.minibatches)
        return drawn.to(self.given(1)[0].dtype).mT.contiguous()

    def sum_text(self, body: Tape, batch: int, few: bool, offset: int) -> SumText:
        """The writer of sums over data; the constants of `body` lie at `offset`. See `SumText` for `few`."""
        potential = self.potential
        assert potential.data is not None
        whole, weights = potential.all_data
        dim, width = potential.target.dim, potential.data.shape[1]
        return SumText(body, dim, width, offset, len(whole), batch, weights is not None, few)

    def tables(self, known: DataTables | None = None) -> DataTables:
        """The data as the kernel reads them: the `known` ones where these are of the same data."""
        potential, affine = self.potential, self.potential.affine
        offset, nothing = torch.zeros(1, dtype=potential.dtype), np.zeros((1, 1))
        if self.adds and not self.noisy:
            assert affine is not None and affine.deviations is not None
            if known is not None and known.source is affine.deviations:
                return replace(known, offset=affine.offset)
            found = affine.deviations.numpy()
            wide = np.zeros((len(found), padded(found.shape[1])))
            wide[:, : found.shape[1]] = found
            return DataTables(wide, len(wide), affine.offset, offset, offset, None, affine.deviations)
        if potential.data is None:
            return DataTables(nothing, 0, offset, offset, offset, None, None)
        # The nodes of weighted sums follow from the data.
        if known is not None and known.source is not None and torch.equal(known.source, potential.data):
            return known
        # Minibatches choose among all data; sums over all may take fewer, weighted ones, which come after them.
        whole, weights = potential.all_data
        rows = potential.data if weights is None else torch.cat([potential.data, whole])
        runs = whole[: len(whole) // RUN * RUN].unflatten(0, (-1, RUN)).mT
        return DataTables(
            nothing,
            len(potential.data),
            offset,
            rows.contiguous(),
            runs.contiguous(),
            None if weights is None else weights.contiguous(),
            potential.data,
        )


@dataclass(frozen=True, eq=False)
class DataTables:
    """The data of a kernel: `deviations` (N, padded d) that a minibatch adds, or `data` (N, w) whose gradients are summed.

    `across` holds the same data by coordinate, those of a run side by side, shape (N/RUN, w, RUN). `source` is what they were made
    of, None without data.
    """

    deviations: np.ndarray
    size: int
    offset: Tensor
    data: Tensor
    across: Tensor
    weights: Tensor | None
    source: Tensor | None


def padded(dim: int) -> int:
    """The number of float64 entries that a row of deviations occupies: a multiple of the vector length, unless it is short."""
    return -(-dim // 4) * 4 if dim > 2 else dim


def kernel_gradient(estimator: Estimator, minibatches: int, evaluations: int) -> KernelGradient:
    """The gradient estimates of a kernel for an estimator that reads up to so many minibatches, and evaluations, a step.

    Raises `Unreached` for an estimator that a kernel does not have.
    """
    potential = RecordedPotential(estimator.potential)
    kind = type(estimator)
    if kind is Estimator:
        return KernelGradient(estimator, potential, 0, False)
    if isinstance(estimator, AdditiveEstimator):
        return KernelGradient(estimator, potential, evaluations, True)
    if not isinstance(estimator, MinibatchEstimator):
        raise Unreached(f"gradients by {kind.__name__}")
    count = 0 if estimator.cancels else minibatches
    if kind in (MinibatchEstimator, CentredEstimator):
        return KernelGradient(estimator, potential, count, estimator.adds and count > 0)
    dim = potential.target.dim
    if isinstance(estimator, TableEstimator):
        recorded = RecordedTable(estimator)
        return KernelGradient(recorded, potential, count, False, (dim,), estimator.again, table=True)
    if not isinstance(estimator, SnapshotEstimator):
        raise Unreached(f"gradients by {kind.__name__}")

    def begin(theta: Tensor) -> tuple[Tensor, ...]:
        return theta.clone(), potential.full(theta) - potential.prior(theta)

    return KernelGradient(estimator, potential, count, False, (dim, dim), estimator.refresh, begin)
