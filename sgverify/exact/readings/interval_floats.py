"""The floats of a definition that are read as intervals: those that stand for no simple number.

A definition is run on values that absorb everything they meet, and what is no value of the state, of an ingredient or of a draw
is a number that the definition brings along.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from sgverify.exact.readings.step_switches import Absorbing
from sgverify.schemes import Dynamics, Scheme
from sgverify.schemes.definition.binding import Carrier, State, bind
from sgverify.schemes.numbers.rounded import intervals_met, literal


def intervals_of(scheme: Scheme, dim: int) -> tuple[float, ...]:
    """Of a step, the start of its memory and its dynamics, without their signs, each once."""
    bound = bind(scheme, Carrier(), dict.fromkeys(scheme.parameters, _ANY), dim=dim, metric=_ANY)
    state: State = (_ANY,) * len(scheme.dynamics.state)
    with intervals_met() as met:
        for run in (bound.start, bound.step):
            state = run(state, h=_ANY, grad=_ANY, draw=lambda law: _ANY)
    return tuple(dict.fromkeys([*met, *intervals_of_dynamics(scheme.dynamics, dim)]))


def intervals_of_dynamics(dynamics: Dynamics, dim: int) -> tuple[float, ...]:
    """Of drift and diffusion."""
    with intervals_met() as met:
        bound = bind(dynamics, Carrier(), dict.fromkeys(dynamics.parameters, _ANY), dim=dim, metric=_ANY)
        bound.coefficients((_ANY,) * len(dynamics.state), grad=_ANY)
    return tuple(met)


class _Any(Absorbing):
    def _with(self, other: Any, operation: Callable[[Any, Any], Any]) -> Any:
        if isinstance(other, float):
            literal(other)
        return self


_ANY = _Any()
