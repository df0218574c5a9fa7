"""A bare quadratic potential, without data."""

from __future__ import annotations

from sgverify.targets.kind import MATRIX, VECTOR, TargetKind
from sgverify.targets.potential import Matrix, Potential, Vector, centred_quadratic


def potential(*, precision: Matrix, mean: Vector) -> tuple[Potential, None]:
    """U(theta) = (theta - mean) . precision (theta - mean) / 2, the potential of N(mean, T precision^-1)."""
    return centred_quadratic(precision, mean), None


GAUSSIAN = TargetKind(
    name="gaussian",
    summary="a bare quadratic potential U = (theta - mean) . precision (theta - mean) / 2, without data",
    source="design: theory.md, exact results 1 and 3",
    constants={"precision": (MATRIX, 1), "mean": (VECTOR, 0)},
    potential=potential,
    quadratic=True,
)
