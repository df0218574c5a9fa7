"""Bugs in the stochastic gradient Nose-Hoover thermostat."""

from __future__ import annotations

from typing import Any

from tests.mutants.mutant import Mutant

SHORT: dict[str, Any] = {
    "chains": 64,
    "schedule": {"kind": "fixed", "step": 0.1},
    "sweep": {"steps": [0.1]},
}
"""Rates of a thermostat are sampled: a short sweep at one step, so that they are asked about and settle nothing."""

MUTANTS = (
    Mutant(
        name="sgnht-without-dim",
        family="thermostats",
        scheme="sgnht-euler",
        was="dot(p1, p1)/dim",
        now="dot(p1, p1)",
        settings=SHORT,
        reason="the kinetic energy is summed over coordinates and not averaged: nothing in one dimension",
    ),
    Mutant(
        name="sgnht-dim-wrong-from-four",
        family="thermostats",
        scheme="sgnht-euler",
        was="dot(p1, p1)/dim",
        now="dot(p1, p1)/(dim + (dim - 1)*(dim - 2)*(dim - 3))",
        settings=SHORT,
        reason="a number that was fitted to the first three dimensions",
    ),
    Mutant(
        name="sgnht-norm-for-square",
        family="thermostats",
        scheme="sgnht-euler",
        was="dot(p1, p1)/dim",
        now="sqrt(dot(p1, p1))/dim",
        reason="the norm of the momentum for its square",
        settings=SHORT,
        source="SGMCMCJax, badodab",
    ),
    Mutant(
        name="sgnht-temperature-one-kept",
        family="thermostats",
        scheme="sgnht-euler",
        was="/dim - T)",
        now="/dim - 1)",
        settings=SHORT,
        reason="the thermostat aims at the temperature 1 whatever T is",
    ),
    Mutant(
        name="sgnht-temperature-missing",
        family="thermostats",
        scheme="sgnht-euler",
        was="sqrt(2*D*T*h)",
        now="sqrt(2*D*h)",
        settings=SHORT,
        reason="the temperature never reaches the noise",
        source="blackjax-devs/blackjax pull request 540 (a temperature scaled in the wrong place)",
    ),
    Mutant(
        name="sgnht-constant-friction",
        family="thermostats",
        scheme="sgnht-euler",
        was="h*xi*p",
        now="h*D*p",
        settings=SHORT,
        reason="the friction stays at D, and the thermostat only watches",
    ),
    Mutant(
        name="sgnht-friction-without-step",
        family="thermostats",
        scheme="sgnht-euler",
        was="h*xi*p",
        now="xi*p",
        settings=SHORT,
        reason="the friction forgets the step size",
    ),
    Mutant(
        name="sgnht-feedback-of-wrong-sign",
        family="thermostats",
        scheme="sgnht-euler",
        was="xi + h*",
        now="xi - h*",
        settings=SHORT,
        reason="a hot momentum lowers the friction",
    ),
    Mutant(
        name="sgnht-feedback-without-step",
        family="thermostats",
        scheme="sgnht-euler",
        was="xi + h*",
        now="xi + ",
        settings=SHORT,
        reason="the thermostat forgets the step size",
    ),
    Mutant(
        name="sgnht-aboba-without-dim",
        family="thermostats",
        scheme="sgnht-aboba",
        was="dot(p3, p3)/dim",
        now="dot(p3, p3)",
        settings=SHORT,
        reason="one of the two halves of the thermostat sums over coordinates",
    ),
    Mutant(
        name="sgnht-aboba-friction-of-old-thermostat",
        family="thermostats",
        scheme="sgnht-aboba",
        was="p1 = exp(-xi1*(h/2))*p",
        now="p1 = exp(-xi*(h/2))*p",
        settings=SHORT,
        reason="the friction takes the thermostat before its half step: no longer symmetric",
    ),
    Mutant(
        name="sgnht-aboba-second-half-missing",
        family="thermostats",
        scheme="sgnht-aboba",
        was="xi2 = xi1 + h/2*(dot(p3, p3)/dim - T)",
        now="xi2 = xi1",
        settings=SHORT,
        reason="the thermostat moves for half of the step",
    ),
)
