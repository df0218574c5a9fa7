"""Which steps, times, chains and looks has a sampled sweep, and how is its work divided among the steps?"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise

import numpy as np

from sgverify.checks.rates.sampled.gaussian_control import GaussianControl
from sgverify.checks.rates.sampled.method import cost_text, most_steps, work_of_step
from sgverify.checks.rates.sampled.pilot import CHAINS, LENGTHS, Pilot, run_pilot
from sgverify.checks.rates.sampled.reference import truth_of
from sgverify.checks.readings import predicted_order
from sgverify.configuration import Configuration
from sgverify.errors import Unreached
from sgverify.rates.decision import allocate, contrasts_of, extra_of_the_first
from sgverify.samplers import Divergence, Fixed, Row
from sgverify.subject.caching import cached_per_subject
from sgverify.subject.subject import Subject

MOST = 16
"""The most extra chains at the largest step alone, per chain of a coupled sweep. Noise that is common to all steps cancels in
the differences of their errors but not in the errors themselves; these are estimated at the largest step, the cheapest one."""

LEAST = 0.25
"""The shortest average of a step, as a part of its length at equal shares: points that only test the fit are still useful."""

UNITS = 10_000
"""The chains at equal shares in which the work is counted: so many that whole numbers of chains divide the work finely."""


def shares_of(subject: Subject, steps: Sequence[float]) -> tuple[float, ...]:
    """The factor, for each independent step size, on the length of its average that is best at a fixed total work.

    At fixed physical time the variance of an average hardly depends on the step size, and n chains average like one chain
    of n times the length. The factors are therefore the optimal allocation of chains with variances 1 and costs 1/h. Empty
    if there are too few steps for a fit.
    """
    contrasts = contrasts_of(steps, predicted_order(subject))
    if len(steps) < contrasts[0].columns.shape[1]:
        return ()
    costs = [1 / step for step in steps]
    best = allocate(contrasts, [1.0] * len(steps), costs, UNITS * sum(costs), fewest=int(LEAST * UNITS))
    return tuple(chains / UNITS for chains in best.chains)


def extra_chains(subject: Subject, steps: Sequence[float], errors: np.ndarray) -> int:
    """The number of extra chains at the largest step, per coupled chain, that gives the sharpest decision for the work.

    `errors` has shape (rows, chains), with NaN in rows that diverged. The sample covariance of normal values is independent
    of their means, so that this choice does not bias the verdict.
    """
    kept = [int(i) for i in np.flatnonzero(np.isfinite(errors).all(axis=1))]
    contrasts = contrasts_of([steps[i] for i in kept], predicted_order(subject)) if len(kept) else []
    if not contrasts or kept[0] != 0 or len(kept) < contrasts[0].columns.shape[1]:
        return 0
    costs = [1 / steps[i] for i in kept]
    try:
        best = extra_of_the_first(contrasts, np.cov(errors[kept]), costs, most=MOST)
    except np.linalg.LinAlgError:
        # Rows are copies of one another, which the decision reports.
        return MOST
    return best.chains[0] - 1


POINTS = 5
"""The number of steps of a default sweep: h, h/2, h/4, h/8, h/16."""

FIRST_LOOK = (256, 2048)
"""The fewest and the most chains of the first look if the configuration leaves `chains` open; every further look doubles
the chains. Fewer than 256 would not give the tails of a small level."""

LOOKS = 5
"""The most looks at the growing sample if the configuration leaves `chains` open."""

FIRST_WORK = 2.5e7
"""The steps of the first look, over all chains and rows, if chains relax fast: enough to outweigh the overhead of a run."""

CONTROLLED_CHAINS, CONTROLLED_WORK = 256, 7.5e7
"""The chains of the first look beside a Gaussian control, and the work of all looks, in steps at `SPEED`: seconds."""

CONTROLLED_LOOKS = 6
"""The most looks beside a control. Its sweeps are short: an error of a few percent of the bias takes more chains than steps."""

SHIFTS = 4
"""The most halvings of all steps of a default sweep, each because the expansion does not hold at the largest step."""

FORGOTTEN = 12
"""The burn-in in relaxation times: e^-12 = 6e-6 of the start's offset is left. An average over several more relaxation times
contains at most a tenth of that, far below the noise of any sample of this sweep."""

AVERAGED = 2
"""The shortest averaging time, in units of the burn-in."""

HALVINGS = 10
"""The most halvings of the default step in the search for the first step."""

DOUBLINGS = 3
"""The most doublings of the default step while its bias is far below `MODERATE`."""

MODERATE = 0.15
"""The largest bias at the first step, in standard deviations of the test function: an expansion in h holds below it."""

CONVERGING = 0.75
"""The ratio of the biases at h and 2h beyond which the bias does not vanish, so that smaller steps would not help."""


UNCROSSED = 40.0
"""The height of a barrier, in units of T, beyond which it counts as never crossed: about once in e^40 = 2e17 relaxation
times within a mode."""


@dataclass(frozen=True)
class SweepPlan:
    """A planned sweep: steps from the largest down, physical times, chains after each look, and steps that diverged before.

    `chosen`: the steps are defaults and may be halved; `shifts` counts the halvings so far. `shares`: the averaging time of
    each step in units of `time`, for independent rows (empty: 1 each). `planned`: for a later sweep, the number of looks of
    the first one, whose division of the level it keeps. `control`: the chains whose known averages take noise away.
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
    control: GaussianControl | None = None

    @property
    def decisions(self) -> int:
        """The most decisions that share the level: every look, every shift to smaller steps, and a control's bound.

        A sweep at smaller steps continues at the look at which the larger steps were abandoned: each shift adds at most one
        decision.
        """
        return (self.planned or len(self.looks)) + (SHIFTS if self.chosen else 0) + 1

    def rows(self) -> list[Row]:
        """One row for each step: the same physical time, in two halves, after the same burn-in."""
        made = []
        largest = self.steps[0]
        burn_in = math.ceil(self.burn_in / largest)
        for step, share in zip(self.steps, self.shares or (1.0,) * len(self.steps), strict=True):
            half = math.ceil(self.time * share / 2 / largest)
            # If steps are halvings, these are whole multiples, so that coupled rows cover the same piece of their path.
            skip, piece = (max(1, round(count * largest / step)) for count in (burn_in, half))
            made.append(Row(Fixed(step), (skip, skip + piece, skip + 2 * piece)))
        return made


