"""Targets from a user's own log density in torch, a black box, with averages that its author may state."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from sgverify.errors import ConfigurationError, DefinitionError, shown
from sgverify.schemes.loading import Wanted, load_object
from sgverify.targets.constants import is_list, read_number, read_whole
from sgverify.targets.data_files import FILE_KEYS
from sgverify.targets.kind import TargetKind
from sgverify.targets.observable import parse_observable
from sgverify.targets.own.function import (
    OwnFunction,
    OwnPotential,
    constants_of,
    count_arguments,
    read_arrays,
    read_configured,
)
from sgverify.targets.target import Target

OWN_KEYS = ("name", "dim", "averages")
"""The configuration keys, below `target.`, that a log density takes."""
DATA_KEYS = ("data", *FILE_KEYS)
"""The further configuration keys of a log density that has a likelihood and no data of its own."""

_MOST_COORDINATES = 1000


@dataclass(frozen=True, eq=False)
class LogDensity:
    """log p(theta) up to a constant, or a log prior with the log likelihood of one datum, and the author's statements."""

    density: OwnFunction
    likelihood: OwnFunction | None
    data: np.ndarray | None
    averages: Mapping[str, float]
    location: np.ndarray | None
    spread: np.ndarray | None
    names: tuple[str, ...] = ()

    @property
    def dim(self) -> int:
        """The length of theta."""
        return self.density.dim

    @property
    def name(self) -> str:
        """The name of the function."""
        return (self.likelihood or self.density).name

    @property
    def wanting(self) -> bool:
        """Whether it has a likelihood and still needs data."""
        return self.likelihood is not None and self.data is None

    @property
    def constants(self) -> dict[str, float]:
        """The constants of its functions, by the configuration keys that set them."""
        return {**self.density.constants, **(self.likelihood.constants if self.likelihood else {})}

    def with_constants(self, given: Mapping[str, Any]) -> LogDensity:
        """The log density with other values of some constants. Stated averages hold for the values in the code and are dropped.

        Raises `ConfigurationError` for a value that is no number.
        """
        read = {name: float(read_number(f"target.{name}", value)) for name, value in given.items()}
        functions = [own for own in (self.density, self.likelihood) if own is not None]
        if all(own.constants.get(name, value) == value for own in functions for name, value in read.items()):
            return self

        def told(own: OwnFunction) -> OwnFunction:
            return replace(
                own, constants={name: read.get(name, value) for name, value in own.constants.items()}
            )

        likelihood = None if self.likelihood is None else told(self.likelihood)
        return replace(self, density=told(self.density), likelihood=likelihood, averages={})

    def with_data(self, given: dict[str, Any]) -> LogDensity:
        """The log density with the data of `target.data` or `target.file`. Raises `ConfigurationError`."""
        assert self.likelihood is not None
        data, layout = read_configured(given, self.likelihood.function)
        return replace(self, likelihood=replace(self.likelihood, layout=layout), data=data)

    def target(self, reference: str | None = None, averages: Mapping[str, float] | None = None) -> Target:
        """The target exp(log p/T), whose gradients come from autograd; `reference` becomes its name."""
        if self.wanting:
            raise ConfigurationError(
                f"{self.likelihood} has no data; expected some; set target.file or target.data, or give data=... to log_density"
            )
        return Target(
            self.name if reference is None else reference,
            self.dim,
            OwnPotential(self.density),
            None if self.likelihood is None else OwnPotential(self.likelihood),
            self.data,
            averages=self.averages if averages is None else averages,
            stated_location=self.location,
            stated_spread=self.spread,
            names=self.names,
        )


