"""Mean-square stability: a step whose mean contracts may still expand its second or fourth moments.

Averaged over the minibatch, a step maps the monomials of degree r to themselves by E M_B^(x r), and to monomials of lower
degree: the moments of degree r converge where the spectral radius of that block is below 1. By Jensen's
inequality the mean contracts wherever the second moments do, and these wherever the fourth do.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import flint
import numpy as np

from sgverify.errors import InstabilityError
from sgverify.exact.affine.model import fixed_step
from sgverify.exact.affine.stability import BITS, NEAR
from sgverify.exact.numbers.ball import PrecisionLostError
from sgverify.exact.recursion.hessians import FreshHessians
from sgverify.exact.recursion.period import RunningSum

RATIO = 1.1
"""Neighbouring step sizes of the grid."""

DECADES = 18
"""The decades below the limit of the mean that the grid covers: moments of higher degree contract only at small steps."""

BISECTIONS = 60


@dataclass(frozen=True, eq=False)
class MomentStability:
    """Stability of the moments, degree by degree, over a period of minibatches that change the Hessian.

    Where the steps are not `independent` (reshuffled minibatches), the stability is that of independent steps, and a guide only.
    """

    randomness: FreshHessians
    independent: bool = True

    @property
    def stretch(self) -> str:
        """The stretch of steps that has to contract, in words."""
        return self.randomness.stretch

    def reaches(self, degree: int) -> bool:
        """Whether the operators on this degree can be built."""
        return self.randomness.reaches(degree)

    def radii(self, steps: Any, degree: int) -> Any:
        """The spectral radius of E M_B^(x degree) at each step size: float64, shape (steps,)."""
        with np.errstate(all="ignore"):
            blocks = self.randomness.leading_blocks(steps, degree)
        finite = np.isfinite(blocks).all(axis=(-1, -2))
        found = np.full(len(blocks), np.inf)
        found[finite] = np.abs(np.linalg.eigvals(blocks[finite])).max(axis=-1)
        return found

    def limit(self, below: float, degree: int) -> float:
        """The smallest step size up to `below`, the limit of the mean, at which the radius reaches 1; else `below`."""
        grid = np.geomspace(below * 10.0**-DECADES, below, math.ceil(DECADES * math.log(10, RATIO)))
        # Nearer to 1 the radius in float64 may be that of a contraction.
        above = np.flatnonzero(self.radii(grid, degree) > 1 + NEAR)
        if not above.size or not above[0]:
            return below
        low, high = float(grid[above[0] - 1]), float(grid[above[0]])
        for _ in range(BISECTIONS):
            middle = (low + high) / 2
            if not low < middle < high:
                break
            if self.radii([middle], degree)[0] < 1:
                low = middle
            else:
                high = middle
        return low

    def contracts(self, step: float, degree: int) -> bool:
        """Whether the moments of this degree contract: in float64 away from a radius of 1, in balls near it."""
        (radius,) = self.radii([step], degree)
        if abs(radius - 1) > NEAR:
            return bool(radius < 1)
        asked = RunningSum(self.randomness.model.size, degree)
        for bits in BITS:
            with flint.ctx.workprec(bits):
                period = self.randomness.period(fixed_step(step), asked)
                try:
                    asked.require_contraction(period.after(period.steps))
                except (InstabilityError, PrecisionLostError):
                    continue
                return True
        return False
