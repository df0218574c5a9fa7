"""Potentials of one well or several, and mixtures of Gaussians."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np

from sgverify.errors import ConfigurationError
from sgverify.schemes.definition.mathematics import dot, log, softplus
from sgverify.targets.data import check_amount, frozen
from sgverify.targets.kind import (
    NUMBER,
    POINTS,
    POSITIVE,
    POSITIVE_LIST,
    POSITIVES,
    VECTOR,
    DataLayout,
    TargetKind,
)
from sgverify.targets.potential import (
    Matrix,
    PairPotential,
    Potential,
    Vector,
    centred_quadratic,
    constant,
    coordinate,
    number,
)

# A double well in the first coordinate: two modes of unequal depth, Gaussian in the other coordinates.


def double_well_potential(
    *, height: Vector, width: Vector, tilt: Vector, precision: Vector
) -> tuple[Potential, None]:
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
    potential=double_well_potential,
    smooth=True,
)


# A quartic potential: tails that are lighter than a Gaussian's, and gradients that no step size tames everywhere.


def quartic_potential(*, strength: Vector, tilt: Vector) -> tuple[Potential, None]:
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
    potential=quartic_potential,
    smooth=True,
)


# A mixture of spherical Gaussians.


def mixture_potential(
    *, weights: Vector, means: tuple[Vector, ...], scales: Vector
) -> tuple[Potential, None]:
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
    potential=mixture_potential,
    smooth=True,
    components=components,
)


SIZE = 100_000


# The mixture of two Gaussians whose means are tied: a posterior of two equal modes, far apart.


def tied_means_potential(*, phi: Vector, sigma: Vector) -> tuple[Potential, PairPotential]:
    """x_i ~ N(beta, sigma^2)/2 + N(phi - beta, sigma^2)/2 and a flat prior of theta = beta, constants left out.

    With a = (x - beta)^2/(2 sigma^2) and b = (x - phi + beta)^2/(2 sigma^2), -log p(x | beta) = -log(e^-a + e^-b) =
    a - softplus(a - b), so that neither component overflows. The posterior is symmetric around phi/2; one datum makes
    it proper. Deng et al. 2021 (vr-resgld), section 5.1 and appendix G; tied means as in Welling and Teh 2011, section 5.1.
    """

    def prior(theta: Any) -> Any:
        return 0 * dot(theta, theta)

    def likelihood(theta: Any, x: Any) -> Any:
        beta, datum = coordinate(theta, 0), coordinate(x, 0)
        twice = 2 * number(theta, sigma) * number(theta, sigma)
        first, second = datum - beta, datum - number(theta, phi) + beta
        near, far = first * first / twice, second * second / twice
        return near - softplus(near - far)

    return prior, likelihood


def draw(size: int, dim: int, seed: int, *, beta: float, phi: float, sigma: float) -> np.ndarray:
    """A fair coin and a normal number for each datum: beta or phi - beta, plus sigma z. Shape (N, 1).

    The stream is `numpy.random.default_rng(seed).standard_normal`, two numbers a datum, the sign of the first is the
    coin: the first data of a longer set are those of a shorter one.
    """
    check_amount(size, 2)
    rows = np.random.default_rng(seed).standard_normal((size, 2))
    means = np.where(rows[:, 0] < 0, beta, phi - beta)
    return frozen((means + sigma * rows[:, 1])[:, None])


def peaks(data: np.ndarray, *, phi: Vector, sigma: Vector) -> tuple[float, ...]:
    """phi/2 -+ r with r^2 + sigma^2 the mean square of x - phi/2, as E (x - phi/2)^2 = (beta - phi/2)^2 + sigma^2."""
    middle = float(phi.entries[0]) / 2
    square = float(((data - middle) ** 2).mean()) - float(sigma.entries[0]) ** 2
    return (middle - square**0.5, middle + square**0.5) if square > 0 else (middle,)


TIED_MEANS = TargetKind(
    name="tied-means-mixture",
    summary="x_i ~ N(theta, sigma^2)/2 + N(phi - theta, sigma^2)/2, flat prior; data drawn at theta = beta; two equal modes",
    source="Deng et al. 2021, section 5.1",
    constants={"phi": (NUMBER, 20), "sigma": (POSITIVE, 5)},
    potential=tied_means_potential,
    smooth=True,
    dims=(1,),
    peaks=peaks,
    data=DataLayout(
        draw,
        size=SIZE,
        degree=None,
        truth={"beta": (NUMBER, -5)},
        shared=("phi", "sigma"),
        condensable=True,
    ),
)