def log_density(
    *misplaced: Any,
    dim: int = 1,
    data: Any = None,
    log_prior: Callable[[Any], Any] | None = None,
    batched: bool | None = None,
    averages: Mapping[str, float] | None = None,
    location: float | Sequence[float] | None = None,
    spread: float | Sequence[float] | None = None,
    names: Sequence[str] | None = None,
) -> Callable[[Callable[..., Any]], LogDensity]:
    """A target from a function of a torch tensor: theta to log p(theta), or theta and one datum to log p(x | theta).

    U = -log p, and the constant does not matter. With a `log_prior` the function is the log likelihood of one datum:

        U(theta) = -log_prior(theta) - sum_i log_likelihood(theta, x_i),

    and minibatches are drawn from the data. `data`: an array of N entries along its first axis, or a tuple of them, each an
    argument of its own; where it is left out the configuration gives them (`target.file`, `target.data`): the whole row to
    a function (theta, x), its first numbers and its last to a function (theta, x, y).
    A function takes one theta of shape (d,) and one datum, or any number of leading axes, (*chains, d) -> (*chains). A trial on
    a few points tells which, unless `batched` states it; a function of one theta is run by `torch.func.vmap`. `averages`
    states known values of E phi under p^(1/T) by test function: {"theta[0]**2": 1.3}; in one dimension the others are
    computed. `location` and `spread`, one number or one for each coordinate, state mean and standard deviations, from which
    chains start; a search from 0 finds them where they are not stated. `names` are those of the coordinates.
    Keyword-only parameters with a number as default are
    constants: `--set target.freedom=7` sets that of `def student(theta, *, freedom=4.0)`. Raises `DefinitionError` or
    `ConfigurationError` for a function, data or statements that do not fit together.

        @sgverify.log_density(dim=2, averages={"theta[0]": 0.0})
        def banana(theta):
            x, y = theta.unbind(-1)
            return -x**2/2 - (y - x**2)**2

        @sgverify.log_density(dim=3, data=(x, y), log_prior=lambda theta: -theta @ theta / 2)
        def logistic(theta, x, y):
            return torch.nn.functional.logsigmoid((2*y - 1) * (x @ theta))
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
    labels = () if names is None else read_names(names, dim)
    if batched not in (None, True, False):
        raise ConfigurationError(
            f"batched={batched!r}: expected True or False; leave it out to have it found out"
        )
    if data is not None and log_prior is None:
        raise DefinitionError(
            "log_density: data are given without log_prior; expected log_prior=..., a function of theta, so that the prior "
            "counts once and not with every datum; a flat one is lambda theta: 0*theta.sum(-1)"
        )

    def define(function: Callable[..., Any]) -> LogDensity:
        _check_function(function)
        if log_prior is None:
            if (count := count_arguments(function)) != 1:
                raise DefinitionError(
                    f"log_density: {function.__name__} takes {count} arguments; expected theta alone, or log_prior=... for the "
                    "likelihood of one datum; give a log_prior"
                )
            own = OwnFunction(
                function, "log density", function.__name__, dim, None, batched, constants_of(function)
            )
            return LogDensity(own, None, None, stated, centre, widths, labels)
        _check_function(log_prior)
        prior = OwnFunction(
            log_prior, "log prior", log_prior.__name__, dim, None, batched, constants_of(log_prior)
        )
        rows, layout = (None, None) if data is None else read_arrays(data)
        found, wanted = count_arguments(function), None if layout is None else 1 + len(layout.shapes)
        if found < 2 or (wanted is not None and found != wanted):
            raise DefinitionError(
                f"log_density: {function.__name__} takes {found} arguments; expected theta and "
                f"{'one datum' if wanted is None else f'{wanted - 1}, one for each array of data'}; mend its signature"
            )
        likelihood = OwnFunction(
            function, "log likelihood", function.__name__, dim, layout, batched, constants_of(function)
        )
        return LogDensity(prior, likelihood, rows, stated, centre, widths, labels)

    return define


def load_own(reference: str, dim: int | None = None) -> LogDensity | Target | TargetKind:
    """The log density, the target or its kind that `module:attribute` or `path/to/file.py:attribute` names; raises as
    `load_object`.

    A plain function of theta is a log density of the dimension `dim`, by default 1.
    """
    found: Any = load_object(reference, _WANTED)
    made: LogDensity | Target | TargetKind = (
        log_density(dim=dim or 1)(found) if inspect.isfunction(found) else found
    )
    return made


def is_plain(reference: str) -> bool:
    """Does the reference name a plain function, whose dimension has to be told?"""
    return inspect.isfunction(load_object(reference, _WANTED))


def _function(found: Any, reference: str) -> Any:
    """The function itself; raises `DefinitionError` for an object of another type."""
    if not inspect.isfunction(found):
        raise DefinitionError(
            f"target.name={reference!r}: is of type {type(found).__name__}; expected {_WANTED.written}"
        )
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


def read_names(names: Sequence[str], dim: int) -> tuple[str, ...]:
    """Names of the coordinates; raises `ConfigurationError` unless each of them has one of its own."""
    own = tuple(str(name).strip() for name in names)
    if isinstance(names, str) or len(own) != dim or len({*own}) != len(own) or not all(own):
        raise ConfigurationError(
            f"names={shown(names)}: expected {dim} different names, one for each coordinate of theta"
        )
    return own


def _check_function(function: Any) -> None:
    if not inspect.isfunction(function):
        raise DefinitionError(
            f"log_density: {shown(function)} is no function; expected one of a torch tensor, defined with def"
        )


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
    type=(LogDensity, Target, TargetKind),
    written=(
        "a function of theta, under @sgverify.log_density(dim=...) or plain, a target such as sgverify.module_target(...) "
        "returns, or a TargetKind"
    ),
    catalogue="targets",
    adapt=_function,
)
