"""Planted bugs by reference: `sgverify.checks.mutants.schemes:NAME` is a scheme for any command, wrong on purpose."""

from __future__ import annotations

from sgverify.checks.mutants.planting import planted_scheme
from sgverify.checks.mutants.registry import mutants
from sgverify.schemes import Scheme


def __getattr__(name: str) -> Scheme:
    known = mutants()
    if name not in known:
        raise AttributeError(name)
    return planted_scheme(known[name])
