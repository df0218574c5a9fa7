"""A user's own log density, written with torch: a black box with what its author states about it."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import singledispatch
from pathlib import Path
from typing import Any

import numpy as np

from sgverify.errors import ConfigurationError, DefinitionError, UserError
from sgverify.schemes.references import Wanted, load_object, place_of
from sgverify.targets.constants import is_list, read_number, read_whole, shown
from sgverify.targets.observable import parse_observable
from sgverify.targets.potential import Vector
from sgverify.targets.target import Target

OWN_KEYS = ("name", "dim", "averages")
"""The configuration keys, below `target.`, that a log density takes."""

_MOST_COORDINATES = 1000


@dataclass(frozen=True, eq=False)
class LogDensity:
    """log p(theta) up to a constant, a function of a torch tensor; shape (*chains, d) -> (*chains)."""

    function: Callable[[Any], Any] = field(repr=False)
    name: str
    dim: int
    averages: Mapping[str, float]
    location: np.ndarray | None
    spread: np.ndarray | None

    def __call__(self, theta: Any) -> Any:
        """The value of the function; what it raises is raised as a `UserError` that names file and line."""
        try:
            return self.function(theta)
        except (UserError, KeyboardInterrupt):
            raise
        except Exception as error:
            path = Path(inspect.unwrap(self.function).__code__.co_filename)
            raise UserError(
                f"log density {self.name!r}: {place_of(error, path)} raised {type(error).__name__}: {error}; expected a "
                f"function of a torch tensor of shape (*chains, {self.dim}), any number of leading axes; mend it there"
            ) from None

    def target(self, reference: str, averages: Mapping[str, float]) -> Target:
        """The target exp(log p/T), whose gradients come from autograd; `reference` is what it is called."""

        def potential(theta: Any) -> Any:
            return -evaluate(theta, self)

        return Target(
            reference,
            self.dim,
            potential,
            averages=averages,
            stated_location=self.location,
            stated_spread=self.spread,
        )


def log_density(
    *misplaced: Any,
    dim: int = 1,
    averages: Mapping[str, float] | None = None,
    location: float | Sequence[float] | None = None,
    spread: float | Sequence[float] | None = None,
) -> Callable[[Callable[[Any], Any]], LogDensity]:
    """A target from a function of a torch tensor: theta, shape (*chains, d), to log p(theta), shape (*chains).

    U = -log p, and the constant does not matter. `averages` states E phi under p^(1/T), by test function, where you
    know it: {"theta[0]**2": 1.3}; in one dimension what is not stated is computed. `location` and `spread`, a number
    or one for each coordinate, state mean and standard deviations; chains start from them. What is not stated is
    looked for from 0. Raises `DefinitionError` and `ConfigurationError` for what cannot be.

        @sgverify.log_density(dim=2, averages={"theta[0]": 0.0})
        def banana(theta):
            x, y = theta.unbind(-1)
            return -x**2/2 - (y - x**2)**2
    """
    if misplaced:
        raise DefinitionError(
            f"log_density({shown(misplaced[0])}): expected keywords alone; write @log_density() or @log_density(dim=2) "
            "above the function"
        )
    read_whole("dim", dim, 1, _MOST_COORDINATES)
    stated = read_averages({} if averages is None else averages, dim)
    centre = _stated("location", location, dim)
    widths = _stated("spread", spread, dim)
    if widths is not None and (widths <= 0).any():
        raise ConfigurationError(f"spread={spread!r}: expected standard deviations, above 0")

    def define(function: Callable[[Any], Any]) -> LogDensity:
        if not inspect.isfunction(function):
            raise DefinitionError(
                f"log_density: {shown(function)} is no function; expected one of a torch tensor, defined with def"
            )
        return LogDensity(function, function.__name__, dim, stated, centre, widths)

    return define


def load_log_density(reference: str) -> LogDensity | Target:
    """The log density, or the target, that `module:attribute` or `path/to/file.py:attribute` names; raises as `load_object`."""
    found: LogDensity | Target = load_object(reference, _WANTED)
    return found


def read_averages(value: Any, dim: int) -> dict[str, float]:
    """Stated averages: {test function: its average under exp(-U/T)}; raises `ConfigurationError` for another form."""
    if not isinstance(value, Mapping):
        raise ConfigurationError(
            f"target.averages={shown(value)}: expected a table of numbers by test function, such as "
            '{"theta[0]**2" = 1.3}'
        )
    for text, number in value.items():
        parse_observable(text, dim)
        read_number(f"target.averages.{text}", number)
    return {text: float(number) for text, number in value.items()}


@singledispatch
def evaluate(theta: Any, density: LogDensity) -> Any:
    """log p at theta, whatever the carrier; those that can hand a torch tensor to it register themselves."""
    raise DefinitionError(
        f"log density {density.name!r} was evaluated on a {type(theta).__name__}; it is a function of torch tensors; expected "
        "a reading that samples it; import sgverify.samplers, which teaches arrays to become tensors"
    )


@evaluate.register
def _(theta: Vector, density: LogDensity) -> Any:
    raise DefinitionError(f"log density {density.name!r} is a function of torch tensors")


def _stated(key: str, value: Any, dim: int) -> np.ndarray | None:
    if value is None:
        return None
    values = list(value) if is_list(value) else [value] * dim
    if len(values) != dim:
        raise ConfigurationError(
            f"{key}={shown(value)} has length {len(values)}; expected {dim}, which is dim"
        )
    found = np.array([float(read_number(key, entry)) for entry in values])
    found.flags.writeable = False
    return found


_WANTED = Wanted(
    key="target.name",
    noun="log density",
    type=(LogDensity, Target),
    written="a function under @sgverify.log_density(dim=...), or a target such as sgverify.module_target(...) returns",
    catalogue="targets",
)
