"""What installed distributions add by entry points: named items that load when they are asked for, each known by its distribution.

A distribution declares an item in its pyproject.toml, in the group of its kind:

    [project.entry-points."sgverify.schemes"]
    heun = "their_package.heun:heun"

Reading which entry points there are imports nothing. An item that cannot be loaded, or whose name is taken, is one message that
names the distribution; whatever ships with sgverify, and what other distributions add, stays as it is.
"""

from __future__ import annotations

import importlib.util
import sys
import warnings
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from sgverify.errors import PluginError, PluginWarning, UserError
from sgverify.user_code import own_code

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

GROUPS: Mapping[str, str] = {
    "schemes": "a scheme, a torch step or a composite",
    "targets": "a TargetKind",
    "checks": "a Check",
    "papers": "a Paper",
    "adapters": "an Adapter",
}
"""The kinds of items that a distribution may add; the group of its entry points is `sgverify.KIND`."""

Item = TypeVar("Item")


@dataclass(frozen=True)
class Plugin:
    """An entry point: its kind of `GROUPS`, its name and its place "module:attribute".

    `distribution` is "their-package 1.0", `location` the folder in which it is installed.
    """

    kind: str
    name: str
    place: str
    distribution: str
    location: str = ""

    @property
    def module(self) -> str:
        """The module of the item."""
        return self.place.partition(":")[0]

    def load(self) -> Any:
        """The object at its place. Raises `PluginError` where the module or the attribute is missing, or the module raises."""
        module, _, attribute = self.place.partition(":")
        try:
            with own_code():
                found: Any = importlib.import_module(module)
                for part in attribute.split(".") if attribute else ():
                    found = getattr(found, part)
            _LOADED.add(self)
        except KeyboardInterrupt:
            raise
        except BaseException as error:  # SystemExit too: a module that exits must not end the command
            raise self.refused(f"loading it raised {type(error).__name__}: {error}") from None
        return found

    def folder(self) -> Path | None:
        """The folder of the module, which is not run for that (its parent packages are); None where there is none on disk."""
        try:
            with own_code():
                spec = importlib.util.find_spec(self.module)
        except KeyboardInterrupt:
            raise
        except BaseException:
            # Whoever loads the item says what is wrong.
            return None
        return None if spec is None or spec.origin is None else Path(spec.origin).parent

    def refused(self, why: str) -> PluginError:
        """The error for this entry point, with its distribution and the way out."""
        return PluginError(
            f"{self.distribution}: its entry point {self.name} = {self.place!r} in sgverify.{self.kind}: {why}; expected "
            f"{GROUPS[self.kind]} under a name of its own; mend that distribution, or uninstall it"
        )


_LOADED: set[Plugin] = set()


def loaded_distributions() -> tuple[str, ...]:
    """The distributions on the path of which items were loaded in this process, as "their-package 1.0", in alphabetical order."""
    known = [entry for entry in _LOADED if entry in plugins(entry.kind).get(entry.name, ())]
    return tuple(sorted({entry.distribution for entry in known}))


def plugins(kind: str) -> Mapping[str, tuple[Plugin, ...]]:
    """The entry points of a kind by name, names in alphabetical order; several under one name where distributions clash."""
    return _plugins(tuple(sys.path))[kind]


@lru_cache(maxsize=8)
def _plugins(path: tuple[str, ...]) -> Mapping[str, Mapping[str, tuple[Plugin, ...]]]:
    """`plugins` of every kind, as long as the path is this one."""
    from importlib.metadata import entry_points

    every = entry_points()
    found: dict[str, dict[str, tuple[Plugin, ...]]] = {}
    for kind in GROUPS:
        entries = [_plugin(kind, entry) for entry in every.select(group=f"sgverify.{kind}")]
        named: dict[str, tuple[Plugin, ...]] = {}
        # A distribution that is found twice on the path is one.
        for entry in sorted(set(entries), key=lambda one: (one.name, one.distribution, one.place)):
            named[entry.name] = (*named.get(entry.name, ()), entry)
        found[kind] = named
    return found


