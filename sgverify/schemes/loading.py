"""Schemes by reference: a catalogue name, `module:attribute` or `path/to/file.py:attribute`."""

from __future__ import annotations

from sgverify.errors import UserError
from sgverify.schemes.catalogue import find_scheme
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
    type=(Scheme, TorchStep),
    written="a function under @scheme(dynamics), a word Alphabet(...).word(...), or torch code under @torch_step(dynamics)",
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


def load_step(reference: str) -> Scheme | TorchStep:
    """The scheme or the torch step that `reference` names; raises as `load_scheme` does."""
    return _load(reference, _STEP)


def _load(reference: str, wanted: Wanted) -> Scheme | TorchStep:
    if ":" not in reference:
        if reference.endswith(".py"):
            raise UserError(f"scheme={reference!r}: which scheme of the file? Write {reference}:attribute")
        return find_scheme(reference)
    found: Scheme | TorchStep = load_object(reference, wanted)
    return found
