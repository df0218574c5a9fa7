"""Motions that leave the posterior as it is, without their gradients, exact in balls: the dynamics, and split flows."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction
from functools import reduce

from flint import arb, arb_mat

from sgverify.exact.numbers import ball
from sgverify.exact.numbers.ball import column


class FreeMotion:
    """The dynamics without gradients, over times s: theta_s = theta + reach(s) p - response(s) grad U(theta) + noise.

    `weight(s)` is the effect on the state at time h of a unit of the gradient at time s. All are monotone in s. `damping` is the
    factor of the momentum over the time h.
    """

    def __init__(self, step: arb, temperature: arb, friction: arb | None) -> None:
        self.step, self.temperature, self._D = step, temperature, friction
        self.damping = arb(0) if friction is None else (-friction * step).exp()

    def reach(self, s: arb) -> arb:
        """(1 - exp(-D s))/D; 0 without a momentum."""
        return arb(0) if self._D is None else -(-self._D * s).expm1() / self._D

    def response(self, s: arb) -> arb:
        """The integral of `reach` from 0 to s; s without a momentum."""
        return s if self._D is None else (s - self.reach(s)) / self._D

    def weight(self, s: arb) -> arb_mat:
        """(-reach(h - s), -exp(-D (h - s))), the second for the momentum."""
        left = self.step - s
        return column([-1] if self._D is None else [-self.reach(left), -(-self._D * left).exp()])

    def weights(self, a: arb, b: arb) -> arb_mat:
        """The integral of `weight` from a to b."""
        if self._D is None:
            return column([a - b])
        early, late = self.step - b, self.step - a
        return column([self.response(early) - self.response(late), self.reach(early) - self.reach(late)])

    def weighted_reach(self, a: arb, b: arb) -> arb_mat:
        """The integral of `weight` times `reach` from a to b."""
        if self._D is None:
            return column([0])
        early, late = self.step - b, self.step - a
        both = self.damping * (b - a)
        straight = (self.reach(late) - self.reach(early) - both) / self._D
        bent = self.response(late) - self.response(early) - (self.reach(b) - self.reach(a) - both) / self._D
        return column([-bent / self._D, -straight])

    def deviation(self, s: arb) -> arb:
        """The standard deviation of the noise in theta_s."""
        if self._D is None:
            return (2 * self.temperature * s).sqrt()
        reach = self.reach(s)
        return root(2 * self.temperature / self._D * (s - reach - self._D * reach**2 / 2))

    def moved(self, s: arb) -> arb:
        """A bound of the root mean square of theta_s - theta_0 from the posterior, over sqrt(d).

        Overdamped, E |theta_s - theta_0|^2 <= 2 T d s, since the semigroup is symmetric and 1 - exp(-x) <= x on its spectrum.
        """
        return (2 * self.temperature * s).sqrt() if self._D is None else s * self.temperature.sqrt()

    def moved_fourth(self, s: arb, size: arb) -> arb:
        """A bound of E |theta_s - theta_0|^4, to the power 1/4, over (d (d + 2))^(1/4); `size` is sqrt(L T)."""
        return s * size + self.deviation(s) if self._D is None else s * self.temperature.sqrt()

    def covariance(self) -> arb_mat:
        """The covariance of the noise in the state at time h."""
        if self._D is None:
            return arb_mat([[self.deviation(self.step) ** 2]])
        cross = self._D * self.temperature * self.reach(self.step) ** 2
        momentum = -self.temperature * (-2 * self._D * self.step).expm1()
        return arb_mat([[self.deviation(self.step) ** 2, cross], [cross, momentum]])


class SplitMotion(FreeMotion):
    """Hamilton's flow, exact, interrupted by the exact flow of friction and noise for `shares` of h at the times `at` h.

    Both leave the posterior as it is. Over a time without interruption theta moves by the momentum, which each interruption
    multiplies by exp(-D share h).
    """

    def __init__(
        self, step: arb, temperature: arb, friction: arb, at: Sequence[Fraction], shares: Sequence[Fraction]
    ) -> None:
        super().__init__(step, temperature, friction)
        self._segments, self._kicks = list[tuple[arb, arb, arb]](), list[tuple[arb, arb, arb]]()
        factor, last = arb(1), Fraction(0)
        for time, share in zip((*at, Fraction(1)), (*shares, Fraction(0)), strict=True):
            if time > last:
                self._segments.append((step * ball.number(last), step * ball.number(time), factor))
            damped = -friction * step * ball.number(share)
            factor, last = factor * damped.exp(), time
            self._kicks.append((step * ball.number(time), factor, -temperature * (2 * damped).expm1()))

    def reach(self, s: arb) -> arb:
        """The sum of factors times durations up to s."""
        return sum((f * (s.max(a).min(b) - a) for a, b, f in self._segments), arb(0))

    def response(self, s: arb) -> arb:
        """The integral of (reach(s) - reach(u)) / factor(u) over u from 0 to s."""
        return self._integral(lambda u, f: column([(self.reach(s) - self.reach(u)) / f]), arb(0), s)[0, 0]

    def weight(self, s: arb) -> arb_mat:
        """(-(reach(h) - reach(s)), -factor(h)) / factor(s); in balls that hold both sides of an interruption."""
        sides = [self._weight(s.max(a).min(b), f) for a, b, f in self._segments if not (s < a or s > b)]
        return column(
            [reduce(arb.union, values) for values in zip(*(m.entries() for m in sides), strict=True)]
        )

    def weights(self, a: arb, b: arb) -> arb_mat:
        """The integral of `weight` from a to b."""
        return self._integral(self._weight, a, b)

    def weighted_reach(self, a: arb, b: arb) -> arb_mat:
        """The integral of `weight` times `reach` from a to b."""
        return self._integral(lambda u, f: self._weight(u, f) * self.reach(u), a, b)

    def deviation(self, s: arb) -> arb:
        """The standard deviation of the noise in theta_s: of each kick, its reach from there on."""
        moved = [((self.reach(s.max(at)) - self.reach(at)) / f, v) for at, f, v in self._kicks]
        return root(sum((variance * each * each for each, variance in moved), arb(0)))

    def covariance(self) -> arb_mat:
        """The covariance of the noise in the state at time h."""
        effects = [(self._weight(at, factor), variance) for at, factor, variance in self._kicks]
        return sum((each * each.transpose() * variance for each, variance in effects), arb_mat(2, 2))

    def _weight(self, s: arb, factor: arb) -> arb_mat:
        return column([(self.reach(s) - self.reach(self.step)) / factor, -self.damping / factor])

    def _integral(self, values: Callable[[arb, arb], arb_mat], a: arb, b: arb) -> arb_mat:
        """Simpson's rule between interruptions, which is exact: no integrand has a degree above 2 in u."""
        parts = []
        for start, end, factor in self._segments:
            low, high = (s.max(start).min(end) for s in (a, b))
            first, middle, last = (values(u, factor) for u in (low, (low + high) / 2, high))
            parts.append((first + 4 * middle + last) * ((high - low) / 6))
        return sum(parts[1:], parts[0])


def root(value: arb) -> arb:
    """The square root of a number that is not negative: what its ball has below 0 is rounding."""
    return value.nonnegative_part().sqrt()
