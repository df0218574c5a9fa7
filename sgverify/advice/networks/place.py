"""Curvature and noise of a network's posterior at a place of theta, by products of the Hessian with vectors.

Lanczos: products of a symmetric matrix with the vectors that they make span a space in which it is tridiagonal, T. The extreme
eigenvalues of T are soon those of the matrix; with the squared first entries of T's eigenvectors as weights, its eigenvalues are
the nodes of a quadrature of z . f(H) z for the first vector z, and so for random z of tr f(H) (Golub, Meurant 2010, chapter 11).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import torch
from scipy import linalg

from sgverify.advice.networks.model import FAR, Direction
from sgverify.samplers.own.module_mode import ModuleDerivatives
from sgverify.samplers.run.settings import one_thread

_FEWEST, _PRODUCTS, _ACCURACY = 30, 80, 1e-3
"""The fewest and the most products of a decomposition: it ends where the largest eigenvalue is known to this relative accuracy."""

_PROBES = 4
"""Random vectors by which all directions are averaged."""


@dataclass(frozen=True, eq=False)
class Lanczos:
    """A decomposition: eigenvalues of T, ascending, the squared first entries of its eigenvectors, and their residuals.

    `stiffest` is the eigenvector of the largest. Shapes (m,), (m,), (m,), (d,).
    """

    values: np.ndarray
    weights: np.ndarray
    residuals: np.ndarray
    stiffest: np.ndarray

    @staticmethod
    def of(times: Callable[[np.ndarray], np.ndarray], start: np.ndarray) -> Lanczos:
        """The decomposition by products with a start and what they make of it."""
        most = min(_PRODUCTS, len(start))
        basis, diagonal, beside = np.zeros((most, len(start))), np.zeros(most), np.zeros(most)
        vector = start / np.linalg.norm(start)
        for k in range(most):
            basis[k], image = vector, times(vector)
            diagonal[k] = vector @ image
            for _ in range(2):
                # Once is not enough where eigenvalues are of unlike sizes.
                image = image - basis[: k + 1].T @ (basis[: k + 1] @ image)
            beside[k] = np.linalg.norm(image)
            values, inside = linalg.eigh_tridiagonal(diagonal[: k + 1], beside[:k])
            residuals = np.abs(beside[k] * inside[-1])
            known = k + 1 >= _FEWEST and residuals[-1] <= _ACCURACY * abs(values[-1])
            if known or beside[k] <= 1e-12 * np.abs(values).max():
                break
            vector = image / beside[k]
        return Lanczos(values, inside[0] ** 2, residuals, inside[:, -1] @ basis[: k + 1])

    @property
    def leading(self) -> tuple[float, ...]:
        """The largest eigenvalues, at most five, of those that are known to one per cent."""
        known = self.residuals <= 1e-2 * np.abs(self.values)
        return tuple(float(value) for value in self.values[known][::-1][:5])


def trace_of(
    function: Callable[[np.ndarray], np.ndarray], found: Sequence[Lanczos], dim: int
) -> tuple[float, float]:
    """tr f(H) of a matrix with `dim` rows, and its standard error over the decompositions from random vectors."""
    traces = [dim * float(each.weights @ function(each.values)) for each in found]
    return float(np.mean(traces)), float(np.std(traces, ddof=1) / math.sqrt(len(traces)))


@dataclass(frozen=True, eq=False)
class Neighbourhood:
    """U about one theta, shape (d,), at a temperature."""

    derivatives: ModuleDerivatives
    theta: np.ndarray
    temperature: float

    def of_data(self, vector: np.ndarray) -> np.ndarray:
        """The Hessian of the sum of all losses times a vector. Shape (d,) -> (d,)."""
        with one_thread():
            return self.derivatives.likelihood_product(self._at, torch.tensor(vector)).numpy()

    def times(self, vector: np.ndarray) -> np.ndarray:
        """The Hessian of U times a vector. Shape (d,) -> (d,)."""
        return self.of_data(vector) + self.derivatives.prior_product(self._at, torch.tensor(vector)).numpy()

    @cached_property
    def decompositions(self) -> tuple[Lanczos, ...]:
        """Those of the Hessian from random vectors of signs, which are the same for every place."""
        return tuple(Lanczos.of(self.times, signs) for signs in self._signs)

    def directions(self) -> tuple[Direction, Direction]:
        """The stiffest direction, and a random one: with the mean curvature and the mean noise of all."""
        first = Lanczos.of(self.times, self._signs[0])
        curvature = float(first.values[-1])
        stiffest = Direction("stiffest", curvature, *self._noise(first.stiffest, curvature))
        units = [signs / math.sqrt(len(signs)) for signs in self._signs]
        curved = float(np.mean([unit @ self.times(unit) for unit in units]))
        noise, growth = np.mean([self._noise(unit, curved) for unit in units], axis=0)
        return stiffest, Direction("typical", curved, float(noise), float(growth))

    def bending(self, vector: np.ndarray, curvature: float) -> tuple[float, ...]:
        """The slope of U along a unit vector at `FAR`, less that here, over the slope of its square: 1 where U is quadratic."""
        sd, along = math.sqrt(self.temperature / curvature), torch.tensor(vector)
        with one_thread():
            slopes = [
                float(self.derivatives.gradient(self._at + far * sd * along)[1] @ along)
                for far in (0.0, *FAR)
            ]
        return tuple(
            (slope - slopes[0]) / (far * sd * curvature) for far, slope in zip(FAR, slopes[1:], strict=True)
        )

    @cached_property
    def _at(self) -> torch.Tensor:
        return torch.tensor(self.theta, dtype=torch.float64)

    @cached_property
    def _signs(self) -> np.ndarray:
        return np.random.default_rng(0).choice([-1.0, 1.0], (_PROBES, len(self.theta)))

    def _noise(self, vector: np.ndarray, curvature: float) -> tuple[float, float]:
        """The variances over the data of N times a gradient along a unit vector, and of N times its mean slope within one sd.

        A derivative would not do: that of a kink's gradient is infinite.
        """
        along, N = torch.tensor(vector), self.derivatives.size
        away = math.sqrt(self.temperature / max(curvature, 1e-12))
        with one_thread():
            here, up, down = (
                self.derivatives.slopes(self._at + far * along, along).numpy() for far in (0.0, away, -away)
            )
        return float(N**2 * here.var()), float(N**2 * ((up - down) / (2 * away)).var())
