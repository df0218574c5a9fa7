"""The density that a dynamics states, on the ring of a proof; whether noise spreads from it into every direction.

What an operator does to a density is rho A f = rho f (A^* rho / rho): a polynomial in the state and the derivatives of U, which is
decided exactly, for every smooth potential.
"""

from __future__ import annotations

from fractions import Fraction

import numpy as np

from sgverify.errors import NotExpandableError
from sgverify.exact.numbers.ball import FLOATS
from sgverify.exact.rings.differential_field import Field
from sgverify.exact.rings.evaluation import Values, by_key
from sgverify.exact.rings.polynomials import Key, Polynomial
from sgverify.exact.rings.ring import Ring
from sgverify.exact.rings.roots import DIM
from sgverify.exact.series.averaging import average
from sgverify.exact.series.operators import (
    Operator,
    derivative_along,
    generator_of,
    operator_of,
    ring_of,
    transition_of,
)
from sgverify.exact.stationarity.fokker_planck import field_of, integrable, read_density
from sgverify.schemes import Dynamics, Scheme


class StatedDensity:
    """The density rho that a dynamics states, by its logarithmic derivatives in a ring: -d_k log rho = `slopes`[k] / `below`.

    Raises `NotExpandableError` for one that is not exp(-U/T) in theta and independent of it in the other variables, where it is
    integrable: those of it are posterior averages.
    """

    def __init__(self, dynamics: Dynamics, ring: Ring) -> None:
        self.ring = ring
        if dynamics.density is None:
            raise NotExpandableError("a dynamics that states no density")
        field = field_of(dynamics, dynamics.density, ring.dim, None, ("root", DIM) in ring.keys)
        log_density = read_density(dynamics.density, field)
        if not integrable(log_density, field):
            raise NotExpandableError("a density that is not known to be integrable")
        slopes = [-field.derivative(log_density, k) for k in range(len(ring.coordinates))]
        below = slopes[0].below
        for slope in slopes:
            below = below * (slope.below / below.gcd(slope.below))
        if not field.occurring(below) <= field.parameter_positions:
            raise NotExpandableError("a density with quotients of the state")
        self.slopes = [_in_ring(slope.top * (below / slope.below), field, ring) for slope in slopes]
        self.below = _in_ring(below, field, ring)
        self._temperature = ring.generator("root", "T") ** 2 if "T" in dynamics.parameters else ring.one
        if not self.is_usual("theta"):
            raise NotExpandableError("another density than exp(-U/T) in theta")

    def is_usual(self, variable: str) -> bool:
        """Whether the density is exp(-U/T) in theta, or N(0, T) in another variable, and independent of the others."""
        ring = self.ring
        for k, (name, i) in enumerate(ring.coordinates):
            unit = tuple(int(i == j) for j in range(ring.dim))
            usual = ring.jet("U", 0, unit) if name == "theta" else ring.coordinate(name, i)
            if name == variable and self.slopes[k] * self._temperature - usual * self.below:
                return False
        return True

    def adjoint(self, operator: Operator) -> Polynomial:
        """A^* rho / rho times below^m: sum_a (-1)^|a| below^(m-|a|) D^a c_a, D_k c = below d_k c - slope_k c."""
        ring = self.ring
        most = max((sum(index) for index in operator), default=0)
        total = ring.zero
        for index, value in operator.items():
            for k, times in enumerate(index):
                for _ in range(times):
                    value = derivative_along(value, k, ring) * self.below - self.slopes[k] * value
            sign = -ring.one if sum(index) % 2 else ring.one
            total = total + value * sign * self.below ** (most - sum(index))
        return ring.reduce(total)


def _in_ring(value: Polynomial, field: Field, ring: Ring) -> Polynomial:
    """A polynomial of the field, where it has no slots, in the ring, whose parameters are squares of its generators."""
    total = ring.zero
    for exponents, factor in value.to_dict().items():
        term = ring.one * factor
        for position, power in enumerate(exponents):
            if not power:
                continue
            key = field.keys[position]
            if key[0] == "slot":
                raise NotExpandableError("a density with functions of the state")
            root = key[0] == "parameter"
            term = term * (
                ring.generator("root", key[1]) ** (2 * power)
                if root
                else (ring.coordinate(*key) if position < len(field.coordinates) else ring.jet(*key)) ** power
            )
        total = total + term
    return total


def why_not_posterior(dynamics: Dynamics, *, momentum: bool) -> str | None:
    """Why averages under the density of a dynamics that leaves it invariant are no posterior averages, or are not forgotten to.

    `momentum`: averages of functions of p too. Raises `NotExpandableError` where the density cannot be read. None: they are.
    """
    ring = ring_of(dynamics, 2, depth=2 + 2 * len(dynamics.state), cap=4)
    density = StatedDensity(dynamics, ring)
    if momentum and not density.is_usual("p"):
        return f"`{dynamics.name}` states another law of p than N(0, T)"
    if not spreads(generator_of(dynamics, ring), ring):
        return f"the noise of `{dynamics.name}` is not seen to reach every direction"
    return None


