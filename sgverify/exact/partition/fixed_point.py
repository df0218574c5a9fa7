"""theta*, the weights at which an adaptively weighted sampler stands still, enclosed by ball arithmetic.

With the masses p_i of the regions under exp(-U/tau) the mean field of AWSGLD vanishes where

    theta(i) - theta(i-1) = p_i theta(i)^(1 - zeta)/Z,  theta(0) = 0, theta(m) = 1.

If t solves it with Z = 1 and t(m) unknown, c t solves it with Z = c^(-zeta): so one forward recursion and a division by
t(m) do. Each step has one root, for t - p t^(1 - zeta) increases in t wherever it is not negative (zeta > 0).
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import Any

import flint
from flint import arb

from sgverify.errors import ConfigurationError
from sgverify.exact.ball import PrecisionLostError, number

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
