"""Alphabets beyond the catalogue's: every way to split a dynamics into parts whose flows are known exactly.

The kinetic generator is drift + friction + noise + kick, the thermostat's has a fifth part, heat (d xi). An
alphabet is a partition of these parts into blocks, one letter A, B, C, ... for each block. The flows are the catalogue's, or
written down here, and proved like anybody's (`sgverify.exact.series.letters`), not trusted.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import lru_cache
from string import ascii_uppercase
from typing import Any

from sgverify.errors import ConfigurationError
from sgverify.schemes import Alphabet, Dynamics, dot, exp, expm1, kinetic, sqrt, thermostat
from sgverify.schemes.catalogue import kinetic as of_two
from sgverify.schemes.catalogue import thermostat as of_three

Block = tuple[str, ...]
Flows = Mapping[frozenset[str], Callable[..., Any]]

PARTS: Mapping[str, Block] = {
    "kinetic": ("drift", "friction", "noise", "kick"),
    "thermostat": ("drift", "friction", "noise", "kick", "heat"),
}
DYNAMICS: Mapping[str, Dynamics] = {"kinetic": kinetic, "thermostat": thermostat}


def _noise(theta, p, *, t, noise, D, T):  # type: ignore[no-untyped-def]
    return theta, p + sqrt(2 * D * T * t) * noise()


def _friction_kick(theta, p, *, t, grad, D):  # type: ignore[no-untyped-def]
    return theta, exp(-D * t) * p + expm1(-D * t) / D * grad(theta)


def _friction_noise_kick(theta, p, *, t, grad, noise, D, T):  # type: ignore[no-untyped-def]
    return theta, exp(-D * t) * p + expm1(-D * t) / D * grad(theta) + sqrt(-T * expm1(-2 * D * t)) * noise()


def _drift_friction(theta, p, *, t, D):  # type: ignore[no-untyped-def]
    return theta - expm1(-D * t) / D * p, exp(-D * t) * p


def _drift_noise(theta, p, *, t, noise, D, T):  # type: ignore[no-untyped-def]
    # W_t and its integral: Cov = t^2/2, Var of the integral t^3/3, which leaves t^3/12 of its own.
    kick = sqrt(2 * D * T * t) * noise()
    own = sqrt(2 * D * T * t) * noise()
    return theta + t * p + t / 2 * kick + t / sqrt(12) * own, p + kick


def _drift_of_three(theta, p, xi, *, t):  # type: ignore[no-untyped-def]
    return theta + t * p, p, xi


def _noise_of_three(theta, p, xi, *, t, noise, D, T):  # type: ignore[no-untyped-def]
    return theta, p + sqrt(2 * D * T * t) * noise(), xi


def _kick_of_three(theta, p, xi, *, t, grad):  # type: ignore[no-untyped-def]
    return theta, p - t * grad(theta), xi


def _heat(theta, p, xi, *, t, dim, T):  # type: ignore[no-untyped-def]
    return theta, p, xi + t * (dot(p, p) / dim - T)


FLOWS: Mapping[str, Flows] = {
    "kinetic": {
        frozenset({"drift"}): of_two.drift,
        frozenset({"friction"}): of_two.friction,
        frozenset({"noise"}): _noise,
        frozenset({"kick"}): of_two.kick,
        frozenset({"noise", "kick"}): of_two.noisy_kick,
        frozenset({"friction", "noise"}): of_two.ornstein_uhlenbeck,
        frozenset({"friction", "kick"}): _friction_kick,
        frozenset({"friction", "noise", "kick"}): _friction_noise_kick,
        frozenset({"drift", "friction"}): _drift_friction,
        frozenset({"drift", "noise"}): _drift_noise,
    },
    "thermostat": {
        frozenset({"drift"}): _drift_of_three,
        frozenset({"friction"}): of_three.friction,
        frozenset({"noise"}): _noise_of_three,
        frozenset({"kick"}): _kick_of_three,
        frozenset({"heat"}): _heat,
        frozenset({"noise", "kick"}): of_three.noisy_kick,
        frozenset({"drift", "heat"}): of_three.drift,
    },
}


@lru_cache(maxsize=64)
def splitting(name: str) -> Alphabet:
    """The alphabet of a partition, e.g. `splitting("kinetic:drift|friction+noise|kick")`: letters A, B, C in order.

    >>> splitting("kinetic:drift|friction|noise+kick")
    Alphabet('kinetic:drift|friction|noise+kick', kinetic, A, B, C)

    Raises `ConfigurationError` where the blocks are no partition or a block has no flow here.
    """
    dynamics, _, text = name.partition(":")
    blocks = [frozenset(block.split("+")) for block in text.split("|")]
    if dynamics not in PARTS or sorted(part for block in blocks for part in block) != sorted(PARTS[dynamics]):
        raise ConfigurationError(
            f"splitting={name!r}: expected a partition such as kinetic:drift|friction|noise+kick of "
            + " or ".join(f"{key}'s {', '.join(parts)}" for key, parts in PARTS.items())
        )
    flows = FLOWS[dynamics]
    for block in blocks:
        if block not in flows:
            raise ConfigurationError(
                f"splitting={name!r}: {'+'.join(sorted(block))} has no closed flow here; split it"
            )
    letters = {symbol: flows[block] for symbol, block in zip(ascii_uppercase, blocks, strict=False)}
    return Alphabet(name, DYNAMICS[dynamics], **letters)


def splitting_names(dynamics: str) -> list[str]:
    """Every partition of the dynamics' parts into two or more blocks with known flows, the finest first."""
    parts, flows = PARTS[dynamics], FLOWS[dynamics]
    names = []
    for blocks in sorted(_partitions(list(parts)), key=lambda blocks: (-len(blocks), blocks)):
        if len(blocks) > 1 and all(frozenset(block) in flows for block in blocks):
            names.append(f"{dynamics}:" + "|".join("+".join(block) for block in blocks))
    return names


def _partitions(parts: Sequence[str]) -> Iterator[list[Block]]:
    if not parts:
        yield []
        return
    first, rest = parts[0], parts[1:]
    for blocks in _partitions(rest):
        yield [(first,), *blocks]
        for i, block in enumerate(blocks):
            yield [(first, *block), *blocks[:i], *blocks[i + 1 :]]
