"""The mixture of two Gaussians whose means are tied: a posterior of two equal modes, far apart."""

from __future__ import annotations

from typing import Any

import numpy as np

from sgverify.schemes.definition.mathematics import dot, softplus
from sgverify.targets.data import check_amount, frozen
from sgverify.targets.kind import NUMBER, POSITIVE, DataLayout, TargetKind
from sgverify.targets.potential import PairPotential, Potential, Vector, coordinate, number

SIZE = 100_000


def potential(*, phi: Vector, sigma: Vector) -> tuple[Potential, PairPotential]:
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
    potential=potential,
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
