"""Poisson's equation of kinetic Langevin dynamics in the plane: L psi = f, by Hermite modes in p and sinc functions in theta.

A function is held by its Hermite modes, times the root of the density in theta: f(theta, p) = sum_n c_n(theta)
He_n(p/sqrt T)/sqrt(n!) / g(theta), g^2 = exp(-U/T)/Z. In these coordinates, with K = sqrt(T) d/dtheta + U'/(2 sqrt T),

    (L c)_n = sqrt(n) K c_(n-1) - sqrt(n + 1) K^T c_(n+1) - D n c_n

(Brinkman's hierarchy, Risken 1989, section 10.1): block tridiagonal, and eliminated from the highest mode down every block
is symmetric and positive definite.

The bias of an invariant law in the plane in powers of h, from P_h = sum_k h^k A_k: for every smooth U, and for one.

With L_h = (P_h - I)/h = L + h A_2 + h^2 A_3 + ..., the solution of L_h psi_h = -(phi - pi_h(phi)) is expanded:
L psi_0 = -(phi - pi(phi)), and psi_k, b_k with pi_h(phi) = pi(phi) + sum_k b_k h^k follow from

    L psi_k = b_k - sum_(j=1..k) A_(j+1) psi_(k-j),    b_k = sum_(j=1..k) pi(A_(j+1) psi_(k-j)).
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
from scipy.linalg import cho_factor, cho_solve

from sgverify.errors import NotExpandableError, Unreached
from sgverify.exact.numbers.ball import FLOATS
from sgverify.exact.numbers.jets import derivatives_of
from sgverify.exact.rings.evaluation import Values, by_key
from sgverify.exact.rings.polynomials import Key, Polynomial, coefficients_in
from sgverify.exact.rings.ring import Ring
from sgverify.exact.series.averaging import merge_minibatches
from sgverify.exact.series.local_order import expand_step
from sgverify.exact.series.operators import Operator, difference, exponential
from sgverify.schemes import Scheme
from sgverify.schemes.definition.binding import parameters_of
from sgverify.targets import Target


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
        derivatives: int,
    ) -> None:
        self.temperature, self.friction, self.modes = temperature, friction, modes
        spacing = (ends[1] - ends[0]) / points
        self.theta = ends[0] + spacing * np.arange(points)
        self.potential = derivatives_of(target, self.theta, derivatives)
        """U, U', ..., at the points. Shape (derivatives + 1, points)."""
        energy = self.potential[0] / temperature
        root = np.exp((energy.min() - energy) / 2)
        self.root = root / np.linalg.norm(root)
        """g, whose squares sum to 1. Shape (points,)."""
        derivative = self.potential[1] / (2 * np.sqrt(temperature))
        self.raising = np.sqrt(temperature) * _derivative(points, spacing) + np.diag(derivative)
        """K. Shape (points, points)."""
        self._counts = np.arange(modes)[:, None]

    def generate(self, function: np.ndarray) -> np.ndarray:
        """L f."""
        return np.asarray(
            self._up(function @ self.raising.T)
            - self._down(function @ self.raising)
            - self.friction * self._counts * function
        )

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

    def mean(self, function: np.ndarray) -> float:
        """pi(f)."""
        return float(self.root @ function[0])

    def norm(self, function: np.ndarray) -> float:
        """pi(f^2)^(1/2)."""
        return float(np.linalg.norm(function))

    def centred(self, function: np.ndarray) -> np.ndarray:
        """f - pi(f)."""
        result = function.copy()
        result[0] = self._without_mean(result[0])
        return result

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

    def by_p(self, function: np.ndarray) -> np.ndarray:
        """df/dp."""
        return np.asarray(self._down(function) / np.sqrt(self.temperature))

    def by_theta(self, function: np.ndarray) -> np.ndarray:
        """df/dtheta."""
        return np.asarray(function @ self.raising.T / np.sqrt(self.temperature))

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


_EPS = float(np.finfo(np.float64).eps)


