"""Which local order has torch code? E f(X_1) by quadrature over its draws is compared with the Taylor series of exp(hL)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import product
from typing import Any

import numpy as np

from sgverify.errors import NotExpandableError, Unreached
from sgverify.exact.series.probe import (
    PolynomialPotential,
    generic_potential,
    generic_state,
    increment_moments,
)
from sgverify.law.nodes import UNIT, NodeRunner
from sgverify.rates.powers import PowersOfH, powers_of_h
from sgverify.schemes.torch_step import TorchStep

PARAMETERS = {"T": Fraction(3, 4), "D": Fraction(5, 4)}
"""T and D differ from 1 and from one another, and float64 represents both: at T = 1 whole classes of bugs are invisible."""

STEPS = tuple(2.0**-k for k in range(5, 12))
"""The step sizes, small compared with the time scale of the potential, which is 1."""

ROOTS = tuple(2.0 ** -(k / 2) for k in range(5, 15))
"""sqrt(h) at the steps from which half powers of h are fitted, if whole powers do not explain the values."""

EXAMINED, HIGHEST = 2, 4
"""The order up to which a step is examined, or up to its stated order if that is larger; and the highest order at all."""

SEEN = 1e-6
"""The least difference that counts, relative to the largest coefficient of exp(hL) at the same power of h; the remainders of
the fits are smaller."""

RESOLUTION = 1e-3
"""The error bound that a vanishing coefficient needs, relative to the largest coefficient of exp(hL) at the same power of h."""


@dataclass(frozen=True)
class MeasuredOrder:
    """Local order at one generic state of one generic potential.

    `order` is K if P_h and exp(hL) are seen to differ at h^(K+1); with `at_least` no difference was seen through
    h^(order + 1). `where` names the moment E (X_1 - x)^a that differs most, `index` is its a, and `value` the error of its
    coefficient, with error `bound`. `resolution` is the largest bound among the coefficients through h^order, relative to
    those of exp(hL).
    """

    order: Fraction
    at_least: bool
    where: str
    index: tuple[int, ...] | None
    value: float
    bound: float
    resolution: float
    quadrature: float
    """The largest difference of the two rules among these coefficients, relative to those of exp(hL); part of every bound."""
    nodes: int
    irregular: int
    """The number of draws of which the step is no polynomial."""
    draws: int
    degree: int
    examined: int
    dim: int
    reach: float
    """The largest absolute coordinate of the states before and after the steps."""

    @property
    def resolved(self) -> bool:
        """Are the bounds so small that an order below the examined one would have been seen?"""
        return self.resolution <= RESOLUTION


def measure_order(step: TorchStep, dim: int = 2) -> MeasuredOrder:
    """The local order of torch code.

    The moments E (X_1 - x)^a of the increment, |a| <= 2(K + 1), determine P_h f through h^(K+1) for every smooth f. Each draw
    enters the step with sqrt(h), so that a rule of degree 2K + 3 gives the moments exactly through h^(K+1). A second rule, with
    other nodes and a higher degree, bounds the error. The powers of h in the moments less the Taylor series of exp(hL) give
    the order. Raises `Unreached` if the code cannot be evaluated in this way.
    """
    examined = min(HIGHEST, max(EXAMINED, step.order or 0))
    potential = generic_potential(dim)
    state = generic_state(step.dynamics.shapes, dim)
    runner = NodeRunner(step, potential, state, dim, parameters=PARAMETERS, first=STEPS[0])
    degree = 2 * examined + 3
    indices = [
        a for a in product(range(2 * examined + 3), repeat=len(state)) if 1 <= sum(a) <= 2 * examined + 2
    ]
    expected = _expected(step, dim, examined, potential, state, indices)

    def left_at(steps: Sequence[float], place: int) -> tuple[np.ndarray, np.ndarray]:
        """The moments by rule `place` less their Taylor series, shape (steps, moments), and bounds of the errors."""
        found = [runner.moments(runner.pair(degree, h)[place], h, indices) for h in steps]
        taylor = np.array([sum(expected[k] * h**k for k in range(examined + 2)) for h in steps])
        # The series has a few roundings of its own.
        errors = np.array([error for _, error in found]) + 8 * UNIT * np.abs(taylor)
        return np.array([moment for moment, _ in found]) - taylor, errors

    def powers(variable: Sequence[float], steps: Sequence[float]) -> tuple[PowersOfH, np.ndarray]:
        """The powers of h by the first rule, their bounds including the second rule's difference, and this difference."""
        one, two = (powers_of_h(np.array(variable), *left_at(steps, place)) for place in (0, 1))
        apart = np.abs(one.coefficients - two.coefficients)
        return PowersOfH(one.coefficients, one.bounds + apart), apart

    sizes = np.abs(expected).max(axis=1)
    sizes[0] = 1.0
    fitted, apart = powers(STEPS, STEPS)
    found, place = _lowest(fitted, apart, sizes, examined, 1)
    if place is not None and found["order"] < examined:
        # A half power of h may appear as this whole power.
        halves, apart = powers(ROOTS, [root**2 for root in ROOTS])
        found, place = _lowest(halves, apart, sizes, examined, 2)
    return MeasuredOrder(
        **found,
        where="" if place is None else _text(indices[place], list(state), dim),
        index=None if place is None else indices[place],
        nodes=len(runner.pair(degree, STEPS[0])[0].weights),
        irregular=len(runner.rules(degree).irregular),
        draws=runner.draws,
        degree=degree,
        examined=examined,
        dim=dim,
        reach=runner.reach,
    )


