"""Overdamped schemes on the line: their bias at a step size, on grids, and in powers of h."""

from __future__ import annotations

from fractions import Fraction

from sgverify.errors import ConfigurationError, OutOfReachError
from sgverify.exact.transfer.bias_on_grids import LineGrids
from sgverify.exact.transfer.domain import Mass
from sgverify.exact.transfer.leading import Prediction
from sgverify.exact.transfer.motion import Motion
from sgverify.exact.transfer.result import GridBias, LeadingBias
from sgverify.schemes import Scheme
from sgverify.targets import Observable, Target


class LineAnswers:
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
        motion = Motion(
            scheme, target, {name: value for name, value in parameters.items() if name in scheme.parameters}
        )
        if observable.degree == 0:
            raise OutOfReachError("the test function is constant")
        warmth = parameters["T"]
        energy = target.energy_of_coordinate(0)
        try:
            mass = Mass.of(lambda x: energy(x) / warmth, *target.hint(0))
        except ConfigurationError as error:
            raise OutOfReachError(str(error)) from None
        self._grids = LineGrids(motion, observable, warmth, mass)
        self._prediction = Prediction(scheme, target, observable, parameters)

    def grid_bias(self, step: float) -> GridBias:
        """pi_h(phi) - pi(phi) at step size h."""
        return self._grids.bias(step)

    def leading_bias(self) -> LeadingBias:
        """The expansion of pi_h(phi) - pi(phi) at h = 0, up to its first coefficient that is told from 0."""
        return self._prediction.leading()
