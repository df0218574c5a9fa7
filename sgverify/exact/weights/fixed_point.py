"""theta*, the weights at which the mean field of an adaptively weighted sampler vanishes, enclosed by ball arithmetic.

With the masses p_i of the regions under exp(-U/tau) the mean field of AWSGLD vanishes where

    theta(i) - theta(i-1) = p_i theta(i)^(1 - zeta)/Z,  theta(0) = 0, theta(m) = 1.

If t solves it with Z = 1 and t(m) unknown, c t solves it with Z = c^(-zeta): so one forward recursion and a division by
t(m) do. Each step has one root, for t - p t^(1 - zeta) increases in t wherever it is not negative (zeta > 0).

The mean field under the piecewise law is evaluated by the rules of the sampler themselves: under varpi ~ pi_tau/theta^zeta(J)
(awsgld (23)) the region J has the probability p_J theta(J)^-zeta/Z, and h_i(theta) is the average of the random field over J, a
finite sum that is exact in fractions wherever zeta is whole.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Protocol

import flint
import numpy as np
from flint import arb, arb_series
from scipy import linalg

import sgverify.exact.posterior.panels  # noqa: F401  balls and series of balls learn exp and log
from sgverify.errors import ConfigurationError
from sgverify.exact.numbers.ball import PrecisionLostError, number
from sgverify.schemes.composites import composite as weighting


class WeightRule(Protocol):
    """The rule by which theta follows the regions: the two parts of the random field that differ between samplers."""

    def indicator(self, i: Any, region: Any) -> Any:
        """1 where theta(i) grows at a state in `region`."""

    def pull(self, here: Any) -> Any:
        """The factor of the field, given theta(J)."""


@dataclass(frozen=True)
class Cumulating:
    """AWSGLD: 1{i >= J}, pulled by theta(J) (awsgld (18))."""

    def indicator(self, i: Any, region: Any) -> Any:
        """1{i >= J}."""
        return weighting.reached(i, region)

    def pull(self, here: Any) -> Any:
        """theta(J)."""
        return here


@dataclass(frozen=True)
class Contour:
    """CSGLD: 1{i = J}, pulled by theta(J)^power; power is zeta in Deng, Lin, Liang 2020, and 1 in later variants."""

    power: Any

    def indicator(self, i: Any, region: Any) -> Any:
        """1{i = J}."""
        return weighting.visited(i, region)

    def pull(self, here: Any) -> Any:
        """theta(J)^power."""
        return weighting.importance(here, zeta=self.power)


AWSGLD = Cumulating()


def random_field(weights: Sequence[Any], region: int, rule: WeightRule = AWSGLD) -> list[Any]:
    """H(theta, J), J = 1, ..., m. Shape (m,) -> (m,)."""
    pull = rule.pull(weights[region - 1])
    return [
        weighting.random_field(pull, rule.indicator(i, region), weight)
        for i, weight in enumerate(weights, start=1)
    ]


def region_chances(weights: Sequence[Any], masses: Sequence[Any], zeta: Any) -> list[Any]:
    """The chances p_J theta(J)^-zeta/Z of the regions under the piecewise law (awsgld (23)). Shape (m,) -> (m,)."""
    parts = [p / weighting.importance(w, zeta=zeta) for p, w in zip(masses, weights, strict=True)]
    total = sum(parts[1:], parts[0])
    return [part / total for part in parts]


def mean_field(
    weights: Sequence[Any], masses: Sequence[Any], zeta: Any, rule: WeightRule = AWSGLD
) -> list[Any]:
    """h(theta) = E H(theta, J) under the piecewise law; exact in the arithmetic of its arguments. Shape (m,) -> (m,)."""
    chances = region_chances(weights, masses, zeta)
    fields = [random_field(weights, region, rule) for region in range(1, len(weights) + 1)]
    return [
        sum((c * row[i] for c, row in zip(chances[1:], fields[1:], strict=True)), chances[0] * fields[0][i])
        for i in range(len(weights))
    ]


def jacobian(
    weights: Sequence[Any], masses: Sequence[Any], zeta: Any, rule: WeightRule = AWSGLD
) -> list[list[arb]]:
    """d h_i/d theta(j), from the mean field read on power series. Shape (m,) -> (m, m)."""
    with flint.ctx.workprec(BITS):
        columns = []
        for j in range(len(weights)):
            moved = [arb_series([number(w), int(i == j)], 2) for i, w in enumerate(weights)]
            found = mean_field(moved, [arb_series([number(p)], 2) for p in masses], zeta, rule)
            columns.append([arb(series[1]) for series in found])
        return [list(row) for row in zip(*columns, strict=True)]


def slowest_decay(matrix: Sequence[Sequence[arb]]) -> tuple[float, bool]:
    """The largest real part of the eigenvalues, rounded, and whether all real parts are certainly below 0.

    The certificate is Lyapunov's: P > 0 with A^T P + P A < 0, where P is computed at the midpoints of the balls and the
    inequality is verified in balls. Shape (m, m).
    """
    given = np.array([[float(entry.mid()) for entry in row] for row in matrix])
    radii = np.array([[float(entry.rad()) for entry in row] for row in matrix])
    # Scaling by powers of 2 balances rows and columns, and is an exact similarity.
    _, (scale, _) = linalg.matrix_balance(given, permute=False, separate=True)
    middle = given * scale[None, :] / scale[:, None]
    radius = float(np.linalg.norm(radii * scale[None, :] / scale[:, None]))
    slowest = float(np.linalg.eigvals(middle).real.max())
    if slowest >= 0:
        return slowest, False
    with warnings.catch_warnings():
        # Near a singular matrix the certificate fails, and nothing is claimed.
        warnings.simplefilter("ignore", RuntimeWarning)
        form = linalg.solve_continuous_lyapunov(middle.T, -np.eye(len(middle)))
    form = (form + form.T) / 2
    size, rounding = float(np.linalg.norm(form)), len(middle) * float(np.finfo(np.float64).eps)
    left = middle.T @ form + form @ middle
    slack = 2 * size * (radius + 8 * rounding * float(np.linalg.norm(middle)))
    positive = np.linalg.eigvalsh(form)[0] > 8 * rounding * size
    return slowest, bool(positive and np.linalg.eigvalsh(left)[-1] + slack < 0)


BITS = 192
_NEWTON = 200


def cumulated_weights(masses: Sequence[Any], zeta: Any) -> tuple[arb, ...]:
    """theta* of AWSGLD for masses p_1, ..., p_m up to a common factor, as balls; theta*(m) = 1. Shape (m,) -> (m,).

    Derived from awsgld (26): the printed (22) and (37) are its approximation. Raises `ConfigurationError` for a mass that is
    not positive and for zeta <= 0.
    """
    power = _positive(zeta)
    with flint.ctx.workprec(BITS):
        balls = _checked(masses)
        found = [balls[0] ** (1 / number(power))]
        for mass in balls[1:]:
            found.append(_next(found[-1], mass, power))
        return (*(t / found[-1] for t in found[:-1]), arb(1))


def constant_of(weights: Sequence[Any], masses: Sequence[Any], zeta: Any) -> arb:
    """Z~ = sum_i p_i theta(i)^(1 - zeta), the masses normalised (awsgld, below (25))."""
    with flint.ctx.workprec(BITS):
        balls = _checked(masses)
        total = sum(balls, arb(0))
        parts = (p / total * number(w) ** (1 - number(zeta)) for p, w in zip(balls, weights, strict=True))
        return sum(parts, arb(0))


def visited_weights(masses: Sequence[Any], exponent: Any = 1) -> tuple[arb, ...]:
    """theta* of CSGLD: p_i^(1/exponent), normalised to sum 1. Shape (m,) -> (m,).

    `exponent` is 1 where the field is pulled by theta(J)^zeta (Deng, Lin, Liang 2020), and zeta where theta(J) pulls it.
    """
    power = _positive(exponent)
    with flint.ctx.workprec(BITS):
        roots = [mass ** (1 / number(power)) for mass in _checked(masses)]
        total = sum(roots, arb(0))
        return tuple(root / total for root in roots)


def _next(before: arb, mass: arb, zeta: Fraction) -> arb:
    """The root t > before of t - mass t^(1 - zeta) = before; it increases with `before` and with `mass`."""
    if zeta == 1:
        return before + mass
    low = _root(before.lower(), mass.lower(), zeta)
    high = _root(before.upper(), mass.upper(), zeta)
    return low.union(high)


def _root(before: arb, mass: arb, zeta: Fraction) -> arb:
    """Newton's method for a guess, and two signs that enclose the root."""
    power = 1 - number(zeta)

    def excess(t: arb) -> arb:
        return t - mass * t**power - before

    # From the right of the root Newton falls where the function is convex; elsewhere halving the interval does.
    low, high = before, (before + mass ** (1 / number(zeta))).mid()
    while not excess(high) > 0:
        low, high = high, (2 * high).mid()
    guess = high
    for _ in range(_NEWTON):
        value = excess(guess)
        if value > 0:
            high = guess
        elif value < 0:
            low = guess
        else:
            break
        slope = 1 - mass * power * guess ** (power - 1)
        following = (guess - value / slope).mid()
        guess = following if low < following and following < high else ((low + high) / 2).mid()
        if abs(high - low) < arb(2) ** (8 - BITS) * high:
            break
    for digits in (16, 24, 40, 64, 96):
        slack = guess * arb(2) ** (digits - BITS)
        left, right = (guess - slack).mid(), (guess + slack).mid()
        if excess(left) < 0 and excess(right) > 0:
            return left.union(right)
    raise PrecisionLostError("theta* was not enclosed")


def _checked(masses: Sequence[Any]) -> list[arb]:
    balls = [number(mass) for mass in masses]
    for place, ball in enumerate(balls, start=1):
        if not ball > 0:
            raise ConfigurationError(
                f"the mass of region {place} is {ball.str(6)}; expected a positive one in every region; "
                "choose partition edges inside the range of the energies that exp(-U/tau) reaches"
            )
    return balls


def _positive(zeta: Any) -> Fraction:
    power = Fraction(repr(zeta)) if isinstance(zeta, float) else Fraction(zeta)
    if power <= 0:
        raise ConfigurationError(f"zeta={zeta!r}: expected a positive number")
    return power
