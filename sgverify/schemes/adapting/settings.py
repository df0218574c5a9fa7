"""How does a user tell the conventions of a sampler of another library?"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from typing import Any

from sgverify.errors import DefinitionError, find_named
from sgverify.schemes.adapting.parameters import Parameter, parameter
from sgverify.schemes.dynamics import Dynamics, kinetic, langevin, thermostat
from sgverify.schemes.scheme import Order

DYNAMICS = {known.name: known for known in (langevin, kinetic, thermostat)}


@dataclass(frozen=True)
class AdapterSettings:
    """The keys of the configuration's table `adapter`; what is left open is the adapter's convention.

    dynamics: the equation that the sampler discretises, by name: langevin, kinetic or thermostat.
    map: the sampler's own parameters, as expressions in h, T, D, N (data), n (minibatch) and dim, as numbers, or True and
        False: `{"lr": "h**2", "momentum_decay": "h*D"}`; a text that is meant as text has quotes within: `"'baoab'"`.
    state: variables of the dynamics by what the sampler keeps, in the same arithmetic: `{"p": "momentum_buffer/h"}`.
    density: a reference to the log density, or to minus the loss on all data, that the sampler is held against; for code that
        brings its own loss and data.
    order: the claimed order, as in `torch_step`.
    data: N and n, as far as data and minibatches are configured; no key of the table.

    Raises `DefinitionError` where a name is unknown or an expression does not parse.
    """

    dynamics: str | None = None
    map: Mapping[str, Any] = field(default_factory=dict)
    state: Mapping[str, str] = field(default_factory=dict)
    density: str | None = None
    order: Order = None
    data: Mapping[str, float] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if self.dynamics is not None:
            find_named("dynamics", self.dynamics, DYNAMICS)
        for table, given in (("map", self.map), ("state", self.state)):
            if not isinstance(given, Mapping) or not all(isinstance(name, str) for name in given):
                raise DefinitionError(
                    f"adapter.{table}={given!r}: expected a table from names to expressions, such as {{'lr': 'h**2'}}"
                )
        for name, text in self.map.items():
            parameter(name, text)

    @property
    def given(self) -> list[str]:
        """The keys that were set, as a configuration names them."""
        return [
            f"adapter.{key.name}"
            for key in fields(self)
            if key.name != "data" and getattr(self, key.name) not in (None, {})
        ]

    def read(self, name: str, given: Any) -> Parameter:
        """The parameter that is written so, with N and n of the configured data."""
        value = parameter(name, given)
        return lambda quantities: value({**self.data, **quantities})

    def dynamics_or(self, default: Dynamics) -> Dynamics:
        """The named dynamics, or the adapter's."""
        return default if self.dynamics is None else DYNAMICS[self.dynamics]


__all__ = ["DYNAMICS", "AdapterSettings"]
