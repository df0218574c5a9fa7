"""Planted bugs by reference: `tests.mutants.schemes:NAME` is a scheme for any command, wrong on purpose."""

from __future__ import annotations

from sgverify.schemes import Scheme
from tests.mutants.planting import planted_scheme
from tests.mutants.registry import mutants


def __getattr__(name: str) -> Scheme:
    known = mutants()
    if name not in known:
        raise AttributeError(name)
    return planted_scheme(known[name])
