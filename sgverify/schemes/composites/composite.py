"""Composites, a scheme and a rule around its steps, with the rules of replica exchange and of adaptive weights.

Adaptive weights bend the gradient by how often energies are met, and draws are weighed in return. The energies are cut into
regions 1, ..., m; each has a weight theta(i). `here` is theta(J), the weight of the region J of the state, and `below` is
theta((J - 1) v 1). The rules of replica exchange are those with noisy energies of Deng et al. 2021.

Each rule is written once, elementwise in `+ - * /`, powers and `sqrt`: fractions, floats, arrays, tensors, balls and the
chains of a run all go through it.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, fields, replace
from fractions import Fraction
from typing import Any, ClassVar, Self

from sgverify.errors import DefinitionError
from sgverify.schemes.catalogue import shipped_scheme
from sgverify.schemes.definition.mathematics import exp, log, sqrt
from sgverify.schemes.scheme import Scheme


@dataclass(frozen=True)
class Composite:
    """A scheme under a rule that is no function of one step: an acceptance, a swap, weights that adapt.

    The rule itself is a pure function in the arithmetic of the definitions, beside the subclass; the sampler, the exact
    checks and the printed formula read that one. `kind` names the family, `reference` how a command line names it.
    """

    name: str
    scheme: Scheme
    summary: str = ""
    source: str = ""
    reference: str = ""

    kind: ClassVar[str] = "none"

    def __post_init__(self) -> None:
        """Raise `DefinitionError` unless `scheme` is a `Scheme`."""
        if not isinstance(self.scheme, Scheme):
            raise DefinitionError(
                f"{type(self).__name__}({self.name!r}, scheme={self.scheme!r}): expected a Scheme, made under "
                "@scheme(dynamics) or by a word; torch code has no definition to run replicas of"
            )

    @property
    def rule(self) -> str:
        """The kind and its settings, by which two composites of one scheme differ."""
        common = {item.name for item in fields(Composite)}
        chosen = [
            f"{item.name}={getattr(self, item.name)!r}" for item in fields(self) if item.name not in common
        ]
        return ", ".join([self.kind, *chosen])

    def named(self, name: str, **changes: Any) -> Self:
        """The same composite under another name (and summary, source, reference)."""
        return replace(self, name=name, **changes)


# Replica exchange: the rules by which neighbours on a ladder of temperatures swap their states.
#
# Replica k runs the scheme at T_k, T_1 < T_2 < ...; the joint law is prod_k exp(-U(theta_k)/T_k) times each momentum's. A
# swap of theta between neighbours is accepted with the chance min(1, S), so that exact energies leave the joint law exactly
# invariant. The rules follow below.
#
# A momentum ~ N(0, T I) goes with theta as p sqrt(T_new/T_old), which takes one normal law to the other (Jacobian 1 for the
# pair), or stays with its replica; in both cases S contains no kinetic energy. A momentum that moved unscaled would need
# the difference of H in S in place of the difference of U. A thermostat's friction, whose law depends on T alone, stays with
# its replica. Memory goes with theta.
#
# Source: Deng, Feng, Karagiannis, Lin, Liang 2021, Algorithms 1 and 2; Swendsen and Wang 1986.


@dataclass(frozen=True)
class ReplicaExchange(Composite):
    """Replicas of a scheme at several temperatures, whose neighbours swap.

    `reduced`: energies have the control variate of Algorithm 1, refreshed every m steps; `adaptive`: its coefficient is
    learnt (Algorithm 2) in place of -1.
    """

    reduced: bool = False
    adaptive: bool = False

    kind: ClassVar[str] = "replica-exchange"


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
    else powers of their cumulated masses (AWSGLD; Deng, Lin, Liang 2022), which deepens low ones.
    Averages are sum_k theta_k^zeta(J_k) f(x_k) / sum_k theta_k^zeta(J_k).
    """

    contour: bool = False

    kind: ClassVar[str] = "adaptively-weighted"


