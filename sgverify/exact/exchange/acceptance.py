"""The probability of a swap with noisy energies, E min(1, S) for a normal log S, in balls; and energies of all minibatches.

For log S ~ N(m, v), E min(1, S) = Phi(m/sqrt v) + exp(m + v/2) Phi(-(m + v)/sqrt v). The rule itself is evaluated, not
restated: log S is affine in the energies, so that its values give its mean and its variance.

The energy of a minibatch B of n of N data is L(B | theta) = (N/n) sum_{i in B} l(x_i | theta). Enumerations run over all N^n
sequences of indices, or over all subsets, in exact numbers.

Minibatch energies with a control variate, over all minibatches of three data, in exact numbers.

    L~(c) = L(B | theta) + c (L(B | control) - sum_i L(x_i | control)),

and the coefficient c* = -Cov(L(B | theta), L(B | control))/Var L(B | control) that leaves the least variance,
Var L~(c*) = (1 - rho^2) Var L(B | theta), rho the correlation of the two energies; Deng et al. 2021, equation (3) and below.

The variance of variance-reduced energies along the exact law of a chain whose data share one Hessian.

There the energy of a minibatch at theta, less its mean over minibatches, is q + g . (theta - mu) with (q, g) independent of
theta: g is the noise of the gradient estimate, of covariance V. Energies at two places of the chain are therefore combinations
of q, g . theta and g . control; the rule that combines energies is evaluated on the coefficients, and gives

    Var L~ = (share of q)^2 Var q + ... + tr(V E[v v^T]),    v = a (theta_k - mu) + b (theta_control - mu),

with E[v v^T] from the exact first two moments of the chain. With c = -1 the share of q is 0 and v = theta_k - theta_control.
"""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from flint import arb, arb_mat
from scipy.special import log_ndtr, ndtr

from sgverify.exact.chain.chain import AffineChain
from sgverify.exact.numbers.ball import identity, number
from sgverify.schemes.composites import composite as exchange_rules
from sgverify.schemes.composites.composite import best_coefficient, reduced_energy


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
    tau_1: Any = TAUS["tau_1"],
    tau_2: Any = TAUS["tau_2"],
) -> arb:
    """E min(1, S) where log S without noise is u, and has normal noise of this variance, at these temperatures."""
    rule = exchange_rules.log_swap_rate
    given = {"tau_1": number(tau_1), "tau_2": number(tau_2), "F": number(F)}
    # The gap is not taken from the rule, whose use of the temperatures is under examination.
    gap = 1 / given["tau_1"] - 1 / given["tau_2"]
    energy, spread = number(u) / gap, number(variance) / gap**2
    mean = rule(energy, arb(0), variance=spread, **given)
    slope = rule(energy + 1, arb(0), variance=spread, **given) - mean
    return expected_minimum(mean, slope * slope * spread)


def imbalance(u: Any, variance: Any, *, F: Any) -> arb:
    """log(chance(u)/chance(-u)) - u: the flow between two states over its reverse under the joint Gibbs law; 0 in balance."""
    there, back = swap_chance(u, variance, F=F), swap_chance(-number(u), variance, F=F)
    return (there / back).log() - number(u)


def unbalanced_terms(F: Fraction) -> dict[tuple[Linear, Linear], int]:
    """The terms of chance(u) - exp(u) chance(-u) = sum c exp(a) Phi(b/s), by (a, b); {} proves balance for all u and s.

    a and b are linear in u and s^2 with exact coefficients. Terms of different (a, b) are linearly independent.
    """
    left = Counter(_terms(Fraction(1), F))
    for (weight, argument), count in Counter(_terms(Fraction(-1), F)).items():
        left[((weight[0] + 1, weight[1]), argument)] -= count
    return {term: count for term, count in left.items() if count}


def _terms(sign: Fraction, F: Fraction) -> list[tuple[Linear, Linear]]:
    """exp(a) Phi(b/s) for the two summands of the chance at sign * u."""

    def mean(u: Fraction, variance: Fraction) -> Fraction:
        value: Fraction = exchange_rules.log_swap_rate(
            u / GAP, Fraction(0), **TAUS, variance=variance / GAP**2, F=F
        )
        return value

    of_u, of_variance = sign * mean(Fraction(1), Fraction(0)), mean(Fraction(0), Fraction(1))
    noise = mean(Fraction(1), Fraction(0)) ** 2
    zero = Fraction(0)
    return [
        ((zero, zero), (of_u, of_variance)),
        ((of_u, of_variance + noise / 2), (-of_u, -of_variance - noise)),
    ]


DATA = Quadratics(tuple(map(Fraction, (-1, 1, 4))), (Fraction(1), Fraction(2), Fraction(1, 2)))
"""Three data whose energies differ in place and in curvature."""

PLACES = tuple(Fraction(k, 2) for k in range(-3, 4))
"""The places at which theta and the control are put, all pairs of them."""

BATCH = 2


@dataclass(frozen=True)
class LeastVariance:
    """The pairs of places at which c* does not give the least variance, and the computed numbers."""

    defects: tuple[str, ...]
    certificate: dict[str, Any]


def minibatch_energies(theta: Fraction) -> list[Fraction]:
    """L(B | theta) for every minibatch B of `BATCH` of the data."""
    return estimates(DATA.energies(theta), BATCH)


