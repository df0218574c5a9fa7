"""The dynamics without its gradients, overdamped or kinetic: exact over any time, in balls."""

from __future__ import annotations

from flint import arb, arb_mat


class FreeMotion:
    """The dynamics without gradients, over times s: theta_s = theta + reach(s) p - response(s) grad U(theta) + noise.

    `weight(s)` is the effect on the state at time h of a unit of the gradient at time s. All are monotone in s.
    """

    def __init__(self, step: arb, temperature: arb, friction: arb | None) -> None:
        self._h, self._T, self._D = step, temperature, friction

    def reach(self, s: arb) -> arb:
        """(1 - exp(-D s))/D; 0 without a momentum."""
        return arb(0) if self._D is None else -(-self._D * s).expm1() / self._D

    def response(self, s: arb) -> arb:
        """The integral of `reach` from 0 to s; s without a momentum."""
        return s if self._D is None else (s - self.reach(s)) / self._D

    def weight(self, s: arb) -> list[arb]:
        """(-reach(h - s), -exp(-D (h - s))), the second for the momentum."""
        left = self._h - s
        return [arb(-1)] if self._D is None else [-self.reach(left), -(-self._D * left).exp()]

    def weights(self, a: arb, b: arb) -> list[arb]:
        """The integral of `weight` from a to b."""
        if self._D is None:
            return [a - b]
        early, late = self._h - b, self._h - a
        return [self.response(early) - self.response(late), self.reach(early) - self.reach(late)]

    def weighted_reach(self, a: arb, b: arb) -> list[arb]:
        """The integral of `weight` times `reach` from a to b."""
        if self._D is None:
            return [arb(0)]
        early, late = self._h - b, self._h - a
        both = (-self._D * self._h).exp() * (b - a)
        straight = (self.reach(late) - self.reach(early) - both) / self._D
        bent = self.response(late) - self.response(early) - (self.reach(b) - self.reach(a) - both) / self._D
        return [-bent / self._D, -straight]

    def deviation(self, s: arb) -> arb:
        """The standard deviation of the noise in theta_s."""
        if self._D is None:
            return (2 * self._T * s).sqrt()
        reach = self.reach(s)
        return root(2 * self._T / self._D * (s - reach - self._D * reach**2 / 2))

    def moved(self, s: arb) -> arb:
        """A bound of the root mean square of theta_s - theta_0 from the posterior, over sqrt(d).

        Overdamped, E |theta_s - theta_0|^2 <= 2 T d s, since the semigroup is symmetric and 1 - exp(-x) <= x on its spectrum.
        """
        return (2 * self._T * s).sqrt() if self._D is None else s * self._T.sqrt()

    def moved_fourth(self, s: arb, size: arb) -> arb:
        """A bound of E |theta_s - theta_0|^4, to the power 1/4, over (d (d + 2))^(1/4); `size` is sqrt(L T)."""
        return s * size + self.deviation(s) if self._D is None else s * self._T.sqrt()

    def covariance(self) -> arb_mat:
        """The covariance of the noise in the state at time h."""
        if self._D is None:
            return arb_mat([[self.deviation(self._h) ** 2]])
        cross = self._D * self._T * self.reach(self._h) ** 2
        momentum = -self._T * (-2 * self._D * self._h).expm1()
        return arb_mat([[self.deviation(self._h) ** 2, cross], [cross, momentum]])


def root(value: arb) -> arb:
    """The square root of a number that is not negative: what its ball has below 0 is rounding."""
    return value.nonnegative_part().sqrt()
