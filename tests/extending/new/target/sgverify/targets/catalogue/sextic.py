"""A sextic potential: tails lighter still than those of a quartic."""

from __future__ import annotations

from typing import Any

from sgverify.targets.kind import POSITIVE, TargetKind
from sgverify.targets.potential import Potential, Vector, coordinate, number


def potential(*, strength: Vector) -> tuple[Potential, None]:
    """U = strength theta_0^6/6, in dimension 1.

    E theta_0^2 = (6T/strength)^(1/3) Gamma(1/2) / Gamma(1/6).
    """

    def prior(theta: Any) -> Any:
        return number(theta, strength) * coordinate(theta, 0) ** 6 / 6

    return prior, None


SEXTIC = TargetKind(
    name="sextic",
    summary="U = strength theta_0^6/6 in dimension 1, without data",
    source="an example",
    constants={"strength": (POSITIVE, 1)},
    potential=potential,
    dims=(1,),
)