def absorbs_noise(scheme: Scheme, dim: int, *, isotropic: bool) -> bool:
    """Whether gradient noise of constant covariance leaves averages of functions of theta and p as they are to first order in h.

    Where A_2^* rho = -L^*(rho f), f = -c d log rho/dx with x another variable, as the friction of a thermostat, the averages of
    functions that do not take x have no term h int (A_2 psi) rho, L psi = phi - phi_bar: noise of covariance V moves x alone. The
    noise is diagonal, and where it is `isotropic`, the same in all coordinates.
    """
    dynamics = scheme.dynamics
    others = [name for name in dynamics.state if name not in ("theta", "p")]
    if not others or scheme.memory or scheme.gradients != 1:
        return False
    ring = ring_of(dynamics, dim, depth=8, draws=scheme.draws, cap=8, parts=scheme.census.parts)
    density = StatedDensity(dynamics, ring)
    transition = transition_of(scheme, ring, 5)
    moved = {moments: part[()] for moments, part in average({(): transition.symbol(4)}, ring).items()}
    further = average({(): transition.symbol(5)}, ring)
    if any(moments and ring.reduce(part[()]) for moments, part in further.items()):
        return False
    units = [tuple(int(i == j) for j in range(dim)) for i in range(dim)]
    noise = [moved.get(((unit, unit),), ring.zero) for unit in units]
    generator = generator_of(dynamics, ring)
    shifts = [
        density.adjoint({index: value * density.slopes[k] for index, value in generator.items() if value})
        for k, (name, _) in enumerate(ring.coordinates)
        if name in others
    ]

    def absorbed(symbol: Polynomial) -> bool:
        change = density.adjoint(operator_of(ring.reduce(symbol), ring))
        return not change or any(_proportional(change, shift, ring) for shift in shifts)

    return all(map(absorbed, noise)) or (isotropic and absorbed(sum(noise, ring.zero)))


def _proportional(left: Polynomial, right: Polynomial, ring: Ring) -> bool:
    """Whether one polynomial is the other times a number, which may depend on parameters."""
    if not right:
        return False
    common = left.gcd(right)
    return ring.depends_only_on_parameters(left / common) and ring.depends_only_on_parameters(right / common)


POINTS = (0.0, 0.7)
"""The size of the states at which a step is seen to spread: 0, where noise that is multiplied vanishes, and a generic one."""


def spreads(operator: Operator, ring: Ring) -> bool:
    """Whether noise spreads into every direction, for U = theta.P theta/2: brackets of drift and noise span the space.

    L = div a grad + X_0: with a positive invariant density, the law to which a chain tends is then one (Hoermander 1967; Oleinik
    and Radkevich 1973, by X_0 and the columns of a). P is 1, diagonal, and a generic positive definite matrix: what is not
    reached on one of them, as a coordinate that neither friction nor noise reaches but through U, is no step for sampling.
    """
    size, dim = len(ring.coordinates), ring.dim
    unit = [tuple(int(k == j) for j in range(size)) for k in range(size)]
    half = ring.constant(Fraction(1, 2))
    columns: list[list[Polynomial]] = []
    drift = [operator.get(unit[k], ring.zero) for k in range(size)]
    for j in range(size):
        column = []
        for k in range(size):
            pair = tuple(m + n for m, n in zip(unit[k], unit[j], strict=True))
            value = operator.get(pair, ring.zero)
            column.append(value if k == j else value * half)
            drift[k] = drift[k] - _slope(column[k], j, ring)
        columns.append(column)
    diagonal = np.diag(2 + 0.3 * np.arange(dim))
    apart = np.abs(np.subtract.outer(np.arange(dim), np.arange(dim)))
    settings = [
        _values(ring, precision, point)
        for precision in (np.eye(dim), diagonal, diagonal + 0.7 * 0.5**apart)
        for point in POINTS
    ]
    seen = [np.zeros((0, size)) for _ in settings]
    waiting, fields = columns, [drift, *(column for column in columns if any(column))]
    for _ in range(size + 1):
        fresh = []
        for one in waiting:
            rows = [np.array([float(at(value)) for value in one]) for at in settings]
            longer = [np.vstack([known, row]) for known, row in zip(seen, rows, strict=True)]
            ranks = [(_rank(known), _rank(more)) for known, more in zip(seen, longer, strict=True)]
            if any(more > known for known, more in ranks):
                seen = longer
                fresh.append(one)
        if all(_rank(known) == size for known in seen):
            return True
        waiting = [_bracket(field, one, ring) for one in fresh for field in fields]
    return False


def _bracket(left: list[Polynomial], right: list[Polynomial], ring: Ring) -> list[Polynomial]:
    """[X, Y]_k = X . grad Y_k - Y . grad X_k."""

    def along(one: list[Polynomial], value: Polynomial) -> Polynomial:
        moved = (speed * _slope(value, j, ring) for j, speed in enumerate(one) if speed)
        return sum(moved, ring.zero)

    return [ring.reduce(along(left, y) - along(right, x)) for x, y in zip(left, right, strict=True)]


def _slope(value: Polynomial, k: int, ring: Ring) -> Polynomial:
    return derivative_along(value, k, ring) if value else value


def _rank(rows: np.ndarray) -> int:
    return int(np.linalg.matrix_rank(rows, tol=1e-9)) if len(rows) else 0


def _values(ring: Ring, precision: np.ndarray, size: float) -> Values:
    """The values at one state, its coordinates of this size, where U has derivatives up to the second; B is the identity."""
    state = {key: size * (1 + 0.31 * k) * (-1) ** (k % 2) for k, key in enumerate(ring.coordinates)}
    if ring.positive_coordinates:
        state = {key: 1 + abs(value) for key, value in state.items()}
    theta = np.array([state["theta", i] for i in range(ring.dim)])

    def number(key: Key) -> float:
        if key in state:
            return state[key]
        if key[0] == "root":
            return {"T": 0.75**0.5, "D": 1.25**0.5}.get(key[1], 1.1)
        if key[0] == "B":
            return float(not any(key[2]) and key[1] % (ring.dim + 1) == 0)
        places = [j for j, n in enumerate(key[2]) for _ in range(n)]
        if len(places) == 1:
            return float((precision @ theta)[places[0]])
        return float(precision[tuple(places)]) if len(places) == 2 else 0.0

    return Values(ring, by_key(ring, number), FLOATS)
