"""Targets and test functions: potentials that are defined once and evaluated on the values of every interpreter.

`target` is a posterior, `derived` those made of another, `kind` a potential with its
configuration keys, `registry` finds one; `potential` is the vocabulary of potentials, `constants`, `data` and `data_files` read
their constants and data, `observable` is a test function. `form` and `exact_potential` give a potential's exact coefficients,
`power_sums` exact sums over data, `metric` a metric, `landscape` location and spread, `points` gradients without torch, `line`
averages on the line. The rooms: `catalogue`, `multimodal`, `own` (a user's log density).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from sgverify.exports import lazily

if TYPE_CHECKING:
    from sgverify.targets.kind import TargetKind
    from sgverify.targets.observable import Observable, parse_observable
    from sgverify.targets.potential import Matrix, Vector, constant, coordinate, linear
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
    "linear",
    "parse_observable",
]

__getattr__, __dir__ = lazily(__name__)
