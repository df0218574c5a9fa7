"""The rules of adaptively weighted samplers, element by element, in whatever arithmetic their values have.

The energies are cut into regions 1, ..., m; each has a weight theta(i). `here` is theta(J), the weight of the region J
of the state, and `below` is theta((J - 1) v 1). Fractions, floats, arrays and the chains of a run all go through.

Adaptively weighted composites: the gradient is bent by how often energies are met, and draws are weighed in return.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar

from sgverify.schemes.composites.composite import Composite
from sgverify.schemes.definition.mathematics import exp, log

SOURCE = "Deng, Lin, Liang 2022 (awsgld), equations (18), (19) and (23)"


def region_of(energy: Any, inner: Iterable[Any]) -> Any:
    """J = i where u_(i-1) < U <= u_i, with `inner` = u_1, ..., u_(m-1); both ends are open, u_0 = -inf and u_m = inf."""
    region = 1
    for edge in inner:
        region = region + 1 * (energy > edge)
    return region


def region_below(region: Any) -> Any:
    """(J - 1) v 1."""
    return region - 1 * (region > 1)


def reached(i: Any, region: Any) -> Any:
    """1{i >= J}, AWSGLD's indicator: theta becomes a cumulated mass (awsgld (18))."""
    return 1 * (i >= region)


def visited(i: Any, region: Any) -> Any:
    """1{i = J}, CSGLD's indicator: theta becomes the mass of each region (Deng, Lin, Liang 2020, algorithm 1)."""
    return 1 * (i == region)


def multiplier(here: Any, below: Any, *, zeta: Any, tau: Any, width: Any) -> Any:
    """1 + zeta tau/du (log theta(J) - log theta((J-1) v 1)): what the gradient of U is multiplied by (awsgld (19)).

    The factor N/n that (19) has in front is left out: the gradient estimate contains it. `width` is that of the region,
    infinite for an energy above u_m: the multiplier is 1 there, so that the plain scheme brings the chain back.
    """
    return 1 + zeta * tau / width * (log(here) - log(below))


def random_field(pull: Any, indicator: Any, weight: Any) -> Any:
    """H_i = pull (indicator - theta(i)): pull = theta(J) for AWSGLD (awsgld (18)), theta(J)^zeta for CSGLD."""
    return pull * (indicator - weight)


def adapted(weight: Any, omega: Any, field: Any) -> Any:
    """theta(i) + omega H_i."""
    return weight + omega * field


def omega_of(k: Any, *, scale: Any, alpha: Any, offset: Any) -> Any:
    """omega_k = A/(k^alpha + B), k = 1, 2, ..., with A = `scale` and B = `offset` (awsgld, below (31))."""
    return scale / (power(k, alpha) + offset)


def importance(here: Any, *, zeta: Any) -> Any:
    """theta(J)^zeta: how much a draw counts under exp(-U/tau) (awsgld, theorem 2)."""
    return power(here, zeta)


def log_importance(log_weight: Any, energy: Any, *, zeta: Any, tau: Any, temperature: Any) -> Any:
    """log of theta(J)^zeta exp(-U (1/T - 1/tau)): how much a draw counts under exp(-U/T), T = `temperature`.

    At T = 1 the second factor is pi^(1 - 1/tau). `log_weight` is log theta(J), or `log_psi` for the smooth weights.
    """
    return zeta * log_weight - energy * (1 / temperature - 1 / tau)


def log_psi(here: Any, below: Any, *, energy: Any, lower: Any, width: Any) -> Any:
    """log Psi_theta(U) = log theta(J-1) + (log theta(J) - log theta(J-1)) (U - u_(J-1))/du, with theta(0) = theta(1).

    The multiplier is 1 + zeta tau times its derivative. Psi is theta(1) throughout the first region, and theta(m) above u_m,
    where `energy` is u_m: a derivative that went on there could exceed that of U, and no law would be invariant.
    """
    return log(below) + (log(here) - log(below)) * ((energy - lower) / width)


def power(value: Any, exponent: Any) -> Any:
    """value^exponent; by products where the exponent is whole, so that exact numbers stay exact."""
    if exponent == int(exponent):
        return value ** int(exponent)
    if isinstance(exponent, Fraction):
        # Tensors and balls take whole numbers where they take no fractions.
        return exp(log(value) * exponent.numerator / exponent.denominator)
    return exp(exponent * log(value))


@dataclass(frozen=True)
class AdaptivelyWeighted(Composite):
    """A scheme on grad U times 1 + zeta tau/du (log theta(J) - log theta((J-1) v 1)), whose theta adapt as it goes.

    `contour`: theta estimates the masses of the energy regions (CSGLD; Deng, Lin, Liang 2020), which flattens the energies;
    else powers of their cumulated masses (AWSGLD; Deng, Lin, Liang 2022), which deepens low ones. `weighting` has the rules.
    Averages are sum_k theta_k^zeta(J_k) f(x_k) / sum_k theta_k^zeta(J_k).
    """

    contour: bool = False

    kind: ClassVar[str] = "adaptively-weighted"


__all__ = ["AdaptivelyWeighted"]
