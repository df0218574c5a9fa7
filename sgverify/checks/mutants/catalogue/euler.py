"""Bugs: euler."""

from __future__ import annotations

from sgverify.checks.mutants.mutant import Mutant

MUTANTS: tuple[Mutant, ...] = ()
