"""Planted bugs: small changes to correct schemes and to the code that runs them, each of which a check must refute."""

from sgverify.checks.mutants.mutant import CONFIGURATION, Mutant
from sgverify.checks.mutants.planting import planted, right
from sgverify.checks.mutants.registry import families, find_mutant, mutants

__all__ = ["CONFIGURATION", "Mutant", "families", "find_mutant", "mutants", "planted", "right"]
