"""Bugs in the rules of variance-reduced energies; those of the swap rate are in `swaps`."""

from __future__ import annotations

from typing import Any

from tests.mutants.mutant import Mutant

RULES = "sgverify.schemes.composites.composite"

SETTINGS: dict[str, Any] = {
    "gradient": {"kind": "iid", "batch": 2},
    "test_function": "theta**2",
    "target": {"data": [-1.0, 1.0, 4.0, 0.5], "prior_precision": 2.0, "prior_mean": 1.0},
    "schedule": {"step": 0.05},
    "exchange": {"ladder": [1.0, 3.0], "refresh": 10},
}
"""On the line, where the law of two replicas is followed on a grid too."""


def _mutant(name: str, function: str, was: str, now: str, reason: str) -> Mutant:
    return Mutant(
        name=name,
        family="replica exchange rules",
        scheme="vr-resgld",
        place=f"{RULES}:{function}",
        was=was,
        now=now,
        settings=SETTINGS,
        reason=reason,
        cause="swap-rule",
    )


MUTANTS = (
    _mutant(
        "control-variate-added",
        "reduced_energy",
        "here + coefficient",
        "here - coefficient",
        "the noise of the control is added where it is to be taken away: the variance is larger than without",
    ),
    _mutant(
        "control-variate-without-its-mean",
        "reduced_energy",
        "(there - total)",
        "there",
        "the energy of all data at the control is forgotten: the estimate is of the difference only",
    ),
    _mutant(
        "best-coefficient-of-the-wrong-sign",
        "best_coefficient",
        "-covariance",
        "covariance",
        "Cov/Var, as a regression has it, where the rule adds c times the control's noise",
    ),
    _mutant(
        "best-coefficient-inverted",
        "best_coefficient",
        "covariance / variance",
        "variance / covariance",
        "the quotient upside down",
    ),
)
