"""The bias of an invariant law in the plane in powers of h, from P_h = sum_k h^k A_k: for every smooth U, and for one.

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

from sgverify.errors import NotExpandableError, Unreached
from sgverify.exact.rings.polynomials import Polynomial, coefficients_in, evaluate, to_fraction
from sgverify.exact.rings.ring import Ring
from sgverify.exact.series.averaging import merge_minibatches
from sgverify.exact.series.operators import Operator, difference, exponential, ring_of, transition_of
from sgverify.exact.transfer.plane.poisson import PoissonPlane
from sgverify.schemes import Scheme
from sgverify.schemes.definition.binding import parameters_of
from sgverify.schemes.numbers.rounded import Rounded

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
    ring, parts = _expand(scheme, highest + 1)
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
    found = LimitingDynamics(**{name: _number(part, ring, known) for name, part in parts.items()})
    if min(found.drift, found.kick, found.friction, found.diffusion) <= 0:
        raise Unreached("what the step tends to as h -> 0 has no invariant law")
    return found


def _factor(polynomial: Polynomial, position: int, ring: Ring) -> Polynomial:
    """c in c x, x the generator at `position`; 0 where it is anything else."""
    powers = coefficients_in(polynomial, position)
    return powers[1] if len(powers) == 2 and not powers[0] else ring.zero


def _number(polynomial: Polynomial, ring: Ring, known: Mapping[str, float]) -> float:
    return float(
        evaluate(polynomial.to_dict(), lambda k: _constant(k, ring, known), lambda c: float(to_fraction(c)))
    )


def _by_powers_of_p(polynomial: Polynomial, ring: Ring, plane: PoissonPlane) -> list[np.ndarray | None]:
    """[c_0, c_1, ...] with the polynomial equal to sum_n c_n(theta) p^n at the plane's points; None for 0."""
    return [
        _value(part, ring, plane) if part else None
        for part in coefficients_in(polynomial, ring.position("p", 0))
    ]


def _value(polynomial: Polynomial, ring: Ring, plane: PoissonPlane) -> np.ndarray:
    def constant(c: Any) -> np.ndarray:
        return np.full(len(plane.theta), float(to_fraction(c)))

    return np.asarray(evaluate(polynomial.to_dict(), lambda k: _meaning(k, ring, plane), constant))


def _meaning(position: int, ring: Ring, plane: PoissonPlane) -> Any:
    """The values of a generator of the ring at the plane's points."""
    if position == ring.position("theta", 0):
        return plane.theta
    if position in ring.jets:
        family, _, (order,) = ring.jets[position]
        if family == "U":
            return plane.potential[order]
    return _constant(position, ring, parameters_of(plane))


def _constant(position: int, ring: Ring, known: Mapping[str, float]) -> float:
    for name in ring.parameters:
        if position == ring.position("root", name):
            return math.sqrt(known[name])
    what = ring.opaque.get(position)
    if what is not None and isinstance(what.number, Rounded):
        return float(what.number)
    try:
        return math.sqrt(ring.square_of_slot(position))
    except NotExpandableError:
        raise Unreached(f"{ring.label(position)[0]} in the expansion stands for no number") from None


def _kinetic(ring: Ring) -> Operator:
    """p d_theta - (U' + D p) d_p + D T d_p^2."""
    p, derivative = ring.generator("p", 0), ring.derivative_of_potential(0, (1,))
    friction, T = ring.generator("root", "D") ** 2, ring.generator("root", "T") ** 2
    return {(1, 0): p, (0, 1): -derivative - friction * p, (0, 2): friction * T}


def _expand(scheme: Scheme, highest: int) -> tuple[Ring, list[Operator]]:
    """The coefficients of s^0, ..., s^(2 highest), s = sqrt(h)."""
    degree = 2 * highest
    for cap in (degree + 2, degree + 4, degree + 8):
        ring = ring_of(
            scheme.dynamics,
            1,
            depth=cap + 1,
            draws=scheme.draws,
            minibatches=scheme.minibatches,
            parts=scheme.census.parts,
            cap=cap,
        )
        try:
            transition = transition_of(scheme, ring, degree)
            return ring, [
                difference(merge_minibatches(transition.at(j), ring), {}, ring) for j in range(degree + 1)
            ]
        except NotExpandableError as error:
            # Roots and quotients lose orders; more working orders may bring them back.
            if cap == degree + 8:
                raise Unreached(f"no expansion at h = 0: {error}") from None
    raise AssertionError("unreachable")
