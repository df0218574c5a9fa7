"""The samplers that awsgld compares, each as it is run on a function of known scales.

The number of iterations in which samplers reach a global minimum: ten functions, tuned step sizes, many trials.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from reports.experiments.awsgld.first_hits import NEVER, sample_hits
from reports.experiments.awsgld.settings import (
    COLD,
    CYCLES,
    DIM,
    EFFORTS,
    FIRST,
    HOT,
    MOMENTUM,
    MOST,
    NAMES,
    RATIO,
    STRIDE,
    TOLERANCE,
    ZETA_OF_CSGLD,
    AdaptiveEffort,
    Scales,
    chance_interval,
    median_interval,
    scales_of,
    share_reached,
)
from sgverify.configuration import load_configuration
from sgverify.errors import find_named
from sgverify.evidence import Study, Table
from sgverify.samplers import Cyclical, Row, Settings, fixed
from sgverify.schemes import Scheme
from sgverify.schemes.composites.composite import Composite
from sgverify.schemes.loading import load_step
from sgverify.targets import build_target

PRECONDITIONED, FLOOR = "psgld-0.999-0.1", 0.1
ZETA = 3.0
"""Of AWSGLD; printed for Griewank's exploration, while those of Table 3 are not at hand."""


@dataclass(frozen=True)
class AdaptiveContender:
    """A sampler: its scheme or composite, its temperature as a share of the height, and its configuration tables.

    `cyclical`: step sizes fall and rise as in the paper's cycles, around the tuned step size. `momentum`: the friction follows
    from the step size, so that the decay of the momentum is the printed one. `evaluations`: gradients per iteration.
    """

    label: str
    scheme: str
    temperature: float
    tables: Callable[[str, Scales], dict[str, Any]] = field(default=lambda name, scales: {}, repr=False)
    cyclical: bool = False
    momentum: bool = False
    evaluations: int = 1


def _partition(bins: int, zeta: float) -> Callable[[str, Scales], dict[str, Any]]:
    def tables(name: str, scales: Scales) -> dict[str, Any]:
        preset = "optimisation-rastrigin" if name == "rastrigin" else "optimisation"
        high = scales.lowest + scales.height
        return {
            "partition": {
                "preset": preset,
                "low": scales.lowest,
                "high": high,
                "bins": bins,
                "zeta": zeta,
            }
        }

    return tables


def _ladder(name: str, scales: Scales) -> dict[str, Any]:
    return {"exchange": {"ladder": [1.0, HOT / COLD]}}


CONTENDERS = (
    AdaptiveContender("SGLD, cold", "sgld-euler", COLD),
    AdaptiveContender("SGLD, hot", "sgld-euler", HOT),
    AdaptiveContender("pSGLD", PRECONDITIONED, COLD),
    AdaptiveContender("SGHMC", "sghmc-momentum-0.001", COLD, momentum=True),
    AdaptiveContender("cycSGLD", "sgld-euler", COLD, cyclical=True),
    AdaptiveContender("reSGLD", "resgld", COLD, _ladder, evaluations=2),
    AdaptiveContender("CSGLD-10", "csgld", HOT, _partition(10, ZETA_OF_CSGLD)),
    AdaptiveContender("AWSGLD-10", "awsgld", HOT, _partition(10, ZETA)),
    AdaptiveContender("AWSGLD-100", "awsgld", HOT, _partition(100, ZETA)),
)


def first_hits(
    contender: AdaptiveContender,
    name: str,
    scales: Scales,
    steps: tuple[float, ...],
    *,
    trials: int,
    most: int,
    period: int,
    seed: int,
) -> tuple[np.ndarray, np.ndarray, list[int | None]]:
    """The first iteration of each trial at or below the level, `NEVER` for none, and the best U met; shape (steps, trials).

    And the iteration after which no trial went on because one had diverged, None for none; one for each step size.

    The seed determines the starts of the trials, which are equal for every sampler; of replicas the coldest counts.
    `period` is the length of a cycle.
    """
    if len(steps) > 1:
        # A kernel moves one step size; of the momentum form, each has its own friction.
        parts = [
            first_hits(contender, name, scales, (step,), trials=trials, most=most, period=period, seed=seed)
            for step in steps
        ]
        ended = [end for part in parts for end in part[2]]
        return np.concatenate([part[0] for part in parts]), np.concatenate([part[1] for part in parts]), ended
    sizes = tuple(_size(contender, scales, step) for step in steps)
    friction = (1 - MOMENTUM) / sizes[0] if contender.momentum else 2.0
    c = load_configuration(
        {
            "target": {"name": name, "dim": DIM},
            "temperature": contender.temperature * scales.height,
            "friction": friction,
            "chains": trials,
            "seed": seed,
            **contender.tables(name, scales),
        }
    )
    scheme = load_step(contender.scheme)
    assert isinstance(scheme, Scheme | Composite)
    hits = sample_hits(
        scheme,
        build_target(c.target),
        _rows(contender, sizes, most, period),
        level=scales.level,
        settings=Settings.of(c),
        starts=scales.starts(trials, seed),
    )
    return hits.first, hits.best, [None if why is None else why.step_number for why in hits.diverged]


