"""A double well in the first coordinate: two modes of unequal depth, Gaussian in the other coordinates."""

from __future__ import annotations

from typing import Any

from sgverify.schemes.definition.mathematics import dot
from sgverify.targets.kind import NUMBER, POSITIVE, TargetKind
from sgverify.targets.potential import Potential, Vector, coordinate, number


def potential(*, height: Vector, width: Vector, tilt: Vector, precision: Vector) -> tuple[Potential, None]:
    """U = height ((theta_0/width)^2 - 1)^2 + tilt theta_0 + precision (theta_1^2 + ... + theta_{d-1}^2)/2.

    Without the tilt the wells are at -width and width, with a barrier of `height` between them; the tilt makes
    the wells differ.
    """

    def prior(theta: Any) -> Any:
        first = coordinate(theta, 0)
        scaled = first / number(theta, width)
        well = scaled * scaled - 1
        square = dot(theta, theta) - first * first
        return (
            number(theta, height) * well * well
            + number(theta, tilt) * first
            + number(theta, precision) * square / 2
        )

    return prior, None


DOUBLE_WELL = TargetKind(
    name="double-well",
    summary="U = height ((theta_0/width)^2 - 1)^2 + tilt theta_0 + precision (theta_1^2 + ...)/2: two unequal modes",
    source="Kramers 1940 (escape over a barrier)",
    constants={
        "height": (POSITIVE, 1),
        "width": (POSITIVE, 1),
        "tilt": (NUMBER, 0.25),
        "precision": (POSITIVE, 1),
    },
    potential=potential,
)
