"""Which adapter takes an object that is no step by itself?"""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Mapping
from dataclasses import replace
from importlib import import_module
from typing import TYPE_CHECKING, Any

from sgverify.errors import ConfigurationError, DefinitionError, PluginWarning
from sgverify.plugins import Installed, Plugin, of_type, plugins
from sgverify.schemes.adapting.adapter import Adapter
from sgverify.schemes.adapting.settings import AdapterSettings
from sgverify.user_code import own_code

if TYPE_CHECKING:
    from sgverify.schemes.composites import Composite
    from sgverify.schemes.scheme import Order, Scheme
    from sgverify.schemes.torch_step import TorchStep

SHIPPED: tuple[str, ...] = (
    "sgverify.adapters.posteriors:ADAPTER",
    "sgverify.adapters.optimizers.adapter:ADAPTER",
    "sgverify.adapters.blackjax:ADAPTER",
    "sgverify.adapters.sgmcmcjax:ADAPTER",
    "sgverify.adapters.jax_code:ADAPTER",
    "sgverify.adapters.training.adapter:ADAPTER",
)
"""The places, module:attribute, of the adapters that ship; those of other packages come first."""

READ_BY_ALL = ("dynamics", "map", "order")
"""The settings that every adapter reads."""


def adapters() -> Iterator[Adapter]:
    """The adapters in the order in which they are asked, each loaded when its turn comes: those of other distributions first.

    An adapter of a library's own authors knows its objects better than one that takes every object of a kind.
    """
    yield from INSTALLED.values()
    yield from shipped_adapters()


def shipped_adapters() -> Iterator[Adapter]:
    """The adapters that ship."""
    for place in SHIPPED:
        module, _, attribute = place.partition(":")
        yield getattr(import_module(module), attribute)


def adapt(
    found: Any,
    *,
    dynamics: str | None = None,
    map: Mapping[str, Any] | None = None,
    state: Mapping[str, str] | None = None,
    density: str | None = None,
    order: Order = None,
) -> Scheme | TorchStep | Composite:
    """The step that an adapter makes of another library's sampler, under these conventions (see `AdapterSettings`).

    Raises `DefinitionError` (given, expected, mend) if no adapter takes the object, or the adapter cannot make a step of it.
    """
    return adapted(found, AdapterSettings(dynamics, map or {}, state or {}, density, order))


def adapted(
    found: Any, settings: AdapterSettings | None = None, reference: str = ""
) -> Scheme | TorchStep | Composite:
    """The step that an adapter makes of an object; `reference` is how a command line names it.

    Raises `DefinitionError` if no adapter takes the object, with the kinds that are taken, `ConfigurationError` for a setting
    that the adapter does not read, and what the adapter raises.
    """
    settings = settings or AdapterSettings()
    asked: list[Adapter] = []
    for adapter in adapters():
        asked.append(adapter)
        with own_code():
            if _takes(adapter, found):
                _refuse_unread(adapter, settings, reference or repr(found))
                return adapter.adapt(found, settings, reference)
    kinds = "".join(f"; {adapter.summary}" for adapter in asked)
    kind = f"the class {found.__name__}" if isinstance(found, type) else f"of type {type(found).__name__}"
    raise DefinitionError(
        f"scheme={reference or found!r}: is {kind}, of which no adapter makes a step; expected a function under "
        f"@scheme(dynamics) or @torch_step(dynamics), a word Alphabet(...).word(...), a composite{kinds}"
    )


def is_taken(found: Any) -> bool:
    """Does an adapter make a step of objects like this one?"""
    with own_code():
        return any(_takes(adapter, found) for adapter in adapters())


def _refuse_unread(adapter: Adapter, settings: AdapterSettings, told: str) -> None:
    """Raise `ConfigurationError` for a setting that this adapter does not read: nothing that a user says is passed over."""
    unread = [key for key in settings.given if key.partition(".")[2] not in (*READ_BY_ALL, *adapter.reads)]
    if unread:
        raise ConfigurationError(
            f"{unread[0]} with scheme={told}: the adapter {adapter.name} does not read it; expected "
            f"{', '.join(f'adapter.{key}' for key in (*READ_BY_ALL, *adapter.reads))}; leave it out"
        )


def _takes(adapter: Adapter, found: Any) -> bool:
    """Does the adapter take the object? One of another distribution that cannot tell is left out, with a warning."""
    if adapter.name not in INSTALLED:
        return adapter.takes(found)
    try:
        return adapter.takes(found)
    except Exception as error:
        why = f"whether it takes an object of type {type(found).__name__} ended in {type(error).__name__}: {error}"
        (plugin, *_) = plugins("adapters")[adapter.name]
        warnings.warn(PluginWarning(str(plugin.refused(why))), stacklevel=2)
        return False


def _read(plugin: Plugin, found: Any) -> Adapter:
    of_type(plugin, found, Adapter)
    return replace(found, name=plugin.name)


INSTALLED: Installed[Adapter] = Installed(
    "adapters", _read, lambda name: name in {adapter.name for adapter in shipped_adapters()}
)
"""The adapters that other distributions add."""

__all__ = ["INSTALLED", "adapt", "adapted", "adapters", "is_taken", "shipped_adapters"]
