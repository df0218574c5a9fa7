"""How the work of a sweep is spread over its steps: extra chains of the largest one, or averages of different lengths.

The plan of a sampled sweep of step sizes: which steps, how long, and how many chains after each look.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise

import numpy as np

from sgverify.checks.rates.sampled.method import WORK, truth_of
from sgverify.checks.rates.sampled.pilot import LENGTHS, Pilot, run_pilot
from sgverify.checks.subject.caching import cached_per_subject
from sgverify.checks.subject.subject import Subject
from sgverify.configuration import Configuration
from sgverify.rates.allocation import allocate, contrasts_of, extra_of_the_first
from sgverify.samplers import Divergence, Fixed, Row

MOST = 16
"""Chains of the largest step alone, at most, for each chain of a coupled sweep: a plan pays for so many. Noise that is common
to all steps cancels in their differences and not in their level, which is bought where a step costs least."""

LEAST = 0.25
"""Of the average's length at equal shares, at least: points that only test the fit are still worth something."""

UNITS = 10_000
"""Chains at equal shares in which the work is counted, so that whole numbers of them are fine enough."""


def shares_of(subject: Subject, steps: Sequence[float]) -> tuple[float, ...]:
    """How many times longer than at equal lengths each independent step's average should be, at the same work.

    At fixed physical time the variance of an average hardly depends on the step, and n chains average like one of n times
    the length: so the allocation of chains at variances 1 and costs 1/h. Empty where there are too few steps for a fit.
    """
    contrasts = contrasts_of(steps, subject.predicted_order)
    if len(steps) < contrasts[0].columns.shape[1]:
        return ()
    costs = [1 / step for step in steps]
    best = allocate(contrasts, [1.0] * len(steps), costs, UNITS * sum(costs), fewest=int(LEAST * UNITS))
    return tuple(chains / UNITS for chains in best.chains)


def extra_chains(subject: Subject, steps: Sequence[float], errors: np.ndarray) -> int:
    """The number that makes the decision sharpest for its work; `errors` (rows, chains), NaN where a row diverged.

    A covariance that was estimated from normal values is independent of their means, so that the choice does not bend
    the verdict.
    """
    kept = [int(i) for i in np.flatnonzero(np.isfinite(errors).all(axis=1))]
    contrasts = contrasts_of([steps[i] for i in kept], subject.predicted_order) if len(kept) else []
    if not contrasts or kept[0] != 0 or len(kept) < contrasts[0].columns.shape[1]:
        return 0
    costs = [1 / steps[i] for i in kept]
    try:
        best = extra_of_the_first(contrasts, np.cov(errors[kept]), costs, most=MOST)
    except np.linalg.LinAlgError:
        # Rows that are copies of one another: the decision will say so.
        return MOST
    return best.chains[0] - 1


POINTS = 5
"""Steps of a default sweep: h, h/2, h/4, h/8, h/16."""

FIRST_LOOK = (256, 2048)
"""Chains of the first look, at least and at most, where the configuration leaves `chains` open; every further look
doubles them. Fewer than 256 would not give the tails of a small level."""

LOOKS = 5
"""Looks at the growing sample at most, where the configuration leaves `chains` open."""

FIRST_WORK = 2.5e7
"""Steps of all chains and rows that the first look takes where chains relax fast, so that it is worth the overhead."""

SHIFTS = 4
"""How often a default sweep is moved to smaller steps because the expansion does not hold at the largest."""

FORGOTTEN = 12
"""Relaxation times of burn-in: e^-12 = 6e-6 of the start's offset is left, and an average over several more of them
holds a tenth of that or less, far below the noise of any sample that is drawn here."""

AVERAGED = 2
"""The average is taken over at least so many times the burn-in."""

HALVINGS = 10
"""How often a default step is halved in search of a first one."""

DOUBLINGS = 3
"""How often it is doubled, where the bias at it is far below `MODERATE`."""

MODERATE = 0.15
"""The largest bias at the first step, in standard deviations of the test function: an expansion in h holds below it."""

