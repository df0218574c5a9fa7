"""Bias at finite and infinite length from closed moments: matrix powers in ball arithmetic."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property

import flint
from flint import arb, arb_mat

from sgverify.errors import InstabilityError, MomentsDivergeError, NotExpandableError
from sgverify.exact.affine.model import StepSize
from sgverify.exact.answers.questions import Coefficients, ExactAnswers, Question
from sgverify.exact.chain.expansion import ORDERS
from sgverify.exact.chain.lyapunov import Contraction
from sgverify.exact.closure.moments import ClosedMoments, Monomial
from sgverify.exact.numbers.ball import Certified, PrecisionLostError, identity, number, refine
from sgverify.exact.posterior.reference import Reference
from sgverify.exact.recursion.period import RepeatedPeriod

_TINY = 60
"""Leading coefficients at h = 0 are computed from h = 2^-60 and 2^-61, where the next term is 1e-18 of them."""
_TINY_BITS = 1024


@dataclass(frozen=True, eq=False)
class ClosureAnswers(ExactAnswers):
    """The exact bias of a chain whose moments close; `start` gives E m(X_0) as a ball at the working precision."""

    closed: ClosedMoments
    start: Callable[[Monomial], arb]
    reference: Reference

    @property
    def truth(self) -> Fraction | float:
        """The average under exp(-U/T)."""
        return self.reference.value

    def why_not(self, question: Question) -> str | None:
        """See `ExactAnswers`."""
        if question == "weighted average":
            return "sums over a decreasing schedule are not computed from closed moments"
        return "it is not computed from closed moments"

    def bias(self, step: StepSize, length: int) -> Certified:
        """E phi_hat - phi_bar for the average over l = 1..L: (1/L) c . sum_l A^l m_0 - phi_bar."""
        return refine(lambda bits: self._bias(step(), length))

    def stationary_bias(self, step: StepSize, position: int | None = None) -> Certified:
        """phi_h - phi_bar. Raises `MomentsDivergeError` where the moments do not converge."""
        return refine(lambda bits: self._limits(step())[0] - self._truth())

    @cached_property
    def expansion(self) -> Coefficients:
        """The leading term of the stationary bias in h."""
        return self._leading(lambda h: self._limits(h)[0] - self._truth())

    @cached_property
    def transient(self) -> Coefficients:
        """The leading term of h sum_l (E phi(X_l) - phi_h)."""
        return self._leading(lambda h: h * self._limits(h)[1])

    def _bias(self, step: arb, length: int) -> arb:
        summed = RepeatedPeriod(self.closed.matrix(step)).total(length)
        return (self._weights * summed * self._start())[0, 0] / length - self._truth()

    def _limits(self, step: arb) -> tuple[arb, arb]:
        """phi_h, and sum_(l >= 1) (E phi(X_l) - phi_h)."""
        whole, start = self.closed.matrix(step).tolist(), self._start().tolist()
        # The constant stands last: it does not change, and drives the other moments.
        a, shift = (arb_mat([row[part] for row in whole[:-1]]) for part in (slice(-1), slice(-1, None)))
        try:
            Contraction.of(a)
        except (InstabilityError, PrecisionLostError):
            raise MomentsDivergeError(
                "the moments that the test function needs do not converge at this step size, or only too slowly to be told; "
                "expected ones that do; lower schedule.step, or the degree of the test function"
            ) from None
        resolvent = identity(a.nrows()) - a
        law = resolvent.solve(shift)
        excess = resolvent.solve(a * (arb_mat(start[:-1]) - law))
        columns = (arb_mat([*found.tolist(), [last]]) for found, last in ((law, arb(1)), (excess, arb(0))))
        phi, total = ((self._weights * column)[0, 0] for column in columns)
        return phi, total

    @property
    def _weights(self) -> arb_mat:
        """The test function as a row over the moments."""
        return arb_mat([[number(self.closed.observable.get(m, Fraction(0))) for m in self.closed.monomials]])

    def _start(self) -> arb_mat:
        """The moments of X_0, a column."""
        return arb_mat([[self.start(m)] for m in self.closed.monomials])

    def _truth(self) -> arb:
        return number(self.reference.value) + arb(0, self.reference.error_bound)

    def _leading(self, function: Callable[[arb], arb]) -> Coefficients:
        with flint.ctx.workprec(_TINY_BITS):
            steps = [arb(2) ** -k for k in (_TINY, _TINY + 1)]
            first, second = (function(h) for h in steps)
            # A bias within the error bound of the true average is not proved to be zero.
            if first.contains(0) and second.contains(0) and first.rad() < arb(2) ** (-_TINY_BITS // 2):
                return Coefficients((0.0,) * ORDERS, ("0",) * ORDERS, False)
            if first.contains(0) or second.contains(0):
                raise NotExpandableError("the average under the target is known to too few digits")
            power = math.log2(float(abs(first / second).mid()))
            q = round(power)
            if not 0 <= q < ORDERS or abs(power - q) > 1e-9:
                raise NotExpandableError(f"the leading power of h seems to be {power:.6g}")
            value = float((second / steps[1] ** q).mid())
        values = [value if j == q else 0.0 for j in range(ORDERS)]
        texts = [f"{value:.15g}" if j == q else ("0" if j < q else "not computed") for j in range(ORDERS)]
        return Coefficients(tuple(values), tuple(texts), False)
