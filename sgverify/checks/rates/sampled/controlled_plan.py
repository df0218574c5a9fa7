"""Which steps and chains has a sweep beside a Gaussian control, and can chains that a default run affords decide at all?

The control tells beforehand what a pilot run would have to find: the relaxation time and the bias at every step size. A short pilot
of both chains measures the noise that is left, and predicts how many chains a decision takes.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import pairwise
from statistics import NormalDist

import numpy as np

from sgverify.checks.rates.sampled.gaussian_control import GaussianControl, corrected, gaussian_control
from sgverify.checks.rates.sampled.method import cost_text, run_chains, share_of, work_of_step
from sgverify.checks.rates.sampled.pilot import Pilot
from sgverify.checks.rates.sampled.plan import (
    CONTROLLED_CHAINS,
    CONTROLLED_WORK,
    CONVERGING,
    MODERATE,
    POINTS,
    SweepPlan,
    check_crossed,
    first_step,
    plan_by_pilot,
    with_budget,
)
from sgverify.checks.rates.sampled.reference import truth_of
from sgverify.checks.readings import predicted_order
from sgverify.configuration import Configuration
from sgverify.errors import InstabilityError, Unreached
from sgverify.exact.numbers.ball import PrecisionLostError
from sgverify.rates.decision import MARGIN, contrasts_of
from sgverify.samplers import Fixed, Row
from sgverify.subject.caching import cached_per_subject
from sgverify.subject.seeds import run_seed
from sgverify.subject.subject import Subject

HALVINGS, DOUBLINGS = 16, 3
"""The most halvings of the default step until the control's bias is moderate, and the most doublings while it is far below that."""

LARGER = (1.75, 1.5, 1.25)
"""Larger multiples of the step so found that are tried, as the work of a sweep is proportional to 1/h."""

FACTORS = (1.0, 0.75, 0.5, 0.25)
"""The steps of a sweep with noisy gradients, in units of the largest. Chains at different steps share no minibatches, and a step of
1/16 takes 16 times the work of the largest for the same physical time."""

FORGOTTEN, AVERAGED = 2.5, 2.5
"""The burn-in and the average, in relaxation times of the control. Both chains start where their targets have their centre; what
A - C has yet to gain of its stationary value falls by e^-2.5 before the average, which lacks 3 % of it. At every step size these
are 3 % of the bias that the control lacks, which change no power of h, and 3 % of what is not Gaussian in the target, where a wrong
order may be 15 % of the bias; what is more shows in the halves of the averages (`Sweep.disagreement`)."""

NEAR = 0.5
"""The distance of a target's centre from its mean, in standard deviations, from which on the burn-in is longer: by as many
relaxation times as reduce the distance to this one. 3 % of it are a tenth of a moderate bias."""

PILOT_CHAINS, PILOT = 32, 2.0
"""The chains of the pilot, whose spread tells the noise within 13 %, and its burn-in and average in relaxation times."""

PILOT_PART = 8
"""A pilot that would take more than this part of the work of a default run is not made."""


@dataclass(frozen=True)
class _Measured:
    """The bias at the largest step and its standard error, from a pilot, and the variance of one chain's average over time tau."""

    bias: float
    error: float
    variance: float


@cached_per_subject
def plan_sweep(subject: Subject) -> SweepPlan:
    """The plan of a sweep: beside a Gaussian control where there is one, else by a pilot run. Raises `Unreached`."""
    control = None
    if not subject.target.rugged:
        check_crossed(subject)
        control = gaussian_control(subject)
    return plan_by_pilot(subject) if control is None else _planned(subject, control)


def _planned(subject: Subject, control: GaussianControl) -> SweepPlan:
    c = subject.configuration
    given = tuple(sorted(set(c.sweep.steps or ()), reverse=True))
    first = given[0] if given else c.schedule.step or moderate_step(subject, control)
    try:
        bias, time = control.bias(first).value, control.relaxation_time(first)
    except (InstabilityError, PrecisionLostError):
        # Beyond the stability of the control the chains themselves may have a law.
        return plan_by_pilot(subject)
    noisy = c.gradient.estimator.noisy
    steps = given or tuple(
        first * factor for factor in (FACTORS if noisy else [2.0**-k for k in range(POINTS)])
    )
    coupled = not noisy and all(a == 2 * b for a, b in pairwise(steps))
    pilot = Pilot(
        first, time, "spectral radius of a step on the Gaussian control", bias, 0.0, control.spread, "", 0
    )
    forgotten = FORGOTTEN + math.log(max(1.0, control.distance / NEAR))
    burn_in = c.burn_in * first if c.burn_in else forgotten * time
    plan = SweepPlan(
        steps,
        coupled,
        not given and c.schedule.step is None,
        pilot,
        burn_in,
        c.steps * first if c.steps != Configuration().steps else AVERAGED * time,
        (),
        control=control,
    )
    if c.chains == Configuration().chains:
        _refuse_undecidable(subject, control, plan)
    return with_budget(subject, plan)