def _size(contender: AdaptiveContender, scales: Scales, step: float) -> float:
    """The step h of the scheme: learning rates are h^2 in the momentum form, and are divided by slopes in pSGLD."""
    if contender.momentum:
        return float(np.sqrt(step))
    return step * (FLOOR + scales.gradient) if contender.scheme == PRECONDITIONED else step


def _rows(contender: AdaptiveContender, sizes: tuple[float, ...], most: int, period: int) -> tuple[Row, ...]:
    if not contender.cyclical:
        return fixed(sizes, [most])
    first, last = (end / FIRST.step for end in FIRST.cycle)
    return tuple(Row(Cyclical(size * first, period, size * last), (most,)) for size in sizes)


SEED, TUNING_SEED = 1, 2


@dataclass(frozen=True)
class HittingResult:
    """The trials of one sampler on one function; `first` has `inf` where the minimum was not reached.

    `ended`: the iteration after which none went on because one trial had diverged; the trials are not independent then.
    """

    function: str
    sampler: str
    step: float
    grid_end: bool
    first: np.ndarray
    ended: int | None = None

    @property
    def reached(self) -> int:
        """Trials that reached the minimum."""
        return int(np.isfinite(self.first).sum())

    def quantile(self, share: float) -> float:
        """A quantile of the trials: the least value that at least this share of the trials does not exceed."""
        return float(np.quantile(self.first, share, method="inverted_cdf"))

    @property
    def interval(self) -> tuple[float, float]:
        """`median_interval` of the times."""
        return median_interval(self.first, 0.0, np.inf)


def hitting_times(effort: str) -> Study:
    """Reached fractions and medians of the first hit, awsgld Table 4 with functions and settings of our own."""
    chosen = find_named("effort", effort, EFFORTS)
    names = NAMES[: chosen.functions]
    found = {(name, one.label): _found(one, name, chosen) for name in names for one in CONTENDERS}
    return Study(
        id="awsgld/hitting-times",
        title="First hits of a global minimum",
        source="Deng, Lin, Liang 2022, section on optimisation and Tables 3, 4",
        summary=(
            f"Iterations until a trial first meets U <= U_min + {TOLERANCE:g} height, full gradients, {chosen.trials} trials "
            "that start uniformly over the box, the same places for every sampler; more than "
            f"{chosen.most} iterations count as infinite. The bodies of the paper's tables are not in the text at hand: "
            "functions, dimension (2), temperatures, levels and step sizes are our own, and iterations are counted, not "
            "CPU time."
        ),
        tables=(
            _medians(names, found),
            *(_details(name, found) for name in names),
            _summary(names, found),
            _scales(names),
        ),
        notes=_notes(chosen),
    )


