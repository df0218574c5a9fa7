"""How is a step without a temperature read at every T? It samples exp(-U) of the U that it is given: it is given U/T.

For langevin one of its steps then is one of size h T, for kinetic and a thermostat one of size h sqrt(T) with the friction
D/sqrt(T), the momentum p/sqrt(T) and the thermostat's friction xi/sqrt(T).
"""

from __future__ import annotations

import functools
import inspect
import math
from collections.abc import Callable
from typing import Any

from sgverify.schemes.definition.declaration import Declaration
from sgverify.schemes.definition.mathematics import sqrt
from sgverify.schemes.dynamics import Dynamics, kinetic, langevin, thermostat

TOLD = "the gradient of U/T, for it takes no T"


class DividedGradient:
    """The gradient of U/T."""

    def __init__(self, grad: Any, temperature: Any) -> None:
        self._grad, self._temperature = grad, temperature

    def __call__(self, theta: Any) -> Any:
        """The gradient at theta."""
        return self._grad(theta) / self._temperature

    def fresh(self) -> DividedGradient:
        """The gradient on another minibatch of the same step."""
        return DividedGradient(self._grad.fresh(), self._temperature)


def is_tempered(dynamics: Dynamics, declaration: Declaration) -> bool:
    """Does a step of dynamics with a temperature take none?"""
    return (
        dynamics in (langevin, kinetic, thermostat)
        and "T" not in declaration.ingredients
        and declaration.state == dynamics.state
    )


def with_temperature(
    function: Callable[..., Any],
    dynamics: Dynamics,
    declaration: Declaration,
    root_of: Callable[[Any], Any] = sqrt,
) -> tuple[Callable[..., Any], Declaration]:
    """A step without a temperature as one that takes T; `root_of` is the square root for its numbers."""

    @functools.wraps(function)
    def tempered(*state: Any, h: Any, T: Any, **given: Any) -> Any:
        return _divided(function, dynamics, T, root_of, state, h, given)

    signature = inspect.signature(function)
    temperature = inspect.Parameter("T", inspect.Parameter.KEYWORD_ONLY)
    if all(item.kind is not item.VAR_KEYWORD for item in signature.parameters.values()):
        tempered.__signature__ = signature.replace(parameters=[*signature.parameters.values(), temperature])  # type: ignore[attr-defined]
    asked = (*declaration.ingredients, "T")
    return tempered, Declaration(declaration.state, asked)


def _divided(
    function: Callable[..., Any],
    dynamics: Dynamics,
    factor: Any,
    root_of: Callable[[Any], Any],
    state: Any,
    h: Any,
    given: dict[str, Any],
) -> Any:
    """A step of size h that is given U divided by a factor, so that its noise is that of the factor as temperature."""
    if "grad" in given:
        given["grad"] = DividedGradient(given["grad"], factor)
    if "log_density" in given:
        density = given["log_density"]
        given["log_density"] = lambda theta: density(theta) / factor
    if dynamics is langevin:
        return function(*state, h=h * factor, **given)
    root = root_of(factor)
    if "D" in given:
        given["D"] = given["D"] / root
    theta, *others = function(state[0], *(part / root for part in state[1:]), h=h * root, **given)
    return theta, *(part * root for part in others)


def with_mean_gradient(
    function: Callable[..., Any], dynamics: Dynamics, size: float, heat: float
) -> Callable[..., Any]:
    """A step that takes the mean loss of `size` data as one that takes the sum; T is handed on times `heat`."""

    @functools.wraps(function)
    def of_mean(*state: Any, h: Any, **given: Any) -> Any:
        if "T" in given:
            given["T"] = given["T"] * heat
        return _divided(function, dynamics, size, math.sqrt, state, h, given)

    return of_mean
