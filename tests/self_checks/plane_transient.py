"""The average of a test function over the first L steps of a kinetic chain: functions of (theta, p) carried backwards.

A function on a uniform grid of the plane is carried back through the factors of a step, one after another. Each factor moves
along one axis, where the function between grid points is the polynomial through the nearest ten. Test functions grow at
infinity: Fourier series, which carry laws forward, cannot represent them; polynomials can.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from fractions import Fraction
from functools import cached_property

import numpy as np
from scipy import sparse

from sgverify.errors import ConfigurationError, DefinitionError, Unreached
from sgverify.exact.numbers.jets import derivatives_of
from sgverify.exact.numbers.quadrature import normal_quadrature
from sgverify.exact.transfer.plane.interpreter import Axis, PlaneGrid, PlaneInterpreter, support
from sgverify.exact.transfer.plane.operator import Drift, Factor, Momentum, factors_of
from sgverify.schemes import Scheme
from sgverify.targets import Observable, Target
from tests.self_checks.interpolation import centred
from tests.self_checks.line_transient import LEFT, Solved, Transient, backward_moments

STENCIL = 10
"""Grid points that a polynomial goes through."""

NODES = 10
"""The nodes of the quadrature for the noise of one factor, which is exact for polynomials of degree 19."""

LARGEST = 24_000
"""Points of the largest grid."""

_DEPTH, _WIDER = 32.0, 1.35
"""A grid extends to where the density is e^-32 of its largest value; the wider one to a third more in U/T."""
_TYPICAL, _LOOKS = 12.0, 2000
_PER_SCALE, _PER_MOMENTUM, _FINER = 2.0, 2.1, 1.25
"""Points in the width of the finest feature, and in a standard deviation of p."""
_WIDENINGS = (1.0, 1.6, 2.5)
_AROUND = 3.0

Carry = Callable[[np.ndarray], np.ndarray]


class PlaneTransient:
    """Averages over the first steps of a scheme of state (theta, p) on a target of the line, with full gradients.

    Raises `Unreached` where the scheme, the target or its step is beyond the grid.
    """

    def __init__(
        self, scheme: Scheme, target: Target, observable: Observable, parameters: Mapping[str, Fraction]
    ) -> None:
        self._temperature = float(parameters["T"])
        self._target, self._observable = target, observable
        self._reading = PlaneInterpreter(scheme, target, self._temperature, float(parameters["D"]))

    def average(
        self, step: float, length: int, start: float, *, stationary_momentum: bool = False
    ) -> Transient:
        """The average over L steps of size h from (start, 0), or from (start, p) with p ~ N(0, T).

        Raises `Unreached` where a grid would need too many points, or a step cannot be factored.
        """
        for widening in _WIDENINGS:
            depth = _DEPTH * widening
            base = self._solve(step, length, start, stationary_momentum, depth, 1.0, None)
            if base.left <= LEFT:
                break
        wide = self._solve(step, length, start, stationary_momentum, _WIDER * depth, 1.0, base.mean)
        fine = self._solve(step, length, start, stationary_momentum, depth, _FINER, base.mean)
        return Transient.of(base, wide, fine, length, nodes_of_noise=NODES)

    def _solve(
        self,
        step: float,
        length: int,
        start: float,
        stationary: bool,
        depth: float,
        finer: float,
        centre: float | None,
    ) -> Solved:
        grid = self._grid(start, depth, finer)
        try:
            moves = self._reading.moves(step)
            factors = [factor for move in moves for factor in factors_of(move, grid)]
        except DefinitionError as error:
            raise Unreached(f"the derivatives of the potential are not known: {error}") from None
        # Backwards: the last factor acts first on a function.
        carries = [carry for factor in reversed(factors) for carry in _carries(factor, grid)]

        def carry(stack: np.ndarray) -> np.ndarray:
            for back in carries:
                stack = back(stack)
            return stack

        theta, p = grid.points
        function = np.asarray(self._observable(theta[..., None], p[..., None]))
        if centre is None:
            centre = float((grid.law(self._target, self._temperature) * function).sum())
        where = self._start(grid, start, stationary)

        def begin(stack: np.ndarray) -> np.ndarray:
            return np.asarray(np.einsum("i,j,ijk->k", *where, carry(stack).reshape(*theta.shape, -1)))

        sizes = [grid.theta.count, grid.p.count]
        return backward_moments(function.reshape(-1), centre, carry, begin, length, sizes)

    def _grid(self, start: float, depth: float, finer: float) -> PlaneGrid:
        low, high = support(self._target, self._temperature, depth)
        low, high = min(low, start - _AROUND * self._scale), max(high, start + _AROUND * self._scale)
        theta = _axis(low, high, self._scale / (_PER_SCALE * finer))
        ends = self._target.energy_float64(np.array([[start], [self._lowest]])) / self._temperature
        # The potential energy at the start may become kinetic energy.
        reach = float(np.sqrt(2 * self._temperature * (depth + max(0.0, ends[0] - ends[1]))))
        p = _axis(-reach, reach, float(np.sqrt(self._temperature)) / (_PER_MOMENTUM * finer))
        if theta.count * p.count > LARGEST:
            raise Unreached(
                f"a grid would need {theta.count} times {p.count} points, above {LARGEST}: the density has features of very "
                "different widths, or the start is far off"
            )
        return PlaneGrid(theta, p)

    def _start(self, grid: PlaneGrid, start: float, stationary: bool) -> tuple[np.ndarray, np.ndarray]:
        """Weights along theta and along p that read a function at the start. Shapes (n_theta,), (n_p,)."""
        if stationary:
            nodes, weights = (x.astype(np.float64) for x in normal_quadrature(2 * NODES))
            momenta = np.sqrt(self._temperature) * nodes
        else:
            momenta, weights = np.zeros(1), np.ones(1)
        of_theta, of_p = (_row(grid.theta, np.array([start]), np.ones(1)), _row(grid.p, momenta, weights))
        return of_theta, of_p

    @cached_property
    def _inner(self) -> np.ndarray:
        return np.linspace(*support(self._target, self._temperature, _TYPICAL), _LOOKS)

    @cached_property
    def _lowest(self) -> float:
        return float(self._inner[np.argmin(self._target.energy_float64(self._inner[:, None]))])

    @cached_property
    def _scale(self) -> float:
        """The width of the finest feature: 1/sqrt of the largest |U''|/T where the mass is."""
        try:
            second = derivatives_of(self._target, self._inner, 2)[2] / self._temperature
        except (DefinitionError, ConfigurationError) as error:
            raise Unreached(f"the derivatives of the potential are not known: {error}") from None
        return float(1 / np.sqrt(np.abs(second).max()))


def _axis(low: float, high: float, spacing: float) -> Axis:
    count = max(3 * STENCIL, int(np.ceil((high - low) / spacing)) + 1)
    return Axis(low, (high - low) / (count - 1), count)


def _carries(factor: Factor, grid: PlaneGrid) -> list[Carry]:
    """A factor as maps of functions, shape (theta p, k), in the order in which they act on a function."""
    if isinstance(factor, Drift):
        return [_along_theta(grid, factor.shift, 0.0)]
    if isinstance(factor, Momentum):
        return [_along_p(grid, factor.images, factor.variances)]
    (a, b), (_, c) = factor.covariance
    shape = (grid.theta.count, grid.p.count)
    if c == 0:
        return [_along_theta(grid, np.zeros(grid.p.count), a)]
    # (r z, z) is z alone, sheared: theta - r p does not see it.
    shear = b / c * grid.p.nodes
    blur = _along_p(grid, np.broadcast_to(grid.p.nodes, shape), np.broadcast_to(c, shape))
    own = max(0.0, a - b * b / c)
    return [_along_theta(grid, shear, own), blur, _along_theta(grid, -shear, 0.0)]


def _along_p(grid: PlaneGrid, images: np.ndarray, variances: np.ndarray) -> Carry:
    nodes, weights = _noise(variances)
    count = grid.p.count
    images, deviations = images.reshape(-1), np.sqrt(variances).reshape(-1)
    total: sparse.csr_matrix = sparse.csr_matrix((len(images), len(images)))
    base = (np.arange(grid.theta.count) * count).repeat(count)
    for z, weight in zip(nodes, weights, strict=True):
        first, shares = _lagrange(grid.p, images + z * deviations)
        total = total + _sparse(base + first, 1, weight * shares)
    return lambda stack: np.asarray(total @ stack.reshape(len(images), -1))


def _along_theta(grid: PlaneGrid, shift: np.ndarray, variance: float) -> Carry:
    nodes, weights = _noise(np.array([variance]))
    shape = (grid.theta.count, grid.p.count)
    size = grid.size
    total: sparse.csr_matrix = sparse.csr_matrix((size, size))
    images = (grid.theta.nodes[:, None] + shift).reshape(-1)
    places = np.broadcast_to(np.arange(shape[1]), shape).reshape(-1)
    for z, weight in zip(nodes, weights, strict=True):
        first, shares = _lagrange(grid.theta, images + z * np.sqrt(variance))
        total = total + _sparse(first * shape[1] + places, shape[1], weight * shares)
    return lambda stack: np.asarray(total @ stack.reshape(size, -1))


def _noise(variances: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    if not variances.any():
        return np.zeros(1), np.ones(1)
    nodes, weights = normal_quadrature(NODES)
    return nodes.astype(np.float64), weights.astype(np.float64)


def _sparse(first: np.ndarray, stride: int, shares: np.ndarray) -> sparse.csr_matrix:
    """Row i has shares[i, k] in the column first[i] + k stride."""
    rows = len(first)
    columns = first[:, None] + stride * np.arange(STENCIL)
    return sparse.csr_matrix(
        (shares.reshape(-1), columns.reshape(-1), np.arange(rows + 1) * STENCIL), shape=(rows, rows)
    )


def _row(axis: Axis, points: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """sum_k weights[k] f(points[k]) as weights of the grid's points. Shape (n,)."""
    first, shares = _lagrange(axis, points)
    row = np.zeros(axis.count)
    for place, share, weight in zip(first, shares, weights, strict=True):
        row[place : place + STENCIL] += weight * share
    return row


def _lagrange(axis: Axis, points: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The first of the grid points around each point, and their shares in it. Shapes (n,), (n, STENCIL)."""
    return centred((points - axis.start) / axis.spacing, axis.count, STENCIL)
