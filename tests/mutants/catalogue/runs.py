"""Bugs in what a run starts from, and in the numbers that its steps are given.

Bugs of precision: float32 where float64 was asked for.

Bugs in the gradients of the potential on torch; the exact methods read the potential itself, and are right.

Bugs in the step sizes that a run takes.
"""

from __future__ import annotations

from typing import Any

from tests.mutants.catalogue.estimators import REGRESSION, drawn
from tests.mutants.catalogue.thermostats import SHORT
from tests.mutants.mutant import Mutant

OF_STARTS = (
    Mutant(
        name="momentum-drawn-at-temperature-one",
        family="starts",
        scheme="sghmc-aboba",
        place="sgverify.samplers.run.assembly:Assembly._begin",
        was="(drawn * self._root_temperature(alive))",
        now="drawn",
        reason="the momentum starts from N(0, I) at any temperature; nothing is wrong at T = 1",
        source="blackjax, sghmc",
        cause="start-wrong",
    ),
    Mutant(
        name="thermostat-told-dimension-one",
        family="starts",
        scheme="sgnht-aboba",
        place="sgverify.samplers.reading.binding:bind_settings",
        was="known, dim, clock",
        now="known, 1, clock",
        settings=SHORT,
        reason="the running code divides p.p by 1 and not by the dimension, though the definition is right",
        cause="thermostat-dimension",
    ),
    Mutant(
        name="start-in-other-units",
        family="starts",
        scheme="sghmc-aboba",
        place="sgverify.targets.target:Target.at_deviations_float64",
        was="location + deviations * spread",
        now="location + deviations",
        settings={"steps": 20},
        reason="the start is measured in units of theta and not in standard deviations",
        cause="start-wrong",
    ),
)


def bug(name: str, place: str, was: str, now: str, **rest: Any) -> Mutant:
    """A bug of the precision in which ABOBA runs."""
    return Mutant(name=name, family="precision", scheme="sghmc-aboba", place=place, was=was, now=now, **rest)


OF_PRECISION = (
    bug(
        "constants-in-float32",
        "sgverify.samplers.reading.constants:Constant.meet",
        "torch.from_numpy(self.value.copy()).to(like.dtype)",
        "torch.from_numpy(self.value.copy()).to(torch.float32).to(like.dtype)",
        reason="the constants of a float64 run are rounded to float32: an error that grows as h falls",
        source="posteriors, baoa",
        cause="precision",
    ),
    bug(
        "gradient-in-float32",
        "sgverify.samplers.gradients.differentiation:LinearisedGradient.linear",
        "return self.times(theta - self.centre)",
        "return self.times((theta - self.centre).to(torch.float32).to(theta.dtype))",
        reason="the gradient is evaluated in float32",
        cause="precision",
    ),
    bug(
        "functions-in-float32",
        "sgverify.samplers.reading.constants:_each",
        "found = [*map(function, numbers)]",
        "found = [float(np.float32(function(x))) for x in numbers]",
        reason="exponentials and roots of constants are taken in float32",
        cause="precision",
    ),
)


HERE = "sgverify.samplers.gradients.differentiation"

COUPLED = {"name": "gaussian", "dim": 2, "precision": [[4.0, 3.0], [3.0, 4.0]], "mean": [1.0, -0.5]}
"""Coordinates that depend on each other strongly."""


def bug_of_potential(
    name: str, place: str, was: str, now: str, *, scheme: str = "sghmc-aboba", **rest: Any
) -> Mutant:
    """A bug of the gradients that run."""
    return Mutant(
        name=name, family="potentials", scheme=scheme, place=f"{HERE}:{place}", was=was, now=now, **rest
    )


