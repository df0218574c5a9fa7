"""Gradient estimators: what `grad` is while a scheme runs on torch.

`grad` is the step's minibatch wherever it is asked, `grad.fresh()` another minibatch. The estimate of a
minibatch B of n data is grad prior + N/n sum_{i in B} grad likelihood(x_i) (chen2015, section 2), with the
likelihood's part scaled or clipped where the choice says so (`biased`).
"""

from __future__ import annotations

from copy import copy
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor

from sgverify.errors import ConfigurationError
from sgverify.gradients import GradientEstimator, find_estimator
from sgverify.samplers.gradients.differentiation import Potential
from sgverify.samplers.gradients.minibatches import Minibatches
from sgverify.samplers.randomness.philox import Stream
from sgverify.samplers.randomness.variates import normals
from sgverify.samplers.reading.carrier import Chains, product
from sgverify.schemes.definition.gradient import GradientIngredient


@dataclass(frozen=True)
class GradientChoice:
    """Which estimator: its kind, the batch size n of the minibatch kinds, the covariance of `additive`.

    `scale` multiplies the likelihood's part, `clip` bounds the norm of every datum's gradient, as in the
    configuration. `refresh`: the steps from snapshot to snapshot of `svrg`, N/n rounded up where it is left open.
    The kinds are those of `sgverify.gradients`.
    """

    kind: str = "full"
    batch: int = 10
    covariance: Any = 1.0
    scale: float = 1.0
    clip: float | None = None
    refresh: int | None = None

    @property
    def estimator(self) -> GradientEstimator:
        """What the kind names; raises `UnknownNameError`."""
        return find_estimator(self.kind)


class Estimator:
    """Full gradients of one target; subclasses add the randomness of a block of steps.

    `source` is where that randomness comes from, by number, None where there is none: a recorder listens to it, and a replay
    puts what was written down in its place.
    """

    source: Minibatches | Correlated | None = None

    def __init__(self, potential: Potential) -> None:
        self.potential = potential

    def prepare(self, first: int, count: int) -> None:
        """Draw what the steps first, ..., first + count - 1 need; steps are counted from 0."""

    def begin(self, step: int, theta: Tensor) -> None:
        """Told theta at the start of a step of the block, before it is evaluated."""

    def given(self, step: int) -> tuple[Tensor, ...] | None:
        """What the gradients of a step of the block are made of beside theta and what never changes: the same tensors each
        time that it is asked, as many at every step. None where there is more to a step than that.
        """
        return () if type(self) is Estimator else None

    @property
    def carried(self) -> tuple[Tensor, ...]:
        """What later steps need of the earlier ones, each of shape (S, C, d)."""
        return ()

    def resume(self, carried: tuple[Tensor, ...]) -> None:
        """Go on from what another estimator carried, for the rows that still run."""

    def evaluate(self, theta: Tensor, step: int, minibatch: int, evaluation: int) -> Tensor:
        """The gradient at theta in the given step of the block. Shape (S, C, d) -> (S, C, d)."""
        return self.potential.full(theta)

    def prior(self, theta: Tensor) -> Tensor:
        """The part of the gradient at theta that is the prior's. Shape (S, C, d) -> (S, C, d)."""
        return self.potential.prior(theta)

    def hessian(self, theta: Tensor, vector: Tensor, step: int, minibatch: int) -> Tensor:
        """The Hessian at theta of the estimate on this minibatch, times a vector. Shapes (S, C, d) -> (S, C, d).

        What an estimator adds that does not depend on theta (noise, what was known at a snapshot) has no Hessian.
        """
        return self.potential.hessian(theta, vector, self.chosen(step, minibatch))

    def energy(self, theta: Tensor, step: int, minibatch: int) -> Tensor:
        """U at theta, estimated on a minibatch of the step where there are any. Shape (S, C, d) -> (S, C)."""
        return self.potential.energy(theta)

    def chosen(self, step: int, minibatch: int) -> Tensor | None:
        """The data of a minibatch of the block, shape (n, S, C); None where all are used."""
        return None

    def of_step(self, step: int) -> SampledGradient:
        """The ingredient `grad` of one step of the block."""
        return SampledGradient(self, step)


