"""Truths whose rate is known: sums of powers that add up to 1 at the first point.

Laws of single chains: mean 0, variance 1, as a sampler's averages have them at best and at worst.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np

from reports.making.calibration.document import Truth as Kind
from sgverify.rates.decision import MARGIN
from sgverify.rates.sample import Floats

COUPLING = 0.99
"""Correlation of the errors at any two points, where chains are coupled."""

TAILS = 5
"""Degrees of freedom of the heavy-tailed law: its fourth moment is finite, its kurtosis 9."""


def _gaussian(rng: np.random.Generator, shape: tuple[int, ...]) -> Floats:
    return rng.standard_normal(shape)


def _skewed(rng: np.random.Generator, shape: tuple[int, ...]) -> Floats:
    return rng.standard_exponential(shape) - 1


def _heavy(rng: np.random.Generator, shape: tuple[int, ...]) -> Floats:
    return rng.standard_t(TAILS, shape) * ((TAILS - 2) / TAILS) ** 0.5


ERRORS: Mapping[str, Callable[[np.random.Generator, tuple[int, ...]], Floats]] = {
    "Gaussian": _gaussian,
    "skewed": _skewed,
    "heavy-tailed": _heavy,
}
"""Normal; exponential, of skewness 2; Student's with `TAILS` degrees of freedom."""


def draw_chains(rng: np.random.Generator, errors: str, points: int, chains: int, coupled: bool) -> Floats:
    """Errors of single chains in units of their standard deviation, shape (points, chains)."""
    law = ERRORS[errors]
    own = law(rng, (points, chains))
    if coupled:
        return COUPLING**0.5 * law(rng, (chains,)) + (1 - COUPLING) ** 0.5 * own
    return own


BESIDE = (0.05, 0.2)
SHARES = (0.05, MARGIN, 0.2, 0.5)
"""Parts of the error that the order below the claimed one carries, around the margin and on it."""


@dataclass(frozen=True)
class Truth:
    """b(x) = sum c x^e over `terms` (e, c), with x = 1 at the first point and falling: h / h_max, or L_min / L.

    `logs` (e, c) add terms c x^e (1 - log x). The coefficients add up to the error at the first point: 1, so that noise is
    relative to it, or 0 for no error.
    """

    name: str
    terms: tuple[tuple[float, float], ...]
    logs: tuple[tuple[float, float], ...] = ()

    def at(self, x: Floats) -> Floats:
        """The error at the points x, shape (J,)."""
        powers = sum((c * x**e for e, c in self.terms), 0 * x)
        return sum((c * x**e * (1 - np.log(x)) for e, c in self.logs), powers)

    @property
    def vanishes(self) -> bool:
        """Is the error identically 0?"""
        return not (self.terms or self.logs)

    def kind(self, slowest: float, margin: float = MARGIN) -> Kind:
        """The kind of the truth: does b = O(x^slowest) hold up to the margin, that is, is each slower term below the margin?

        A term that carries exactly the margin may be called either way, and one with a logarithm is slower than its power.
        """
        slower = [c for e, c in self.terms if e < slowest] + [c for e, c in self.logs if e <= slowest]
        carried = max((abs(c) for c in slower), default=0.0)
        if math.isclose(carried, margin):
            return "either"
        return "keeps" if carried < margin else "breaks"


def truths_of(order: int, *, few: bool = False) -> tuple[Truth, ...]:
    """The truths that a claimed order K is tried on: pure orders, sums from K on, a part of K - 1, a constant, zero.

    `few`: without the sums, and of the parts only those on either side of the margin.
    """
    K = float(order)
    pure = [Truth(f"order {j}", ((float(j), 1.0),)) for j in sorted({1, 2, 4, order})]
    higher = [
        Truth(f"orders {order} and {order + 2}", ((K, 0.6), (K + 2, 0.4))),
        Truth(f"orders {order}, {order + 1} and {order + 2}", ((K, 1.4), (K + 1, -0.7), (K + 2, 0.3))),
    ]
    below = f"order {order - 1}" if order > 1 else "a constant"
    mixed = [
        Truth(f"{share:.0%} of {below} in order {order}", ((K - 1, share), (K, 1 - share)))
        for share in (BESIDE if few else SHARES)
    ]
    if order > 2:
        # The leading terms of a symmetric scheme are even: a scheme that fails order 4 has order 2.
        mixed.append(Truth(f"20% of order {order - 2} in order {order}", ((K - 2, 0.2), (K, 0.8))))
    if order > 1:
        mixed.append(Truth(f"20% of a constant in order {order}", ((0.0, 0.2), (K, 0.8))))
    return (*pure, *(() if few else higher), *mixed, Truth("zero", ()))


def masked_truths(order: int, share: float) -> tuple[Truth, ...]:
    """A share of h^(K-1), none if 0, with so much of h^(K+2) that fits which hold less of it may miss the one or find another."""
    below = f"order {order - 1}" if order > 1 else "a constant"
    part = f"{share:.0%} of {below} behind " if share else ""
    return tuple(
        Truth(
            f"{part}{mask:.0%} of order {order + 2}" + ("" if share else f" in order {order}"),
            tuple(
                (float(j), c)
                for j, c in ((order - 1, share), (order, 1 - share - mask), (order + 2, mask))
                if c
            ),
        )
        for mask in ((-1.0, -2.0) if share else (-1.0, 2.0))
    )


def other_truths(order: int) -> tuple[Truth, ...]:
    """Rates that the terms of no fit have: halves of an order, and logarithms."""
    K = float(order)
    return (
        Truth(f"order {K - 0.5:g}", ((K - 0.5, 1.0),)),
        Truth(f"order {K + 0.5:g}", ((K + 0.5, 1.0),)),
        Truth("h log h", (), ((1.0, 1.0),)),
        Truth("h^2 log h", (), ((2.0, 1.0),)),
    )
