"""Schemes: the catalogue's, words of its alphabets, and schemes with memory."""

from __future__ import annotations

from collections.abc import Sequence

from hypothesis import strategies as st
from hypothesis.strategies import SearchStrategy

from sgverify.errors import ConfigurationError
from sgverify.schemes import NAMED, Scheme
from sgverify.strategies.remembering import REMEMBERING
from sgverify.strategies.splittings import PARTS
from sgverify.strategies.words import words

AFFINE = ("langevin", "kinetic")
DYNAMICS = (*AFFINE, "thermostat", "riemannian_langevin", "riemannian_kinetic")


def schemes(
    *, dynamics: Sequence[str] = AFFINE, named: bool = True, most: int = 7, memory: bool = False
) -> SearchStrategy[Scheme]:
    """Schemes over `dynamics`, each with a `reference` for the command line: the catalogue's, then generated words.

    By default those whose steps are affine on quadratic potentials; "thermostat", "riemannian_langevin" and
    "riemannian_kinetic" are the others. `named=False` leaves the catalogue out; `most` bounds the length of words, and
    0 leaves them out; `memory` adds schemes that carry something from step to step. Shrinks to the first of the
    catalogue.

    >>> from hypothesis import find
    >>> find(schemes(), lambda scheme: scheme.word is not None).reference
    'sghmc-aboba'
    >>> find(schemes(dynamics=["thermostat"]), lambda scheme: True).reference
    'sgnht-euler'
    >>> find(schemes(memory=True), lambda scheme: scheme.memory).reference
    'sgverify.strategies.remembering:averaged_noise'

    Raises `ConfigurationError` for an empty domain.
    """
    unknown = [name for name in dynamics if name not in DYNAMICS]
    if unknown:
        raise ConfigurationError(f"dynamics={list(dynamics)!r}: expected some of {', '.join(DYNAMICS)}")
    # A scheme that states no order is in the catalogue for what it does, not as one that is right.
    known = [
        item.named(name, reference=name)
        for name, item in NAMED.items()
        if item.order and item.dynamics.name in dynamics
    ]
    alternatives: list[SearchStrategy[Scheme]] = []
    if named and known:
        alternatives.append(st.sampled_from(known))
    if most:
        alternatives += [words(dynamics=name, most=most) for name in PARTS if name in dynamics]
    carrying = [item for item in REMEMBERING if memory and item.dynamics.name in dynamics]
    if carrying:
        alternatives.append(st.sampled_from(carrying))
    if not alternatives:
        raise ConfigurationError(
            f"dynamics={list(dynamics)!r}, named={named!r}, most={most!r}: no scheme is left; expected some of "
            f"{', '.join(DYNAMICS)}, of which {', '.join(PARTS)} have words"
        )
    return st.one_of(alternatives)


__all__ = ["AFFINE", "DYNAMICS", "schemes"]
