"""Which gradient estimate does `grad` return while a scheme runs on torch?

Every call of `grad` in a step uses the step's minibatch; `grad.fresh()` uses another one. The estimate on a minibatch B of n data
is grad prior + N/n sum_{i in B} grad likelihood(x_i) (chen2015, section 2), with the likelihood's part scaled or clipped if so
configured (`biased`).
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
from sgverify.schemes.definition.binding import GradientIngredient


@dataclass(frozen=True)
class GradientChoice:
    """The choice of a gradient estimator: its kind, the batch size n, and the covariance of `additive` noise.

    `scale` multiplies the likelihood's part and `clip` bounds the norm of each datum's gradient, as in the configuration.
    `refresh` is the number of steps between two snapshots of `svrg`, by default N/n rounded up. The kinds are those of
    `sgverify.gradients`.
    """

    kind: str = "full"
    batch: int = 10
    covariance: Any = 1.0
    scale: float = 1.0
    clip: float | None = None
    refresh: int | None = None

    @property
    def estimator(self) -> GradientEstimator:
        """The declared estimator of this kind; raises `UnknownNameError`."""
        return find_estimator(self.kind)


class Estimator:
    """Full gradients of one target; subclasses add the randomness of a block of steps.

    `source` gives that randomness (minibatches or noise) by number; it is None for full gradients. A recorder wraps it, and a
    replay replaces it by recorded values.
    """

    source: Minibatches | Correlated | None = None

    def __init__(self, potential: Potential) -> None:
        self.potential = potential

    def prepare(self, first: int, count: int) -> None:
        """Draw the randomness of the steps first, ..., first + count - 1, counted from 0."""

    def begin(self, step: int, theta: Tensor) -> None:
        """Called with theta at the start of each step of the block, before any evaluation."""

    def given(self, step: int) -> tuple[Tensor, ...] | None:
        """The tensors, beside theta and constant ones, from which the gradients of a step of the block are computed.

        Every call for one step returns the same tensors, and every step has equally many. None if the gradients of a step depend
        on more than such tensors, so that the step cannot be recorded.
        """
        return () if type(self) is Estimator else None

    def reading(
        self, potential: Potential, given: tuple[Tensor, ...], carried: tuple[Tensor, ...]
    ) -> Estimator:
        """A copy on `potential` whose first step reads the tensors `given` (see `given`) and `carried`.

        An interpreter that records the operations of a step hands in its own tensors.
        """
        other = copy(self)
        other.potential = potential
        other.resume(carried)
        return other

    @property
    def carried(self) -> tuple[Tensor, ...]:
        """The tensors that later steps need of earlier ones, each of shape (S, C, d)."""
        return ()

    def resume(self, carried: tuple[Tensor, ...]) -> None:
        """Continue from the carried tensors of another estimator, for the rows that still run."""

    def renewals(self, first: int) -> tuple[int, ...]:
        """The first steps after step `first` that renew what most steps keep: a snapshot, a sum, a permutation, its direction."""
        return ()

    def evaluate(self, theta: Tensor, step: int, minibatch: int, evaluation: int) -> Tensor:
        """The gradient estimate at theta in a step of the block; both have shape (S, C, d)."""
        return self.potential.full(theta)

    def prior(self, theta: Tensor) -> Tensor:
        """The prior's part of the gradient at theta; both have shape (S, C, d)."""
        return self.potential.prior(theta)

    def hessian(self, theta: Tensor, vector: Tensor, step: int, minibatch: int) -> Tensor:
        """The Hessian at theta of the estimate on this minibatch, times a vector; all have shape (S, C, d).

        Terms of an estimate that do not depend on theta (noise, gradients at a snapshot) do not contribute.
        """
        return self.potential.hessian(theta, vector, self.chosen(step, minibatch))

    def energy(self, theta: Tensor, step: int, minibatch: int) -> Tensor:
        """U at theta, estimated on the minibatch if there is one; theta of shape (S, C, d) gives shape (S, C)."""
        return self.potential.energy(theta)

    def chosen(self, step: int, minibatch: int) -> Tensor | None:
        """The data indices of a minibatch of the block, shape (n, S, C); None if all data are used."""
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
        self._gathered: dict[int, Tensor] = {}

    def prepare(self, first: int, count: int) -> None:
        """Draw the minibatches; for an affine gradient, sum the deviations of their data."""
        drawn = self.source.block(first * self._per_step, count * self._per_step)
        self._indices, self._gathered = drawn, {}
        if self._affine is None or self._affine.deviations is None:
            self._drawn = drawn
            return
        deviations = self._affine.deviations
        total = deviations[drawn[:, 0]]
        for k in range(1, self._batch):
            total += deviations[drawn[:, k]]
        self._drawn = total.div_(self._batch).to(self._data.dtype) + self._affine.offset
        self._added = self._drawn.unbind()

    def reading(
        self, potential: Potential, given: tuple[Tensor, ...], carried: tuple[Tensor, ...]
    ) -> MinibatchEstimator:
        """See `Estimator.reading`."""
        other = copy(self)
        other.potential = potential
        other._added = given if self.adds else None
        other._gathered = dict(enumerate(given))
        other.resume(carried)
        return other

    @property
    def adds(self) -> bool:
        """Is the gradient affine with one matrix, so that a minibatch only adds a term to it?"""
        return self._affine is not None and self._affine.deviations is not None

    @property
    def cancels(self) -> bool:
        """Do minibatches cancel from the estimate, so that none is drawn?"""
        return False

    def renewals(self, first: int) -> tuple[int, ...]:
        """See `Estimator.renewals`: permutations of the source, and their direction."""
        periods = () if self.cancels else getattr(self.source, "periods", ())
        # A sweep ends within a step if its minibatches are no multiple of those of a step.
        return tuple((first * self._per_step // each + 1) * each // self._per_step for each in periods)

    def given(self, step: int) -> tuple[Tensor, ...] | None:
        """See `Estimator.given`: the data of each minibatch, or what they add to the full gradient if it is affine."""
        numbers = range(step * self._per_step, (step + 1) * self._per_step)
        if type(self) is not MinibatchEstimator:
            return None
        if self._added is not None:
            return self._added[numbers.start : numbers.stop]
        self._gathered = {number: data for number, data in self._gathered.items() if number in numbers}
        return tuple(self._chosen_data(number) for number in numbers)

    def _chosen_data(self, number: int) -> Tensor:
        """The data of a minibatch of the block, shape (n, S, C, w); the same tensor while the step lasts."""
        if number not in self._gathered:
            self._gathered[number] = self._data[self._drawn[number]]
        return self._gathered[number]

    def evaluate(self, theta: Tensor, step: int, minibatch: int, evaluation: int) -> Tensor:
        """See `Estimator.evaluate`."""
        number = step * self._per_step + minibatch
        if self._added is not None and self._affine is not None:
            return self._affine.linear(theta) + self._added[number]
        scale = len(self._data) / self._batch
        return self.potential.prior(theta) + scale * self.potential.sum_over(theta, self._chosen_data(number))

    def energy(self, theta: Tensor, step: int, minibatch: int) -> Tensor:
        """prior + N/n sum over the minibatch of likelihood; see `Estimator.energy`."""
        chosen = self.chosen(step, minibatch)
        return self.potential.energy(theta) if chosen is None else self.potential.energy_over(theta, chosen)

    def chosen(self, step: int, minibatch: int) -> Tensor | None:
        """See `Estimator.chosen`; None if minibatches cancel from the gradient, since none is drawn then."""
        return self._indices[step * self._per_step + minibatch] if self._indices.numel() else None


class SnapshotEstimator(MinibatchEstimator):
    """SVRG: grad prior(theta) + sum_i g_i(s) + N/n sum_{i in B} (g_i(theta) - g_i(s)), with s the snapshot.

    s is theta at the start of the steps 0, m, 2m, ..., m = `refresh`. If all data have the same Hessian, the minibatch cancels;
    with a hoisted potential no minibatch is then evaluated. Source: Johnson and Zhang 2013; arXiv 2511.04413.
    """

    def __init__(
        self, potential: Potential, source: Minibatches, *, batch: int, per_step: int, refresh: int
    ) -> None:
        super().__init__(potential, source, batch=batch, per_step=per_step)
        self._refresh, self._first = refresh, 0
        self._snapshot: tuple[Tensor, ...] = ()

    @property
    def refresh(self) -> int:
        """The number of steps from one snapshot to the next."""
        return self._refresh

    def renewals(self, first: int) -> tuple[int, ...]:
        """See `Estimator.renewals`: the next snapshot."""
        return ((first // self._refresh + 1) * self._refresh, *super().renewals(first))

    @property
    def cancels(self) -> bool:
        """See `MinibatchEstimator.cancels`."""
        return self.adds

    def prepare(self, first: int, count: int) -> None:
        """Draw the minibatches."""
        self._first, self._gathered = first, {}
        if not self.cancels:
            self._drawn = self._indices = self.source.block(first * self._per_step, count * self._per_step)

    def begin(self, step: int, theta: Tensor) -> None:
        """Take a snapshot if it is due: theta, and the likelihood's full gradient at theta."""
        if (self._first + step) % self._refresh == 0 or not self._snapshot:
            # A copy, since the state is overwritten by later steps.
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
        """See `MinibatchEstimator.energy`; over all data if the minibatch cancels from the gradient."""
        if self.cancels:
            return self.potential.energy(theta)
        return super().energy(theta, step, minibatch)

    def chosen(self, step: int, minibatch: int) -> Tensor | None:
        """See `Estimator.chosen`."""
        return None if self.cancels else super().chosen(step, minibatch)

    def evaluate(self, theta: Tensor, step: int, minibatch: int, evaluation: int) -> Tensor:
        """See `Estimator.evaluate`."""
        if self.cancels:
            return self.potential.full(theta)
        at, gradient = self._snapshot
        chosen = self._chosen_data(step * self._per_step + minibatch)
        change = self.potential.sum_over(theta, chosen) - self.potential.sum_over(at, chosen)
        return self.potential.prior(theta) + gradient + (len(self._data) / self._batch) * change


class Correlated:
    """Random vectors N(0, covariance); the q-th vector of a chain is a function of q and the chain's stream alone."""

    def __init__(self, stream: Stream, dim: int, covariance: Any) -> None:
        self._stream, self._dim = stream, dim
        self._root = torch.tensor(_root(covariance, dim), dtype=torch.float64).to(stream.device)

    def block(self, first: int, count: int) -> Tensor:
        """The vectors first, ..., first + count - 1, float64 of shape (count, S, C, d)."""
        drawn = normals(self._stream, first * self._dim, count * self._dim)
        return product(drawn.unflatten(0, (-1, self._dim)).movedim(1, -1), self._root)


class AdditiveEstimator(Estimator):
    """The estimate grad U + z with z ~ N(0, covariance), new at every evaluation."""

    source: Correlated

    def __init__(self, potential: Potential, stream: Stream, *, covariance: Any, per_step: int) -> None:
        super().__init__(potential)
        self.source, self._per_step = Correlated(stream, potential.target.dim, covariance), per_step
        self._drawn: tuple[Tensor, ...] = ()

    def prepare(self, first: int, count: int) -> None:
        """Draw the noise of every evaluation."""
        self._drawn = self.source.block(first * self._per_step, count * self._per_step).unbind()

    def given(self, step: int) -> tuple[Tensor, ...]:
        """See `Estimator.given`: the noise of each evaluation."""
        return self._drawn[step * self._per_step : (step + 1) * self._per_step]

    def reading(
        self, potential: Potential, given: tuple[Tensor, ...], carried: tuple[Tensor, ...]
    ) -> Estimator:
        """See `Estimator.reading`."""
        other = copy(self)
        other.potential, other._drawn = potential, given
        return other

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
    """A matrix R, shape (d, d), with R^T R = covariance; the covariance is a number, a diagonal or a matrix."""
    matrix = np.array(covariance, dtype=np.float64)
    if matrix.ndim == 0 or matrix.shape == (dim,):
        matrix = matrix * np.eye(dim)
    if matrix.shape != (dim, dim) or not np.all(np.isfinite(matrix)) or np.any(matrix != matrix.T):
        raise ConfigurationError(
            f"gradient.covariance={covariance!r}: expected a number, {dim} of them (the diagonal) or a symmetric "
            f"{dim} x {dim} matrix"
        )
    values, vectors = np.linalg.eigh(matrix)
    # eigh is backward stable: an eigenvalue within this bound of 0 may be 0 up to rounding.
    if values[0] < -dim * np.finfo(np.float64).eps * max(abs(values[0]), abs(values[-1])):
        raise ConfigurationError(
            f"gradient.covariance={covariance!r}: its eigenvalue {values[0]:.6g} is negative; expected a covariance"
        )
    return np.asarray(np.sqrt(np.maximum(values, 0.0))[:, None] * vectors.T)
