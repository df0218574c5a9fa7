"""Step switches: step sizes at which a definition becomes another function of h, because the argument of a root touches 0.

min(h, a) is computed by sqrt((h - a)^2), which is a - h below a and h - a beyond. A power series at h = 0 shows the switch only
where it contains the whole argument. So a definition is run on arrays of step sizes: functions of h, parameters and numbers
have values there, every other value absorbs its operands, and the arguments of roots with values are recorded.

The floats of a definition that are read as intervals, because they stand for no simple number.

A definition is run on absorbing values for state, ingredients and draws; every other operand is a number that the definition
itself contains.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from sgverify.exact.numbers.quadrature import EXTENDED
from sgverify.schemes import Dynamics, Scheme, dot, sqrt
from sgverify.schemes.definition.binding import Arithmetic, Carrier, State, bind
from sgverify.schemes.definition.mathematics import FUNCTIONS, first_entry, register
from sgverify.schemes.numbers.constants import constants_like, linear_image
from sgverify.schemes.numbers.rounded import intervals_met, literal
from sgverify.targets.potential import ARRAYS

GRID = np.geomspace(1e-7, 4.0, 1601)
"""The step sizes of the search, neighbours 1 % apart: nearer switches cannot be distinguished by any run."""

ZOOMS, POINTS = 8, 41
"""Each zoom narrows a dip to two of its spaces: 20^8 is beyond the digits of float64."""

RESOLVED = 16
"""An argument counts as non-zero where it exceeds this many times its difference between float64 and long double."""

TOUCHES = 1e-20
"""The value of a zero, relative to the argument beside the dip: a double zero is found to the rounding of h, 1e-16, squared."""


def switches(scheme: Scheme, parameters: Mapping[str, float], dim: int) -> list[float]:
    """The h in (1e-7, 4), in order, at which the argument of a root touches 0 and grows again."""
    found = []
    rounded = _arguments(scheme, parameters, dim, GRID)
    finer = _arguments(scheme, parameters, dim, GRID.astype(EXTENDED))
    for k, (argument, other) in enumerate(zip(rounded, finer, strict=True)):
        for i in _dips(argument, np.abs(argument - other)):
            at = _narrowed(scheme, parameters, dim, k, i)
            if at is not None:
                found.append(at)
    return sorted(set(found))


class _OfStep(Arithmetic):
    """A function of h alone: its values on an array of step sizes. `kept` holds the arguments of roots."""

    __slots__ = ("kept", "value")
    __array_ufunc__ = None

    def __init__(self, value: Any, kept: list[Any]) -> None:
        self.value, self.kept = value, kept

    def _with(self, other: Any, operation: Callable[[Any, Any], Any]) -> Any:
        if isinstance(other, Absorbing):
            return other
        number = other.value if isinstance(other, _OfStep) else float(other)
        return _OfStep(operation(self.value, number), self.kept)

    def __pow__(self, exponent: Any) -> _OfStep:
        return _OfStep(self.value ** (exponent if isinstance(exponent, int) else float(exponent)), self.kept)

    def __neg__(self) -> _OfStep:
        return _OfStep(-self.value, self.kept)


class Absorbing(Arithmetic):
    """A value that depends on more than h; every operation with it gives such a value."""

    def _with(self, other: Any, operation: Callable[[Any, Any], Any]) -> Any:
        return self

    def __pow__(self, exponent: Any) -> Absorbing:
        return self

    def __neg__(self) -> Absorbing:
        return self

    def __call__(self, *_: Any) -> Absorbing:
        """The value of a gradient or of a metric at any place."""
        return self

    fresh = prior = likelihood = hessian = __call__
    root = transposed = inverse = divergence = root_divergence = diffusion = __call__


def _arguments(
    scheme: Scheme, parameters: Mapping[str, float], dim: int, steps: np.ndarray
) -> list[np.ndarray]:
    kept: list[Any] = []
    rest = Absorbing()
    carrier = Carrier(number=lambda value: _OfStep(np.full_like(steps, value), kept))
    with np.errstate(all="ignore"):
        bind(scheme, carrier, parameters, dim=dim, metric=rest).step(
            (rest,) * len(scheme.state), h=steps, grad=rest, draw=lambda law: rest
        )
    return [np.broadcast_to(value, steps.shape) for value in kept]


def _dips(argument: np.ndarray, rounding: np.ndarray) -> list[int]:
    """The inner places at which the argument is least among its neighbours, and positive beside.

    An argument that is the difference of large numbers, such as h - 2(1 - e^(-h)) + (1 - e^(-2h))/2 = h^3/3 + ..., is pure
    rounding where h is small, and dips at random: the values beside a dip have to exceed their rounding.
    """
    left, here, right = argument[:-2], argument[1:-1], argument[2:]
    told = argument > RESOLVED * rounding
    lowest = (here <= left) & (here <= right) & told[:-2] & told[2:] & (here >= 0)
    return [int(i) + 1 for i in np.flatnonzero(lowest & ((here < left) | (here < right)))]


def _narrowed(
    scheme: Scheme, parameters: Mapping[str, float], dim: int, which: int, place: int
) -> float | None:
    """The h of a dip where it touches 0; None where it does not."""
    low, high = GRID[place - 1], GRID[place + 1]
    size = None
    for _ in range(ZOOMS):
        steps = np.linspace(low, high, POINTS)
        argument = _arguments(scheme, parameters, dim, steps)[which]
        size = float(max(argument[0], argument[-1])) if size is None else size
        least = int(np.argmin(argument))
        if not 0 < least < POINTS - 1 or argument[least] < 0:
            return None
        low, high = steps[least - 1], steps[least + 1]
        if argument[least] <= TOUCHES * size:
            return float(steps[least])
    return None


register(_OfStep, lambda function, value: _OfStep(ARRAYS[function](value.value), value.kept))


@sqrt.register
def _(value: _OfStep) -> _OfStep:
    value.kept.append(value.value)
    return _OfStep(np.sqrt(value.value), value.kept)


register(Absorbing, lambda function, value: value, (*FUNCTIONS, first_entry))


@dot.register
def _(left: Absorbing, right: Any) -> Absorbing:
    return left


@constants_like.register
def _(like: Absorbing, numbers: tuple[Any, ...]) -> Absorbing:
    return like


@linear_image.register
def _(vector: Absorbing, rows: tuple[Any, ...]) -> Absorbing:
    return vector


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
