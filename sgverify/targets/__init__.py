"""Posteriors and test functions, each defined once and read by every carrier.

`target` is a posterior, `kind` a potential with its configuration keys, `registry` finds one; `potential` is what a
potential is written with, `constants` and `data` what it is made of, `observable` a test function. `form`,
`exact_potential` and `scaled` say what its polynomial is, `metric` its metric, `landscape` and `line` where it lives and
its averages on the line. The rooms: `catalogue`, `multimodal`, `own` (a user's log density).
"""

from sgverify.targets.kind import TargetKind
from sgverify.targets.observable import Observable, parse_observable
from sgverify.targets.potential import Matrix, Vector, constant, coordinate, kinetic_energy, linear
from sgverify.targets.registry import TARGETS, build_target
from sgverify.targets.target import Target

__all__ = [
    "TARGETS",
    "Matrix",
    "Observable",
    "Target",
    "TargetKind",
    "Vector",
    "build_target",
    "constant",
    "coordinate",
    "kinetic_energy",
    "linear",
    "parse_observable",
]
