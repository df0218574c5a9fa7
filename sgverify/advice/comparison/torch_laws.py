"""The invariant laws of torch code on a Gaussian target, by quadrature over the draws of one step."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar

import flint
import numpy as np

from sgverify.advice.chain_laws import BITS, ChainLaws, StationaryMoments
from sgverify.advice.closure.linear_chain import LinearChain
from sgverify.errors import InstabilityError
from sgverify.exact.chain.ergodic import WASSERSTEIN, Moments
from sgverify.law.one_step_map import OneStepMap
from sgverify.law.torch_chain import TorchChain, balls, chain_of

DOUBLINGS, ACCURACY = 40, 1e-3
"""The most doublings of a step in the search for one that does not contract, and the relative accuracy of the limit."""


@dataclass(frozen=True, eq=False)
class MeasuredLaws(ChainLaws):
    """The laws of a step of torch code that is affine in its state, in standard deviations of the target.

    Raises `Unreached` where one step is not affine, contracts at no step size, or its target is not Gaussian.
    """

    method: ClassVar[str] = "quadrature"

    def __post_init__(self) -> None:
        _ = self.largest_step

    @cached_property
    def chain(self) -> TorchChain:
        """The step at each step size."""
        return chain_of(self.subject)

    @cached_property
    def largest_step(self) -> float:
        """The stability limit, by doubling and bisection, to `ACCURACY`; infinity where no step was unstable."""
        low = self.chain.first
        for _ in range(DOUBLINGS):
            if not self._map(2 * low).radius < 1:
                break
            low *= 2
        else:
            return float("inf")
        high = 2 * low
        while high > low * (1 + ACCURACY):
            middle = (low + high) / 2
            low, high = (middle, high) if self._map(middle).radius < 1 else (low, middle)
        return low

    @property
    def gradients(self) -> int:
        """The gradients that one step evaluates."""
        rows, gradient, size = self.chain.rows, self.chain.gradient, len(self.chain.setting.spreads)
        gradient.evaluations, gradient.per_step = 0, None
        rows(np.zeros((1, size)), np.zeros((1, rows.draws(self.chain.first))), self.chain.first)
        return gradient.evaluations

    @cached_property
    def target(self) -> StationaryMoments:
        """N(0, 1) in each coordinate."""
        dim = self.subject.target.dim
        return StationaryMoments(np.zeros(dim), np.ones(dim))

    def at(self, step: float) -> StationaryMoments:
        """The moments at this step size."""
        law, dim = self._stable(step).law, self.subject.target.dim
        if not (np.diag(law.covariance)[:dim] > law.bound).all():
            raise InstabilityError(
                "a coordinate of the chain has no variance: the step draws no noise for it"
            )
        chain = LinearChain(self._map(step).matrix, law.covariance, dim)
        return StationaryMoments(law.mean[:dim], np.sqrt(np.diag(law.covariance)[:dim]), chain=chain)

    def biases(self, step: float) -> tuple[np.ndarray, np.ndarray]:
        """See `ChainLaws`: a bias within the error of the reading is 0."""
        bound, (mean, sd) = self._stable(step).law.bound, super().biases(step)
        return np.where(abs(mean) > bound, mean, 0.0), np.where(abs(sd) > bound, sd, 0.0)

    def distance(self, step: float) -> float:
        """See `ChainLaws`."""
        law, setting, dim = self._stable(step).law, self.chain.setting, self.subject.target.dim
        units = setting.spreads[:dim]
        scale = np.outer(units, units)
        with flint.ctx.workprec(BITS):
            covariance, truth = (
                balls((c[:dim, :dim] * scale), 0.0) for c in (law.covariance, setting.correlation)
            )
            found, none = balls((law.mean[:dim] * units)[:, None], 0.0), balls(np.zeros((dim, 1)), 0.0)
            return float(WASSERSTEIN.between(Moments(found, covariance), Moments(none, truth)))

    def _map(self, step: float) -> OneStepMap:
        return self.chain.map(step)

    def _stable(self, step: float) -> OneStepMap:
        found = self._map(step)
        if not found.radius < 1:
            raise InstabilityError(
                f"one step of h={step:g} does not contract: spectral radius {found.radius:.4g}"
            )
        return found
