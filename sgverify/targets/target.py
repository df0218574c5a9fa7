"""Posteriors: one potential, defined once, with what exact evaluation says about it."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np

from sgverify.errors import ConfigurationError
from sgverify.targets.data import as_integers, exact_sum
from sgverify.targets.potential import PairPotential, Potential, Vector
from sgverify.targets.quadratic import Quadratic, Rows, inverse, read_quadratic


@dataclass(frozen=True, eq=False)
class Target:
    """exp(-U/T) with U(theta) = prior(theta) + sum_i likelihood(theta, x_i).

    `prior` is -log p(theta), `likelihood` is -log p(x | theta) of one datum, both up to a constant and both
    generic in their carrier; shape (*batch, d) -> (*batch). A minibatch estimate scales the likelihood part
    by N/n and the prior part not at all (chen2015, section 2). Everything exact here is derived from these
    two functions by evaluating them, and needs them to be quadratic.
    """

    name: str
    dim: int
    prior: Potential = field(repr=False)
    likelihood: PairPotential | None = field(default=None, repr=False)
    data: np.ndarray | None = field(default=None, repr=False)

    @property
    def size(self) -> int | None:
        """N, the number of data; None for a target without data."""
        return None if self.data is None else len(self.data)

    @property
    def precision(self) -> Rows:
        """The Hessian of U, exactly. Shape (d, d)."""
        return self._potential.hessian

    @cached_property
    def covariance(self) -> Rows:
        """The inverse of the Hessian of U, exactly: exp(-U/T) is N(mean, T covariance). Shape (d, d)."""
        return inverse(self.precision)

    @cached_property
    def mean(self) -> tuple[Fraction, ...]:
        """The minimiser of U, exactly: where its gradient vanishes. Shape (d,)."""
        slope = self._potential.gradient
        return tuple(
            -sum((c * g for c, g in zip(row, slope, strict=True)), Fraction(0)) for row in self.covariance
        )

    @cached_property
    def data_sum(self) -> tuple[Fraction, ...]:
        """sum_i x_i, exactly: with N, all that a quadratic potential asks of the data. Shape (d,) or ()."""
        return () if self.data is None else exact_sum(self.data)

    def gradient(self, theta: Sequence[Fraction]) -> tuple[Fraction, ...]:
        """grad U at an exact point. Shape (d,) -> (d,)."""
        rows = zip(self._potential.gradient, self.precision, strict=True)
        return tuple(g + sum(h * t for h, t in zip(row, theta, strict=True)) for g, row in rows)

    def data_gradients(self) -> list[tuple[Fraction, ...]]:
        """y_i = N grad likelihood(theta, x_i), less its average over i: exact, summing to zero. Shape (N, d).

        They do not depend on theta here, so the gradient estimate of a minibatch B of n data is
        grad U(theta) + 1/n sum_{i in B} y_i. Raises `ConfigurationError` for a target without data.
        """
        return self._data_gradients

    def data_gradients_float64(self) -> np.ndarray:
        """`data_gradients`, each entry rounded once. Shape (N, d)."""
        return self._data_gradients_float64

    def precision_float64(self) -> np.ndarray:
        """`precision`, each entry rounded once. Shape (d, d)."""
        return _rounded(self.precision)

    def covariance_float64(self) -> np.ndarray:
        """`covariance`, each entry rounded once. Shape (d, d)."""
        return _rounded(self.covariance)

    def mean_float64(self) -> np.ndarray:
        """`mean`, each entry rounded once. Shape (d,)."""
        return _rounded(self.mean)

    @cached_property
    def _potential(self) -> Quadratic:
        """U itself; the data enter through their number and their sum."""
        prior = read_quadratic(self.prior, self.dim)
        if self.data is None:
            return prior
        one, d, size = self._likelihood, self.dim, len(self.data)
        gradient = []
        for i in range(d):
            mixed = sum((one.hessian[i][d + j] * self.data_sum[j] for j in range(d)), Fraction(0))
            gradient.append(prior.gradient[i] + size * one.gradient[i] + mixed)
        hessian = [[prior.hessian[i][j] + size * one.hessian[i][j] for j in range(d)] for i in range(d)]
        # The value at 0 would need the data's second moments; no average depends on it.
        return Quadratic(prior.value, tuple(gradient), tuple(tuple(row) for row in hessian))

    @cached_property
    def _likelihood(self) -> Quadratic:
        """One datum's part as a quadratic function of (theta, x), 2d coordinates."""
        likelihood, d = self.likelihood, self.dim
        assert likelihood is not None

        def of_pair(pair: Vector) -> Any:
            return likelihood(pair[:d], pair[d:])

        return read_quadratic(of_pair, 2 * d)

    @cached_property
    def _data_gradients(self) -> list[tuple[Fraction, ...]]:
        if self.data is None:
            raise ConfigurationError(
                f"target.name={self.name!r} has no data, so it has no minibatches; expected a target with data; "
                "choose gradient.kind='full' or 'additive', or target.name='gaussian-mean'"
            )
        d, size = self.dim, len(self.data)
        mixed = [self._likelihood.hessian[i][d:] for i in range(d)]
        below = math.lcm(*(entry.denominator for row in mixed for entry in row))
        whole = [[(j, int(entry * below)) for j, entry in enumerate(row) if entry] for row in mixed]
        integers, scale = as_integers(self.data)
        sums = [sum(column) for column in zip(*integers, strict=True)]
        centred = [[size * k - s for k, s in zip(row, sums, strict=True)] for row in integers]
        scale *= below
        return [tuple(Fraction(sum(m * row[j] for j, m in line), scale) for line in whole) for row in centred]

    @cached_property
    def _data_gradients_float64(self) -> np.ndarray:
        return _rounded(self._data_gradients)


def _rounded(values: Sequence[Any]) -> np.ndarray:
    array = np.array(values, dtype=object).astype(np.float64)
    array.flags.writeable = False
    return array