def _found(contender: AdaptiveContender, name: str, effort: AdaptiveEffort) -> HittingResult:
    """Tune the step size on a seed of its own, then run the trials."""
    scales = scales_of(name)
    steps = scales.steps(effort.steps)
    period = -(-effort.most // CYCLES)

    def run(
        steps: tuple[float, ...], most: int, seed: int
    ) -> tuple[np.ndarray, np.ndarray, list[int | None]]:
        return first_hits(
            contender, name, scales, steps, trials=effort.trials, most=most, period=period, seed=seed
        )

    first, best, _ = run(steps, effort.tuning, TUNING_SEED)
    spent = np.where(first == NEVER, effort.tuning, first).mean(axis=1)
    # Equal where none has reached anything: then the lower energies decide.
    height = np.where(np.isfinite(best), best, np.inf).mean(axis=1)
    place = min(range(len(steps)), key=lambda k: (spent[k], height[k]))
    first, _, (ended,) = run((steps[place],), effort.most, SEED)
    times = np.where(first[0] == NEVER, np.inf, first[0])
    return HittingResult(name, contender.label, steps[place], place in (0, len(steps) - 1), times, ended)


def _medians(names: tuple[str, ...], found: dict[tuple[str, str], HittingResult]) -> Table:
    rows = []
    for one in CONTENDERS:
        cells = []
        for name in names:
            held = found[name, one.label]
            cells.append(f"{_shown(held.quantile(0.5))} ({held.reached}/{len(held.first)})")
        rows.append((one.label, *cells))
    return Table(
        "Median iterations to the minimum (trials that reached it)", ("sampler", *names), tuple(rows)
    )


def _details(name: str, found: dict[tuple[str, str], HittingResult]) -> Table:
    rows = []
    for one in CONTENDERS:
        held = found[name, one.label]
        low, high = held.interval
        rows.append(
            (
                one.label,
                held.step,
                "yes" if held.grid_end else "no",
                held.reached / len(held.first),
                "{:.3f} to {:.3f}".format(*chance_interval(held.reached, len(held.first))),
                _shown(held.quantile(0.25)),
                _shown(held.quantile(0.5)),
                _shown(held.quantile(0.75)),
                held.ended,
                f"{_shown(low)} to {_shown(high)}",
            )
        )
    columns = (
        "sampler",
        "step size",
        "at the grid's end",
        "reached",
        "95 % interval of the chance to reach it",
        "first quartile",
        "median",
        "third quartile",
        "one diverged, and all ended, at",
        "95 % interval of the median",
    )
    return Table(f"{name}: iterations to the minimum", columns, tuple(rows))


def _summary(names: tuple[str, ...], found: dict[tuple[str, str], HittingResult]) -> Table:
    """Of each sampler: where it has the least median, and where its interval meets that of the least one."""
    fewest, near, complete = (
        dict.fromkeys(_labels(), 0),
        dict.fromkeys(_labels(), 0),
        dict.fromkeys(_labels(), 0),
    )
    for name in names:
        held = {label: found[name, label] for label in _labels()}
        least = min(held.values(), key=lambda one: one.quantile(0.5))
        for label, one in held.items():
            finite = np.isfinite(one.quantile(0.5))
            fewest[label] += bool(finite and one.quantile(0.5) == least.quantile(0.5))
            near[label] += bool(finite and one.interval[0] <= least.interval[1])
            complete[label] += one.reached == len(one.first)
    rows = tuple((label, fewest[label], near[label], complete[label]) for label in _labels())
    return Table(
        f"Of {len(names)} functions",
        ("sampler", "least median", "interval meets that of the least", "every trial reached the minimum"),
        rows,
    )


def _scales(names: tuple[str, ...]) -> Table:
    rows = []
    for name in names:
        held = scales_of(name)
        rows.append(
            (
                name,
                " x ".join(f"[{low:g}, {high:.4g}]" for low, high in held.box),
                held.lowest,
                held.height,
                TOLERANCE * held.height,
                share_reached(name),
            )
        )
    columns = ("function", "box", "minimum", "height", "tolerance", "share of the box below the level")
    return Table("The functions, in the plane", columns, tuple(rows))


def _notes(effort: AdaptiveEffort) -> tuple[str, ...]:
    cut = "" if effort.most == MOST else f" The paper's limit is {MOST} iterations; here it is {effort.most}."
    return (
        "One rule sets every sampler. Height: the median of U over the box less its minimum. Temperatures: "
        f"{HOT:g} height for hot SGLD, CSGLD, AWSGLD, {COLD:g} height for the others, both for reSGLD. Step sizes: the best of "
        f"{effort.steps} by the mean iterations of {effort.trials} other trials cut off at {effort.tuning}, then by the least "
        f"energies met; the largest moves a hot chain by {STRIDE:g} of the box in one iteration, each next is {RATIO:g} times "
        "smaller. pSGLD's are times 0.1 plus the root mean square slope over the box, by which it divides. Steps are tuned to "
        "search, not to sample: some are beyond what a law would stand. Where one chain leaves every bound, those beside it "
        f"end too, as not having reached anything later, and the intervals hold of trials that end so.{cut}",
        "As printed: omega_k = 100/(k^.75 + 1000), 200 for Rastrigin; momentum .9; pSGLD .999 and .1; 10 cycles from 2 to .6 "
        "times the step. Ours: regions from the minimum to the height above it (so the minimum is known to them), "
        f"zeta = {ZETA:g} of AWSGLD and {ZETA_OF_CSGLD:g} of CSGLD, whose weights start at 1/m and are pulled by theta(J)^zeta: "
        "at AWSGLD's zeta they would hardly move.",
        "An iteration of reSGLD takes two gradients, one for each replica, and the cold one is to reach the minimum. "
        f"A minimum reached at dimension {DIM} says little about high dimensions.",
    )


def _labels() -> tuple[str, ...]:
    return tuple(one.label for one in CONTENDERS)


def _shown(value: float) -> str:
    return "infinite" if np.isinf(value) else f"{value:.0f}"
