"""A step size where no limit of stability is known: a share of the fastest time scale of the potential."""

from __future__ import annotations

import math

from sgverify.schemes import Dynamics, Scheme
from sgverify.targets import Target
from sgverify.targets.metric import CoordinateMetric
from sgverify.targets.root_matrix import MatrixMetric

SHARE_WITHOUT, SHARE_WITH_MOMENTUM = 0.2, 0.3


def share_of_time_scale(dynamics: Dynamics, curvature: float) -> float:
    """0.2/r for overdamped dynamics, a tenth of Euler's limit 2/r, and 0.3/sqrt(r) with a momentum; r the curvature."""
    if "p" in dynamics.state:
        return SHARE_WITH_MOMENTUM / math.sqrt(curvature)
    return SHARE_WITHOUT / curvature


def typical_step(
    scheme: Scheme, target: Target, temperature: float, metric: CoordinateMetric | MatrixMetric
) -> float:
    """A share of the fastest time scale, from the largest curvature r of U over the typical set of exp(-U/T).

    See `share_of_time_scale`; Verlet's limit is 2/sqrt(r). Where U is quadratic and the step has a momentum all the same
    (it is not affine: a thermostat), r is the same everywhere, and the step is 1/sqrt(r).
    """
    curvature, faster = target.curvature_float64(temperature), 1.0
    if scheme.dynamics.riemannian:
        # The metric multiplies the rates of an overdamped step, and of friction, by b^2.
        faster = metric.largest(target.location_float64(temperature), target.spread_float64(temperature))
    if "p" in scheme.dynamics.state and target.quadratic and faster == 1.0:
        return 1.0 / math.sqrt(curvature)
    return share_of_time_scale(scheme.dynamics, curvature) / faster