def check_crossed(subject: Subject) -> None:
    """Raise `Unreached` where chains of any length show one of several modes."""
    barrier = subject.target.barrier_float64(subject.configuration.temperature)
    if barrier > UNCROSSED:
        raise Unreached(
            f"the modes of target.name={subject.configuration.target.name!r} are apart by a barrier of {barrier:.3g} T, "
            "which chains of any length do not cross, so that averages show one mode; raise temperature, or lower target.size"
        )


@cached_per_subject
def plan_by_pilot(subject: Subject) -> SweepPlan:
    """Choose steps, times and looks, by a pilot run.

    Configured `sweep.steps` are used unchanged. Otherwise the first step is the configured step, or the default step halved
    until no pilot chain diverges and the bias is at most `MODERATE`; four halvings of the first step follow. A configured
    `steps` is the length of the average at the largest step, a configured `burn_in` the number of states dropped before it,
    and configured `chains` are those of a single look. Raises `Unreached`.
    """
    c = subject.configuration
    check_crossed(subject)
    if subject.target.rugged and not c.sweep.steps:
        raise Unreached(
            f"target.name={c.target.name!r} has modes between which chains of moderate length hardly move, so no rate is looked "
            "for in their averages; give sweep.steps to sample at these all the same"
        )
    _refuse_costly_pilot(subject)
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
        raise Unreached(f"chains diverged at every step tried; h = {named}; at the last, {last}")
    pilot = tried[-1]
    if not given and c.schedule.step is None and not subject.affine and len(tried) == 1 and not diverged:
        pilot = _larger(subject, pilot, truth)
    if pilot.why:
        raise Unreached(f"the start is not forgotten; chains at h={pilot.step:.3g}: {pilot.why}")
    steps = [h for h in given if h not in diverged] or [pilot.step / 2**k for k in range(POINTS)]
    coupled = all(a == 2 * b for a, b in pairwise(steps))
    chosen = not given and c.schedule.step is None
    burn_in = c.burn_in * steps[0] if c.burn_in else FORGOTTEN * pilot.time
    shares = () if coupled or c.steps != Configuration().steps else shares_of(subject, steps)
    plan = SweepPlan(tuple(steps), coupled, chosen, pilot, burn_in, 0.0, (), diverged, shares=shares)
    return with_budget(subject, plan)


def shifted(subject: Subject, plan: SweepPlan) -> SweepPlan | None:
    """The plan with all steps halved; None if the user gave the steps, or if `SHIFTS` halvings are used up."""
    if not plan.chosen or plan.shifts == SHIFTS:
        return None
    halved = replace(
        plan,
        steps=tuple(step / 2 for step in plan.steps),
        shifts=plan.shifts + 1,
        planned=plan.planned or len(plan.looks),
    )
    try:
        return with_budget(subject, halved)
    except Unreached:
        return None