def _plugin(kind: str, entry: EntryPoint) -> Plugin:
    dist = entry.dist
    if dist is None:
        return Plugin(kind, entry.name, entry.value, "an unknown distribution")
    return Plugin(kind, entry.name, entry.value, f"{dist.name} {dist.version}", str(dist.locate_file("")))


class Installed(Mapping[str, Item], Generic[Item]):
    """The items of a kind that other distributions add, by name, in alphabetical order.

    `read` makes the item of what an entry point names, and raises `UserError` for anything else. `taken` tells the names that ship
    with sgverify: an entry point under one of them is never loaded. A name is known before its item is loaded; going over
    all items leaves out those that cannot be loaded, with a `PluginWarning` for each, once.
    """

    def __init__(
        self,
        kind: str,
        read: Callable[[Plugin, Any], Item],
        taken: Callable[[str], bool] = lambda name: False,
    ) -> None:
        self._kind, self._read, self._taken = kind, read, taken
        self._kept: dict[tuple[Plugin, ...], Item | PluginError] = {}
        self._told: set[str] = set()

    def __getitem__(self, name: str) -> Item:
        """The item; raises `PluginError` where it cannot be loaded or its name is taken, `KeyError` where there is none."""
        found = self._found(plugins(self._kind)[name])
        if isinstance(found, PluginError):
            raise found
        return found

    def __contains__(self, name: object) -> bool:
        return name in plugins(self._kind)

    def __iter__(self) -> Iterator[str]:
        refused = self.refused
        for error in refused.values():
            if str(error) not in self._told:
                self._told.add(str(error))
                warnings.warn(PluginWarning(str(error)), stacklevel=2)
        return iter([name for name in plugins(self._kind) if name not in refused])

    def __len__(self) -> int:
        return len(plugins(self._kind)) - len(self.refused)

    @property
    def refused(self) -> dict[str, PluginError]:
        """The names of which no item can be had, each with the reason; every item is loaded for that."""
        every = {name: self._found(entries) for name, entries in plugins(self._kind).items()}
        return {name: found for name, found in every.items() if isinstance(found, PluginError)}

    def source(self, name: str) -> str:
        """The distribution that adds the item, as "their-package 1.0"."""
        return plugins(self._kind)[name][0].distribution

    def _found(self, entries: tuple[Plugin, ...]) -> Item | PluginError:
        if entries not in self._kept:
            try:
                self._kept[entries] = self._loaded(entries)
            except PluginError as error:
                self._kept[entries] = error
        return self._kept[entries]

    def _loaded(self, entries: tuple[Plugin, ...]) -> Item:
        first, *others = entries
        if self._taken(first.name):
            raise first.refused("this name ships with sgverify, and means what ships")
        if others:
            raise first.refused(f"{', '.join(other.distribution for other in others)} has this name too")
        found = first.load()
        try:
            return self._read(first, found)
        except PluginError:
            raise
        except UserError as error:
            raise first.refused(str(error)) from None


class Catalogue(Mapping[str, Item], Generic[Item]):
    """Items by name: those that ship with sgverify (`shipped`), then those of other distributions (`installed`).

    A name that ships is found without a look at what is installed.
    """

    def __init__(self, kind: str, shipped: dict[str, Item], read: Callable[[Plugin, Any], Item]) -> None:
        self.shipped = shipped
        self.installed: Installed[Item] = Installed(kind, read, lambda name: name in shipped)

    def __getitem__(self, name: str) -> Item:
        return self.shipped[name] if name in self.shipped else self.installed[name]

    def __contains__(self, name: object) -> bool:
        return name in self.shipped or name in self.installed

    def __iter__(self) -> Iterator[str]:
        return iter([*self.shipped, *self.installed])

    def source(self, name: str) -> str:
        """The distribution that adds the item; "" where it ships."""
        return "" if name in self.shipped else self.installed.source(name)

    def __len__(self) -> int:
        return len(self.shipped) + len(self.installed)


def of_type(plugin: Plugin, found: Any, wanted: type | tuple[type, ...]) -> None:
    """Raise `PluginError` for an object of another type."""
    if not isinstance(found, wanted):
        raise plugin.refused(f"is of type {type(found).__name__}")
