"""The variance of variance-reduced energies along the exact law of a chain whose data share one Hessian.

There the energy of a minibatch at theta, less its mean over minibatches, is q + g . (theta - mu) with (q, g) independent of
theta: g is the noise of the gradient estimate, of covariance V. Energies at two places of the chain are therefore combinations
of q, g . theta and g . control; the rule that combines energies is evaluated on the coefficients, and gives

    Var L~ = (share of q)^2 Var q + ... + tr(V E[v v^T]),    v = a (theta_k - mu) + b (theta_control - mu),

with E[v v^T] from the exact first two moments of the chain. With c = -1 the share of q is 0 and v = theta_k - theta_control.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from flint import arb, arb_mat

from sgverify.exact.chain.chain import AffineChain
from sgverify.exact.numbers.ball import identity


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
