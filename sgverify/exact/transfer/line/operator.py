"""One step of a scheme from many points of the line at once, its noise at the nodes of a quadrature.

A transition operator on a uniform grid of the line, by collocation, and the law that it leaves invariant.

P f(x_i) = sum_k w_k f(X_1(x_i, z_k)), where f between grid points is the polynomial through the 16 nearest ones. P acts on
smooth functions, so that the grid need not resolve the kernel, however small the step.

The domain of a grid is the interval that holds the mass of a law, cut at the edges beyond which the drift carries chains off.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field, replace
from math import comb

import numpy as np
from scipy import linalg

from sgverify.errors import ConfigurationError, DefinitionError, Unreached
from sgverify.exact.numbers.entrywise import EntrywiseVector
from sgverify.exact.numbers.jets import Jet, taylor_of
from sgverify.exact.numbers.quadrature import EXTENDED, normal_quadrature
from sgverify.schemes import Scheme
from sgverify.schemes.definition.binding import Carrier, FullGradientIngredient, bind, in_order
from sgverify.schemes.definition.mathematics import NORMAL, NoiseLaw
from sgverify.targets import Target
from sgverify.targets.line import find_frame

MOST_DRAWS = 3
"""The largest number of draws of a step: the nodes of their quadratures multiply."""

ON_ARRAYS = Carrier(
    lambda array: EntrywiseVector([Jet(np.asarray(array, dtype=EXTENDED)[None])]),
    lambda value: Jet(np.array([value], dtype=EXTENDED)),
    lambda vector: vector.entries[0].c[0],
)
"""Points of the line, any shape: Taylor polynomials of degree 0, and vectors of one of them."""

MOST_DATA = 20_000
"""The largest number of data, or of nodes in their place: a potential is evaluated at each of them and every point."""


@dataclass(frozen=True)
class StepMap:
    """The map (x, z) -> X_1 of a scheme on the line, by its definition; `parameters` are T, D, ...

    `noise` is the variance of a normal draw that is added to every gradient, after the step's own draws.

    The arrays have one axis for points and one for each draw. A vector is a list of one Taylor polynomial over them, so that
    scalar products of vectors are defined.
    """

    scheme: Scheme
    target: Target
    parameters: Mapping[str, float] = field(default_factory=dict)
    noise: float = 0.0
    _known: dict[tuple[int, bytes], tuple[np.ndarray, np.ndarray]] = field(
        default_factory=dict, init=False, repr=False, compare=False
    )

    def __post_init__(self) -> None:
        _refuse(self.scheme, self.target, self.parameters)
        if self._noises and len(self._laws) > MOST_DRAWS:
            raise Unreached(
                f"one step draws {len(self._laws)} times with the noise of its gradients, and the quadrature of noise reaches "
                f"{MOST_DRAWS} draws"
            )

    @property
    def _noises(self) -> int:
        """The noisy gradients of a step."""
        return self.scheme.census.gradients if self.noise else 0

    @property
    def _laws(self) -> tuple[NoiseLaw, ...]:
        return (*self.scheme.laws, *(NORMAL for _ in range(self._noises)))

    def after(self, x: np.ndarray, step: float, count: int) -> tuple[np.ndarray, np.ndarray]:
        """X_1 from each point at each node of the noise, and the nodes' weights. Shapes (n, m), (m,).

        A normal draw has `count` nodes, one of another law its atoms.
        """
        laws = [nodes_of(law, count) for law in self._laws]
        weights = np.ones(1, dtype=EXTENDED)
        for _, shares in laws:
            weights = np.multiply.outer(weights, shares).ravel()
        moved = self._run(x, step, [values for values, _ in laws])
        return moved.reshape(len(x), -1), weights

    def without_noise(self, x: np.ndarray, step: float) -> np.ndarray:
        """X_1 from each point with every draw 0: the motion by the drift alone. Shape (n,) -> (n,)."""
        return self._run(x, step, [np.zeros(1, dtype=EXTENDED)] * len(self._laws)).reshape(len(x))

    @property
    def normal(self) -> int:
        """The number of draws with a density, which quadrature nodes replace."""
        return sum(not law.atoms for law in self._laws)

    def _run(self, x: np.ndarray, step: float, draws: list[np.ndarray]) -> np.ndarray:
        shape = [len(x), *map(len, draws)]
        along = [
            values.reshape([-1 if axis == 1 + k else 1 for axis in range(len(shape))])
            for k, values in enumerate(draws)
        ]
        own, noises = along[: self.scheme.draws], iter(along[self.scheme.draws :])
        start = np.asarray(x, dtype=EXTENDED).reshape(-1, *[1] * len(draws))
        bound = bind(self.scheme, ON_ARRAYS, self.parameters, dim=1)
        target = self.target

        def gradient(theta: EntrywiseVector) -> EntrywiseVector:
            found = self._derivative(target, theta, 1)
            if self.noise:
                found = found + Jet(EXTENDED(self.noise) ** EXTENDED(0.5) * next(noises)[None])
            return EntrywiseVector([found])

        grad = FullGradientIngredient(
            gradient,
            prior=lambda theta: EntrywiseVector(
                [self._derivative(replace(target, likelihood=None, data=None), theta, 1)]
            ),
            hessian=lambda theta, v: EntrywiseVector([self._derivative(target, theta, 2) * 2 * v.entries[0]]),
        )
        with np.errstate(all="ignore"):
            (moved,) = bound.step((start,), h=step, grad=grad, draw=in_order(iter(own)))
        return np.broadcast_to(moved, shape)

    def _derivative(self, target: Target, position: EntrywiseVector, order: int) -> Jet:
        """U^(order)/order! at points of the line."""
        given = position.entries[0].c[0]
        points = given.ravel()
        # Long doubles have bytes of no meaning: those of the nearest float64 find an entry, and its points decide.
        key = order, points.astype(np.float64).tobytes()
        found = self._known.get(key) if target is self.target else None
        value = found[1] if found is not None and np.array_equal(found[0], points) else None
        if value is None:
            value = taylor_of(target, points, order)[order]
            if target is self.target and len(points) <= LARGEST_KEPT:
                if len(self._known) >= MOST_KEPT:
                    self._known.clear()
                self._known[key] = points.copy(), value
        return Jet(value.reshape(1, *given.shape))


MOST_KEPT, LARGEST_KEPT = 64, 4096
"""The gradients that are kept, and the points of each: a step begins at the same grids at every step size."""


def nodes_of(law: NoiseLaw, count: int) -> tuple[np.ndarray, np.ndarray]:
    """The nodes and weights of a rule for the law, exact through degree 2 count - 1."""
    if law.normal:
        return normal_quadrature(count)
    if law.edge is not None:
        # Gauss-Legendre; its float64 nodes are good to 1e-15, which the bounds of the grids are above.
        nodes, weights = np.polynomial.legendre.leggauss(count)
        return EXTENDED(law.largest) * nodes.astype(EXTENDED), weights.astype(EXTENDED) / 2
    values, shares = zip(*law.atoms, strict=True)
    return (
        np.array([float(value) for value in values], dtype=EXTENDED),
        np.array([EXTENDED(share.numerator) / share.denominator for share in shares], dtype=EXTENDED),
    )


def _refuse(scheme: Scheme, target: Target, parameters: Collection[str]) -> None:
    if target.dim != 1:
        raise Unreached(f"the grids are those of one dimension, and the target has dim={target.dim}")
    if scheme.dynamics.state != ("theta",):
        raise Unreached(f"the state ({', '.join(scheme.dynamics.state)}) is no point of the line")
    if scheme.dynamics.riemannian:
        raise Unreached(f"`{scheme.name}` asks for a metric, which the grids do not supply")
    if scheme.memory:
        raise Unreached(
            f"the scheme carries memory ({', '.join(scheme.memory)}), so its state is no point of the line"
        )
    foreign = sorted(set(scheme.declaration.ingredients) - {"h", "grad", "noise", "dim", *parameters})
    if foreign:
        raise Unreached(f"the step asks for `{foreign[0]}`, which the grids do not have")
    if scheme.draws > MOST_DRAWS:
        raise Unreached(
            f"one step draws {scheme.draws} times, and the quadrature of noise reaches {MOST_DRAWS} draws"
        )
    if target.data is not None and len(target.weighted[0]) > MOST_DATA:
        raise Unreached(f"the target has {target.size} data, and the grids reach {MOST_DATA}")
    try:
        found = taylor_of(target, np.zeros(1, dtype=EXTENDED), 1)
    except DefinitionError as error:
        raise Unreached(
            f"the derivatives of the potential are not read off its definition: {error}"
        ) from None
    if found.dtype != EXTENDED:
        raise Unreached("the potential does not keep the precision of its points")


_REACH = 14.0
_LOOKS = 8001
_BISECTIONS = 40
_SCAN = 2.0**0.05
_FURTHEST = 1e12
_ORBIT = 400

Energy = Callable[[np.ndarray], np.ndarray]


@dataclass(frozen=True)
class Mass:
    """The mass of exp(-V): V, its least value, and a frame that contains the mass."""

    energy: Energy
    centre: float
    scale: float
    lowest: float

    @staticmethod
    def of(energy: Energy, centre: float, scale: float) -> Mass:
        """The mass of exp(-energy), sought from (centre, scale). Raises `Unreached` where none is found."""
        try:
            frame = find_frame(energy, centre, scale)
        except ConfigurationError as error:
            raise Unreached(str(error)) from None
        return Mass(energy, frame.centre, frame.scale, frame.lowest)

    def interval(self, level: float) -> tuple[float, float]:
        """The hull of {V <= min V + level}; exp(-level) is left out at either end, relative to the mode."""
        t = np.linspace(-_REACH, _REACH, _LOOKS)
        x = self.centre + self.scale * np.sinh(t)
        with np.errstate(over="ignore", invalid="ignore"):
            values = self.energy(x)
        # Between grid points V may be lower than the least value found.
        lowest = min(self.lowest, float(np.nanmin(values)))
        inside = np.flatnonzero(values <= lowest + level)
        first, last = inside[0], inside[-1]
        if first == 0 or last == len(x) - 1:
            raise Unreached("the density falls too slowly for a bounded grid")
        return (
            self._crossing(x[first - 1], x[first], lowest + level),
            self._crossing(x[last + 1], x[last], lowest + level),
        )

    def _crossing(self, outside: float, inside: float, height: float) -> float:
        for _ in range(_BISECTIONS):
            middle = (outside + inside) / 2
            if float(self.energy(np.array([middle]))[0]) <= height:
                inside = middle
            else:
                outside = middle
        return inside


def escape_edges(motion: StepMap, step: float, centre: float, scale: float) -> tuple[float, float] | None:
    """The nearest points (below, above) from where the drift alone steps across `centre` to at least as far away.

    None where there are none, out to 1e12 scales, or where the drift comes back from beyond them. An infinite edge
    stands for a side without one.
    """
    distances = scale * _SCAN ** np.arange(int(np.log(_FURTHEST) / np.log(_SCAN)))
    edges = []
    for side in (-1.0, 1.0):
        x = np.asarray(centre + side * distances, dtype=EXTENDED)
        after = motion.without_noise(x, step)
        outrun = ~(np.abs(after - centre) < distances)
        # A mode may push outwards next to the centre: what counts is a side that stays outrun.
        kept = np.flatnonzero(~outrun)
        first = 0 if not len(kept) else kept[-1] + 1
        edges.append(float(x[first]) if first < len(x) else side * np.inf)
    if not np.isfinite(edges).any():
        return None
    return (edges[0], edges[1]) if _diverges(motion, step, centre, edges) else None


def _diverges(motion: StepMap, step: float, centre: float, edges: list[float]) -> bool:
    for edge in edges:
        if not np.isfinite(edge):
            continue
        x = np.array([centre + 1.1 * (edge - centre)], dtype=EXTENDED)
        for _ in range(_ORBIT):
            x = motion.without_noise(x, step)
            if not np.abs(x[0] - centre) < 1e60 * (1 + abs(edge)):
                return True
    return False


STENCIL = 16
"""Grid points that a polynomial goes through: error of order spacing^16."""

_REFINEMENTS = 8
_ROUNDS = 12


@dataclass(frozen=True)
class GridOperator:
    """P on grid functions, killed where a state leaves the grid: `leaving` is that probability. Shapes (n, n), (n,)."""

    matrix: np.ndarray
    leaving: np.ndarray

    @property
    def defect(self) -> float:
        """The difference of P 1 + leaving from 1: the rounding of the matrix."""
        return float(np.abs(self.matrix.sum(1) + self.leaving - 1).max())


@dataclass(frozen=True)
class Stationary:
    """mu P = (1 - leak) mu with total mass 1: quadrature weights of the (quasi-)stationary law. Shape (n,).

    For the given function f, `sensitivity` bounds the change of mu(f) per unit change of the matrix, and `relaxation` is the
    integrated autocorrelation in units of time, int_0^inf of the correlation of f(X_0) and f(X_t) dt.
    """

    weights: np.ndarray
    leak: float
    residual: float
    sensitivity: float
    relaxation: float


def collocate(x: np.ndarray, moved: np.ndarray, weights: np.ndarray) -> GridOperator:
    """The operator whose states go from x_i to moved[i, k] with probability weights[k].

    Shapes (n,), (n, m), (m,); x is uniform, and has at least `STENCIL` points.
    """
    n = len(x)
    spacing = (x[-1] - x[0]) / (n - 1)
    alternating = np.array([(-1) ** j * comb(STENCIL - 1, j) for j in range(STENCIL)], dtype=EXTENDED)
    places, rows = np.arange(STENCIL), np.arange(n)
    matrix, leaving = np.zeros((n, n), dtype=EXTENDED), np.zeros(n, dtype=EXTENDED)
    for k, weight in enumerate(weights):
        position = (moved[:, k] - x[0]) / spacing
        # NaN, an overflow of the drift, is outside too.
        inside = (position >= 0) & (position <= n - 1)
        position = np.where(inside, position, 0)
        first = np.clip(np.floor(position).astype(int) - (STENCIL // 2 - 1), 0, n - STENCIL)
        offset = (position - first)[:, None] - places
        met = offset == 0
        terms = alternating / np.where(met, 1, offset)
        shares = terms / terms.sum(1)[:, None]
        shares = np.where(met.any(1)[:, None], met, shares) * (inside * weight)[:, None]
        leaving += np.where(inside, 0, weight)
        for j in range(STENCIL):
            matrix[rows, first + j] += shares[:, j]
    return GridOperator(matrix, leaving)


def stationary(operator: GridOperator, step: float, guess: np.ndarray, function: np.ndarray) -> Stationary:
    """The (quasi-)stationary law of P, from the bordered system of mu (I - P)/h = rate mu, mu 1 = 1.

    Solved in float64 and refined against residuals in long double. `guess`: weights near the answer, for the first border;
    `function`: the function to be averaged. Raises `numpy.linalg.LinAlgError` where the system is singular.
    """
    n = len(guess)
    system = np.zeros((n + 1, n + 1), dtype=EXTENDED)
    system[:n, :n] = (np.eye(n) - operator.matrix).T / EXTENDED(step)
    system[n, :n] = 1
    right = np.zeros(n + 1, dtype=EXTENDED)
    right[n] = 1
    border = guess
    for _ in range(_ROUNDS):
        system[:n, n] = -border
        factors = linalg.lu_factor(system.astype(np.float64))
        found = linalg.lu_solve(factors, right.astype(np.float64)).astype(EXTENDED)
        residual = np.inf
        for _ in range(_REFINEMENTS):
            change = linalg.lu_solve(factors, (right - system @ found).astype(np.float64))
            found = found + change
            residual = float(np.abs(change).max())
            if residual < 1e-19:
                break
        weights, rate = found[:n], found[n]
        # After convergence the border is the law itself; without a leak any border gives it.
        moved = abs(rate) * np.abs(weights - border).sum()
        border = weights
        if moved * step < 1e-19:
            break
    along = np.append(function.astype(np.float64), 0.0)
    adjoint = linalg.lu_solve(factors, along, trans=1)
    sensitivity = float(np.abs(weights).sum() * np.abs(adjoint[:n]).max() / step)
    centred = function - weights @ function
    relaxation = float((weights @ (centred * adjoint[:n])) / (weights @ centred**2))
    return Stationary(weights, float(rate) * step, residual, sensitivity, relaxation)
