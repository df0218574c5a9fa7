"""The planted bugs by name, one file for each family."""

from __future__ import annotations

from functools import cache
from importlib import import_module

from sgverify.errors import find_named
from tests.mutants.mutant import Mutant

FILES = (
    "splittings",
    "euler",
    "thermostats",
    "underdamped",
    "noisy_gradients",
    "riemannian",
    "estimators",
    "gradients",
    "elementary",
    "random_numbers",
    "averages",
    "runs",
    "swaps",
    "replica_runs",
    "black_boxes",
    "adaptive",
    "exchange_rules",
)
"""The files of `tests.mutants.catalogue`; each holds `MUTANTS`."""


@cache
def mutants() -> dict[str, Mutant]:
    """Every planted bug by its name, in the order of the files."""
    found = [mutant for file in FILES for mutant in import_module(f"tests.mutants.catalogue.{file}").MUTANTS]
    known = {mutant.name: mutant for mutant in found}
    if len(known) != len(found):
        twice = sorted(name for name in known if sum(mutant.name == name for mutant in found) > 1)
        raise ValueError(f"planted bugs of one name: {', '.join(twice)}; expected a name each")
    return known


def find_mutant(name: str) -> Mutant:
    """The planted bug of this name; raises `UnknownNameError` with the nearest."""
    return find_named("mutant", name, mutants(), "reports/power/kill_matrix.md lists them.")


def families() -> tuple[str, ...]:
    """The families, in the order of the files."""
    return tuple(dict.fromkeys(mutant.family for mutant in mutants().values()))
