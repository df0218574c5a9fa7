"""The largest step size with a certificate, and the friction at which two copies approach each other fastest.

A certificate speaks of one step size. The search goes upward in equal ratios until none is found and then bisects, so that it ends
at a step below which every one that was tried has its certificate.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction

from sgverify.errors import Unreached
from sgverify.exact.certificates.contraction import (
    CertifiedContraction,
    CurvatureBounds,
    certified_contraction,
)
from sgverify.schemes import Scheme

RATIO = 1.25
FINE = 1e-3
"""Neighbouring step sizes upward, and the share of the largest step up to which it is bisected."""

FRICTIONS = 13
GOLDEN = (math.sqrt(5) - 1) / 2
SECTIONS = 12


@dataclass(frozen=True)
class LargestStep:
    """The contraction at the largest step size found, at the first one, and where 1 - rho is largest.

    `smaller` counts the smaller step sizes that were tried, each of which contracts too.
    """

    contraction: CertifiedContraction
    first: CertifiedContraction
    fastest: CertifiedContraction
    smaller: int


def largest_step(
    scheme: Scheme,
    parameters: Mapping[str, Fraction],
    curvature: CurvatureBounds,
    *,
    start: Fraction | None = None,
    fine: float = FINE,
) -> LargestStep:
    """The largest step h found with a certificate, to a relative accuracy of `fine`.

    Sought upward from `start`, by default 1e-3 / max(L, sqrt(L)). Raises `Unreached` with the reason where there is none there.
    """
    L = float(curvature.L)
    lowest = decimal(1e-3 / max(L, math.sqrt(L))) if start is None else start
    best = certified_contraction(scheme, lowest, parameters, curvature)
    step, tried = float(lowest), [best]

    def at(step: float) -> CertifiedContraction | None:
        try:
            found = certified_contraction(scheme, decimal(step), parameters, curvature)
        except Unreached:
            return None
        tried.append(found)
        return found

    # No scheme of the class contracts at steps beyond every time scale: 1/m, 1/sqrt(m) and that of the friction.
    top = 1e3 * max(1.0, 1 / float(curvature.m), float(parameters.get("D", 1)) / float(curvature.m))
    while step * RATIO < top and (found := at(step * RATIO)) is not None:
        step, best = step * RATIO, found
    above = step * RATIO
    while above - step > fine * step:
        middle = (step + above) / 2
        found = at(middle)
        if found is None:
            above = middle
        else:
            step, best = middle, found
    return LargestStep(best, tried[0], min(tried, key=lambda one: one.rate), len(tried) - 1)


def fastest_friction(
    scheme: Scheme, step: Fraction, parameters: Mapping[str, Fraction], curvature: CurvatureBounds
) -> tuple[Fraction, CertifiedContraction] | None:
    """The friction D that makes 1 - rho largest at this step, with its contraction; None where no friction contracts.

    Sought between sqrt(m)/4 and 8 sqrt(L), then by golden sections.
    """
    lowest, highest = math.sqrt(float(curvature.m)) / 4, 8 * math.sqrt(float(curvature.L))

    def at(friction: float) -> tuple[float, tuple[Fraction, CertifiedContraction] | None]:
        tried = decimal(friction)
        try:
            found = certified_contraction(scheme, step, {**parameters, "D": tried}, curvature)
        except Unreached:
            return 0.0, None
        return float(1 - found.rate), (tried, found)

    grid = [lowest * (highest / lowest) ** (k / (FRICTIONS - 1)) for k in range(FRICTIONS)]
    found = [at(friction) for friction in grid]
    k = max(range(FRICTIONS), key=lambda i: found[i][0])
    best = found[k]
    a, b = grid[max(k - 1, 0)], grid[min(k + 1, FRICTIONS - 1)]
    for _ in range(SECTIONS):
        left, right = b - GOLDEN * (b - a), a + GOLDEN * (b - a)
        one, other = at(left), at(right)
        best = max(best, one, other, key=lambda pair: pair[0])
        a, b = (a, right) if one[0] >= other[0] else (left, b)
    return best[1]


def decimal(value: float) -> Fraction:
    """The number rounded down to four digits, as the decimal it prints as."""
    exponent = math.floor(math.log10(value)) - 3
    return Fraction(math.floor(value / 10.0**exponent)) * Fraction(10) ** exponent
