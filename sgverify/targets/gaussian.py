"""A bare quadratic potential, without data."""

from __future__ import annotations

from typing import Any

from sgverify.schemes.mathematics import dot
from sgverify.targets.kind import MATRIX, VECTOR, TargetKind
from sgverify.targets.potential import Matrix, Potential, Vector, constant, linear


def potential(*, precision: Matrix, mean: Vector) -> tuple[Potential, None]:
    """U(theta) = (theta - mean) . precision (theta - mean) / 2, the potential of N(mean, T precision^-1)."""

    def prior(theta: Any) -> Any:
        offset = theta - constant(theta, mean)
        return dot(offset, linear(precision, offset)) / 2

    return prior, None


GAUSSIAN = TargetKind(
    name="gaussian",
    summary="a bare quadratic potential U = (theta - mean) . precision (theta - mean) / 2, without data",
    source="design: theory.md, exact results 1 and 3",
    constants={"precision": (MATRIX, 1), "mean": (VECTOR, 0)},
    potential=potential,
    has_data=False,
)
