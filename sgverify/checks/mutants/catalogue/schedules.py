"""Bugs in the step sizes that a run takes."""

from __future__ import annotations

from typing import Any

from sgverify.checks.mutants.mutant import Mutant

POWER: dict[str, Any] = {"schedule": {"kind": "power", "scale": 0.1}, "start": 30.0}

CYCLES: dict[str, Any] = {
    "schedule": {"kind": "cyclical", "scale": 0.1, "cycles": 5, "threshold": 0.7},
    "start": 30.0,
}


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
        "cyclical-off-by-one",
        "sgverify.samplers.schedules:Cyclical.at",
        "((number - 1) % self.period)",
        "(number % self.period)",
        settings=CYCLES,
        reason="steps are counted from 1, and mod(k - 1, ceil(K/M)) is read as mod(k, ceil(K/M))",
    ),
    bug(
        "cyclical-restarted-every-step",
        "sgverify.samplers.schedules:Cyclical.at",
        "((number - 1) % self.period)",
        "((number - 1) % 1)",
        settings=CYCLES,
        reason="a scheduler that is made anew at every step stays at the first step size",
    ),
    bug(
        "cyclical-explores-into-the-average",
        "sgverify.samplers.schedules:Cyclical.samples",
        ">= self._first",
        ">= 0",
        settings=CYCLES,
        reason="the threshold is read and never used: states of the exploring stage are collected too",
    ),
    bug(
        "cyclical-period-rounded-down",
        "sgverify.samplers.schedules:cyclical",
        "-(-checked[-1] // count)",
        "checked[-1] // count",
        settings={**CYCLES, "steps": 2003},
        reason="K/M in whole numbers, where the paper rounds up; a cycle more begins at the end",
    ),
    bug(
        "fixed-step-halved",
        "sgverify.samplers.schedules:Fixed.at",
        "return self.step",
        "return self.step / 2",
        reason="the step of a half kick is handed to the whole step",
    ),
)