OF_POTENTIALS = (
    bug_of_potential(
        "hessian-off-diagonal-lost",
        "read_affine",
        "alone = torch.equal(hessian, torch.diag(diagonal))",
        "alone = True",
        settings={"target": COUPLED},
        reason="a fast path for diagonal Hessians is taken by every Hessian",
        cause="gradient-biased",
    ),
    bug_of_potential(
        "prior-curvature-of-wrong-sign",
        "read_affine",
        "hessian + curvature",
        "curvature - hessian",
        reason="the prior's curvature is taken away: a log prior where its negative is due",
        cause="prior-scaled",
    ),
    bug_of_potential(
        "likelihood-once",
        "read_affine",
        "curvature = len(data) * hessians[0]",
        "curvature = hessians[0]",
        reason="the curvature of one datum where that of all is due",
        cause="data-scaling",
    ),
    bug_of_potential(
        "prior-of-wrong-sign",
        "Potential.prior",
        "return gradient_by_tracking(",
        "return -gradient_by_tracking(",
        settings=drawn("iid", **REGRESSION),
        reason="the gradient of the log prior where that of its negative is due",
        cause="prior-scaled",
    ),
    bug_of_potential(
        "likelihood-half-detached",
        "Potential.likelihoods",
        "self.of_one_datum(theta, data)",
        "self.of_one_datum(theta, data) / 2",
        settings=drawn("iid", **REGRESSION),
        reason="one factor of a residual squared is detached, and half of the gradient is lost",
        cause="data-scaling",
    ),
    bug_of_potential(
        "sum-over-data-misses-last",
        "Potential.sum_over",
        "self.likelihoods(theta, data[start : start + size]))",
        "self.likelihoods(theta, data[start : start + size])[:-1])",
        settings=drawn("iid", **REGRESSION),
        reason="a range that ends one early",
        cause="gradient-biased",
    ),
)


POWER: dict[str, Any] = {"schedule": {"kind": "power", "scale": 0.1}, "start": 30.0}

CYCLES: dict[str, Any] = {
    "schedule": {"kind": "cyclical", "scale": 0.1, "cycles": 5, "threshold": 0.7},
    "start": 30.0,
}


def bug_of_schedule(name: str, place: str, was: str, now: str, **rest: Any) -> Mutant:
    """A bug of the schedule of ABOBA."""
    return Mutant(name=name, family="schedules", scheme="sghmc-aboba", place=place, was=was, now=now, **rest)


OF_SCHEDULES = (
    bug_of_schedule(
        "power-of-other-exponent",
        "sgverify.samplers.run.schedules:Power.at",
        "** -self.alpha",
        "** (-self.alpha / 2)",
        settings=POWER,
        reason="the steps fall with the root of what was asked for",
        cause="schedule-wrong",
    ),
    bug_of_schedule(
        "power-counted-from-zero",
        "sgverify.samplers.run.schedules:Power.at",
        "float(number)",
        "max(1.0, float(number - 1))",
        settings=POWER,
        reason="the first step size is taken twice, and all others come one step late",
        cause="schedule-wrong",
    ),
    bug_of_schedule(
        "power-never-falls",
        "sgverify.samplers.run.schedules:Power.at",
        "self.scale * float(number) ** -self.alpha",
        "self.scale",
        settings=POWER,
        reason="the schedule is bound once, at the first step",
        cause="schedule-wrong",
    ),
    bug_of_schedule(
        "cyclical-off-by-one",
        "sgverify.samplers.run.schedules:Cyclical.at",
        "((number - 1) % self.period)",
        "(number % self.period)",
        settings=CYCLES,
        reason="steps are counted from 1, and mod(k - 1, ceil(K/M)) is read as mod(k, ceil(K/M))",
        cause="schedule-wrong",
    ),
    bug_of_schedule(
        "cyclical-restarted-every-step",
        "sgverify.samplers.run.schedules:Cyclical.at",
        "((number - 1) % self.period)",
        "((number - 1) % 1)",
        settings=CYCLES,
        reason="a scheduler that is made anew at every step stays at the first step size",
        cause="schedule-wrong",
    ),
    bug_of_schedule(
        "cyclical-explores-into-the-average",
        "sgverify.samplers.run.schedules:Cyclical.samples",
        ">= self._first",
        ">= 0",
        settings=CYCLES,
        reason="the threshold is read and never used: states of the exploring stage are collected too",
        cause="average-wrong",
    ),
    bug_of_schedule(
        "cyclical-period-rounded-down",
        "sgverify.samplers.run.schedules:cyclical",
        "-(-checked[-1] // count)",
        "checked[-1] // count",
        settings={**CYCLES, "steps": 2003},
        reason="K/M in whole numbers, where the paper rounds up; a cycle more begins at the end",
        cause="schedule-wrong",
    ),
    bug_of_schedule(
        "fixed-step-halved",
        "sgverify.samplers.run.schedules:Fixed.at",
        "return self.step",
        "return self.step / 2",
        reason="the step of a half kick is handed to the whole step",
        cause="schedule-wrong",
    ),
)

MUTANTS = (*OF_STARTS, *OF_PRECISION, *OF_POTENTIALS, *OF_SCHEDULES)
