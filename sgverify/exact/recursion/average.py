"""The protocol of a kind of randomness, and averages along the chain, which follow from it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol, TypeVar

import flint
from flint import arb, arb_mat

from sgverify.errors import InstabilityError
from sgverify.exact.affine.model import Model, StepSize
from sgverify.exact.chain.chain import checked_length
from sgverify.exact.numbers import ball
from sgverify.exact.numbers.ball import Certified, refine
from sgverify.exact.numbers.cumulants import MultiIndex, gaussian_moments
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
    """A kind of randomness whose invariant law follows from its operators too, at any step size and in powers of h."""

    def period_series(self, degree: int) -> Period:
        """The operators in powers of h, on the moments of the state alone.

        Raises `NotExpandableError` where the step has no such series.
        """

    def unreached(self, degree: int) -> str | None:
        """Why test functions of this degree are not reached; None where they are."""


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

        Raises `NotAffineError` without a step size where a memory starts from it.
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


__all__ = ["Expandable", "Randomness"]
