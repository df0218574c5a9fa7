"""How is a definition bound to tensors of chains, with h, D and T as constants of a run, the dimension and the metric?"""

from __future__ import annotations

from collections.abc import Mapping
from operator import attrgetter
from typing import Any

import numpy as np

from sgverify.errors import ConfigurationError
from sgverify.samplers.reading.carrier import Chains
from sgverify.samplers.reading.constants import Clock, Constant
from sgverify.samplers.reading.motion import make_metric
from sgverify.samplers.run.settings import Settings
from sgverify.schemes import Scheme
from sgverify.schemes.definition.binding import Bound, Carrier, bind
from sgverify.targets.metric import MetricText

TENSORS = Carrier(Chains, result=attrgetter("tensor"))
"""The carrier with tensors as values and Python's numbers as constants."""


def on_chains(clock: Clock) -> Carrier:
    """The carrier with tensors (S, C, d) or (S, C, 1) as values; its numbers become constants of shape up to (K, S)."""

    def number(value: Any) -> Constant:
        if isinstance(value, Constant):
            return value
        array = np.asarray(value, dtype=np.float64)
        return Constant(array.reshape((1,) * (2 - array.ndim) + array.shape), clock)

    return Carrier(Chains, number, attrgetter("tensor"))


def bind_numbers(
    scheme: Scheme,
    parameters: Mapping[str, Any],
    dim: int,
    clock: Clock,
    metric: MetricText | None = None,
) -> Bound[Scheme]:
    """`scheme` bound to tensors, with parameters T and D that are numbers or have one entry for each row."""
    return bind(scheme, on_chains(clock), parameters, dim=dim, metric=make_metric(metric, dim))


def bind_settings(
    scheme: Scheme, settings: Settings, dim: int, clock: Clock, temperatures: np.ndarray | None = None
) -> Bound[Scheme]:
    """`scheme` bound to tensors with the settings of a run: D, T, `dim` and the metric.

    `temperatures`, one for each row, replaces the settings' T. Raises `ConfigurationError` for an unknown parameter.
    """
    known = {
        "D": settings.friction,
        "T": settings.temperature if temperatures is None else temperatures,
    }
    for name in scheme.parameters:
        if name not in known:
            raise ConfigurationError(
                f"scheme={scheme.name!r} asks for the parameter {name}; the sampler knows D (friction) and T "
                "(temperature); write the definition with these"
            )
    return bind_numbers(scheme, known, dim, clock, settings.metric)
