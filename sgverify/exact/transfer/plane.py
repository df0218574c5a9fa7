"""Kinetic schemes on one-dimensional targets beyond Gaussians: the bias at a step size, and its expansion at h = 0."""

from __future__ import annotations

from fractions import Fraction
from functools import cached_property

import numpy as np

from sgverify.errors import DefinitionError, OutOfReachError
from sgverify.exact.transfer.plane_bias import GridBiases
from sgverify.exact.transfer.plane_expansion import expand_in_plane
from sgverify.exact.transfer.plane_leading import HIGHEST, PlanePrediction
from sgverify.exact.transfer.plane_reading import PlaneReading
from sgverify.exact.transfer.result import GridBias, LeadingBias
from sgverify.schemes import Scheme
from sgverify.targets import Observable, Target


class PlaneAnswers:
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
        if scheme.state != ("theta", "p"):
            raise OutOfReachError(
                f"the state is ({', '.join(scheme.state)}), and the grid of the plane holds (theta, p)"
            )
        if scheme.dynamics.riemannian:
            raise OutOfReachError(f"`{scheme.name}` asks for a metric, which the grid does not supply")
        if target.dim != 1:
            raise OutOfReachError(
                f"the target has dim={target.dim}, and the grid of the plane holds one dimension"
            )
        if observable.degree == 0:
            raise OutOfReachError("the test function is constant")
        self._parts = (target, observable, float(temperature), float(friction))
        self._reading = PlaneReading(scheme, target, float(temperature), float(friction))
        try:
            for move in self._reading.moves(2.0**-10):
                move(np.zeros((1, 1)), np.zeros((1, 1)))
        except DefinitionError as error:
            raise OutOfReachError(f"the derivatives of the potential are not known: {error}") from None
        self._expansion = expand_in_plane(scheme, HIGHEST)

    def grid_bias(self, step: float) -> GridBias:
        """The bias at one step size."""
        return self._biases.at(step)

    def leading_bias(self) -> LeadingBias:
        """The expansion of the bias at h = 0, as far as its first coefficient that is not 0."""
        return self._prediction.leading(self._expansion)

    @cached_property
    def _prediction(self) -> PlanePrediction:
        return PlanePrediction(*self._parts)

    @cached_property
    def _biases(self) -> GridBiases:
        return GridBiases(self._reading, self._parts[1], self._prediction.memory)