def moderate_step(subject: Subject, control: GaussianControl) -> float:
    """The largest step, up to a few doublings of the default one, at which the control is stable and its bias moderate.

    Raises `Unreached` where it is at none.
    """
    default = step = first_step(subject)

    def size(h: float) -> float:
        try:
            return abs(control.bias(h).value) / control.spread
        except (InstabilityError, PrecisionLostError):
            return math.inf

    for _ in range(HALVINGS):
        # A bias that does not vanish with h is as large at smaller steps.
        if size(step) <= MODERATE or CONVERGING * size(step) < size(step / 2) < math.inf:
            break
        step /= 2
    else:
        raise Unreached(
            f"no step has a moderate bias; that of a Gaussian approximation exceeds {MODERATE:.0%} of the standard deviation of "
            f"{subject.observable} at h={step:.3g} too; give sweep.steps"
        )
    if step == default:
        # The default says nothing of the bias.
        for _ in range(DOUBLINGS):
            if 4 * step > control.limit or size(2 * step) > MODERATE / 2:
                break
            step *= 2
    return next((step * larger for larger in LARGER if size(step * larger) <= MODERATE), step)


def _refuse_undecidable(subject: Subject, control: GaussianControl, plan: SweepPlan) -> None:
    """Raise `Unreached` where a decision takes more chains than a default run affords, by the noise that a pilot finds."""
    step, time = plan.steps[0], plan.pilot.time
    length = 2 * math.ceil(PILOT * time / step)
    cost = work_of_step(subject) + 1
    if PILOT_CHAINS * length * cost > CONTROLLED_WORK / PILOT_PART:
        steps = CONTROLLED_CHAINS * sum(row.lengths[-1] for row in plan.rows())
        raise Unreached(
            f"forgetting the start costs too much; {CONTROLLED_CHAINS} chains that do would take {cost_text(subject, steps)}: they "
            f"relax in {time / plan.steps[-1]:.3g} of the smallest steps; a Gaussian approximation has the bias "
            f"{plan.pilot.bias:.2g} at h={step:.3g}, {abs(plan.pilot.bias) / plan.pilot.spread:.2g} standard deviations of "
            f"{subject.observable}; give "
            "chains to run them all the same"
        )
    found = _measured(subject, control, step, length)
    # As large as the pilot leaves room for: what is refused is out of reach at the largest bias that there may be.
    size = max(abs(plan.pilot.bias), abs(found.bias) + 2 * found.error)
    level = share_of(subject).rate / (2 * predicted_order(subject))
    error = MARGIN * size / NormalDist().inv_cdf(1 - level)
    # Coupled points share their noise, which cancels in differences: the level of the error at the largest step is left.
    spread = 1.0
    contrasts = contrasts_of(plan.steps, predicted_order(subject))
    if not plan.coupled and len(plan.steps) >= contrasts[0].columns.shape[1]:
        spread = max(1.0, *(contrast.variance(np.eye(len(plan.steps))) for contrast in contrasts))
    chains = math.ceil(spread * found.variance * time / plan.time / error**2)
    steps = chains * sum(row.lengths[-1] for row in plan.rows())
    if chains > CONTROLLED_CHAINS and steps * cost > CONTROLLED_WORK:
        noise = math.sqrt(found.variance * time / plan.time)
        raise Unreached(
            f"the noise hides the bias; that of {subject.observable} at h={step:.3g} is at most about {size:.2g}, and one chain's "
            f"average has the noise {noise:.2g} beside a Gaussian control; a decision takes at least {chains:.1e} chains, "
            f"{cost_text(subject, steps)}, {steps * cost / CONTROLLED_WORK:.1e} times a default run; "
            "give chains to run them all the same"
        )


def _measured(subject: Subject, control: GaussianControl, step: float, length: int) -> _Measured:
    half = length // 2
    rows = [Row(Fixed(step), (half, length))]
    seed = run_seed(subject, "controlled-pilot", step, length)
    made = [
        run_chains(item, rows, seed=seed, first=0, count=PILOT_CHAINS, progress=(0.0, 0.0), start=0.0)[0]
        for item in (subject, control.subject)
    ]
    if made[0].diverged[0] is not None:
        raise Unreached(f"chains diverged at the largest step: {made[0].diverged[0]}")
    average = control.average(step)[0]
    values = corrected(made[0], made[1], [[average] * 2]).values[0]
    late = (values[1] * length - values[0] * half) / (length - half)
    variance = float(np.var(late, ddof=1))
    return _Measured(
        float(late.mean()) - truth_of(subject)[0],
        math.hypot(math.sqrt(variance / PILOT_CHAINS), truth_of(subject)[1]),
        variance * PILOT,
    )


__all__ = ["moderate_step", "plan_sweep"]
