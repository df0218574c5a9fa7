"""The entries of a pool, found in its modules."""

from __future__ import annotations

import importlib
import pkgutil
from dataclasses import dataclass
from functools import cache
from types import ModuleType

from sgverify.errors import UnknownNameError
from sgverify.schemes import Scheme, TorchStep

POOLS = ("right", "wrong")
"""What is known of the steps of a pool."""

_ROOM = "tests.pools"


@dataclass(frozen=True)
class Entry:
    """A step of a pool: the attribute `name` of the module `family`."""

    pool: str
    family: str
    name: str
    step: Scheme | TorchStep

    @property
    def reference(self) -> str:
        """The reference of the entry for `sgverify verify`."""
        return f"{_ROOM}.{self.pool}.{self.family}:{self.name}"

    @property
    def summary(self) -> str:
        """A description of the entry in one line."""
        return self.step.summary


@cache
def entries(pool: str) -> tuple[Entry, ...]:
    """Every entry of a pool, by family and then as written; raises `UnknownNameError`."""
    if pool not in POOLS:
        raise UnknownNameError("pool", pool, POOLS)
    found = []
    for family in families(pool):
        for name, value in vars(_module(pool, family)).items():
            if isinstance(value, (Scheme, TorchStep)) and not name.startswith("_"):
                found.append(Entry(pool, family, name, value))
    return tuple(found)


def families(pool: str) -> list[str]:
    """The names of a pool's modules."""
    room = importlib.import_module(f"{_ROOM}.{pool}")
    return sorted(module.name for module in pkgutil.iter_modules(room.__path__))


def _module(pool: str, family: str) -> ModuleType:
    return importlib.import_module(f"{_ROOM}.{pool}.{family}")
