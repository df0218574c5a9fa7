"""Overdamped schemes on the line: their bias at a step size, on grids, and in powers of h."""

from __future__ import annotations

from fractions import Fraction
from functools import cached_property

from sgverify.errors import OutOfReachError
from sgverify.exact.transfer.line.bias import LineGrids
from sgverify.exact.transfer.line.leading import OperatorPrediction
from sgverify.exact.transfer.result import GridAnswers, GridBias, LeadingBias
from sgverify.schemes import Scheme
from sgverify.targets import Observable, Target


class LineAnswers(GridAnswers):
    """The bias of `observable` under a scheme with full gradients on a target of the line, against exp(-U/T).

    Raises `OutOfReachError` where scheme, target or test function are beyond the grids of one dimension.
    """

    def __init__(
        self,
        scheme: Scheme,
        target: Target,
        observable: Observable,
        temperature: Fraction,
        friction: Fraction,
    ) -> None:
        parameters = {"T": float(temperature), "D": float(friction)}
        self._grids = LineGrids.of(scheme, target, observable, parameters)
        if observable.degree == 0:
            raise OutOfReachError("the test function is constant")
        self._prediction = OperatorPrediction(scheme, target, observable, parameters)

    def stationary_bias(self, step: float, position: int | None = None) -> GridBias:
        """pi_h(phi) - pi(phi) at step size h."""
        return self._grids.bias(step)

    @cached_property
    def expansion(self) -> LeadingBias:
        """The expansion of pi_h(phi) - pi(phi) at h = 0, up to its first coefficient that is told from 0."""
        return self._prediction.leading()