class MinibatchEstimator(Estimator):
    """grad prior + N/n sum over the minibatch of grad likelihood, the minibatches taken from `source`."""

    source: Minibatches

    def __init__(self, potential: Potential, source: Minibatches, *, batch: int, per_step: int) -> None:
        super().__init__(potential)
        self.source, self._batch, self._per_step = source, batch, per_step
        self._affine = potential.affine
        self._data: Any = potential.data
        self._drawn: Tensor = torch.empty(0)
        self._indices: Tensor = torch.empty(0)
        self._added: tuple[Tensor, ...] | None = None

    def prepare(self, first: int, count: int) -> None:
        """Draw the minibatches; on an affine gradient, sum what their data add to it."""
        drawn = self.source.block(first * self._per_step, count * self._per_step)
        self._indices = drawn
        if self._affine is None or self._affine.deviations is None:
            self._drawn = drawn
            return
        deviations = self._affine.deviations
        total = deviations[drawn[:, 0]]
        for k in range(1, self._batch):
            total += deviations[drawn[:, k]]
        self._drawn = total.div_(self._batch).to(self._data.dtype) + self._affine.offset
        self._added = self._drawn.unbind()

    def adding(self, terms: tuple[Tensor, ...]) -> MinibatchEstimator:
        """The same on an affine gradient, with minibatches whose data add these terms to it."""
        other = copy(self)
        other._added = terms
        return other

    def given(self, step: int) -> tuple[Tensor, ...] | None:
        """See `Estimator.given`: on an affine gradient, what the data of each minibatch add to it."""
        if self._added is None or type(self) is not MinibatchEstimator:
            return None
        return self._added[step * self._per_step : (step + 1) * self._per_step]

    def evaluate(self, theta: Tensor, step: int, minibatch: int, evaluation: int) -> Tensor:
        """See `Estimator.evaluate`."""
        number = step * self._per_step + minibatch
        if self._added is not None and self._affine is not None:
            return self._affine.linear(theta) + self._added[number]
        drawn = self._drawn[number]
        scale = len(self._data) / self._batch
        return self.potential.prior(theta) + scale * self.potential.sum_over(theta, self._data[drawn])

    def energy(self, theta: Tensor, step: int, minibatch: int) -> Tensor:
        """prior + N/n sum over the minibatch of likelihood; see `Estimator.energy`."""
        chosen = self.chosen(step, minibatch)
        return self.potential.energy(theta) if chosen is None else self.potential.energy_over(theta, chosen)

    def chosen(self, step: int, minibatch: int) -> Tensor | None:
        """See `Estimator.chosen`; where minibatches cancel from the gradient none is drawn."""
        return self._indices[step * self._per_step + minibatch] if self._indices.numel() else None


class SnapshotEstimator(MinibatchEstimator):
    """SVRG: the full gradient at the snapshot s, and N/n sum over the minibatch of the change since, prior and all.

    s is theta at the start of the steps 0, m, 2m, ..., m = `refresh`. Where all data have one Hessian the minibatch
    cancels, and with the potential hoisted none is looked at. Source: Johnson and Zhang 2013; arXiv 2511.04413.
    """

    def __init__(
        self, potential: Potential, source: Minibatches, *, batch: int, per_step: int, refresh: int
    ) -> None:
        super().__init__(potential, source, batch=batch, per_step=per_step)
        self._refresh, self._first = refresh, 0
        self._cancels = self._affine is not None and self._affine.deviations is not None
        self._snapshot: tuple[Tensor, ...] = ()

    def prepare(self, first: int, count: int) -> None:
        """Draw the minibatches."""
        self._first = first
        if not self._cancels:
            self._drawn = self._indices = self.source.block(first * self._per_step, count * self._per_step)

    def begin(self, step: int, theta: Tensor) -> None:
        """Take the snapshot where it is due: theta, and what all data say there."""
        if (self._first + step) % self._refresh == 0 or not self._snapshot:
            # A copy: the state is overwritten.
            at = theta.clone()
            self._snapshot = at, self.potential.full(at) - self.potential.prior(at)

    @property
    def carried(self) -> tuple[Tensor, ...]:
        """The snapshot and the gradient of the likelihood there."""
        return self._snapshot

    def resume(self, carried: tuple[Tensor, ...]) -> None:
        """See `Estimator.resume`."""
        self._snapshot = carried

    def energy(self, theta: Tensor, step: int, minibatch: int) -> Tensor:
        """As of any minibatch; where the minibatch cancels from the gradient, that of all data."""
        if self._cancels:
            return self.potential.energy(theta)
        return super().energy(theta, step, minibatch)

    def chosen(self, step: int, minibatch: int) -> Tensor | None:
        """See `Estimator.chosen`."""
        return None if self._cancels else super().chosen(step, minibatch)

    def evaluate(self, theta: Tensor, step: int, minibatch: int, evaluation: int) -> Tensor:
        """See `Estimator.evaluate`."""
        if self._cancels:
            return self.potential.full(theta)
        at, gradient = self._snapshot
        chosen = self._data[self._drawn[step * self._per_step + minibatch]]
        change = self.potential.sum_over(theta, chosen) - self.potential.sum_over(at, chosen)
        return self.potential.prior(theta) + gradient + (len(self._data) / self._batch) * change


