"""Schemes: the catalogue's, and words of its alphabets."""

from __future__ import annotations

from collections.abc import Sequence

from hypothesis import strategies as st
from hypothesis.strategies import SearchStrategy

from sgverify.errors import ConfigurationError
from sgverify.schemes import NAMED, Scheme
from sgverify.strategies.words import words

DYNAMICS = ("langevin", "kinetic")


def schemes(
    *, dynamics: Sequence[str] = DYNAMICS, named: bool = True, most: int = 7
) -> SearchStrategy[Scheme]:
    """Schemes over `dynamics`, each with a `reference` for the command line: the catalogue's, then generated words.

    `named=False` leaves the catalogue out; `most` bounds the length of words, and 0 leaves them out.

    >>> from hypothesis import find
    >>> find(schemes(), lambda scheme: scheme.word is not None).reference
    'sghmc-aboba'

    Raises `ConfigurationError` for an empty domain.
    """
    known = [
        item.named(name, reference=name) for name, item in NAMED.items() if item.dynamics.name in dynamics
    ]
    alternatives: list[SearchStrategy[Scheme]] = []
    if named and known:
        alternatives.append(st.sampled_from(known))
    if most and "kinetic" in dynamics:
        alternatives.append(words(most=most))
    if not alternatives:
        raise ConfigurationError(
            f"dynamics={list(dynamics)!r}, named={named!r}, most={most!r}: no scheme is left; expected some of "
            f"{', '.join(DYNAMICS)}"
        )
    return st.one_of(alternatives)


__all__ = ["schemes"]
