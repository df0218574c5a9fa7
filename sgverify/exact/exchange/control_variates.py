"""Minibatch energies with a control variate, over all minibatches of three data, in exact numbers.

    L~(c) = L(B | theta) + c (L(B | control) - sum_i L(x_i | control)),

and the coefficient c* = -Cov(L(B | theta), L(B | control))/Var L(B | control) that leaves the least variance,
Var L~(c*) = (1 - rho^2) Var L(B | theta), rho the correlation of the two energies; Deng et al. 2021, equation (3) and below.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from sgverify.exact.exchange.acceptance import Quadratics, covariance_of, estimates
from sgverify.schemes.composites.exchange_rules import best_coefficient, reduced_energy

DATA = Quadratics(tuple(map(Fraction, (-1, 1, 4))), (Fraction(1), Fraction(2), Fraction(1, 2)))
"""Three data whose energies differ in place and in curvature."""

PLACES = tuple(Fraction(k, 2) for k in range(-3, 4))
"""The places at which theta and the control are put, all pairs of them."""

BATCH = 2


@dataclass(frozen=True)
class LeastVariance:
    """The pairs of places at which c* does not give the least variance, and the computed numbers."""

    defects: tuple[str, ...]
    certificate: dict[str, Any]


def minibatch_energies(theta: Fraction) -> list[Fraction]:
    """L(B | theta) for every minibatch B of `BATCH` of the data."""
    return estimates(DATA.energies(theta), BATCH)


def reduced_energies(
    here: Sequence[Fraction], there: Sequence[Fraction], control: Fraction, c: Fraction = Fraction(-1)
) -> list[Fraction]:
    """L~(c) for every minibatch, from the minibatch energies at theta (`here`) and at the control (`there`)."""
    total = sum(DATA.energies(control), Fraction(0))
    return [reduced_energy(a, b, total, coefficient=c) for a, b in zip(here, there, strict=True)]


def least_variance() -> LeastVariance:
    """Hold Var L~(c*) against (1 - rho^2) Var L(B | theta) and against Var L~(c* - 1) and Var L~(c* + 1).

    Var L~ is a parabola in c, so that the least of three equally spaced values about c* is at c*.
    """
    defects = []
    for here in PLACES:
        for there in PLACES:
            at_here, at_there = minibatch_energies(here), minibatch_energies(there)
            spread, cross = covariance_of(at_there, at_there), covariance_of(at_here, at_there)
            if not spread:
                continue
            best = best_coefficient(cross, spread)
            left, *others = (
                covariance_of(*[reduced_energies(at_here, at_there, there, c)] * 2)
                for c in (best, best - 1, best + 1)
            )
            if left != covariance_of(at_here, at_here) - cross**2 / spread or min(others) <= left:
                defects.append(f"theta = {here}, control {there}")
    return LeastVariance(
        tuple(defects),
        {
            "pairs (theta, control)": len(PLACES) ** 2,
            "data": str(DATA),
            "why": "Var L~ is quadratic in c",
        },
    )
