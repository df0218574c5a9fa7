"""A quartic potential: tails that are lighter than a Gaussian's, and gradients that no step size tames everywhere."""

from __future__ import annotations

from typing import Any

from sgverify.schemes.definition.mathematics import dot
from sgverify.targets.kind import POSITIVE, VECTOR, TargetKind
from sgverify.targets.potential import Potential, Vector, constant, coordinate, number


def potential(*, strength: Vector, tilt: Vector) -> tuple[Potential, None]:
    """U = strength (theta_0^4 + ... + theta_{d-1}^4)/4 + tilt . theta.

    At tilt = 0 the even moments are E theta_i^(2k) = (4T/strength)^(k/2) Gamma((2k + 1)/4) / Gamma(1/4).
    """
    dim = len(tilt.entries)

    def prior(theta: Any) -> Any:
        total = coordinate(theta, 0) ** 4
        for place in range(1, dim):
            total = total + coordinate(theta, place) ** 4
        return number(theta, strength) * total / 4 + dot(theta, constant(theta, tilt))

    return prior, None


QUARTIC = TargetKind(
    name="quartic",
    summary="U = strength (theta_0^4 + theta_1^4 + ...)/4 + tilt . theta, without data",
    source="Roberts and Tweedie 1996 (drifts for which explicit Euler steps are transient)",
    constants={"strength": (POSITIVE, 1), "tilt": (VECTOR, 0.5)},
    potential=potential,
)
