"""The wrong definitions by name, family by family."""

from __future__ import annotations

from importlib import import_module

from sgverify.selftest.pools.diagnosed.bug import Bug

FAMILIES = ("overdamped", "underdamped", "thermostats", "riemannian", "splittings", "trial")
"""The modules of this folder; each holds `BUGS`."""


def bugs() -> dict[str, tuple[Bug, ...]]:
    """The wrong definitions of each family."""
    return {family: import_module(f"sgverify.selftest.pools.diagnosed.{family}").BUGS for family in FAMILIES}


__all__ = ["FAMILIES", "bugs"]
