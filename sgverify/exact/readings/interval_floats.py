"""The floats of a definition that are read as intervals, because they stand for no simple number.

A definition is run on absorbing values for state, ingredients and draws; every other operand is a number that the definition
itself contains.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from sgverify.exact.readings.step_switches import Absorbing
from sgverify.schemes import Dynamics, Scheme
from sgverify.schemes.definition.binding import Carrier, State, bind
from sgverify.schemes.numbers.rounded import intervals_met, literal


def intervals_of(scheme: Scheme, dim: int) -> tuple[float, ...]:
    """The intervals in a step, in the start of its memory and in its dynamics, without signs, each once."""
    bound = bind(scheme, Carrier(), dict.fromkeys(scheme.parameters, _ANY), dim=dim, metric=_ANY)
    state: State = (_ANY,) * len(scheme.dynamics.state)
    with intervals_met() as met:
        for run in (bound.start, bound.step):
            state = run(state, h=_ANY, grad=_ANY, draw=lambda law: _ANY)
    return tuple(dict.fromkeys([*met, *intervals_of_dynamics(scheme.dynamics, dim)]))


def intervals_of_dynamics(dynamics: Dynamics, dim: int) -> tuple[float, ...]:
    """The intervals in drift and diffusion of a dynamics."""
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
