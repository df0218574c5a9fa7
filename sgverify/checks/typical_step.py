"""A step size where no limit of stability is known: a share of the fastest time scale of the potential."""

from __future__ import annotations

import math
from collections.abc import Mapping

import numpy as np

from sgverify.exact.affine.stability import NEAR
from sgverify.exact.long_double import LongDoubleGradient, step_in_long_double
from sgverify.schemes import Dynamics, Scheme
from sgverify.targets import Target
from sgverify.targets.metric import CoordinateMetric
from sgverify.targets.root_matrix import MatrixMetric

HALVINGS = 40
"""How often a step is halved in search of one that contracts."""

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


def contracting_step(
    scheme: Scheme,
    target: Target,
    parameters: Mapping[str, float],
    metric: CoordinateMetric | MatrixMetric,
    first: float,
) -> float:
    """The first of first, first/2, ... at which a step without noise contracts about the mean; `first` where none does.

    For steps whose coordinates differ by constants: no eigenvalue of the precision stands for them. The differences are exact
    where the step is affine, and those of a spread elsewhere.
    """
    names, dim = list(scheme.state), target.dim
    size = len(names) * dim
    centre = np.zeros(size)
    centre[:dim] = np.asarray([float(value) for value in target.mean])
    points = centre + np.vstack([np.zeros(size), np.eye(size)])
    state = [points[:, k * dim : (k + 1) * dim] for k in range(len(names))]
    draws = [np.zeros((size + 1, dim)) for _ in range(scheme.draws)]
    for h in (first / 2**k for k in range(HALVINGS)):
        moved = step_in_long_double(
            scheme,
            state,
            draws,
            h=h,
            gradient=LongDoubleGradient(target),
            dim=dim,
            metric=metric,
            parameters=parameters,
        )
        images = np.hstack(moved).astype(np.float64)
        if np.isfinite(images).all() and np.abs(np.linalg.eigvals(images[1:] - images[0])).max() < 1 - NEAR:
            # Half of what contracts, as the default step is half of a limit.
            return h / 2
    return first
