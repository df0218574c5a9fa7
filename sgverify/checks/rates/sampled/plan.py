"""Which chains show a rate in the step size, or in the length, and does a default run afford them?"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise
from typing import Any

import numpy as np

from sgverify.checks.rates.sampled.method import SampledAverages, cost_text, most_steps
from sgverify.checks.rates.sampled.pilot import affine_time, first_step, moderate_pilot
from sgverify.configuration import Configuration
from sgverify.errors import Unreached
from sgverify.samplers import Divergence, Row, horizon, power
from sgverify.samplers import fixed as fixed_rows
from sgverify.subject.subject import Subject

POINTS = 5
"""The number of steps of a default sweep: h, h/2, h/4, h/8, h/16."""

FEWEST = 4
"""The fewest steps, or lengths, for a decision: one more than the terms of a fit."""

CHAINS = (256, 2048)
"""The fewest and the most chains of the first look if the configuration leaves `chains` open; every further look doubles
the chains. Fewer than 256 would not give the tails of a small level."""

LOOKS = 5
"""The most looks at the growing sample if the configuration leaves `chains` open."""

FIRST_WORK = 2.5e7
"""The steps of the first look, over all chains and rows, if chains relax fast: enough to outweigh the overhead of a run."""

FORGOTTEN = 12
"""The burn-in of a sweep in relaxation times: e^-12 = 6e-6 of the start's offset is left. An average over several more relaxation
times contains at most a tenth of that, far below the noise of any sample of this sweep."""

AVERAGED = 2
"""The shortest averaging time of a sweep, in units of the burn-in."""

COVERED = 5
"""The relaxation times tau that the shortest length covers. From then on the start contributes tau/(L h) times its offset to an
average, as the first term of the theorems says, up to a relative error of e^-5."""

HALVED = 2
"""The most halvings of all steps of a default sweep, each because the expansion does not hold at the larger ones."""

SHORTEST, LENGTHS = 100, 8
"""The first length if `sweep.lengths` is open and chains forget their start within it, and the doubling lengths at most."""


@dataclass(frozen=True)
class SampledRun:
    """The chains of a rate: their rows, and how many chains there are after each look.

    `kind`: "fixed" for a sweep of step sizes, or that of a schedule h = C L^-alpha or C l^-alpha with `scale` C; `places` are the
    step sizes or the lengths. `relaxation` tells the time in which chains forget their start, and how it was found. `coupled`: the
    rows of a sweep share one Brownian path. `halvings` of all steps may follow where the expansion does not hold.
    """

    kind: str
    places: tuple[float, ...]
    rows: tuple[Row, ...]
    looks: tuple[int, ...]
    relaxation: dict[str, Any]
    coupled: bool = False
    alpha: Fraction = Fraction(0)
    scale: float = 0.0
    halvings: int = 0

    @property
    def decisions(self) -> int:
        """The most decisions, which share the level."""
        return len(self.looks) * (1 + self.halvings)

    @property
    def stage(self) -> tuple[Any, ...]:
        """The names of the random streams."""
        return (self.kind, self.alpha, self.scale, self.places)

    @property
    def length(self) -> int:
        """The steps of one chain in all rows."""
        return sum(row.lengths[-1] for row in self.rows)

    def diverged(self, found: SampledAverages) -> tuple[Divergence | None, ...]:
        """How chains diverged, by place; None where they did not."""
        return found.diverged * len(self.places) if self.kind == "power" else found.diverged

    def averages(self, found: SampledAverages) -> np.ndarray:
        """The averages of single chains, shape (places, chains): in a sweep over both halves after the burn-in."""
        if self.kind == "fixed":
            return np.asarray(self.halves(found).mean(1))
        return found.values[:, 0] if self.kind == "horizon" else found.values[0]

    def halves(self, found: SampledAverages) -> np.ndarray:
        """The averages of a sweep over the two halves after the burn-in, shape (rows, 2, chains), from the running averages."""
        lengths = np.array([row.lengths for row in self.rows], dtype=np.float64)
        sums = found.values * lengths[:, :, None]
        return np.asarray(np.diff(sums, axis=1) / np.diff(lengths, axis=1)[:, :, None])


def plan_sweep(subject: Subject, halved: int = 0) -> SampledRun:
    """A sweep of step sizes, by a pilot run, with open steps halved so often. Raises `Unreached`.

    Configured `sweep.steps` are used unchanged; else four halvings follow the largest step at which the bias is moderate. A
    configured `steps` is the length of the average at the largest step, a configured `burn_in` the number of states dropped before
    it, and configured `chains` are those of a single look.
    """
    c, default = subject.configuration, Configuration()
    given = tuple(sorted(set(c.sweep.steps or ()), reverse=True))
    pilot = moderate_pilot(subject, given)
    steps = given or tuple(pilot.step / 2 ** (halved + k) for k in range(POINTS))
    burn_in = c.burn_in * steps[0] if c.burn_in else FORGOTTEN * pilot.time
    per_time = sum(1 / step for step in steps)
    least, most, work = *CHAINS, most_steps(subject)
    time = max(AVERAGED * burn_in, min(FIRST_WORK, work / 8) / (most * per_time) - burn_in)
    if c.steps != default.steps:
        time = c.steps * steps[0]
    # Halvings are whole multiples of one another's lengths, so that coupled rows cover the same piece of their path.
    skip, half = math.ceil(burn_in / steps[0]), math.ceil(time / 2 / steps[0])
    rows: list[Row] = []
    for step in steps:
        before, piece = (max(1, round(count * steps[0] / step)) for count in (skip, half))
        rows += fixed_rows([step], [before, before + piece, before + 2 * piece])
    return SampledRun(
        "fixed",
        steps,
        tuple(rows),
        _looks(subject, rows, least, most, "larger sweep.steps"),
        {"time": pilot.time, "how": pilot.how},
        coupled=all(a == 2 * b for a, b in pairwise(steps)),
        halvings=0 if given or c.schedule.step is not None else HALVED,
    )


def plan_lengths(subject: Subject, quantity: str, kind: str, alpha: Fraction) -> SampledRun:
    """Doubling lengths along a schedule from one on within which chains forget their start. Raises `Unreached`.

    Where the scale is open it is the first step of a sweep. That of a mean square error is larger: its shortest length has the
    largest step at which the bias is moderate, as bias^2/variance grows with the scale and not with L.
    """
    c, power_of_l = subject.configuration, float(alpha)
    scale = c.schedule.scale or first_step(subject)
    given = tuple(sorted(set(c.sweep.lengths or ())))
    if given and len(given) < FEWEST:
        raise Unreached(f"sweep.lengths={list(given)}: a rate from samples needs at least {FEWEST} lengths")
    longest = given[-1] if given else SHORTEST * 2 ** (LENGTHS - 1)
    tau = _relaxation_time(subject, scale * float(longest) ** -power_of_l)
    if quantity == "mse" and kind == "horizon" and c.schedule.scale is None:
        first = moderate_pilot(subject, ()).step
        start = given[0] if given else max(SHORTEST, math.ceil(COVERED * tau / first))
        scale = first * float(start) ** power_of_l
    span = scale / (1 - power_of_l if kind == "power" else 1.0)
    least = math.ceil((COVERED * tau / span) ** (1 / (1 - power_of_l)) * (1 - 1e-12))
    if given and given[0] < least:
        raise Unreached(
            f"the chains do not forget their start within L={given[0]}: they relax in {tau:.3g} units of time, and the "
            f"lengths must cover {COVERED} times that; give sweep.lengths from {least} on, or a larger schedule.scale"
        )
    lengths = given or _doubled(max(SHORTEST, least), kind, most_steps(subject) / CHAINS[0])
    rows = horizon(scale, power_of_l, lengths) if kind == "horizon" else power([scale], power_of_l, lengths)
    if subject.affine and kind == "horizon":
        steps = [row.schedule.at(1) for row in rows]
        subject.check_stable(sorted(set(steps), reverse=True), "schedule.scale*L^-alpha")
    looks = _looks(subject, rows, *CHAINS, "shorter sweep.lengths")
    return SampledRun(kind, lengths, rows, looks, {"time": tau}, alpha=alpha, scale=scale)


def _looks(subject: Subject, rows: Sequence[Row], least: int, most: int, advice: str) -> tuple[int, ...]:
    """The chains after each look: as many as the work of a default run affords; those that are configured in a single one."""
    if subject.configuration.chains != Configuration().chains:
        return (subject.configuration.chains,)
    steps, work = sum(row.lengths[-1] for row in rows), most_steps(subject)
    if least * steps > work:
        raise Unreached(
            f"forgetting the start costs too much; {least} chains that do would take {cost_text(subject, least * steps)}, more "
            f"than the {work:.0e} of a default run; give chains to run them all the same, or {advice}"
        )
    # Few chains take nearly as long as many: the first look may take half of the work.
    while most > least and most * steps > work / 2:
        most //= 2
    return tuple(n for n in (most * 2**k for k in range(LOOKS)) if n * steps <= work)


def _relaxation_time(subject: Subject, step: float) -> float:
    """The relaxation time of chains: from the spectral radius of an affine step, else from a pilot run."""
    return affine_time(subject, step) if subject.affine else moderate_pilot(subject, ()).time


def _doubled(first: int, kind: str, most: float) -> tuple[int, ...]:
    """Doubling lengths from `first` on: as many as `most` steps of a chain afford, but enough for a rate."""
    for count in range(LENGTHS, FEWEST - 1, -1):
        lengths = tuple(first * 2**k for k in range(count))
        if (lengths[-1] if kind == "power" else sum(lengths)) <= most:
            break
    return lengths
