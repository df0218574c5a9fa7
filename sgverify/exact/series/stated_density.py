"""The density that a dynamics states, on the ring of a proof; whether noise spreads from it into every direction.

What an operator does to a density is rho A f = rho f (A^* rho / rho): a polynomial in the state and the derivatives of U, which is
decided exactly, for every smooth potential.
"""

from __future__ import annotations

from collections.abc import Iterable
from fractions import Fraction

import numpy as np

from sgverify.errors import NotExpandableError
from sgverify.exact.numbers.ball import FLOATS
from sgverify.exact.rings.evaluation import Values, by_key
from sgverify.exact.rings.polynomials import Key, Polynomial, coefficients_in
from sgverify.exact.rings.ring import Ring
from sgverify.exact.series.averaging import average
from sgverify.exact.series.operators import (
    Operator,
    derivative_along,
    generator_of,
    ring_of,
    symbol_of,
    transition_of,
)
from sgverify.exact.stationarity.fokker_planck import integrable, read_density
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
        if not set(dynamics.density.parameters) <= set(ring.parameters):
            raise NotExpandableError("a density with parameters that the dynamics has not")
        log_density = ring.reduce(read_density(dynamics.density, ring))
        if not integrable(log_density, ring):
            raise NotExpandableError("a density that is not known to be integrable")
        self.below = ring.one
        for at, divisor in ring.reciprocals.items():
            power = int(log_density.degrees()[at])
            if power > 0 and ring.depends_only_on_parameters(divisor):
                self.below = self.below * divisor**power
        scaled = ring.reduce(log_density * self.below)
        self.slopes = [-derivative_along(scaled, k, ring) for k in range(len(ring.coordinates))]
        self._temperature = ring.generator("root", "T") ** 2 if "T" in dynamics.parameters else ring.one
        if not self.is_usual("theta"):
            raise NotExpandableError("another density than exp(-U/T) in theta")

    def is_usual(self, variable: str) -> bool:
        """Whether the density is exp(-U/T) in theta, or N(0, T) in another variable, and independent of the others."""
        ring = self.ring
        for k, (name, i) in enumerate(ring.coordinates):
            unit = tuple(int(i == j) for j in range(ring.dim))
            usual = ring.jet("U", 0, unit) if name == "theta" else ring.coordinate(name, i)
            if name == variable and ring.reduce(self.slopes[k] * self._temperature - usual * self.below):
                return False
        return True

    def adjoint(self, symbol: Polynomial) -> Polynomial:
        """A^* rho / rho times a power of below, A the operator of this symbol, sum_a c_a xi^a: sum_a (-1)^|a| D^a c_a.

        D_k c = d_k c - (slope_k / below) c commute, so that each is carried out by Horner's rule in its xi_k.
        """
        ring = self.ring
        for k, slope in enumerate(self.slopes):
            *lower, symbol = coefficients_in(symbol, ring.position("dual", k))
            weight = ring.one
            for part in reversed(lower):
                weight = weight * self.below
                symbol = slope * symbol - derivative_along(symbol, k, ring) * self.below + part * weight
        symbol = ring.reduce(symbol)
        while symbol and self.below != ring.one:
            quotient, rest = divmod(symbol, self.below)
            if rest:
                break
            symbol = quotient
        return symbol


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
        density.adjoint(
            symbol_of({index: value * density.slopes[k] for index, value in generator.items()}, ring)
        )
        for k, (name, _) in enumerate(ring.coordinates)
        if name in others
    ]

    def absorbed(symbol: Polynomial) -> bool:
        change = density.adjoint(ring.reduce(symbol))
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
            drift[k] = drift[k] - derivative_along(column[k], j, ring)
        columns.append(column)
    diagonal = np.diag(2 + 0.3 * np.arange(dim))
    apart = np.abs(np.subtract.outer(np.arange(dim), np.arange(dim)))
    settings = [
        _values(ring, precision, point)
        for precision in (np.eye(dim), diagonal, diagonal + 0.7 * 0.5**apart)
        for point in POINTS
    ]
    seen, ranks = np.zeros((len(settings), 0, size)), np.zeros(len(settings), dtype=int)
    waiting: Iterable[list[Polynomial]] = columns
    fields = [drift, *(column for column in columns if any(column))]
    for _ in range(size + 1):
        fresh = []
        for one in waiting:
            rows = np.array([[float(at(value)) for value in one] for at in settings])
            longer = np.concatenate([seen, rows[:, None]], axis=1)
            more = np.linalg.matrix_rank(longer, tol=1e-9)
            if (more > ranks).any():
                seen, ranks = longer, more
                fresh.append(one)
            if (ranks == size).all():
                return True
        waiting = (_bracket(field, one, ring) for one in fresh for field in fields)
    return False


def _bracket(left: list[Polynomial], right: list[Polynomial], ring: Ring) -> list[Polynomial]:
    """[X, Y]_k = X . grad Y_k - Y . grad X_k."""

    def along(one: list[Polynomial], value: Polynomial) -> Polynomial:
        moved = (speed * derivative_along(value, j, ring) for j, speed in enumerate(one) if speed)
        return sum(moved, ring.zero)

    return [ring.reduce(along(left, y) - along(right, x)) for x, y in zip(left, right, strict=True)]


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
