"""Schemes by reference: a name, of the catalogue or of what is installed, `module:attribute` or `path/to/file.py:attribute`."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from types import ModuleType
from typing import Any

from sgverify.errors import ConfigurationError, DefinitionError, UnknownNameError, UserError
from sgverify.plugins import Installed, Plugin, of_type, plugins
from sgverify.schemes.adapting import AdapterSettings, given_gradient
from sgverify.schemes.catalogue import APART, NAMED, PATTERNS, PREFIXES, shipped_scheme
from sgverify.schemes.composites import COMPOSITES, Composite
from sgverify.schemes.scheme import Scheme
from sgverify.schemes.torch_step import TorchStep
from sgverify.schemes.user_files import module_of
from sgverify.user_code import own_code


@dataclass(frozen=True)
class Wanted:
    """The kind of object that a reference has to name: the setting that holds it, its type, and how such an object is written.

    `adapt` makes such an object of one of another type, and `takes` tells of which; None where only the type itself is taken.
    """

    key: str
    noun: str
    type: type | tuple[type, ...]
    written: str
    catalogue: str
    adapt: Callable[[Any, str], Any] | None = None
    takes: Callable[[Any], bool] | None = None

    def names_in(self, module: ModuleType) -> list[str]:
        """The names of a module's objects of this kind, with those of its own that can be made one."""
        return [
            name
            for name, value in vars(module).items()
            if isinstance(value, self.type)
            or (
                self.takes is not None
                and not name.startswith("_")
                and getattr(value, "__module__", None) == module.__name__
                and self.takes(value)
            )
        ]


def load_object(reference: str, wanted: Wanted) -> Any:
    """The object that `module:attribute` or `path/to/file.py:attribute` names.

    Raises `UserError` where the file is missing or raises, or the attribute is missing (with the nearest one), and
    `DefinitionError` where it is of another type.
    """
    given = f"{wanted.key}={reference!r}"
    module = load_module(reference, wanted)
    place, _, attribute = reference.rpartition(":")
    if not hasattr(module, attribute):
        known = wanted.names_in(module)
        if not known:
            raise UserError(
                f"{given}: {place} has no {attribute!r}, and no {wanted.noun} at all; expected {wanted.written}; define one"
            )
        raise UnknownNameError(f"{wanted.noun} of {place}", attribute, known)
    found = getattr(module, attribute)
    if not isinstance(found, wanted.type):
        if wanted.adapt is not None:
            return wanted.adapt(found, reference)
        raise DefinitionError(f"{given}: is of type {type(found).__name__}; expected {wanted.written}")
    return found


def load_module(reference: str, wanted: Wanted) -> ModuleType:
    """The module, or the file as a module, before the colon of a reference; raises `UserError` where it cannot be loaded."""
    given = f"{wanted.key}={reference!r}"
    place, _, attribute = reference.rpartition(":")
    if not place or not attribute:
        raise UserError(f"{given}: expected module:attribute or path/to/file.py:attribute")
    if place.endswith(".py"):
        return module_of(Path(place), attribute, given)
    return _from_module(place, given, wanted)


def _from_module(name: str, given: str, wanted: Wanted) -> ModuleType:
    try:
        with own_code():
            return importlib.import_module(name)
    except (UserError, KeyboardInterrupt):
        raise
    except ModuleNotFoundError as error:
        raise UserError(
            f"{given}: no module {error.name!r}; expected module:attribute, path/to/file.py:attribute or a "
            f"catalogue name (see `sgverify list {wanted.catalogue}`)"
        ) from None
    except BaseException as error:
        raise UserError(f"{given}: importing {name} raised {type(error).__name__}: {error}") from None


_SCHEME = Wanted(
    key="scheme",
    noun="scheme",
    type=Scheme,
    written="a function under @scheme(dynamics) or a word Alphabet(...).word(...)",
    catalogue="schemes",
)

_STEP = Wanted(
    key="scheme",
    noun="scheme",
    type=(Scheme, TorchStep, Composite),
    written=(
        "a function under @scheme(dynamics), a word Alphabet(...).word(...), torch code under @torch_step(dynamics), or a "
        "composite such as sgverify.ReplicaExchange(name, scheme)"
    ),
    catalogue="schemes",
)


def find_scheme(name: str) -> Scheme:
    """The scheme of this name: one that ships, `PREFIX-WORD` for any word of an alphabet (`ALPHABETS`), `sghmc-nogin-R`, or one
    that an installed distribution adds.

    Raises `UnknownNameError` (with the nearest name), `DefinitionError` (malformed word, no scheme) or `PluginError`.
    """
    found = _named(name, _SCHEME)
    assert isinstance(found, Scheme)
    return found