def inverse_gap(tau_1: Any, tau_2: Any) -> Any:
    """1/tau1 - 1/tau2, what energies are multiplied by in every swap; positive where the first replica is the colder."""
    return 1 / tau_1 - 1 / tau_2


def log_swap_rate(energy_1: Any, energy_2: Any, *, tau_1: Any, tau_2: Any, variance: Any, F: Any) -> Any:
    """log S = g (L1 - L2 - g variance/F), g = 1/tau1 - 1/tau2; Deng et al. 2021, equations (6) and (16).

    `energy_1`, `energy_2` are (noisy) energies of the colder and the warmer replica, `variance` that of the noise of their
    *difference*, F the correction factor. The replicas swap where log u < log S, u uniform on [0, 1]: with chance min(1, S).
    """
    gap = inverse_gap(tau_1, tau_2)
    return gap * (energy_1 - energy_2 - gap * variance / F)


def reduced_energy(here: Any, there: Any, total: Any, *, coefficient: Any = -1) -> Any:
    """L~ = L(B | theta) + c (L(B | control) - sum_i L(x_i | control)); Deng et al. 2021, equations (3) and (5).

    `here` and `there` are the energies of one minibatch at theta and at the control, `total` the full energy at the control.
    """
    return here + coefficient * (there - total)


def best_coefficient(covariance: Any, variance: Any) -> Any:
    """c* = -Cov(L(B | theta), L(B | control))/Var L(B | control), which reduces the variance by 1 - rho^2; below equation (3)."""
    return -covariance / variance


def smoothed(before: Any, measured: Any, *, gamma: Any) -> Any:
    """(1 - gamma) before + gamma measured, how variance and coefficient are learnt; Deng et al. 2021, Algorithms 1 and 2."""
    return (1 - gamma) * before + gamma * measured


def rescaled(p: Any, *, old: Any, new: Any) -> Any:
    """The momentum of a state that moves from temperature `old` to `new`: p sqrt(new/old) is N(0, T I) at both."""
    return p * sqrt(new / old)


_SOURCE = "Deng, Feng, Karagiannis, Lin, Liang 2021"


def _exchanges(ending: str, name: str) -> tuple[ReplicaExchange, ...]:
    """Swaps by plain energies, by variance-reduced ones, and by those with a coefficient that is learnt."""
    scheme = shipped_scheme(name)
    return (
        ReplicaExchange(
            f"resg{ending}",
            scheme,
            f"Replicas of {name} at several temperatures that swap states.",
            f"{_SOURCE}, section 2",
        ),
        ReplicaExchange(
            f"vr-resg{ending}",
            scheme,
            f"Replicas of {name} that swap by variance-reduced energies.",
            f"{_SOURCE}, Algorithm 1",
            reduced=True,
        ),
        ReplicaExchange(
            f"avr-resg{ending}",
            scheme,
            f"Replicas of {name} that swap by variance-reduced energies of a learnt coefficient.",
            f"{_SOURCE}, Algorithm 2",
            reduced=True,
            adaptive=True,
        ),
    )


def _weighted(ending: str, name: str) -> tuple[AdaptivelyWeighted, ...]:
    """Weights by cumulated masses of energy regions, and by the masses themselves."""
    scheme = shipped_scheme(name)
    return (
        AdaptivelyWeighted(
            f"awsg{ending}",
            scheme,
            f"{name} on gradients bent by weights that adapt: low energies are deepened.",
            "Deng, Lin, Liang 2022, (18), (19)",
        ),
        AdaptivelyWeighted(
            f"csg{ending}",
            scheme,
            f"{name} on gradients bent by weights that adapt: energies are flattened.",
            "Deng, Lin, Liang 2020, Algorithm 1",
            contour=True,
        ),
    )


COMPOSITES: dict[str, Composite] = {
    composite.name: composite
    for composite in (
        *_exchanges("ld", "sgld-euler"),
        *_exchanges("hmc", "sghmc-euler"),
        *_weighted("ld", "sgld-euler"),
        *_weighted("hmc", "sghmc-euler"),
    )
}
