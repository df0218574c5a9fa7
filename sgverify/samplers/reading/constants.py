"""Which numbers do all chains of a run share: h, D, T, and the constants that a definition computes from them?"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any
from weakref import WeakValueDictionary

import numpy as np
import torch
from torch import Tensor

from sgverify.errors import DefinitionError
from sgverify.schemes.definition.binding import Arithmetic
from sgverify.schemes.definition.mathematics import PLAIN, register
from sgverify.schemes.numbers.algebraic import Irrational

EXACT = (int, float, Fraction, Irrational)

Made = Callable[["Constant", "Constant | None"], "Constant"]
"""An operation on a constant, and another one or None, whose result is a constant."""

_LASTING: WeakValueDictionary[int, Tensor] = WeakValueDictionary()


def lasting(tensor: Tensor) -> Tensor:
    """The tensor itself, known from now on as one that never changes: a tape may hold it, and what follows from it alone."""
    _LASTING[id(tensor)] = tensor
    return tensor


def is_lasting(tensor: Tensor) -> bool:
    """Is this a tensor that never changes?"""
    return _LASTING.get(id(tensor)) is tensor


class Clock:
    """The index of the present step in its block, shared by all constants of a run.

    While a step is recorded, `met` maps a tensor to the constant from which it came.
    """

    __slots__ = ("met", "now")

    def __init__(self) -> None:
        self.now = 0
        self.met: dict[int, Constant] | None = None


class Constant(Arithmetic):
    """A number of the run: a float64 array of shape (K, S), K steps of a block by S step sizes.

    K = 1 for a number that is equal at every step, S = 1 for one that is equal for all step sizes. The number is rounded to the
    state's dtype only in an operation with the state. Results of operations between constants are cached on the constants: from
    the second step on, `sqrt(2*D*T*h)` costs a few look-ups and no arithmetic. A `passing` constant belongs to one block of
    steps; results that depend on it are cached on passing constants only, and are freed with them. Raises `DefinitionError`
    unless the dtype is float64: a float32 constant would make a float64 run inaccurate.
    """

    __slots__ = ("_clock", "_made", "_met", "passing", "value")

    def __init__(self, value: np.ndarray, clock: Clock, *, passing: bool = False) -> None:
        if value.dtype != np.float64 or value.ndim != 2:
            raise DefinitionError(
                f"Constant(dtype={value.dtype}, shape={value.shape}): expected float64 of shape (steps, step sizes); "
                "compute constants in float64, they are rounded where they meet the state"
            )
        self.value = value
        self.passing = passing
        self._clock = clock
        self._made: dict[Any, tuple[Constant | None, Constant, Made]] = {}
        self._met: dict[tuple[torch.dtype, torch.device], tuple[Tensor, ...]] = {}

    def meet(self, like: Tensor) -> Tensor:
        """The constant at the present step, in the dtype and on the device of `like`; shape (S, 1, 1) or ()."""
        key = (like.dtype, like.device)
        steps = self._met.get(key)
        if steps is None:
            tensor = torch.from_numpy(self.value.copy()).to(like.dtype).to(like.device)
            steps = self._met[key] = (
                tensor[:, 0] if tensor.shape[1] == 1 else tensor[:, :, None, None]
            ).unbind()
        found = steps[self._clock.now] if len(steps) > 1 else steps[0]
        if self._clock.met is not None:
            self._clock.met[id(found)] = self
        return found

    def apply(self, function: Callable[[float], float]) -> Constant:
        """An elementary function of the constant."""
        return self._remember(
            function, None, lambda: _each(function, self.value), lambda owner, _: owner.apply(function)
        )

    def _with(self, other: Any, operation: Callable[[Any, Any], Any]) -> Any:
        if type(other) is Constant:
            first = not (other.passing and not self.passing)
            owner, guest = (self, other) if first else (other, self)
            return owner._remember(
                (operation, owner is self, id(guest)),
                guest,
                lambda: operation(self.value, other.value),
                lambda owner, guest: operation(owner, guest) if first else operation(guest, owner),
            )
        if isinstance(other, EXACT):
            return self._remember(
                (operation, other),
                None,
                lambda: operation(self.value, float(other)),
                lambda owner, _: owner._with(other, operation),
            )
        return NotImplemented

    def _remember(
        self, key: Any, guest: Constant | None, compute: Callable[[], np.ndarray], made: Made
    ) -> Constant:
        found = self._made.get(key)
        if found is None:
            # The guest is kept alive, so that its id is not reused for another object.
            new = Constant(compute(), self._clock, passing=self.passing)
            found = self._made[key] = (guest, new, made)
        return found[1]

    __radd__, __rmul__ = Arithmetic.__add__, Arithmetic.__mul__

    def __pow__(self, exponent: Any) -> Constant:
        return self._remember(
            ("power", exponent),
            None,
            lambda: _each(lambda x: x**exponent, self.value),
            lambda owner, _: owner**exponent,
        )

    def __neg__(self) -> Constant:
        return self._remember("negative", None, lambda: -self.value, lambda owner, _: -owner)

    def __repr__(self) -> str:
        return f"Constant({self.value.tolist()})"


@dataclass(frozen=True)
class Derivation:
    """How a definition computed some constants from the numbers that it was given: a list of operations.

    Each operation takes one constant, or two, by their places among the given numbers and the earlier results; `wanted` are the
    places of the constants themselves.
    """

    operations: tuple[tuple[Made, int, int | None], ...]
    wanted: tuple[int, ...]

    def again(self, given: Sequence[Constant]) -> list[Constant]:
        """The constants that the same operations compute from other numbers, in the order of the first ones."""
        found = list(given)
        for made, owner, guest in self.operations:
            found.append(made(found[owner], None if guest is None else found[guest]))
        return [found[place] for place in self.wanted]


def derivation(wanted: Sequence[Constant], given: Sequence[Constant]) -> Derivation | None:
    """How the `wanted` constants were computed from the `given` ones; None if some were not."""
    parents: dict[int, tuple[Constant, Constant | None, Made]] = {}
    reached = list(given)
    known = {id(constant) for constant in given}
    for owner in reached:
        for guest, new, made in owner._made.values():
            if id(new) not in known:
                known.add(id(new))
                parents[id(new)] = (owner, guest, made)
                reached.append(new)
    places = {id(constant): place for place, constant in enumerate(given)}
    operations: list[tuple[Made, int, int | None]] = []

    def place_of(constant: Constant) -> int:
        if id(constant) not in places:
            owner, guest, made = parents[id(constant)]
            operation = made, place_of(owner), None if guest is None else place_of(guest)
            operations.append(operation)
            places[id(constant)] = len(given) + len(operations) - 1
        return places[id(constant)]

    try:
        found = tuple(map(place_of, wanted))
    except KeyError:
        return None
    return Derivation(tuple(operations), found)


register(Constant, lambda function, value: value.apply(PLAIN[function]))


def _each(function: Callable[[float], float], array: np.ndarray) -> np.ndarray:
    """`function` of each entry separately: a vectorised function may round differently by an entry's position."""
    numbers = array.ravel().tolist()
    try:
        found = [*map(function, numbers)]
    except (ValueError, OverflowError, ZeroDivisionError):
        found = [_finite(function, x) for x in numbers]
    return np.array(found, dtype=np.float64).reshape(array.shape)


def _finite(function: Callable[[float], float], x: float) -> float:
    # Outside the function's domain the constant is NaN; the run that uses it is then reported as diverged.
    try:
        return function(x)
    except (ValueError, OverflowError, ZeroDivisionError):
        return math.nan
