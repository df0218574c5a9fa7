"""A mixture of spherical Gaussians."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

from sgverify.errors import ConfigurationError
from sgverify.schemes.definition.mathematics import dot, log, softplus
from sgverify.targets.kind import POINTS, POSITIVE_LIST, POSITIVES, TargetKind
from sgverify.targets.potential import (
    Matrix,
    Potential,
    Vector,
    centred_quadratic,
    constant,
    coordinate,
)


def potential(*, weights: Vector, means: tuple[Vector, ...], scales: Vector) -> tuple[Potential, None]:
    """U = -log sum_k w_k s_k^-d exp(-|theta - m_k|^2/(2 s_k^2)), the constant (2 pi)^(d/2) left out.

    Summed as log(e^a + e^b) = a + softplus(b - a), so that no component overflows. One scale serves all.
    """
    count, dim = len(means), len(means[0].entries)
    _check_lengths(weights, means, scales)

    def component(theta: Any, k: int) -> Any:
        offset = theta - constant(theta, means[k])
        weight = coordinate(constant(theta, weights), k)
        scale = coordinate(constant(theta, scales), k if len(scales.entries) > 1 else 0)
        return log(weight) - dim * log(scale) - dot(offset, offset) / (2 * scale * scale)

    def prior(theta: Any) -> Any:
        total = component(theta, 0)
        for k in range(1, count):
            total = total + softplus(component(theta, k) - total)
        return -total

    return prior, None


def components(
    *, weights: Vector, means: tuple[Vector, ...], scales: Vector
) -> list[tuple[Fraction, Potential]]:
    """The share of each component, and the potential of its Gaussian."""
    spreads = scales.entries if len(scales.entries) > 1 else scales.entries * len(means)
    dim, total = len(means[0].entries), sum(weights.entries)
    return [
        (weight / total, centred_quadratic(Matrix.diagonal([1 / spread**2] * dim), mean))
        for weight, mean, spread in zip(weights.entries, means, spreads, strict=True)
    ]


def _check_lengths(weights: Vector, means: tuple[Vector, ...], scales: Vector) -> None:
    count = len(means)
    for key, vector, allowed in (("weights", weights, (count,)), ("scales", scales, (1, count))):
        if len(vector.entries) not in allowed:
            raise ConfigurationError(
                f"target.{key} has length {len(vector.entries)} and target.means has {count}; expected one for each component; "
                "give both lists the same length"
            )


MIXTURE = TargetKind(
    name="mixture",
    summary="a mixture of Gaussians N(means[k], scales[k]^2 I) with the shares weights[k]",
    source="McLachlan and Peel 2000, section 1.4",
    constants={
        "weights": (POSITIVE_LIST, (0.7, 0.3)),
        "means": (POINTS, (-1, 2)),
        "scales": (POSITIVES, (1, 0.6)),
    },
    potential=potential,
    components=components,
)