def reduced_energies(
    here: Sequence[Fraction], there: Sequence[Fraction], control: Fraction, c: Fraction = Fraction(-1)
) -> list[Fraction]:
    """L~(c) for every minibatch, from the minibatch energies at theta (`here`) and at the control (`there`)."""
    total = sum(DATA.energies(control), Fraction(0))
    return [reduced_energy(a, b, total, coefficient=c) for a, b in zip(here, there, strict=True)]


def least_variance() -> LeastVariance:
    """Hold Var L~(c*) against (1 - rho^2) Var L(B | theta) and against Var L~(c* - 1) and Var L~(c* + 1).

    Var L~ is a parabola in c, so that the least of three equally spaced values about c* is at c*.
    """
    defects = []
    for here in PLACES:
        for there in PLACES:
            at_here, at_there = minibatch_energies(here), minibatch_energies(there)
            spread, cross = covariance_of(at_there, at_there), covariance_of(at_here, at_there)
            if not spread:
                continue
            best = best_coefficient(cross, spread)
            left, *others = (
                covariance_of(*[reduced_energies(at_here, at_there, there, c)] * 2)
                for c in (best, best - 1, best + 1)
            )
            if left != covariance_of(at_here, at_here) - cross**2 / spread or min(others) <= left:
                defects.append(f"theta = {here}, control {there}")
    return LeastVariance(
        tuple(defects),
        {
            "pairs (theta, control)": len(PLACES) ** 2,
            "data": str(DATA),
            "why": "Var L~ is quadratic in c",
        },
    )


@dataclass(frozen=True)
class EnergyShare:
    """The coefficients of an energy at q, at g . (theta - mu) and at g . (control - mu)."""

    constant: Any
    here: Any
    control: Any

    def __add__(self, other: EnergyShare) -> EnergyShare:
        return EnergyShare(
            self.constant + other.constant, self.here + other.here, self.control + other.control
        )

    def __neg__(self) -> EnergyShare:
        return self * -1

    def __sub__(self, other: EnergyShare) -> EnergyShare:
        return self + -other

    def __mul__(self, factor: Any) -> EnergyShare:
        return EnergyShare(self.constant * factor, self.here * factor, self.control * factor)

    __rmul__ = __mul__


HERE, CONTROL, FULL = EnergyShare(1, 1, 0), EnergyShare(1, 0, 1), EnergyShare(0, 0, 0)
"""The noise of a minibatch at theta, of the same minibatch at the control, and of all data, which is zero."""

MEANS = EnergyShare(0, 1, 0), EnergyShare(0, 0, 1), EnergyShare(0, 0, 1)
"""The mean energies over minibatches of the three, in full energies at theta and at the control."""


@dataclass(frozen=True)
class Steps:
    """j steps of an affine chain at once: X_(k+j) = map X_k + shift + noise of this covariance."""

    map: arb_mat
    shift: arb_mat
    covariance: arb_mat

    @staticmethod
    def one(chain: AffineChain) -> Steps:
        """A single step."""
        return Steps(chain.map, chain.shift, chain.covariance)

    @staticmethod
    def none(size: int) -> Steps:
        """No step."""
        return Steps(identity(size), arb_mat(size, 1), arb_mat(size, size))

    def then(self, later: Steps) -> Steps:
        """These steps, and the later ones after them."""
        return Steps(
            later.map * self.map,
            later.map * self.shift + later.shift,
            later.map * self.covariance * later.map.transpose() + later.covariance,
        )

    def times(self, count: int) -> Steps:
        """`count` repetitions, by doubling."""
        found, power = Steps.none(self.map.nrows()), self
        while count:
            if count % 2:
                found = found.then(power)
            power, count = power.then(power), count // 2
        return found


def reduced_variance(
    chain: AffineChain, noise: arb_mat, centre: arb_mat, combined: EnergyShare, *, refreshed: int, age: int
) -> arb:
    """E Var(L~ | the states) at the step refreshed + age, the control being the state after `refreshed` steps.

    `noise` is V, d x d; `centre` is mu, d x 1; theta are the first d coordinates. Raises ValueError where the combined energy
    contains q, whose variance is not given.
    """
    if combined.constant != 0:
        raise ValueError(f"the combined energy keeps {combined.constant} of the constant part of the noise")
    one = Steps.one(chain)
    before, between = one.times(refreshed), one.times(age)
    size, dim = chain.size, noise.nrows()
    start = chain.start_covariance if chain.start_covariance is not None else arb_mat(size, size)
    control_mean = before.map * chain.start_mean + before.shift
    control_spread = before.map * start * before.map.transpose() + before.covariance
    # v = (a M + b) X + a s + a noise, less (a + b) mu.
    a, b = combined.here, combined.control
    onto = between.map * a + identity(size) * b
    mean = onto * control_mean + between.shift * a
    spread = onto * control_spread * onto.transpose() + between.covariance * (a * a)
    first = _head(mean, dim, 1) - centre * (a + b)
    second = _head(spread, dim, dim) + first * first.transpose()
    found: arb = (noise * second).trace()
    return found


def ages(period: int) -> Sequence[int]:
    """1, 2, 4, ... below the period, and period - 1: the steps since the control was refreshed."""
    powers = [2**k for k in range((period - 1).bit_length()) if 2**k < period]
    return sorted({*powers, max(1, period - 1)})


def _head(values: arb_mat, rows: int, columns: int) -> arb_mat:
    return arb_mat([[values[i, j] for j in range(columns)] for i in range(rows)])
