"""The protocol of a kind of randomness, and averages along the chain, which follow from it.

Mean-square stability: a step whose mean contracts may still expand its second or fourth moments.

Averaged over the minibatch, a step maps the monomials of degree r to themselves by E M_B^(x r), and to monomials of lower
degree: the moments of degree r converge where the spectral radius of that block is below 1. By Jensen's
inequality the mean contracts wherever the second moments do, and these wherever the fourth do.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol, TypeVar

import flint
import numpy as np
from flint import arb, arb_mat

from sgverify.errors import InstabilityError
from sgverify.exact.affine.model import Model, StepSize, fixed_step
from sgverify.exact.affine.stability import BITS, NEAR
from sgverify.exact.chain.chain import checked_length
from sgverify.exact.numbers import ball
from sgverify.exact.numbers.ball import Certified, PrecisionLostError, refine
from sgverify.exact.numbers.matrix_series import MultiIndex, gaussian_moments
from sgverify.exact.recursion.hessians import FreshHessians
from sgverify.exact.recursion.period import Period, Powers, RunningSum


class Randomness(Protocol):
    """A kind of randomness of a model's steps: how moments move on average over one period of it."""

    @property
    def model(self) -> Model:
        """The scheme, its target and the gradient's noise."""

    @property
    def steps(self) -> int | None:
        """Steps in a period; None where every step is like every other."""

    def period(self, step: StepSize, asked: RunningSum) -> Period:
        """The mean operators of one period on the moments that `asked` names, in balls at the working precision."""

    def why_no_square(self, degree: int) -> str | None:
        """Why the mean square error of a test function of this degree is not computed; None where it is."""


class Expandable(Randomness, Protocol):
    """A kind of randomness whose invariant law follows from its operators too."""

    def check(self, degree: int) -> None:
        """Raise `Unreached` where test functions of this degree are not reached."""


KEY_BITS = 128
"""Step sizes that agree to this many bits share one cached value."""

Found = TypeVar("Found")


@dataclass(frozen=True)
class Average:
    """phi_hat = sum_{l=1..L} phi(X_l) / L along the chain of a model; intermediate results are cached."""

    randomness: Randomness
    _powers: dict[Any, tuple[Powers, Period]] = field(default_factory=dict, repr=False, compare=False)
    _known: dict[Any, Certified] = field(default_factory=dict, repr=False, compare=False)

    def error(self, step: StepSize, length: int, order: int) -> Certified:
        """E (phi_hat - phi_bar)^order; `InstabilityError` where the moments that it needs do not contract."""
        steps = checked_length(length)
        with flint.ctx.workprec(KEY_BITS):
            key = (order, _key(step()), steps)
        if key not in self._known:
            self._known[key] = refine(lambda bits: self._moment(step, steps, order))
        return self._known[key]

    @property
    def degree(self) -> int:
        """The degree of the moments that the test function asks for."""
        return max(1, self.randomness.model.observable.degree)

    @property
    def observable(self) -> Mapping[MultiIndex, Any]:
        """The test function by the powers of the chain's coordinates."""
        model = self.randomness.model
        pad = model.size - len(next(iter(model.observable.terms), ()))
        return {(*powers, *([0] * pad)): c for powers, c in model.observable.terms.items()}

    def start(self, degree: int, step: arb | None = None) -> arb_mat:
        """E X_0^a for every monomial of degree 0 to `degree`, a column.

        Raises `Unreached` without a step size where a memory starts from it.
        """
        values = gaussian_moments(*self.randomness.model.start_law(step), degree)
        return arb_mat(len(values), 1, values)

    def stable(self, evaluate: Callable[[], Found]) -> Found:
        """A value of one period; its `InstabilityError` is raised again with a message that names the period."""
        try:
            return evaluate()
        except InstabilityError as error:
            if self.randomness.steps is None:
                raise
            raise type(error)(
                f"one period of the minibatches does not contract the moments of the state on this target ({error})"
            ) from error

    def _moment(self, step: StepSize, length: int, order: int) -> arb:
        size, model = step(), self.randomness.model
        summand, constant = dict(self.observable), (0,) * model.size
        summand[constant] = summand.get(constant, 0) - model.truth
        asked = RunningSum(
            model.size, self.degree, {powers: ball.number(c) for powers, c in summand.items()}, order
        )
        key = (flint.ctx.prec, order, _key(size))
        if key not in self._powers:
            period = self.randomness.period(step, asked)
            whole = period.after(period.steps)
            self.stable(lambda: asked.require_contraction(whole))
            # Only one is cached: its powers fill a hundred megabytes in three dimensions with momentum.
            self._powers.clear()
            self._powers[key] = Powers(whole), period
        powers, period = self._powers[key]
        return asked.moment(powers, period, self.start(asked.highest, size), length)


def _key(value: arb) -> tuple[Any, Any]:
    return value.mid().man_exp(), value.rad().man_exp()


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
