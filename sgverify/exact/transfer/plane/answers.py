"""Kinetic schemes on one-dimensional targets beyond Gaussians: the bias at a step size, and its expansion at h = 0."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from functools import cached_property

import numpy as np

from sgverify.errors import DefinitionError, OutOfReachError
from sgverify.exact.transfer.plane.bias import GridBiases
from sgverify.exact.transfer.plane.expansion import expand_in_plane
from sgverify.exact.transfer.plane.interpreter import PlaneInterpreter
from sgverify.exact.transfer.plane.leading import HIGHEST, PlanePrediction
from sgverify.exact.transfer.result import GridAnswers, GridBias, LeadingBias
from sgverify.schemes import Scheme
from sgverify.targets import Observable, Target


class PlaneAnswers(GridAnswers):
    """pi_h(phi) - pi(phi) of a scheme of state (theta, p) on a target of one dimension, with full gradients.

    Raises `OutOfReachError` where the scheme, the target or its step is beyond this engine.
    """

    def __init__(
        self,
        scheme: Scheme,
        target: Target,
        observable: Observable,
        temperature: Fraction,
        friction: Fraction,
    ) -> None:
        self._reading = PlaneInterpreter(scheme, target, float(temperature), float(friction))
        if observable.degree == 0:
            raise OutOfReachError("the test function is constant")
        self._parts = (target, observable, float(temperature), float(friction))
        try:
            for move in self._reading.moves(2.0**-10):
                move(np.zeros((1, 1)), np.zeros((1, 1)))
        except DefinitionError as error:
            raise OutOfReachError(f"the derivatives of the potential are not known: {error}") from None
        self._expanded = expand_in_plane(scheme, HIGHEST)

    def stationary_bias(self, step: float, position: int | None = None) -> GridBias:
        """The bias at one step size."""
        return self._biases.at(step)

    def stationary_biases(self, steps: Sequence[float]) -> list[GridBias]:
        """See `GridAnswers`."""
        self._biases.foresee(steps)
        return super().stationary_biases(steps)

    @cached_property
    def expansion(self) -> LeadingBias:
        """The expansion of the bias at h = 0, as far as its first coefficient that is not 0."""
        return self._prediction.leading(self._expanded)

    @cached_property
    def _prediction(self) -> PlanePrediction:
        return PlanePrediction(*self._parts)

    @cached_property
    def _biases(self) -> GridBiases:
        return GridBiases(self._reading, self._parts[1], self._prediction.memory)
