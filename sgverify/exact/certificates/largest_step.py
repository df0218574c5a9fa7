"""The largest step size up to which all contract, the step size and the friction at which two copies approach each other fastest.

A norm that shrinks by a margin at one step size shrinks at its neighbours. The search goes upward from one proved interval of step
sizes to the next, each in a norm of its own, so that nothing is left out between them.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from fractions import Fraction

from scipy.optimize import minimize_scalar

from sgverify.errors import Unreached
from sgverify.exact.certificates.contraction import (
    CertifiedContraction,
    CurvatureBounds,
    certified_contraction,
    contracts_between,
)
from sgverify.schemes import Scheme, exact, langevin
from sgverify.schemes.numbers.rounded import Rounded

FINE = 2e-3
"""The relative width of an interval of step sizes, above the largest one found, that is no longer tried."""

GRID = 13
"""Values in equal ratios, between whose best and its neighbours the best one is sought."""


def largest_step(
    scheme: Scheme,
    parameters: Mapping[str, Fraction],
    curvature: CurvatureBounds,
    *,
    start: Fraction | None = None,
    fine: float = FINE,
) -> tuple[CertifiedContraction, CertifiedContraction]:
    """The contractions at two step sizes, such that every one from the first to the second is proved to contract.

    An interval of a relative width of `fine` above the second was not proved. The first is `start`, by default 1/20 of the shortest
    time scale, 1/L without a momentum, else 1/sqrt(L) and 1/D. Raises `Unreached` with the reason where none is certified there.
    """
    L = float(curvature.L)
    rate = L if scheme.dynamics is langevin else max(math.sqrt(L), float(parameters.get("D", 1)))
    step = _rounded(0.05 / rate) if start is None else start
    first = certified_contraction(scheme, step, parameters, curvature)
    # No scheme of the class contracts at steps beyond every time scale: 1/m, 1/sqrt(m) and that of the friction.
    top = 1e3 * max(1.0, 1 / float(curvature.m), float(parameters.get("D", 1)) / float(curvature.m))
    width = 0.25
    while width > fine and step < top:
        ends = Rounded(step, _rounded(float(step) * (1 + width)))
        if ends.high > step and contracts_between(scheme, ends, parameters, curvature):
            step, width = ends.high, min(1.5 * width, 1.0)
        else:
            width /= 2
    return first, certified_contraction(scheme, step, parameters, curvature)


def fastest_friction(
    scheme: Scheme, step: Fraction, parameters: Mapping[str, Fraction], curvature: CurvatureBounds
) -> tuple[Fraction, CertifiedContraction] | None:
    """The friction D between sqrt(m)/4 and 8 sqrt(L) that makes 1 - rho largest at this step, with its contraction."""
    ends = math.sqrt(float(curvature.m)) / 4, 8 * math.sqrt(float(curvature.L))
    return fastest(
        lambda friction: certified_contraction(scheme, step, {**parameters, "D": friction}, curvature), *ends
    )


def fastest(
    at: Callable[[Fraction], CertifiedContraction], lowest: float, highest: float
) -> tuple[Fraction, CertifiedContraction] | None:
    """The number with the smallest rate, on a grid and then by Brent's method; None where none that was tried contracts."""
    tried: dict[Fraction, CertifiedContraction] = {}

    def rate(number: float) -> float:
        try:
            contraction = at(_rounded(number))
        except Unreached:
            return 1.0
        return float(tried.setdefault(_rounded(number), contraction).rate)

    grid = [lowest * (highest / lowest) ** (k / (GRID - 1)) for k in range(GRID)]
    rates = [rate(number) for number in grid]
    k = rates.index(min(rates))
    near = grid[max(k - 1, 0)], grid[min(k + 1, GRID - 1)]
    minimize_scalar(rate, bounds=near, method="bounded", options={"xatol": FINE * grid[k]})
    return min(tried.items(), key=lambda pair: pair[1].rate, default=None)


def _rounded(value: float) -> Fraction:
    """The number to four digits, as the decimal it prints as."""
    return exact(float(f"{value:.4g}"))