def first_step(subject: Subject) -> float:
    """The configured or default step; a default step is halved until the time scale of friction is resolved too."""
    if subject.configuration.schedule.step is not None:
        return subject.configuration.schedule.step
    step = subject.step
    if "D" in subject.scheme.dynamics.parameters:
        while step * subject.configuration.friction > 2:
            step /= 2
    return step


def _larger(subject: Subject, pilot: Pilot, truth: float) -> Pilot:
    """The pilot at a larger first step, if the default step, chosen without a stability limit, has a small bias."""
    for _ in range(DOUBLINGS):
        if abs(pilot.bias) > MODERATE / 2 * pilot.spread:
            break
        # Half the length covers the same physical time, in which the chains forgot their start at the smaller step.
        found = run_pilot(subject, 2 * pilot.step, truth, lengths=(max(LENGTHS[0], pilot.length // 2),))
        if isinstance(found, Divergence) or found.why or abs(found.bias) > MODERATE * found.spread:
            break
        pilot = found
    return pilot


def _small_enough(tried: list[Pilot]) -> bool:
    """Can the last step tried be the first of a sweep, with a moderate bias, or a bias that does not vanish with h?"""
    last = tried[-1]
    if abs(last.bias) <= MODERATE * last.spread or len(tried) < 2:
        return abs(last.bias) <= MODERATE * last.spread
    return abs(last.bias) > CONVERGING * abs(tried[-2].bias) + 4 * last.error


def _refuse_costly_pilot(subject: Subject) -> None:
    """Raise `Unreached` where the pilot runs of one step size take more than a default run may; given chains are run."""
    steps = 2 * CHAINS * sum(LENGTHS)
    if steps > most_steps(subject) and subject.configuration.chains == Configuration().chains:
        raise Unreached(
            f"the pilot run costs too much; alone it would take {cost_text(subject, steps)}, as a step visits many data; take "
            "gradient.kind='iid' or a smaller gradient.batch, or give chains to run them all the same"
        )


def with_budget(subject: Subject, plan: SweepPlan) -> SweepPlan:
    """The plan with its averaging time and its looks."""
    c, default, most_work = subject.configuration, Configuration(), most_steps(subject)
    if plan.control is not None:
        return _with_controlled_budget(subject, plan)
    per_time = sum(1 / step for step in plan.steps) + (MOST / plan.steps[0] if plan.coupled else 0.0)
    least, most = (c.chains, c.chains) if c.chains != default.chains else FIRST_LOOK
    time = max(AVERAGED * plan.burn_in, min(FIRST_WORK, most_work / 8) / (most * per_time) - plan.burn_in)
    if c.steps != default.steps:
        time = c.steps * plan.steps[0]
    if c.chains != default.chains:
        return replace(plan, time=time, looks=(c.chains,))
    work = (time + plan.burn_in) * per_time
    if least * work > most_work and plan.chosen and len(plan.steps) == POINTS:
        return with_budget(subject, replace(plan, steps=plan.steps[:-1], shares=plan.shares[:-1]))
    if least * work > most_work:
        raise Unreached(
            f"forgetting the start costs too much; {least} chains that do would take {cost_text(subject, least * work)}, more than "
            f"the {most_work:.0e} of a default run: they relax in {plan.pilot.time / plan.steps[-1]:.3g} of the smallest steps; "
            "give chains, or larger sweep.steps"
        )
    chains = most
    # Few chains take nearly as long as many: the first look may take half of the work.
    while chains > least and chains * work > most_work / 2:
        chains //= 2
    looks = tuple(n for n in (chains * 2**k for k in range(LOOKS)) if n * work <= most_work)
    return replace(plan, time=time, looks=looks)


def _with_controlled_budget(subject: Subject, plan: SweepPlan) -> SweepPlan:
    """The plan with its looks, which keep to `CONTROLLED_WORK`; given chains are run."""
    assert plan.control is not None
    chains = subject.configuration.chains
    if chains != Configuration().chains:
        return replace(plan, looks=(chains,))
    rows = plan.rows()
    steps = sum(row.lengths[-1] for row in rows) + (MOST * rows[0].lengths[-1] if plan.coupled else 0)
    cost = work_of_step(subject) + 1
    looks = tuple(
        n
        for n in (CONTROLLED_CHAINS * 2**k for k in range(CONTROLLED_LOOKS))
        if n * steps * cost <= CONTROLLED_WORK
    )
    if not looks:
        raise Unreached(
            f"forgetting the start costs too much; {CONTROLLED_CHAINS} chains that do would take "
            f"{cost_text(subject, CONTROLLED_CHAINS * steps)}: they relax in "
            f"{plan.pilot.time / plan.steps[-1]:.3g} of the smallest steps; give chains to run them all the same"
        )
    return replace(plan, looks=looks)
