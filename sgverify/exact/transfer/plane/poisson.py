"""Poisson's equation of kinetic Langevin dynamics in the plane: L psi = f, by Hermite modes in p and sinc functions in theta.

A function is held by its Hermite modes, times the root of the density in theta: f(theta, p) = sum_n c_n(theta)
He_n(p/sqrt T)/sqrt(n!) / g(theta), g^2 = exp(-U/T)/Z. In these coordinates, with K = sqrt(T) d/dtheta + U'/(2 sqrt T),

    (L c)_n = sqrt(n) K c_(n-1) - sqrt(n + 1) K^T c_(n+1) - D n c_n

(Brinkman's hierarchy, Risken 1989, section 10.1): block tridiagonal, and eliminated from the highest mode down every block
is symmetric and positive definite.
"""

from __future__ import annotations

from functools import cached_property

import numpy as np
from scipy.linalg import cho_factor, cho_solve

from sgverify.exact.numbers.jets import derivatives_of
from sgverify.exact.transfer.plane.interpreter import PlaneInterpreter, spectral_count, support
from sgverify.targets import Observable, Target

_DEPTH = 66.0
"""The plane extends to where the density is e^-66 of its largest value: functions are multiplied by its root."""
_MODES = 36


def memory_of(reading: PlaneInterpreter, observable: Observable) -> float:
    """pi(psi^2)^(1/2), L psi = -(phi - pi(phi))."""
    target, T = reading.target, reading.temperature
    ends = support(target, T, _DEPTH)
    count = spectral_count(target, T, ends)
    plane = PoissonPlane(target, T, reading.friction, ends=ends, points=count, modes=_MODES)
    total = np.zeros((_MODES, count))
    for (of_theta, of_p), factor in observable.terms.items():
        total = total + float(factor) * plane.power(of_theta, of_p)
    return plane.norm(plane.solve(total))


class PoissonPlane:
    """L on `points` values of theta in `ends`, and `modes` Hermite modes in p; functions are arrays (modes, points)."""

    def __init__(
        self,
        target: Target,
        temperature: float,
        friction: float,
        *,
        ends: tuple[float, float],
        points: int,
        modes: int,
    ) -> None:
        self.temperature, self.friction, self.modes = temperature, friction, modes
        spacing = (ends[1] - ends[0]) / points
        self.theta = ends[0] + spacing * np.arange(points)
        self.potential = derivatives_of(target, self.theta, 1)
        """U and U' at the points. Shape (2, points)."""
        energy = self.potential[0] / temperature
        root = np.exp((energy.min() - energy) / 2)
        self.root = root / np.linalg.norm(root)
        """g, whose squares sum to 1. Shape (points,)."""
        derivative = self.potential[1] / (2 * np.sqrt(temperature))
        self.raising = np.sqrt(temperature) * _derivative(points, spacing) + np.diag(derivative)
        """K. Shape (points, points)."""
        self._counts = np.arange(modes)[:, None]

    def solve(self, function: np.ndarray) -> np.ndarray:
        """psi with L psi = f - pi(f) and pi(psi) = 0."""
        left = function.copy()
        roots = np.sqrt(np.arange(self.modes))
        for n in range(self.modes - 1, 0, -1):
            left[n - 1] -= roots[n] * (self.raising.T @ cho_solve(self._factors[n], left[n]))
        found = np.zeros_like(left)
        found[0] = -self._without_mean(cho_solve(self._factors[0], self._without_mean(left[0])))
        for n in range(1, self.modes):
            found[n] = cho_solve(self._factors[n], roots[n] * (self.raising @ found[n - 1]) - left[n])
        return found

    def norm(self, function: np.ndarray) -> float:
        """pi(f^2)^(1/2)."""
        return float(np.linalg.norm(function))

    def power(self, of_theta: int, of_p: int) -> np.ndarray:
        """theta^i p^j."""
        value = np.zeros((self.modes, len(self.theta)))
        value[0] = self.theta**of_theta * self.root
        for _ in range(of_p):
            value = self.times_p(value)
        return value

    def times_p(self, function: np.ndarray) -> np.ndarray:
        """p f."""
        return np.asarray(np.sqrt(self.temperature) * (self._up(function) + self._down(function)))

    def _up(self, function: np.ndarray) -> np.ndarray:
        """sqrt(n) c_(n-1)."""
        shifted = np.zeros_like(function)
        shifted[1:] = np.sqrt(self._counts[1:]) * function[:-1]
        return shifted

    def _down(self, function: np.ndarray) -> np.ndarray:
        """sqrt(n + 1) c_(n+1)."""
        shifted = np.zeros_like(function)
        shifted[:-1] = np.sqrt(self._counts[1:]) * function[1:]
        return shifted

    def _without_mean(self, mode: np.ndarray) -> np.ndarray:
        return np.asarray(mode - self.root * (self.root @ mode))

    @cached_property
    def _factors(self) -> list[tuple[np.ndarray, bool]]:
        """Cholesky factors of R_n = D n + (n + 1) K^T R_(n+1)^-1 K, the projection on constants added to R_0."""
        count = len(self.theta)
        identity = np.eye(count)
        block = self.friction * (self.modes - 1) * identity
        factors = [cho_factor(block)]
        for n in range(self.modes - 2, -1, -1):
            coupled = (n + 1) * self.raising.T @ cho_solve(factors[-1], self.raising)
            block = self.friction * n * identity + (coupled + coupled.T) / 2
            if n == 0:
                block = block + np.trace(block) / count * np.outer(self.root, self.root)
            factors.append(cho_factor(block))
        return factors[::-1]


def _derivative(points: int, spacing: float) -> np.ndarray:
    """d/dtheta of the trigonometric interpolant: antisymmetric. Shape (points, points)."""
    frequencies = 2 * np.pi * np.fft.fftfreq(points, spacing)
    if points % 2 == 0:
        frequencies[points // 2] = 0.0
    matrix = np.fft.ifft(1j * frequencies[:, None] * np.fft.fft(np.eye(points), axis=0), axis=0).real
    return np.asarray((matrix - matrix.T) / 2)
