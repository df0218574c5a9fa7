"""Planted bugs by reference: `sgverify.selftest.mutants.schemes:NAME` is a scheme for any command, wrong on purpose."""

from __future__ import annotations

from sgverify.schemes import Scheme
from sgverify.selftest.mutants.planting import planted_scheme
from sgverify.selftest.mutants.registry import mutants


def __getattr__(name: str) -> Scheme:
    known = mutants()
    if name not in known:
        raise AttributeError(name)
    return planted_scheme(known[name])
