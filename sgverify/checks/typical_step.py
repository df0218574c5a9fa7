"""A step size where no limit of stability is known: a share of the fastest time scale of the potential."""

from __future__ import annotations

import math

from sgverify.schemes import Scheme
from sgverify.targets import Target
from sgverify.targets.metric import CoordinateMetric

SHARE_WITHOUT, SHARE_WITH_MOMENTUM = 0.2, 0.3


def typical_step(scheme: Scheme, target: Target, temperature: float, metric: CoordinateMetric) -> float:
    """A share of the fastest time scale, from the largest curvature r of U over the typical set of exp(-U/T).

    0.2/r for overdamped dynamics, a tenth of Euler's limit 2/r, and 0.3/sqrt(r) with a momentum, where Verlet's is
    2/sqrt(r). Where U is quadratic (the step is not affine: a thermostat), r is the same everywhere: 1/sqrt(r).
    """
    curvature, faster = target.curvature_float64(temperature), 1.0
    if scheme.dynamics.riemannian:
        # The metric multiplies the rates of an overdamped step, and of friction, by b^2.
        faster = metric.largest(target.location_float64(temperature), target.spread_float64(temperature))
    if "p" in scheme.dynamics.state:
        share = 1.0 if target.quadratic and faster == 1.0 else SHARE_WITH_MOMENTUM
        return share / math.sqrt(curvature) / faster
    return SHARE_WITHOUT / curvature / faster