CONVERGING = 0.75
"""A bias that is not below this part of what it was at twice the step does not vanish; smaller steps would not help."""


class NoSweep(Exception):
    """No chains from which a rate can be read; the message says why."""


UNCROSSED = 40.0
"""In units of T: a barrier is crossed once in about e^40 = 2e17 relaxation times within a mode."""


@dataclass(frozen=True)
class SweepPlan:
    """What is run: steps from the largest down, physical times, chains after each look, and who diverged before.

    `chosen`: the steps were not given, and may be moved. `shifts` counts how often they were. `shares`: how many times
    `time` each step is averaged over, where rows are independent (empty: once). `planned`: the looks of the first sweep,
    where this is a later one, whose share of the level is the same.
    """

    steps: tuple[float, ...]
    coupled: bool
    chosen: bool
    pilot: Pilot
    burn_in: float
    time: float
    looks: tuple[int, ...]
    diverged: dict[float, Divergence] = field(default_factory=dict)
    shifts: int = 0
    shares: tuple[float, ...] = ()
    planned: int = 0

    @property
    def decisions(self) -> int:
        """The most decisions that share the level: every look, every sweep left for smaller steps, and a control's bound.

        A sweep of smaller steps goes on at the look at which the larger one was left: each adds one look at most.
        """
        return (self.planned or len(self.looks)) + (SHIFTS if self.chosen else 0) + 1

    def rows(self) -> list[Row]:
        """One row for each step: the same physical time, in two halves, after the same burn-in."""
        made = []
        largest = self.steps[0]
        burn_in = math.ceil(self.burn_in / largest)
        for step, share in zip(self.steps, self.shares or (1.0,) * len(self.steps), strict=True):
            half = math.ceil(self.time * share / 2 / largest)
            # Whole multiples where steps are halvings, so that coupled rows cover the same piece of their path.
            skip, piece = (max(1, round(count * largest / step)) for count in (burn_in, half))
            made.append(Row(Fixed(step), (skip, skip + piece, skip + 2 * piece)))
        return made


@cached_per_subject
def plan_sweep(subject: Subject) -> SweepPlan:
    """Choose steps, times and looks, by a pilot run.

    `sweep.steps` are taken as they are. Else the first step is the configured one, or the default one halved until no
    pilot chain diverges and the bias is `MODERATE`; four halvings follow. `steps`, where it is not the default, is
    the length of the average at the largest step, `burn_in`, where it is given, what is left out before it there, and
    `chains` the number of chains of the only look. Raises `NoSweep`.
    """
    c = subject.configuration
    barrier = subject.target.barrier_float64(c.temperature)
    if barrier > UNCROSSED:
        raise NoSweep(
            f"the modes of target.name={c.target.name!r} are apart by a barrier of {barrier:.3g} T, "
            "which chains of any length do not cross, so that averages show one mode; raise temperature, or lower target.size"
        )
    if subject.target.rugged and not c.sweep.steps:
        raise NoSweep(
            f"target.name={c.target.name!r} has modes between which chains of moderate length hardly move, so no rate is looked "
            "for in their averages; give sweep.steps to sample at these all the same"
        )
    truth = truth_of(subject)[0]
    given = sorted(set(c.sweep.steps or ()), reverse=True)
    candidates = given or [first_step(subject) / 2**k for k in range(HALVINGS)]
    diverged: dict[float, Divergence] = {}
    tried: list[Pilot] = []
    for step in candidates:
        found = run_pilot(
            subject, step, truth, lengths=[n for n in LENGTHS if not tried or n >= tried[-1].length]
        )
        if isinstance(found, Divergence):
            diverged[step] = found
            continue
        tried.append(found)
        if given or c.schedule.step is not None or _small_enough(tried):
            break
    if not tried:
        named, last = ", ".join(f"{h:.3g}" for h in diverged), list(diverged.values())[-1]
        raise NoSweep(f"chains diverged at every step that was tried, h = {named}; at the last, {last}")
    pilot = tried[-1]
    if not given and c.schedule.step is None and not subject.affine and len(tried) == 1 and not diverged:
        pilot = _larger(subject, pilot, truth)
    if pilot.why:
        raise NoSweep(f"chains at h={pilot.step:.3g} have not forgotten their start: {pilot.why}")
    steps = [h for h in given if h not in diverged] or [pilot.step / 2**k for k in range(POINTS)]
    coupled = all(a == 2 * b for a, b in pairwise(steps))
    chosen = not given and c.schedule.step is None
    burn_in = c.burn_in * steps[0] if c.burn_in else FORGOTTEN * pilot.time
    shares = () if coupled or c.steps != Configuration().steps else shares_of(subject, steps)
    plan = SweepPlan(tuple(steps), coupled, chosen, pilot, burn_in, 0.0, (), diverged, shares=shares)
    return _with_budget(c, plan)


