"""Discrete Lyapunov equations by doubling, with a rigorous remainder, and the certificate of stability."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import flint
import numpy as np
from flint import arb, arb_mat

from sgverify.errors import InstabilityError
from sgverify.exact.ball import PrecisionLostError, frobenius, widened
from sgverify.exact.tensor import applied

_SQUARINGS = 100


@dataclass(frozen=True)
class Contraction:
    """A matrix M of spectral radius below 1, with powers M^(2^i) up to one of norm below 2^-bits.

    That last norm is the certificate: |M^(2^k)| < 1 proves that the spectral radius is below 1.
    """

    powers: tuple[arb_mat, ...]
    tail: arb

    @classmethod
    def of(cls, map_: arb_mat) -> Contraction:
        """Square M until its norm is negligible; raises InstabilityError naming the spectral radius."""
        power = map_
        powers: list[arb_mat] = []
        negligible, hopeless = arb(2) ** -flint.ctx.prec, arb(2) ** 512
        for _ in range(_SQUARINGS):
            norm = frobenius(power)
            if norm < negligible:
                return cls(tuple(powers), norm.upper())
            if not norm < hopeless:
                break
            powers.append(power)
            power = power * power
        radius = spectral_radius(map_)
        if radius >= 1.0:
            raise InstabilityError(
                f"spectral radius={radius:.6g}: one step is stable only below 1; take a smaller step size"
            )
        bits = flint.ctx.prec
        raise PrecisionLostError(f"spectral radius={radius!r}: below 1, but {bits} bits cannot certify it")

    @cached_property
    def transposed(self) -> tuple[arb_mat, ...]:
        """The transposes of the powers."""
        return tuple(power.transpose() for power in self.powers)

    def forward(self, covariance: arb_mat) -> arb_mat:
        """S = Q + M S M^T = sum_j M^j Q M^jT, the stationary covariance (Smith's doubling).

        What the doubling leaves out is P S P^T with P the last power, at most |P|^2 |sum so far| / (1 -
        |P|^2).
        """
        total = covariance
        for power, transpose in zip(self.powers, self.transposed, strict=True):
            total = total + power * total * transpose
        return self._closed(total, 2)

    def adjoint(self, form: arb_mat) -> arb_mat:
        """E = A + M^T E M = sum_j M^jT A M^j, the solution of the discrete Poisson equation."""
        total = form
        for power, transpose in zip(self.powers, self.transposed, strict=True):
            total = total + transpose * total * power
        return self._closed(total, 2)

    def tensor(self, tensor: arb_mat, order: int) -> arb_mat:
        """T = K + (M x ... x M) T for a symmetric tensor of this order: a stationary cumulant."""
        total = tensor
        for power in self.powers:
            total = total + applied(total, [power] * order)
        return self._closed(total, order)

    def _closed(self, total: arb_mat, order: int) -> arb_mat:
        left = self.tail**order
        return widened(total, left / (1 - left) * frobenius(total))


def spectral_radius(map_: arb_mat) -> float:
    """The largest |eigenvalue| of M in floating point: for messages; `Contraction` certifies."""
    return float(np.abs(np.linalg.eigvals(floats(map_))).max())


def floats(values: arb_mat) -> np.ndarray:
    """The midpoints as a float64 array."""
    flat = [float(entry.mid()) for entry in values.entries()]
    return np.array(flat).reshape(values.nrows(), values.ncols())