@dataclass(frozen=True)
class PlaneExpansion:
    """A_2, ..., A_(highest + 1) in normal order, of a step of kinetic dynamics with full gradients.

    `order`: A_k = L^k/k! for every k <= order, by algebra; pi_h(phi) - pi(phi) = O(h^order) then. At order 0 the step
    tends to other dynamics, whose generator is A_1.
    """

    ring: Ring = field(repr=False)
    operators: Mapping[int, Operator] = field(repr=False)
    order: int
    highest: int


@dataclass(frozen=True)
class LimitingDynamics:
    """d theta = drift p dt, dp = -(kick U' + friction p) dt + sqrt(2 diffusion) dW.

    Invariant: p ~ N(0, diffusion/friction), and exp(-U/T') in theta, T' = (drift/kick) (diffusion/friction).
    """

    drift: float
    kick: float
    friction: float
    diffusion: float


@dataclass(frozen=True)
class Coefficient:
    """b_k, and a bound of its rounding."""

    value: float
    rounding: float


def expand_in_plane(scheme: Scheme, highest: int) -> PlaneExpansion:
    """The expansion through h^(highest + 1), which is h^highest of the bias.

    Raises `Unreached` where P_h has no expansion in whole powers of h.
    """
    degree = 2 * (highest + 1)
    try:
        ring, transition = expand_step(scheme, 1, degree)
        parts = [difference(merge_minibatches(transition.at(j), ring), {}, ring) for j in range(degree + 1)]
    except NotExpandableError as error:
        raise Unreached(f"no expansion at h = 0: {error}") from None
    if parts[0] or any(parts[1::2]):
        raise Unreached("the expansion of the step has half powers of h, or does not begin at the identity")
    operators = {k: parts[2 * k] for k in range(1, highest + 2)}
    exact = exponential(operators[1], ring, highest + 1)
    order = 1
    while order <= highest and not difference(operators[order + 1], exact[order + 1], ring):
        order += 1
    consistent = not difference(operators[1], _kinetic(ring), ring)
    return PlaneExpansion(ring, operators, order if consistent else 0, highest)


@dataclass(frozen=True, eq=False)
class BiasSeries:
    """b_1, b_2, ... of one test function on one plane. `function` is phi as an array of the plane."""

    plane: PoissonPlane
    function: np.ndarray

    @cached_property
    def corrector(self) -> np.ndarray:
        """psi_0."""
        return self.plane.solve(-self.plane.centred(self.function))

    def coefficients(self, expansion: PlaneExpansion, highest: int) -> list[Coefficient]:
        """b_1, ..., b_highest."""
        solutions, found = [self.corrector], []
        for k in range(1, highest + 1):
            total, rounding = np.zeros_like(self.function), 0.0
            for j in range(1, k + 1):
                part, lost = self._apply(expansion.operators[j + 1], expansion.ring, solutions[k - j])
                total, rounding = total + part, rounding + lost
            found.append(Coefficient(self.plane.mean(total), rounding))
            if k < highest:
                solutions.append(self.plane.solve(-self.plane.centred(total)))
        return found

    def _apply(self, operator: Operator, ring: Ring, function: np.ndarray) -> tuple[np.ndarray, float]:
        """The operator applied to a function of the plane, and the rounding of the average of the result."""
        plane, derivatives = self.plane, _Derivatives(self.plane, function)
        stretch = float(np.linalg.norm(plane.raising, 2)) / np.sqrt(plane.temperature)
        total, rounding = np.zeros_like(function), 0.0
        for (of_theta, of_p), coefficient in operator.items():
            for power, values in enumerate(_by_powers_of_p(coefficient, ring, plane)):
                if values is None:
                    continue
                term = derivatives.at(of_theta, of_p)
                for _ in range(power):
                    term = plane.times_p(term)
                total = total + values * term
                # Each derivative in theta rounds by eps |K| times its argument.
                size = float(np.linalg.norm(values * plane.root)) * plane.norm(term)
                below = plane.norm(derivatives.at(max(of_theta - 1, 0), of_p)) * (
                    stretch if of_theta else 1.0
                )
                rounding += 4 * _EPS * (size + float(np.linalg.norm(values * plane.root)) * float(below))
        return total, rounding


