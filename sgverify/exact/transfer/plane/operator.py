"""The transition operator of a step on a grid of the plane, applied to laws without forming its matrix.

A law is held as the masses of the grid's points. A part of a step carries the mass at x to the normal law N(m(x), S(x))
that the definition gives, and the Fourier coefficients of the sum of these are taken up to the grid's highest: the
trapezoid rule for the characteristic function, which converges geometrically. Parts that move p alone are one small
matrix for each theta, parts that shift theta alone one Fourier transform; other parts are factored into such.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from sgverify.errors import Unreached
from sgverify.exact.transfer.plane.interpreter import Axis, Images, Move, PlaneGrid

Carry = Callable[[np.ndarray], np.ndarray]
"""One factor of a step: masses to masses, shape (theta, p)."""

_ROUNDING = 1e-13
"""The relative difference, in sizes of the images, below which two numbers count as equal."""


class PlaneOperator:
    """masses -> masses after one step; mass is conserved to rounding. Shapes (n_theta n_p,).

    Raises `Unreached` for a step with a part that cannot be factored.
    """

    def __init__(self, moves: Sequence[Move], grid: PlaneGrid) -> None:
        self.grid = grid
        factors: list[_Kernels | Drift | Blur] = []
        for move in moves:
            for given in factors_of(move, grid):
                factor = (
                    _Kernels(_matrices(grid.p, given.images, given.variances))
                    if isinstance(given, Momentum)
                    else given
                )
                if factors and isinstance(factor, _Kernels) and isinstance(factors[-1], _Kernels):
                    factors[-1] = factors[-1].then(factor)
                else:
                    factors.append(factor)
        self._carries = [factor.carry(grid) for factor in factors]

    def __call__(self, masses: np.ndarray) -> np.ndarray:
        """The masses after one step."""
        values = masses.reshape(self.grid.theta.count, self.grid.p.count)
        for carry in self._carries:
            values = carry(values)
        return values.reshape(-1)


@dataclass(frozen=True, eq=False)
class Momentum:
    """p alone moves, from the j-th point at the i-th theta to N(images[i, j], variances[i, j])."""

    images: np.ndarray
    variances: np.ndarray


@dataclass(frozen=True, eq=False)
class Drift:
    """theta moves by an amount that depends on p alone: shape (p,)."""

    shift: np.ndarray

    def carry(self, grid: PlaneGrid) -> Carry:
        """Masses carried."""
        axis = grid.theta
        phases = np.exp(-1j * axis.frequencies[:, None] * self.shift)
        phases[-1] = phases[-1].real
        return lambda values: np.fft.irfft(np.fft.rfft(values, axis=0) * phases, axis.count, axis=0)


@dataclass(frozen=True, eq=False)
class Blur:
    """Noise of one covariance everywhere: ((theta theta, theta p), (theta p, p p))."""

    covariance: np.ndarray

    def carry(self, grid: PlaneGrid) -> Carry:
        """Masses carried."""
        theta = 2 * np.pi * np.fft.fftfreq(grid.theta.count, grid.theta.spacing)[:, None]
        p = grid.p.frequencies[None, :]
        (a, b), (_, c) = self.covariance
        weights = np.exp(-(a * theta**2 + 2 * b * theta * p + c * p**2) / 2)
        shape = (grid.theta.count, grid.p.count)
        return lambda values: np.fft.irfft2(np.fft.rfft2(values) * weights, shape)


Factor = Momentum | Drift | Blur
"""The factors into which the parts of a step are decomposed."""


@dataclass(frozen=True, eq=False)
class _Kernels:
    """Factors that move p alone, multiplied: matrices (theta or 1, to, from)."""

    matrices: np.ndarray

    def then(self, other: _Kernels) -> _Kernels:
        return _Kernels(other.matrices @ self.matrices)

    def carry(self, grid: PlaneGrid) -> Carry:
        matrices = np.ascontiguousarray(self.matrices)
        return lambda values: np.matmul(matrices, values[:, :, None])[:, :, 0]


def factors_of(move: Move, grid: PlaneGrid) -> list[Factor]:
    """A part of a step, factored, in the order in which the factors act.

    Raises `Unreached` for a part that cannot be factored.
    """
    theta, p = grid.points
    images = move(theta, p)
    _check_finite(images)
    shift = images.theta - theta
    near = _ROUNDING * (np.abs(images.theta).max() + np.abs(images.p).max() + np.abs(p).max())
    of_theta, mixed, of_p = (images.variance(i, j) for i, j in ((0, 0), (0, 1), (1, 1)))
    if not shift.any() and not of_theta.any():
        return [Momentum(images.p, of_p)]
    if np.ptp(shift, axis=0).max() <= near and _constant(of_theta, mixed, of_p):
        # theta by the old p; then p, which depends on the theta before the step.
        first = Drift(shift[0])
        if not (images.p - p).any() and not of_p.any() and not of_theta.any():
            return [first]
        back = move(theta - shift[0], p)
        _check_finite(back)
        if not of_theta.any():
            return [first, Momentum(back.p, of_p)]
        covariance = np.array([[of_theta.flat[0], mixed.flat[0]], [mixed.flat[0], of_p.flat[0]]])
        return [first, Momentum(back.p, 0 * of_p), Blur(covariance)]
    if _constant(of_theta, mixed, of_p) and of_p.flat[0] > 0:
        # theta by the new p, noise included: the noise of theta is then c times that of p.
        c = mixed.flat[0] / of_p.flat[0]
        rest = shift - c * images.p
        same = all(np.abs(draw[0] - c * draw[1]).max() <= near for draw in images.draws)
        if same and np.ptp(rest) <= near:
            return [Momentum(images.p, of_p), Drift(c * grid.p.nodes + rest.flat[0])]
    raise Unreached(
        "a part of the step moves theta by an amount that depends on theta and p together; expected letters that move p, or "
        "theta by a function of p, or steps made of one of each"
    )


def _matrices(axis: Axis, images: np.ndarray, variances: np.ndarray) -> np.ndarray:
    """Masses along `axis` to masses, the j-th sent to N(images[i, j], variances[i, j]). Shape (i or 1, to, from)."""
    if not np.ptp(images, axis=0).any() and not np.ptp(variances, axis=0).any():
        images, variances = images[:1], variances[:1]
    k = axis.frequencies
    shifts = images - axis.nodes
    if np.ptp(shifts, axis=1).max() <= _ROUNDING * np.abs(images).max() and _constant(variances):
        # All are sent equally far: a convolution.
        phases = np.exp(-1j * k * shifts[:, :1] - k**2 / 2 * variances[:, :1])
        kernels = np.fft.irfft(phases, axis.count, axis=1)
        places = np.arange(axis.count)
        return np.asarray(kernels[:, (places[:, None] - places) % axis.count])
    sent = np.exp(
        -1j * k[:, None] * (images - axis.start)[:, None, :] - k[:, None] ** 2 / 2 * variances[:, None, :]
    )
    weights = np.full(len(k), 2.0 / axis.count)
    weights[[0, -1]] /= 2
    received = np.exp(1j * np.outer(axis.nodes - axis.start, k)) * weights
    return np.asarray(received.real @ sent.real - received.imag @ sent.imag)


def _constant(*arrays: np.ndarray) -> bool:
    return all(np.ptp(array) <= _ROUNDING * np.abs(array).max() for array in arrays)


def _check_finite(images: Images) -> None:
    if not (np.isfinite(images.theta).all() and np.isfinite(images.p).all()):
        raise Unreached("the step overflows on the grid that holds the target's mass")
