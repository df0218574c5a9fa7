"""The numbers that a definition asks for by name, as constants of a run."""

from __future__ import annotations

from typing import Any

import numpy as np

from sgverify.errors import ConfigurationError
from sgverify.samplers.constants import Clock, Constant
from sgverify.samplers.metric import make_metric
from sgverify.samplers.settings import Settings
from sgverify.schemes import Scheme


def parameters_of(
    scheme: Scheme, settings: Settings, dim: int, clock: Clock, temperatures: np.ndarray | None = None
) -> dict[str, Any]:
    """D, T (`temperatures`, one for each row, where they differ), `dim` and the metric.

    Raises `ConfigurationError` for a parameter that the sampler does not know.
    """
    known = {"D": settings.friction, "T": settings.temperature}
    for name in scheme.parameters:
        if name not in known:
            raise ConfigurationError(
                f"scheme={scheme.name!r} asks for the parameter {name}; the sampler knows D (friction) and T "
                "(temperature); write the definition with these"
            )
    constants = {name: Constant(np.array([[known[name]]], dtype=np.float64), clock) for name in known}
    if temperatures is not None:
        constants["T"] = Constant(temperatures[None, :], clock)
    return {**constants, "dim": dim, "metric": make_metric(settings.metric, dim)}


__all__ = ["parameters_of"]