def load_scheme(reference: str) -> Scheme:
    """The scheme that `reference` names.

    Raises `UserError` where the file is missing or raises, the attribute is missing (with the nearest one) or
    is no scheme, and what `find_scheme` raises for catalogue names.
    """
    found = _load(reference, _SCHEME)
    assert isinstance(found, Scheme)
    return found


def load_step(reference: str, settings: AdapterSettings | None = None) -> Scheme | TorchStep | Composite:
    """The scheme, the torch step or the composite that `reference` names; raises as `load_scheme` does.

    `mine.py:composite.scheme` names the scheme of a composite. An object of another type is made a step by an adapter, under
    `settings`; raises `ConfigurationError` for settings of adapters where none is asked.
    """
    asked: list[str] = []

    def adapted(found: Any, reference: str) -> Scheme | TorchStep | Composite:
        from sgverify.schemes.adapting import adapted as make

        asked.append(reference)
        return make(found, settings, reference)

    def takes(found: Any) -> bool:
        from sgverify.schemes.adapting import is_taken

        return is_taken(found)

    found = _load(reference, replace(_STEP, adapt=adapted, takes=takes))
    if not asked and isinstance(found, TorchStep) and settings and settings.given == ["adapter.gradient"]:
        return given_gradient(found, settings)
    if not asked:
        refuse_adapter(reference, settings)
    return replace(found, reference=reference) if isinstance(found, Composite) else found


def refuse_adapter(reference: str, settings: AdapterSettings | None) -> None:
    """Raise `ConfigurationError` for settings of adapters beside a scheme that none is asked of."""
    if settings is not None and settings.given:
        raise ConfigurationError(
            f"{settings.given[0]} with scheme={reference!r}: it is a step by itself; expected an object of another library, of "
            "which an adapter makes a step; leave adapter out"
        )


def scheme_reference(composite: Composite) -> str:
    """How a command line names the scheme of a composite: by its own name where the catalogue has it."""
    scheme = composite.scheme
    if scheme.reference or NAMED.get(scheme.name) == scheme:
        return scheme.reference or scheme.name
    return f"{composite.reference or composite.name}{_OF_COMPOSITE}"


_OF_COMPOSITE = ".scheme"


def _load(reference: str, wanted: Wanted) -> Scheme | TorchStep | Composite:
    if reference.endswith(_OF_COMPOSITE):
        whole = reference.removesuffix(_OF_COMPOSITE)
        composite = _load(whole, _STEP)
        if not isinstance(composite, Composite):
            raise DefinitionError(f"scheme={reference!r}: {whole} is no composite; leave {_OF_COMPOSITE} out")
        return composite.scheme
    if ":" not in reference:
        if reference.endswith(".py"):
            raise UserError(f"scheme={reference!r}: which scheme of the file? Write {reference}:attribute")
        return _named(reference, wanted)
    found: Scheme | TorchStep | Composite = load_object(reference, wanted)
    return found


def _types(wanted: Wanted) -> tuple[type, ...]:
    return wanted.type if isinstance(wanted.type, tuple) else (wanted.type,)


def _named(name: str, wanted: Wanted) -> Scheme | TorchStep | Composite:
    if name in COMPOSITES:
        if Composite not in _types(wanted):
            raise DefinitionError(
                f"scheme={name!r}: is a composite, and a scheme is expected; write {COMPOSITES[name].scheme.name}, around "
                "which it is made"
            )
        return COMPOSITES[name]
    try:
        return shipped_scheme(name)
    except UnknownNameError as error:
        if name in INSTALLED:
            found = INSTALLED[name]
            if not isinstance(found, wanted.type):
                raise DefinitionError(
                    f"scheme={name!r}: is of type {type(found).__name__}; expected {wanted.written}"
                ) from None
            return found
        # A letter of a word may be what is unknown.
        if error.kind != "scheme":
            raise
        composites = COMPOSITES if Composite in _types(wanted) else ()
        raise UnknownNameError(
            "scheme",
            name,
            [*NAMED, *APART, *PATTERNS, *composites, *plugins("schemes")],
            "A scheme of your own is path/to/file.py:attribute.",
        ) from None


def _read(plugin: Plugin, found: Any) -> Scheme | TorchStep | Composite:
    of_type(plugin, found, (Scheme, TorchStep, Composite))
    # Evidence, and the command that replays it, name the scheme as a command line does.
    named: Scheme | TorchStep | Composite = found.named(plugin.name, reference=plugin.name)
    return named


def _ships(name: str) -> bool:
    """Does a scheme, or a family of them, of sgverify have the name?"""
    return name in COMPOSITES or name in NAMED or name in APART or name.startswith(PREFIXES)


INSTALLED: Installed[Scheme | TorchStep | Composite] = Installed("schemes", _read, _ships)
"""The schemes that other distributions add."""