def shifted(subject: Subject, plan: SweepPlan) -> SweepPlan | None:
    """The same sweep at half the steps, where the plan may be moved so."""
    if not plan.chosen or plan.shifts == SHIFTS:
        return None
    halved = replace(
        plan,
        steps=tuple(step / 2 for step in plan.steps),
        shifts=plan.shifts + 1,
        planned=plan.planned or len(plan.looks),
    )
    try:
        return _with_budget(subject.configuration, halved)
    except NoSweep:
        return None


def first_step(subject: Subject) -> float:
    """The configured or default step; a default one is halved until friction, too, is slow beside a step."""
    if subject.configuration.schedule.step is not None:
        return subject.configuration.schedule.step
    step = subject.step
    if "D" in subject.scheme.dynamics.parameters:
        while step * subject.configuration.friction > 2:
            step /= 2
    return step


def _larger(subject: Subject, pilot: Pilot, truth: float) -> Pilot:
    """A larger first step, where a default that knows no stability limit left the bias small beside the noise."""
    for _ in range(DOUBLINGS):
        if abs(pilot.bias) > MODERATE / 2 * pilot.spread:
            break
        # The same physical time: what it took to forget the start there is enough here.
        found = run_pilot(subject, 2 * pilot.step, truth, lengths=(max(LENGTHS[0], pilot.length // 2),))
        if isinstance(found, Divergence) or found.why or abs(found.bias) > MODERATE * found.spread:
            break
        pilot = found
    return pilot


def _small_enough(tried: list[Pilot]) -> bool:
    """Whether the last step tried can be the first of a sweep: a moderate bias, or one that does not vanish."""
    last = tried[-1]
    if abs(last.bias) <= MODERATE * last.spread or len(tried) < 2:
        return abs(last.bias) <= MODERATE * last.spread
    return abs(last.bias) > CONVERGING * abs(tried[-2].bias) + 4 * last.error


def _with_budget(c: Configuration, plan: SweepPlan) -> SweepPlan:
    """The plan with its averaging time and its looks."""
    default = Configuration()
    per_time = sum(1 / step for step in plan.steps) + (MOST / plan.steps[0] if plan.coupled else 0.0)
    least, most = (c.chains, c.chains) if c.chains != default.chains else FIRST_LOOK
    time = max(AVERAGED * plan.burn_in, FIRST_WORK / (most * per_time) - plan.burn_in)
    if c.steps != default.steps:
        time = c.steps * plan.steps[0]
    if c.chains != default.chains:
        return replace(plan, time=time, looks=(c.chains,))
    work = (time + plan.burn_in) * per_time
    if least * work > WORK:
        raise NoSweep(
            f"{least} chains that forget their start would take {least * work:.1e} steps in all, more than the {WORK:.0e} of "
            f"a default run: they relax in {plan.pilot.time / plan.steps[-1]:.3g} of the smallest steps; give chains, or "
            "larger sweep.steps"
        )
    chains = most
    # A narrow sweep takes nearly as long as a wide one: half of the work may go into the first look.
    while chains > least and chains * work > WORK / 2:
        chains //= 2
    looks = tuple(n for n in (chains * 2**k for k in range(LOOKS)) if n * work <= WORK)
    return replace(plan, time=time, looks=looks)
