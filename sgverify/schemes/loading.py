"""Schemes by reference: a catalogue name, `module:attribute` or `path/to/file.py:attribute`."""

from __future__ import annotations

from dataclasses import replace

from sgverify.errors import DefinitionError, UnknownNameError, UserError
from sgverify.schemes.catalogue import NAMED, PATTERNS, find_scheme
from sgverify.schemes.composites import COMPOSITES, Composite
from sgverify.schemes.references import Wanted, load_object
from sgverify.schemes.scheme import Scheme
from sgverify.schemes.torch_step import TorchStep

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


def load_scheme(reference: str) -> Scheme:
    """The scheme that `reference` names.

    Raises `UserError` where the file is missing or raises, the attribute is missing (with the nearest one) or
    is no scheme, and what `find_scheme` raises for catalogue names.
    """
    found = _load(reference, _SCHEME)
    assert isinstance(found, Scheme)
    return found


def load_step(reference: str) -> Scheme | TorchStep | Composite:
    """The scheme, the torch step or the composite that `reference` names; raises as `load_scheme` does.

    `mine.py:composite.scheme` names the scheme of a composite.
    """
    found = _load(reference, _STEP)
    return replace(found, reference=reference) if isinstance(found, Composite) else found


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


def _named(name: str, wanted: Wanted) -> Scheme | Composite:
    if name in COMPOSITES:
        if wanted is not _STEP:
            raise DefinitionError(
                f"scheme={name!r}: is a composite, and a scheme is expected; write {COMPOSITES[name].scheme.name}, around "
                "which it is made"
            )
        return COMPOSITES[name]
    try:
        return find_scheme(name)
    except UnknownNameError as error:
        # A letter of a word may be what is unknown.
        if wanted is not _STEP or error.kind != "scheme":
            raise
        raise UnknownNameError(
            "scheme",
            name,
            [*NAMED, *PATTERNS, *COMPOSITES],
            "A scheme of your own is path/to/file.py:attribute.",
        ) from None
