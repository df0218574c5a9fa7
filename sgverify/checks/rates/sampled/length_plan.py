"""Which lengths, chains and looks has a sampled rate in L, and does a default run afford them?"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

from sgverify.checks.rates.sampled.controlled_plan import moderate_step
from sgverify.checks.rates.sampled.forgetting import FEWEST, check_forgotten, shortest_length
from sgverify.checks.rates.sampled.gaussian_control import GaussianControl, gaussian_control
from sgverify.checks.rates.sampled.method import cost_text, most_steps, work_of_step
from sgverify.checks.rates.sampled.plan import CONTROLLED_CHAINS, CONTROLLED_WORK, first_step
from sgverify.configuration import Configuration
from sgverify.errors import SgverifyError, Unreached
from sgverify.samplers import Row, horizon, power
from sgverify.subject.subject import Subject

SHORTEST, POINTS = 100, 8
"""The first sampled length if `sweep.lengths` is open and chains forget their start within it, and the number of doubling
lengths if a default run can afford them."""

FAR_BELOW = 0.1
"""The ratio bias^2/variance of the control from which on chains are run: a bias on the target may be a few times the control's."""

LONGEST = 50_000
"""The longest decreasing schedule on which the control's ratio is computed, within a tenth of a second."""

LOOKS = 4
"""The most looks at the growing sample; every look doubles the chains."""

CHAINS = 1024
"""The chains of the first look if the configuration leaves `chains` open."""

SHARE = 1 / 4
"""The part of the steps of a default run that one schedule may take before a further look, since `verify` follows several."""

SHIFTS = 3
"""The most halvings of an open scale, each because the expansion does not hold along the schedule."""


@dataclass(frozen=True)
class LengthRun:
    """A planned run: the schedule, its rows (one per length), and the number of chains after each look.

    `shifts` counts the scales that were replaced by smaller ones. `decisions` is the largest number of decisions that share
    the level: a smaller scale continues at the look at which the larger one was abandoned, so that each shift adds at most
    one decision. `control`: the chains whose known averages take noise away.
    """

    kind: str
    alpha: Fraction
    scale: float
    lengths: tuple[int, ...]
    rows: tuple[Row, ...]
    looks: tuple[int, ...]
    shifts: int
    decisions: int
    control: GaussianControl | None = None


def plan_run(subject: Subject, quantity: str, kind: str, alpha: Fraction, shifts: int) -> LengthRun:
    """The configured run with its scale halved `shifts` times. Raises `Unreached`."""
    c = subject.configuration
    control = gaussian_control(subject)
    scale = c.schedule.scale or _open_scale(subject, control, kind, alpha) / 2**shifts
    # bias^2/variance grows with the scale and not with L: the first length gets the largest safe step. Beside a control it is known
    # to be safe, and chains forget their start sooner.
    largest = (quantity == "mse" or control is not None) and c.schedule.scale is None and kind == "horizon"
    chains, most = _affordable(subject, control)
    if c.sweep.lengths:
        lengths = tuple(sorted(set(c.sweep.lengths)))
        if len(lengths) < FEWEST:
            raise Unreached(
                f"sweep.lengths={list(lengths)}: a rate from samples needs at least {FEWEST} lengths"
            )
        scale *= float(lengths[0]) ** float(alpha) if largest else 1.0
        check_forgotten(subject, kind, alpha, scale, lengths)
    else:
        first = shortest_length(subject, kind, alpha, scale, SHORTEST, of_the_first=largest)
        lengths = _open_lengths(first, kind, most / chains)
        scale *= float(first) ** float(alpha) if largest else 1.0
    rows = (
        horizon(scale, float(alpha), lengths) if kind == "horizon" else power([scale], float(alpha), lengths)
    )
    if subject.affine and kind == "horizon":
        steps = [row.schedule.at(1) for row in rows]
        subject.check_stable(sorted(set(steps), reverse=True), "schedule.scale*L^-alpha")
    per_chain = sum(row.lengths[-1] for row in rows)
    chosen = SHIFTS if c.schedule.scale is None else 0
    looks = tuple(n for n in (chains * 2**k for k in range(LOOKS)) if n * per_chain <= most)
    given = c.chains != Configuration().chains
    if not given and not looks:
        raise Unreached(
            f"{chains * per_chain:.1e} steps, a default run has {most:.0e}; {chains} chains of the lengths "
            f"{', '.join(map(str, lengths))} take {cost_text(subject, chains * per_chain)}; give chains to run them all the same, "
            "or shorter sweep.lengths"
        )
    if control is not None:
        control = _usable(control, quantity, kind, alpha, scale, lengths)
    if given:
        return LengthRun(kind, alpha, scale, lengths, rows, (c.chains,), shifts, 2 + chosen, control)
    # The bound of an Euler control takes one more share of the level.
    return LengthRun(kind, alpha, scale, lengths, rows, looks, shifts, len(looks) + chosen + 1, control)


def _open_scale(subject: Subject, control: GaussianControl | None, kind: str, alpha: Fraction) -> float:
    """The scale of a schedule where none is given: the first step of a sweep. Raises `Unreached`.

    Falling steps h_l = C l^-alpha may start larger: only from the shortest length on has their bias to be moderate.
    """
    if control is None:
        return first_step(subject)
    step = moderate_step(subject, control)
    return step if kind == "horizon" else min(step * SHORTEST ** float(alpha), control.limit / 8)


def _affordable(subject: Subject, control: GaussianControl | None) -> tuple[int, float]:
    """The chains of the first look, and the most steps of all looks, over all chains."""
    if control is None:
        return CHAINS, SHARE * most_steps(subject)
    return CONTROLLED_CHAINS, CONTROLLED_WORK / (work_of_step(subject) + 1)


def _usable(
    control: GaussianControl, quantity: str, kind: str, alpha: Fraction, scale: float, lengths: Sequence[int]
) -> GaussianControl | None:
    """The control if its averages are known at these lengths. Raises `Unreached` where it tells that a variance would be timed."""
    # A decreasing schedule is followed step by step.
    told = [n for n in lengths if kind == "horizon" or n <= LONGEST] if quantity == "mse" else []
    try:
        ratios = [control.squared_bias_over_variance(kind, alpha, scale, n) for n in told]
        lowest = min((ratio for ratio in ratios if ratio is not None), default=FAR_BELOW)
        if lowest >= FAR_BELOW:
            control.averages(kind, alpha, scale, lengths[:1])
    except SgverifyError:
        return None
    if lowest < FAR_BELOW:
        raise Unreached(
            f"the variance would be timed, not the bias; in the mean square error bias^2/variance is {lowest:.2g} at one length "
            "for the exact law of the chain on a Gaussian approximation, and a rate needs 1 at all; raise schedule.scale, not "
            "the lengths"
        )
    return control


def _open_lengths(first: int, kind: str, most: float) -> tuple[int, ...]:
    """Doubling lengths from `first` on: as many as `most` steps of a chain afford, but enough for a rate."""
    for count in range(POINTS, FEWEST - 1, -1):
        lengths = tuple(first * 2**k for k in range(count))
        if (lengths[-1] if kind == "power" else sum(lengths)) <= most:
            break
    return lengths


__all__ = ["SHIFTS", "LengthRun", "plan_run"]
