"""The mean flow of several minibatches: the logarithm of a product of flows, one for each minibatch (chen2015 appendix J).

With X_l = L + dV_l and integrators of order two or more, the operator of m steps on test functions is that of the first
step first, E f(X_m) = P_1 ... P_m f(X_0):

    exp(h X_1) ... exp(h X_m) = exp(m h L + h sum_i dV_i + h^2 S_m + ...),
    S_m = 1/2 sum_(i < j) [X_i, X_j] = 1/2 sum_i (2i - m - 1) [L, dV_i] + 1/2 sum_(i < j) [dV_i, dV_j].

The paper writes the last step first; then every commutator of two changes its sign. What is left out is O(h^3) at a fixed m,
and O((m h)^3) uniformly in m: the commutators of three number about m^3, each with a weight of 1/3 at most. It is no less: where
one noise holds for the first half of the steps and the opposite one for the second, each half is one flow of the time T/2,
T = m h, and the third order is that of two flows, a multiple of T^3 that does not depend on m.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from sgverify.exact.entrywise import coordinates_of
from sgverify.exact.lie_polynomial import logarithm_of_flows
from sgverify.exact.series.carrier import SeriesInterpreter
from sgverify.exact.series.operators import Operator, compose, difference, generator_of, ring_of
from sgverify.exact.series.ring import Ring
from sgverify.schemes import Dynamics

MOST_BATCHES = 6
"""As many minibatches as the Lyndon basis is asked for; further ones are reached by induction."""

Commutators = dict[str, Fraction]


def weight(batches: int, number: int) -> int:
    """The weight 2i - m - 1 of [L, dV_i] in 2 S_m."""
    return 2 * number - batches - 1


def second_order(batches: int, *, commuting: bool, last_first: bool = False) -> Commutators:
    """S_m by Baker-Campbell-Hausdorff; without the [dV_i, dV_j] where the noises commute.

    last_first: for the product with the last step first, as the paper writes it.
    """
    numbers = range(1, batches + 1)
    flows = [{"L": 1, f"dV{i}": 1} for i in (reversed(numbers) if last_first else numbers)]
    found = logarithm_of_flows(flows, 2, ["L", *(f"dV{i}" for i in numbers)])[2]
    return {name: value for name, value in found.items() if not commuting or "L" in name}


def corrected(batches: int) -> Commutators:
    """1/2 sum_i (2i - m - 1) [L, dV_i], with the first step first."""
    return {f"[L,dV{i}]": Fraction(w, 2) for i in range(1, batches + 1) if (w := weight(batches, i))}


def printed(batches: int) -> Commutators:
    """m ([L, dV_1] + [L, dV_m]): the term of order h in equation (50) over the time m h, with the last step first."""
    return {"[L,dV1]": Fraction(batches), f"[L,dV{batches}]": Fraction(batches)}


def subtract(left: Commutators, right: Commutators) -> Commutators:
    """left - right, zeros left out."""
    names = dict.fromkeys((*left, *right))
    found = {name: left.get(name, Fraction(0)) - right.get(name, Fraction(0)) for name in names}
    return {name: value for name, value in found.items() if value}


@dataclass(frozen=True)
class FormulaComparison:
    """A formula for S_m against the logarithm, for 2 to 6 minibatches: `apart` is what the formula has too much."""

    truth: dict[int, Commutators]
    apart: dict[int, Commutators]
    commuting: bool


def compare(formula: Callable[[int], Commutators], dynamics: Dynamics, dim: int) -> FormulaComparison:
    """S_m of the formula minus that of the logarithm in the formula's order of steps, with the noises of the dynamics."""
    commuting = noises_commute(dynamics, dim)
    truth = {
        m: second_order(m, commuting=commuting, last_first=formula is printed)
        for m in range(2, MOST_BATCHES + 1)
    }
    apart = {m: subtract(formula(m), found) for m, found in truth.items()}
    return FormulaComparison(truth, {m: left for m, left in apart.items() if left}, commuting)


def text_of(commutators: Commutators) -> str:
    """1/2 [L,dV1] - 1/2 [L,dV2]; empty for nothing."""
    return " + ".join(f"{value} {name}" for name, value in commutators.items()).replace("+ -", "- ")


def induction_defect() -> dict[str, str]:
    """What is left of the induction from m to m + 1 minibatches, as polynomials in m and i; empty where it is complete.

    A further factor on the right adds 1/2 [m L + sum_i dV_i, L + dV_(m+1)] = m/2 [L, dV_(m+1)] - 1/2 sum_i [L, dV_i], so
    that the weights must obey w(m + 1, i) = w(m, i) - 1, w(m + 1, m + 1) = m and w(1, 1) = 0.
    """
    from sympy import expand, symbols

    m, i = symbols("m i")
    left = {
        "w(m+1, i) - w(m, i) + 1": expand(weight(m + 1, i) - weight(m, i) + 1),
        "w(m+1, m+1) - m": expand(weight(m + 1, m + 1) - m),
        "w(1, 1)": weight(1, 1),
    }
    return {name: str(value) for name, value in left.items() if value != 0}


def third_order_of_halves() -> Commutators:
    """The third order over T^3, for any even number of steps, of the noise V in the first half and -V in the second."""
    half = Fraction(1, 2)
    return logarithm_of_flows([{"L": half, "V": half}, {"L": half, "V": -half}], 3, ["L", "V"])[3]


def noise_moves_at_third_order(dynamics: Dynamics, dim: int) -> bool:
    """Whether [[L, dV], dV] is other than 0 for some smooth U and some minibatch."""
    ring = ring_of(dynamics, dim, depth=5, minibatches=2, cap=4)
    full, noise = generator_of(dynamics, ring), _noises(dynamics, ring, 1)[0]

    def bracket(left: Operator, right: Operator) -> Operator:
        return difference(compose(left, right, ring), compose(right, left, ring), ring)

    return bool(bracket(bracket(full, noise), noise))


def noises_commute(dynamics: Dynamics, dim: int) -> bool:
    """Whether [dV_1, dV_2] = 0, dV_l = L_l - L, for every smooth U and any two minibatches."""
    ring = ring_of(dynamics, dim, depth=4, minibatches=3, cap=3)
    first, second = _noises(dynamics, ring, 2)
    return not difference(compose(first, second, ring), compose(second, first, ring), ring)


def _noises(dynamics: Dynamics, ring: Ring, count: int) -> list[Operator]:
    """L_l - L of as many minibatches."""
    reading = SeriesInterpreter(ring)
    bound, state = reading.bind(dynamics), reading.state()
    full, *drifts = (bound.coefficients(state, grad=reading.gradient())[0] for _ in range(1 + count))
    return [_first_order([f - g for f, g in zip(drift, full, strict=True)], ring) for drift in drifts]


def _first_order(drift: list[Any], ring: Ring) -> Operator:
    """F . grad."""
    flat = coordinates_of(drift, ring.shapes, ring.dim)
    units = [tuple(int(j == k) for j in range(len(flat))) for k in range(len(flat))]
    return {unit: entry.coefficient(0) for unit, entry in zip(units, flat, strict=True)}
