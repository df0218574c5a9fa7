"""What a kind of randomness says of itself; everything that is asked of moments follows from it."""

from __future__ import annotations

from typing import Protocol

from sgverify.exact.affine.model import Model, StepSize
from sgverify.exact.recursion.period import Period
from sgverify.exact.recursion.running_sum import RunningSum


class Randomness(Protocol):
    """A kind of randomness of a model's steps: how moments move on average over one period of it."""

    @property
    def model(self) -> Model:
        """The scheme, its target and the gradient's noise."""

    @property
    def steps(self) -> int | None:
        """Steps in a period; None where every step is like every other."""

    def period(self, step: StepSize, asked: RunningSum) -> Period:
        """The mean operators of one period on the moments that are asked for, in balls at the working precision."""

    def why_no_square(self, degree: int) -> str | None:
        """Why the mean square error of a test function of this degree is not computed; None where it is."""


class Expandable(Randomness, Protocol):
    """One whose laws are computed by its operators too, at any step size and in powers of h."""

    def period_series(self, degree: int) -> Period:
        """The operators in powers of h, on the moments of the state alone.

        Raises `NotExpandableError` where the step has no such series.
        """

    def unreached(self, degree: int) -> str | None:
        """Why test functions of this degree are not reached; None where they are."""


__all__ = ["Expandable", "Randomness"]