class _Derivatives:
    """The derivatives of one function, each computed once."""

    def __init__(self, plane: PoissonPlane, function: np.ndarray) -> None:
        self._plane = plane
        self._known = {(0, 0): function}

    def at(self, of_theta: int, of_p: int) -> np.ndarray:
        """d^i/dtheta^i d^j/dp^j."""
        index = (of_theta, of_p)
        if index not in self._known:
            if of_p:
                self._known[index] = self._plane.by_p(self.at(of_theta, of_p - 1))
            else:
                self._known[index] = self._plane.by_theta(self.at(of_theta - 1, 0))
        return self._known[index]


def limiting_dynamics(expansion: PlaneExpansion, temperature: float, friction: float) -> LimitingDynamics:
    """The numbers of A_1; raises `Unreached` where it has another form."""
    ring, known = expansion.ring, {"T": temperature, "D": friction}
    operator = expansion.operators[1]
    p, derivative = ring.position("p", 0), ring.position("U", 0, (1,))
    parts = {
        "drift": _factor(operator.get((1, 0), ring.zero), p, ring),
        "kick": _factor(-coefficients_in(operator.get((0, 1), ring.zero), p)[0], derivative, ring),
        "friction": _factor(
            -operator.get((0, 1), ring.zero) + coefficients_in(operator.get((0, 1), ring.zero), p)[0], p, ring
        ),
        "diffusion": operator.get((0, 2), ring.zero),
    }
    others = set(operator) - {(1, 0), (0, 1), (0, 2)}
    if others or not all(part and ring.depends_only_on_parameters(part) for part in parts.values()):
        raise Unreached("what the step tends to as h -> 0 are no kinetic dynamics")
    values = _values(ring, known)
    found = LimitingDynamics(**{name: float(values(part)) for name, part in parts.items()})
    if min(found.drift, found.kick, found.friction, found.diffusion) <= 0:
        raise Unreached("what the step tends to as h -> 0 has no invariant law")
    return found


def _factor(polynomial: Polynomial, position: int, ring: Ring) -> Polynomial:
    """c in c x, x the generator at `position`; 0 where it is anything else."""
    powers = coefficients_in(polynomial, position)
    return powers[1] if len(powers) == 2 and not powers[0] else ring.zero


def _by_powers_of_p(polynomial: Polynomial, ring: Ring, plane: PoissonPlane) -> list[np.ndarray | None]:
    """[c_0, c_1, ...] with the polynomial equal to sum_n c_n(theta) p^n at the plane's points; None for 0."""
    values = _values(ring, parameters_of(plane), plane)
    return [
        np.asarray(values(part)) if part else None
        for part in coefficients_in(polynomial, ring.position("p", 0))
    ]


def _values(ring: Ring, parameters: Mapping[str, float], plane: PoissonPlane | None = None) -> Values:
    """The values of a ring's elements, at the points of a plane where they are functions of theta."""

    def number(key: Key) -> Any:
        if key[0] == "root":
            return math.sqrt(parameters[key[1]])
        if plane is not None and key == ("theta", 0):
            return plane.theta
        if plane is not None and key[0] == "U":
            return plane.potential[key[2][0]]
        raise Unreached(f"{ring.label(ring.position(*key))[0]} in the expansion stands for no number")

    return Values(ring, by_key(ring, number), FLOATS)


def _kinetic(ring: Ring) -> Operator:
    """p d_theta - (U' + D p) d_p + D T d_p^2."""
    p, derivative = ring.generator("p", 0), ring.jet("U", 0, (1,))
    friction, T = ring.generator("root", "D") ** 2, ring.generator("root", "T") ** 2
    return {(1, 0): p, (0, 1): -derivative - friction * p, (0, 2): friction * T}
