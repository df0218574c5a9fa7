"""Test functions of the state of all chains, in float64 whatever the state's dtype."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from sgverify.errors import ConfigurationError
from sgverify.samplers.carrier import Chains
from sgverify.samplers.constants import Clock
from sgverify.samplers.tape import NotRecordable, Tape, record


class Widened(Chains):
    """A state variable in float64. Only what is asked for is widened: `theta[..., 0]` costs one coordinate."""

    __slots__ = ("_state", "_whole")

    def __init__(self, state: Tensor) -> None:
        self._state = state
        self._whole: Tensor | None = None

    @property
    def tensor(self) -> Tensor:  # type: ignore[override]
        """All of it."""
        if self._whole is None:
            self._whole = _widened(self._state)
        return self._whole

    def __getitem__(self, place: Any) -> Chains:
        return Chains(_widened(self._state[place]))


@dataclass(frozen=True)
class ObservedFunctions:
    """Test functions, and the names of the variables of a state.

    One with an attribute `variables` is called with the variables of these names, any other with theta and, where
    there is one, p.
    """

    observables: Sequence[Callable[..., Any]]
    variables: tuple[str, ...]

    def evaluate(self, state: Sequence[Tensor]) -> list[Tensor]:
        """Each test function of a state, shape (S, C). Raises `ConfigurationError` for another shape."""
        named = {name: Widened(tensor) for name, tensor in zip(self.variables, state, strict=True)}
        usual = [self.variables[0], *(["p"] if "p" in self.variables[1:] else [])]
        results = []
        for observable in self.observables:
            names = getattr(observable, "variables", None)
            value = observable(*(named[name] for name in (usual if names is None else names)))
            expected = state[0].shape[:-1]
            found = tuple(value.tensor.shape) if isinstance(value, Chains) else type(value).__name__
            if found != tuple(expected):
                raise ConfigurationError(
                    f"observable {observable}: returned {found} for a state of shape {tuple(state[0].shape)}; expected "
                    "one number for each chain, e.g. theta[..., 0]**2"
                )
            results.append(value.tensor)
        return results


def _widened(tensor: Tensor) -> Tensor:
    return tensor if tensor.dtype == torch.float64 else tensor.to(torch.float64)


class Observation:
    """The test functions on states of one shape: run on the first, recorded on the second, then played."""

    def __init__(self, asked: ObservedFunctions) -> None:
        self._asked = asked
        self._seen = 0
        self.tape: Tape | None = None

    def __call__(self, state: tuple[Tensor, ...]) -> Sequence[Tensor]:
        """The values at a state, float64, shape (S, C) each."""
        self._seen += 1
        if self.tape is not None:
            return self.tape.play(state, (), ())
        if self._seen != 2:
            return self._asked.evaluate(state)
        try:
            self.tape, values = record(lambda: self._asked.evaluate(state), state, (), Clock())
        except NotRecordable:
            return self._asked.evaluate(state)
        return values
