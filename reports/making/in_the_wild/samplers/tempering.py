"""A sampler that knows no temperature, judged at one: it samples exp(-U/T) at its own temperature 1.

With p = sqrt(T) q and time s = sqrt(T) t, Langevin dynamics with momentum at the temperature T is that of U/T at the temperature 1:
step size h sqrt(T), friction D/sqrt(T), momentum p/sqrt(T), thermostat xi/sqrt(T). Without momentum the step is h T.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

Gradient = Callable[[Any], Any]
"""The gradient of U, on tensors or on arrays of JAX."""


def of_potential(grad: Gradient, T: float) -> Gradient:
    """The gradient of U/T."""
    return lambda theta: grad(theta) / T


def with_momentum(
    take: Callable[..., tuple[Any, ...]], theta: Any, *others: Any, h: Any, grad: Gradient, T: Any, D: Any
) -> tuple[Any, ...]:
    """The state after `take(theta, *others, h=, grad=, D=)`, a step at the temperature 1; `others` are p, or p and xi."""
    root = T**0.5
    moved = take(
        theta, *(value / root for value in others), h=h * root, grad=of_potential(grad, T), D=D / root
    )
    return (moved[0], *(value * root for value in moved[1:]))
