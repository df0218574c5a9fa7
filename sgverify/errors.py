"""The errors that a user can meet, and the exit code that each of them carries."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Mapping
from typing import TypeVar

Entry = TypeVar("Entry")

FEW = 60
"""Up to so many known names are listed in a message; of more, the nearest three."""


class SgverifyError(Exception):
    """Base of every error that `sgverify` raises on purpose."""


class UserError(SgverifyError):
    """The call, the configuration or the scheme's definition is wrong (exit code 2).

    The message says what was given, what was expected and how to mend it, in that order.
    """


class DefinitionError(UserError):
    """A scheme, a dynamics or an alphabet is not well-formed; the message names file and line."""


class ConfigurationError(UserError):
    """A configuration value is missing, misspelt, of the wrong type or out of range."""


class UnknownNameError(UserError):
    """A name that no catalogue knows; the message names the nearest known one, or all of a few, or three of many."""

    def __init__(self, kind: str, given: str, known: Iterable[str], hint: str = "") -> None:
        known = sorted(set(known))
        # A name that continues the given one is likelier meant than one that differs in a letter: sgld-euler, not csgld.
        longer = [name for name in known if name.startswith(f"{given}-")]
        near = (
            known if len(known) == 1 else difflib.get_close_matches(given, longer or known, n=1, cutoff=0.5)
        )
        mend = f"did you mean {near[0]!r}?" if near else _listed(given, known)
        super().__init__(f"unknown {kind} {given!r}; {mend}{' ' + hint if hint else ''}")
        self.kind, self.nearest = kind, near[0] if near else None


def find_named(kind: str, name: str, known: Mapping[str, Entry], hint: str = "") -> Entry:
    """The entry of that name; raises `UnknownNameError` with the nearest known one."""
    if name not in known:
        raise UnknownNameError(kind, name, known, hint)
    return known[name]


def _listed(given: str, known: list[str]) -> str:
    if len(known) <= FEW:
        return f"known: {', '.join(known)}."
    nearest = difflib.get_close_matches(given, known, n=3, cutoff=0.0)
    return f"the nearest of {len(known)} known: {', '.join(nearest)}."


class InstabilityError(UserError):
    """The step size is beyond the stability limit: the spectral radius of one step is at least 1."""


class MomentsDivergeError(InstabilityError):
    """The step contracts, but not the moments of higher degree that a question needs: random Hessians expand them."""


class NotAffineError(SgverifyError):
    """The step is not affine in the state on a quadratic potential, so no exact law exists for it."""


class NotExpandableError(SgverifyError):
    """The step has no power series in sqrt(h) that the generator expansion can read."""


class OutOfReachError(SgverifyError):
    """An exact engine does not reach this scheme, target, test function or question, or its grids do not settle.

    The message says why, for the middle of a sentence or for its end.
    """
