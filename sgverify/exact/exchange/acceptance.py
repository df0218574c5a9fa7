"""The probability of a swap with noisy energies, E min(1, S) for a normal log S, in balls; and energies of all minibatches.

For log S ~ N(m, v), E min(1, S) = Phi(m/sqrt v) + exp(m + v/2) Phi(-(m + v)/sqrt v). The rule itself is evaluated, not
restated: log S is affine in the energies, so that its values give its mean and its variance.

The energy of a minibatch B of n of N data is L(B | theta) = (N/n) sum_{i in B} l(x_i | theta). Enumerations run over all N^n
sequences of indices, or over all subsets, in exact numbers.
"""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from flint import arb
from scipy.special import log_ndtr, ndtr

from sgverify.exact.numbers.ball import number
from sgverify.schemes.composites import exchange_rules


@dataclass(frozen=True)
class Quadratics:
    """Data energies l_i(theta) = a_i (theta - x_i)^2/2 on the line, exactly."""

    centres: tuple[Fraction, ...]
    curvatures: tuple[Fraction, ...]

    def __str__(self) -> str:
        x, a = (", ".join(map(str, values)) for values in (self.centres, self.curvatures))
        return f"l_i = a_i (theta - x_i)^2/2, x = {x}, a = {a}"

    @property
    def size(self) -> int:
        """N."""
        return len(self.centres)

    def energies(self, theta: Fraction) -> list[Fraction]:
        """l_i(theta) for every datum."""
        return [a * (theta - x) ** 2 / 2 for a, x in zip(self.curvatures, self.centres, strict=True)]

    def gradients(self, theta: Fraction) -> list[Fraction]:
        """l_i'(theta) for every datum."""
        return [a * (theta - x) for a, x in zip(self.curvatures, self.centres, strict=True)]


def minibatches(size: int, batch: int, *, replacement: bool = True) -> Iterator[tuple[int, ...]]:
    """Every sequence of `batch` indices, or every subset: equally likely ones."""
    if replacement:
        return itertools.product(range(size), repeat=batch)
    return itertools.combinations(range(size), batch)


def estimates(values: Sequence[Fraction], batch: int, *, replacement: bool = True) -> list[Fraction]:
    """(N/n) sum_{i in B} values_i for every minibatch, in the order of `minibatches`."""
    scale = Fraction(len(values), batch)
    return [
        scale * sum((values[i] for i in chosen), Fraction(0))
        for chosen in minibatches(len(values), batch, replacement=replacement)
    ]


def mean_of(values: Sequence[Fraction]) -> Fraction:
    """The mean of equally likely values."""
    return sum(values, Fraction(0)) / len(values)


def covariance_of(left: Sequence[Fraction], right: Sequence[Fraction]) -> Fraction:
    """The covariance of equally likely pairs of values."""
    pairs = [a * b for a, b in zip(left, right, strict=True)]
    return mean_of(pairs) - mean_of(left) * mean_of(right)


Rule = Callable[..., Any]
"""(energy_1, energy_2, *, tau_1, tau_2, variance, F) -> log S."""

Linear = tuple[Fraction, Fraction]
"""Coefficients of u and of s^2."""

TAUS = {"tau_1": Fraction(1, 3), "tau_2": Fraction(1)}
"""The temperatures at which the rule is evaluated; only their inverse gap enters."""

GAP = 1 / TAUS["tau_1"] - 1 / TAUS["tau_2"]
"""The inverse gap, not 1, so that a wrong power of it shows. log S without noise is u = GAP (L1 - L2), with noise variance
GAP^2 Var(L1 - L2)."""


def normal_cdf(x: arb) -> arb:
    """Phi(x)."""
    return (-x / arb(2).sqrt()).erfc() / 2


def expected_minimum(mean: arb, variance: arb) -> arb:
    """E min(1, exp(X)) for X ~ N(mean, variance); min(1, exp(mean)) where the variance is 0."""
    if variance == 0:
        return arb.min(arb(1), mean.exp())
    deviation = variance.sqrt()
    return normal_cdf(mean / deviation) + (mean + variance / 2).exp() * (
        normal_cdf(-(mean + variance) / deviation)
    )


def mean_chance(mean: np.ndarray, variance: float) -> np.ndarray:
    """`expected_minimum` in float64, entry by entry, at a positive variance."""
    deviation = np.sqrt(variance)
    above = mean + variance / 2 + log_ndtr(-(mean + variance) / deviation)
    return np.asarray(ndtr(mean / deviation) + np.exp(above))


def swap_chance(
    u: Any,
    variance: Any,
    *,
    F: Any,
    rule: Rule | None = None,
    tau_1: Any = TAUS["tau_1"],
    tau_2: Any = TAUS["tau_2"],
) -> arb:
    """E min(1, S) where log S without noise is u, and has normal noise of this variance, at these temperatures."""
    rule = rule or exchange_rules.log_swap_rate
    given = {"tau_1": number(tau_1), "tau_2": number(tau_2), "F": number(F)}
    # The gap is not taken from the rule, whose use of the temperatures is under examination.
    gap = 1 / given["tau_1"] - 1 / given["tau_2"]
    energy, spread = number(u) / gap, number(variance) / gap**2
    mean = rule(energy, arb(0), variance=spread, **given)
    slope = rule(energy + 1, arb(0), variance=spread, **given) - mean
    return expected_minimum(mean, slope * slope * spread)


def imbalance(u: Any, variance: Any, *, F: Any, rule: Rule | None = None) -> arb:
    """log(chance(u)/chance(-u)) - u: the flow between two states over its reverse under the joint Gibbs law; 0 in balance."""
    there, back = swap_chance(u, variance, F=F, rule=rule), swap_chance(-number(u), variance, F=F, rule=rule)
    return (there / back).log() - number(u)


def unbalanced_terms(F: Fraction, rule: Rule | None = None) -> dict[tuple[Linear, Linear], int]:
    """The terms of chance(u) - exp(u) chance(-u) = sum c exp(a) Phi(b/s), by (a, b); {} proves balance for all u and s.

    a and b are linear in u and s^2 with exact coefficients. Terms of different (a, b) are linearly independent.
    """
    rule = rule or exchange_rules.log_swap_rate
    left = Counter(_terms(Fraction(1), F, rule))
    for (weight, argument), count in Counter(_terms(Fraction(-1), F, rule)).items():
        left[((weight[0] + 1, weight[1]), argument)] -= count
    return {term: count for term, count in left.items() if count}


def _terms(sign: Fraction, F: Fraction, rule: Rule) -> list[tuple[Linear, Linear]]:
    """exp(a) Phi(b/s) for the two summands of the chance at sign * u."""

    def mean(u: Fraction, variance: Fraction) -> Fraction:
        value: Fraction = rule(u / GAP, Fraction(0), **TAUS, variance=variance / GAP**2, F=F)
        return value

    of_u, of_variance = sign * mean(Fraction(1), Fraction(0)), mean(Fraction(0), Fraction(1))
    noise = mean(Fraction(1), Fraction(0)) ** 2
    zero = Fraction(0)
    return [
        ((zero, zero), (of_u, of_variance)),
        ((of_u, of_variance + noise / 2), (-of_u, -of_variance - noise)),
    ]
