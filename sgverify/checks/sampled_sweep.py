"""A sampled sweep of step sizes: which steps, how long, how many chains, and whether they forgot their start."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from itertools import pairwise
from statistics import NormalDist
from typing import Any

import numpy as np

from sgverify.checks.sampled_extra import MOST as MOST_EXTRA
from sgverify.checks.sampled_extra import extra_chains, shares_of
from sgverify.checks.sampled_pilot import LENGTHS, Pilot, run_pilot
from sgverify.checks.sampled_rung import DISAGREEMENT, WORK, Chains, run_chains, run_seed, truth_of
from sgverify.checks.sampled_steps import first_step
from sgverify.checks.subject import Subject
from sgverify.configuration import Configuration
from sgverify.rates import Sample
from sgverify.samplers import Divergence, Fixed, Row

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


@dataclass(frozen=True)
class Plan:
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


@dataclass(frozen=True)
class Sweep:
    """Errors of single chains, `estimate - truth`: both halves (rows, 2, chains), of the rows that did not diverge.

    `level`, shape (chains,), holds those of further chains at the largest step alone; empty where there are none.
    """

    plan: Plan
    steps: tuple[float, ...]
    halves: np.ndarray
    level: np.ndarray
    diverged: dict[float, Divergence]
    look: int

    @property
    def errors(self) -> np.ndarray:
        """Errors of the averages over both halves. Shape (rows, chains)."""
        return np.asarray(self.halves.mean(1))

    @property
    def chains(self) -> int:
        """Chains behind every row."""
        return int(self.halves.shape[-1])

    @property
    def sample(self) -> Sample:
        """Means and their covariance, the further chains at the largest step joined by least squares.

        With m the means, V their covariance, (a, v) mean and variance of the further chains and g = V e_0/(V_00 + v), the
        means become m + g (a - m_0) and the covariance V - g g^T (V_00 + v).
        """
        coupled = Sample.of_chains(self.errors, coupled=self.plan.coupled)
        if not len(self.level):
            return coupled
        own, count = coupled.covariance, len(self.level)
        total = float(own[0, 0] + self.level.var(ddof=1) / count)
        gain = own[:, 0] / total
        values = coupled.values + gain * (float(self.level.mean()) - coupled.values[0])
        return Sample.of(values, covariance=own - total * np.outer(gain, gain), chains=self.chains)

    def disagreement(self) -> str:
        """What the halves of the run disagree in, empty where they do not: a transient that the burn-in left.

        Each row's difference is held to a normal law over chains, at `DISAGREEMENT` over all rows.
        """
        gaps = self.halves[:, 0] - self.halves[:, 1]
        means, errors = gaps.mean(-1), gaps.std(-1, ddof=1) / math.sqrt(self.chains)
        bound = NormalDist().inv_cdf(1 - DISAGREEMENT / (2 * max(1, len(means))))
        for step, mean, error in zip(self.steps, means, errors, strict=True):
            if abs(mean) > bound * error:
                return f"at h={step:.3g} the halves of the run differ by {mean:.3g} +- {error:.2g}"
        return ""


def plan_sweep(subject: Subject) -> Plan:
    """Choose steps, times and looks, by a pilot run.

    `sweep.steps` are taken as they are. Else the first step is the configured one, or the default one halved until no
    pilot chain diverges and the bias is `MODERATE`; four halvings follow. `steps`, where it is not the default, is
    the length of the average at the largest step, `burn_in`, where it is given, what is left out before it there, and
    `chains` the number of chains of the only look. Raises `NoSweep`.
    """
    c, truth = subject.configuration, truth_of(subject)[0]
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
    plan = Plan(tuple(steps), coupled, chosen, pilot, burn_in, 0.0, (), diverged, shares=shares)
    return _with_budget(c, plan)


def plan_of(subject: Subject) -> Plan:
    """The plan of a subject, made once. Raises `NoSweep`."""
    if "plan" not in subject.shared:
        subject.shared["plan"] = plan_sweep(subject)
    plan: Plan = subject.shared["plan"]
    return plan


def shifted(subject: Subject, plan: Plan) -> Plan | None:
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


def looks_at(subject: Subject, plan: Plan, *stage: Any, first: int = 0) -> Iterator[Sweep]:
    """The sweep after each look from the `first` on; the caller stops asking when it has its answer.

    Shared by claims that ask the same.
    """
    rows = plan.rows()
    known: dict[int, list[Chains]] = subject.shared.setdefault(
        ("sampled", *stage, plan.steps, plan.looks, first), {}
    )
    extra = done = 0
    for look, chains in enumerate(plan.looks):
        if look < first:
            continue
        if look not in known:
            made: list[Chains] = []
            for number, part in enumerate(("sweep", "level")[: 1 + plan.coupled]):
                if number and look == first:
                    extra = extra_chains(subject, plan.steps, _errors(made[0], rows))
                times = extra if number else 1
                if times:
                    (more,) = run_chains(
                        subject,
                        rows[:1] if number else rows,
                        seed=run_seed(subject, *stage, part),
                        first=times * done,
                        count=times * (chains - done),
                        coupled=plan.coupled and not number,
                        progress=(done / plan.looks[-1], chains / plan.looks[-1]),
                    )
                    made.append(known[look - 1][number].joined(more) if look > first else more)
            known[look] = made
        extra = known[look][1].chains // chains if known[look][1:] else 0
        done = chains
        yield _sweep(subject, plan, rows, known[look], look)


def _sweep(subject: Subject, plan: Plan, rows: list[Row], found: list[Chains], look: int) -> Sweep:
    truth, diverged = truth_of(subject)[0], dict(plan.diverged)
    kept = []
    for i, step in enumerate(plan.steps):
        why = next((part.diverged[i] for part in found if i < len(part.diverged) and part.diverged[i]), None)
        if why is None:
            kept.append(i)
        else:
            diverged[step] = why
    halves = _halves(found[0], rows)[kept] - truth
    level = _halves(found[1], rows[:1])[0].mean(0) - truth if len(found) > 1 and 0 in kept else np.empty(0)
    return Sweep(plan, tuple(plan.steps[i] for i in kept), halves, level, diverged, look)


def _errors(found: Chains, rows: list[Row]) -> np.ndarray:
    """Averages over both halves, shape (rows, chains); NaN where a row diverged."""
    diverged = np.array([how is not None for how in found.diverged])
    return np.where(diverged[:, None], np.nan, _halves(found, rows).mean(1))


def _halves(found: Chains, rows: list[Row]) -> np.ndarray:
    """Averages over the two halves after the burn-in, from running averages. Shape (rows, 2, chains)."""
    lengths = np.array([row.lengths for row in rows], dtype=np.float64)
    sums = found.values * lengths[:, :, None]
    return np.asarray(np.diff(sums, axis=1) / np.diff(lengths, axis=1)[:, :, None])


def _with_budget(c: Configuration, plan: Plan) -> Plan:
    """The plan with its averaging time and its looks."""
    default = Configuration()
    per_time = sum(1 / step for step in plan.steps) + (MOST_EXTRA / plan.steps[0] if plan.coupled else 0.0)
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