class Correlated:
    """Vectors N(0, covariance), the q-th one of a chain a function of q and the chain's stream alone."""

    def __init__(self, stream: Stream, dim: int, covariance: Any) -> None:
        self._stream, self._dim = stream, dim
        self._root = torch.tensor(_root(covariance, dim), dtype=torch.float64).to(stream.device)

    def block(self, first: int, count: int) -> Tensor:
        """The vectors first, ..., first + count - 1. float64, shape (count, S, C, d)."""
        drawn = normals(self._stream, first * self._dim, count * self._dim)
        return product(drawn.unflatten(0, (-1, self._dim)).movedim(1, -1), self._root)


class AdditiveEstimator(Estimator):
    """grad U + N(0, covariance), fresh at every evaluation."""

    source: Correlated

    def __init__(self, potential: Potential, stream: Stream, *, covariance: Any, per_step: int) -> None:
        super().__init__(potential)
        self.source, self._per_step = Correlated(stream, potential.target.dim, covariance), per_step
        self._drawn: Tensor = torch.empty(0)

    def prepare(self, first: int, count: int) -> None:
        """Draw the noise of every evaluation."""
        self._drawn = self.source.block(first * self._per_step, count * self._per_step)

    def evaluate(self, theta: Tensor, step: int, minibatch: int, evaluation: int) -> Tensor:
        """See `Estimator.evaluate`."""
        return self.potential.full(theta) + self._drawn[step * self._per_step + evaluation].to(theta.dtype)


class SampledGradient(GradientIngredient):
    """The ingredient `grad` of one step of the block: the estimator on values (S, C, d)."""

    def __init__(self, estimator: Estimator, step: int) -> None:
        super().__init__()
        self._estimator, self._step = estimator, step

    def evaluate(self, place: Chains, minibatch: int) -> Chains:
        """See `GradientIngredient.evaluate`."""
        evaluation = self.asked.evaluations - 1
        return Chains(self._estimator.evaluate(place.tensor, self._step, minibatch, evaluation))

    def prior(self, place: Chains) -> Chains:
        """See `GradientIngredient.prior`."""
        return Chains(self._estimator.prior(place.tensor))

    def hessian(self, place: Chains, vector: Chains) -> Chains:
        """See `GradientIngredient.hessian`."""
        at, along = torch.broadcast_tensors(place.tensor, vector.tensor)
        return Chains(self._estimator.hessian(at, along, self._step, self.minibatch()))


def _root(covariance: Any, dim: int) -> np.ndarray:
    """A matrix R with R^T R = covariance, from a number, a diagonal or a matrix. Shape (d, d)."""
    matrix = np.array(covariance, dtype=np.float64)
    if matrix.ndim == 0 or matrix.shape == (dim,):
        matrix = matrix * np.eye(dim)
    if matrix.shape != (dim, dim) or not np.all(np.isfinite(matrix)) or np.any(matrix != matrix.T):
        raise ConfigurationError(
            f"gradient.covariance={covariance!r}: expected a number, {dim} of them (the diagonal) or a symmetric "
            f"{dim} x {dim} matrix"
        )
    values, vectors = np.linalg.eigh(matrix)
    # eigh is backward stable: what is below this bound may be the rounding of an eigenvalue 0.
    if values[0] < -dim * np.finfo(np.float64).eps * max(abs(values[0]), abs(values[-1])):
        raise ConfigurationError(
            f"gradient.covariance={covariance!r}: its eigenvalue {values[0]:.6g} is negative; expected a covariance"
        )
    return np.asarray(np.sqrt(np.maximum(values, 0.0))[:, None] * vectors.T)