def _lowest(
    fitted: PowersOfH, apart: np.ndarray, sizes: np.ndarray, examined: int, per_step: int
) -> tuple[dict[str, Any], int | None]:
    """What a fit says of the order, and the moment whose coefficient of the lowest power of h that counts is the largest.

    `per_step` powers of the fitted variable, h or sqrt(h), make one power of h.
    """
    power, place, value, bound = None, None, 0.0, 0.0
    for j in range((examined + 1) * per_step + 1):
        size = sizes[min(-(-j // per_step), len(sizes) - 1)]
        seen = fitted.seen(j) & (np.abs(fitted.coefficients[j]) > SEEN * size)
        if seen.any():
            power = Fraction(j, per_step)
            place = int(np.argmax(np.where(seen, np.abs(fitted.coefficients[j]), 0)))
            value, bound = float(fitted.coefficients[j][place]), float(fitted.bounds[j][place])
            break
    last = examined if power is None else min(examined, int(power))
    found = {
        "order": Fraction(examined) if power is None else power - 1,
        "at_least": power is None,
        "value": value,
        "bound": bound,
        "resolution": max(float(fitted.bounds[k * per_step].max() / sizes[k]) for k in range(last + 1)),
        "quadrature": max(float(apart[k * per_step].max() / sizes[k]) for k in range(last + 1)),
    }
    return found, place


def _expected(
    step: TorchStep,
    dim: int,
    examined: int,
    potential: PolynomialPotential,
    state: dict[tuple[str, int], Fraction],
    indices: Sequence[tuple[int, ...]],
) -> np.ndarray:
    """The Taylor coefficients m_k of every moment under exp(hL), shape (examined + 2, len(indices)): exact, rounded once."""
    theta = [state["theta", i] for i in range(dim)]
    try:
        known = increment_moments(
            step.dynamics,
            dim,
            examined + 1,
            state=state,
            parameters=PARAMETERS,
            derivative_of_potential=lambda index: potential.derivative(index, theta),
        )
    except NotExpandableError as error:
        raise Unreached(f"exp(hL) has no power series here: {error}") from None
    none = [0] * (examined + 2)
    return np.array([[float(m) for m in known.get(index, none)] for index in indices]).T


def _text(index: tuple[int, ...], keys: Sequence[tuple[str, int]], dim: int) -> str:
    """The moment as text, such as E (theta1 - x)^2 (p2 - x)."""
    parts = []
    for (name, i), n in zip(keys, index, strict=True):
        if n:
            label = f"d{name}{i + 1 if dim > 1 and name != 'xi' else ''}"
            parts.append(label if n == 1 else f"{label}^{n}")
    return f"E {' '.join(parts)}"
