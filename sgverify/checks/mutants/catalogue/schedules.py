"""Bugs in the step sizes that a run takes."""

from __future__ import annotations

from typing import Any

from sgverify.checks.mutants.mutant import Mutant

POWER: dict[str, Any] = {"schedule": {"kind": "power", "scale": 0.1}, "start": 30.0}


def bug(name: str, place: str, was: str, now: str, **rest: Any) -> Mutant:
    """A bug of the schedule of ABOBA."""
    return Mutant(name=name, family="schedules", scheme="sghmc-aboba", place=place, was=was, now=now, **rest)


MUTANTS = (
    bug(
        "power-of-other-exponent",
        "sgverify.samplers.schedules:Power.at",
        "** -self.alpha",
        "** (-self.alpha / 2)",
        settings=POWER,
        reason="the steps fall with the root of what was asked for",
    ),
    bug(
        "power-counted-from-zero",
        "sgverify.samplers.schedules:Power.at",
        "float(number)",
        "max(1.0, float(number - 1))",
        settings=POWER,
        reason="the first step size is taken twice, and all others come one step late",
    ),
    bug(
        "power-never-falls",
        "sgverify.samplers.schedules:Power.at",
        "self.scale * float(number) ** -self.alpha",
        "self.scale",
        settings=POWER,
        reason="the schedule is bound once, at the first step",
    ),
    bug(
        "fixed-step-halved",
        "sgverify.samplers.schedules:Fixed.at",
        "return self.step",
        "return self.step / 2",
        reason="the step of a half kick is handed to the whole step",
    ),
)
