"""The sample-space explorations of awsgld: which modes each sampler has visited, and AWSGLD's weights against theta*."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from flint import arb

from reports.experiments.awsgld.settings import (
    CYCLES,
    EFFORTS,
    FIRST,
    GRIEWANK,
    MOMENTUM,
    ZETA_OF_CSGLD,
    AdaptiveEffort,
    PrintedExploration,
    median_interval,
)
from reports.experiments.awsgld.visiting import EVERY, Modes, VisitTrail, modes_of, visit
from sgverify.configuration import load_configuration
from sgverify.errors import find_named
from sgverify.evidence import Panel, Series, Study, Table
from sgverify.exact.weights.fixed_point import cumulated_weights
from sgverify.samplers import Cyclical, Row, Settings, fixed
from sgverify.schemes import Scheme
from sgverify.schemes.composites.adaptation import Adaptation, Partition, PartitionChoice, make_adaptation
from sgverify.schemes.composites.composite import Composite
from sgverify.schemes.loading import load_step
from sgverify.targets import build_target
from sgverify.targets.multimodal import FUNCTIONS

BOWLS = {"rastrigin": 1.0, "griewank": 1 / 4000}
"""U >= bowl |theta|^2."""
MODE = {"rastrigin": 4.0, "griewank": 4 * np.pi}
"""Chains start at the mode near (4, 4), or at (4 pi, 4 sqrt(2) pi)."""
DIGITS = 5

_STRIP = 64
_DEEPEST = 18.0
"""A grid goes out to where a bowl below U is 18 tau: exp(-18) = 1.5e-8 is left out."""


@dataclass(frozen=True)
class Star:
    """theta* of AWSGLD, and by how much the grid with half the points differs, relative; shape (m,) each."""

    weights: np.ndarray
    errors: np.ndarray


def exploration(effort: str) -> Study:
    """Curves of the modes visited, states, and weights at the printed settings, and the same for Griewank's function."""
    chosen = find_named("effort", effort, EFFORTS)
    panels: list[Panel] = []
    tables: list[Table] = []
    for printed in (FIRST, GRIEWANK):
        modes = modes_of(printed.target, printed.box)
        trails: dict[str, VisitTrail] = {}
        for these in explorers(printed, chosen):
            trails |= explore(printed, chosen, these)
        run = _adaptation(printed)
        star = star_of(printed.target, run.partition, run.tau, run.zeta, BOWLS[printed.target], chosen.grid)
        panels += [_curves(printed, trails), _clouds(printed, trails), _weights(printed, trails, run, star)]
        tables += [_visited(printed, trails, modes), _against_star(printed, trails, star)]
    return Study(
        id="awsgld/exploration",
        title="Exploration of the sample space",
        source="Deng, Lin, Liang 2022, sample space exploration and its appendix",
        summary=(
            "How many modes of a box each sampler has visited, at the learning rates, temperatures, cycles, partitions and "
            f"lengths that the paper prints{_shortened(chosen)}. The energy of its first example is not in the text at "
            "hand: we take Rastrigin's function in the plane, whose energies and barriers suit the printed partition "
            "(0, 20] and temperatures; Griewank's function is the standard one, in the plane. What is counted is our "
            "choice too."
        ),
        panels=tuple(panels),
        tables=tuple(tables),
        notes=(
            f"{chosen.chains} chains, full gradients; all start in one mode. A mode counts as visited where one of every "
            f"{EVERY} states comes within 1/4 (Rastrigin) or 1 (Griewank) of it.",
            "SGHMC is the momentum form (46) with the printed decay. Its velocity forgets itself within tens of iterations, "
            "so a refreshment every 1000, as printed, is left out. Cyclical SGHMC runs from the square root of one printed "
            "learning rate to that of the other. pSGLD leaves out the term Gamma. Of reSGLD, not among the printed "
            "settings, the cold replica is shown; its ladder is the two printed temperatures. The zeta of CSGLD is not printed "
            f"either and is {ZETA_OF_CSGLD:g}: its weights start at 1/30 and are pulled by theta(J)^zeta, so that at AWSGLD's zeta "
            "they would stay where they start, and CSGLD would be hot SGLD.",
            "theta* is exact for exp(-U/tau) up to the grid's error; the sampler also has a step size, and weights that "
            "are not at their limit yet.",
        ),
    )


@dataclass(frozen=True)
class Explorers:
    """Samplers of one scheme and temperature, which run as rows of one tensor; `tables` of the configuration."""

    labels: tuple[str, ...]
    scheme: Scheme | Composite
    rows: tuple[Row, ...]
    temperature: float
    tables: dict[str, Any]


def explorers(printed: PrintedExploration, effort: AdaptiveEffort) -> tuple[Explorers, ...]:
    """The samplers at the printed settings, over the effort's share of the printed length."""
    length = max(50, round(printed.length * effort.share))
    first, last = printed.cycle
    period = -(-length // CYCLES)
    plain = fixed([printed.step], [length])
    root = fixed([printed.step**0.5], [length])
    cycles = Row(Cyclical(first, period, last), (length,))
    root_cycles = Row(Cyclical(first**0.5, period, last**0.5), (length,))
    friction = (1 - MOMENTUM) / printed.step**0.5
    bins = {"partition": {"preset": printed.preset}}
    masses = {"partition": {"preset": printed.preset, "zeta": ZETA_OF_CSGLD}}
    ladder = {"exchange": {"ladder": [1.0, printed.high / printed.low]}}
    sgld, momentum = _load("sgld-euler"), _load("sghmc-momentum-0.001")
    return (
        Explorers(("SGLD, cold",), sgld, plain, printed.low, {}),
        Explorers(("cycSGLD",), sgld, (cycles,), printed.low, {}),
        Explorers(("SGLD, hot",), sgld, plain, printed.high, {}),
        Explorers(("pSGLD",), _load("psgld-0.999-0.1"), plain, printed.low, {}),
        Explorers(("SGHMC",), momentum, root, printed.low, {"friction": friction}),
        Explorers(("cycSGHMC",), momentum, (root_cycles,), printed.low, {"friction": friction}),
        Explorers(("reSGLD",), _load("resgld"), plain, printed.low, ladder),
        Explorers(("CSGLD",), _load("csgld"), plain, printed.high, masses),
        Explorers(("AWSGLD",), _load("awsgld"), plain, printed.high, bins),
    )


def explore(printed: PrintedExploration, effort: AdaptiveEffort, these: Explorers) -> dict[str, VisitTrail]:
    """One trail for each of the samplers, all chains from one mode."""
    given = {
        "target": {"name": printed.target, "dim": 2},
        "temperature": these.temperature,
        "chains": effort.chains,
        **these.tables,
    }
    target = build_target(load_configuration(given).target)
    start = MODE[printed.target] / float(target.spread_float64(these.temperature)[0])
    settings = Settings.of(load_configuration({**given, "start": start}))
    modes = modes_of(printed.target, printed.box)
    trails = visit(these.scheme, target, these.rows, settings, modes, effort.points)
    return dict(zip(these.labels, trails, strict=True))


def star_of(name: str, partition: Partition, tau: float, zeta: float, bowl: float, points: int) -> Star:
    """theta* by a grid of the plane, U >= bowl |theta|^2: the midpoint rule on the box where bowl theta_i^2 <= 18 tau.

    U is even in both coordinates, so that a quarter of the `points` x `points` are enough.
    The masses go through the exact recursion (`cumulated_weights`).
    """
    reach = (_DEEPEST * tau / bowl) ** 0.5
    fine, coarse = (
        np.array([float(weight) for weight in cumulated_weights([arb(p) for p in masses], zeta)])
        for masses in (_masses(name, partition, tau, reach, count) for count in (points, points // 2))
    )
    return Star(fine, np.abs(fine - coarse) / fine)


def _load(name: str) -> Scheme | Composite:
    found = load_step(name)
    assert isinstance(found, Scheme | Composite)
    return found


def _adaptation(printed: PrintedExploration) -> Adaptation:
    """The run of AWSGLD as its composite makes it."""
    c = load_configuration(None, target={"name": printed.target, "dim": 2})
    choice = PartitionChoice(preset=printed.preset)
    return make_adaptation(choice, build_target(c.target), printed.high, cumulative=True)


def _curves(printed: PrintedExploration, trails: dict[str, VisitTrail]) -> Panel:
    series = []
    for label, trail in trails.items():
        mean, error = _mean(trail.shares)
        series.append(
            Series(
                label,
                "sampled",
                tuple(float(n) for n in trail.numbers),
                _rounded(mean),
                _rounded(error),
                note=trail.ended,
            )
        )
    title = f"{printed.target}: modes of the box that were visited"
    return Panel(title, "iteration", "share of the modes", tuple(series), y_scale="linear")


def _clouds(printed: PrintedExploration, trails: dict[str, VisitTrail]) -> Panel:
    series = []
    for label, trail in trails.items():
        cloud = trail.cloud[np.isfinite(trail.cloud).all(axis=1)]
        series.append(Series(label, "sampled", _rounded(cloud[:, 0]), _rounded(cloud[:, 1])))
    title = f"{printed.target}: states of the first chain"
    return Panel(title, "theta[0]", "theta[1]", tuple(series), x_scale="linear", y_scale="linear")


def _weights(
    printed: PrintedExploration, trails: dict[str, VisitTrail], run: Adaptation, star: Star
) -> Panel:
    weights = trails["AWSGLD"].weights
    assert weights is not None
    mean, error = _mean(weights.T)
    edges = tuple(float(edge) for edge in run.partition.edges[1:])
    return Panel(
        f"{printed.target}: weights of AWSGLD",
        "energy up to which the region reaches",
        "theta",
        (
            Series(
                "theta*",
                "exact",
                edges,
                tuple(star.weights.tolist()),
                tuple((star.errors * star.weights).tolist()),
            ),
            Series("AWSGLD, at the end", "sampled", edges, tuple(mean.tolist()), tuple(error.tolist())),
        ),
        x_scale="linear",
    )


def _visited(printed: PrintedExploration, trails: dict[str, VisitTrail], modes: Modes) -> Table:
    rows = []
    for label, trail in trails.items():
        mean, error = _mean(trail.shares)
        counts = np.round(trail.shares[-1] * len(modes.places))
        low, high = median_interval(counts, 0.0, len(modes.places))
        half = len(trail.numbers) and int(np.searchsorted(mean, mean[-1] / 2))
        rows.append(
            (
                label,
                round(float(mean[-1] * len(modes.places)), 1),
                round(float(mean[-1]), 4),
                round(float(error[-1]), 4),
                f"{np.quantile(counts, 0.5, method='inverted_cdf'):.0f} ({low:.0f} to {high:.0f})",
                int(trail.numbers[half]),
                trail.ended or None,
            )
        )
    columns = (
        "sampler",
        "modes visited",
        "share",
        "standard error",
        "median over chains, 95 %",
        "half of them by iteration",
        "ended early",
    )
    return Table(f"{printed.target}: of {len(modes.places)} modes, mean over chains", columns, tuple(rows))


def _against_star(printed: PrintedExploration, trails: dict[str, VisitTrail], star: Star) -> Table:
    weights = trails["AWSGLD"].weights
    assert weights is not None
    mean, error = _mean(weights.T)
    chosen = sorted({0, 1, 2, 4, 9, 14, 19, 24, len(mean) - 1})
    rows = tuple(
        (
            place + 1,
            float(star.weights[place]),
            float(star.errors[place] * star.weights[place]),
            float(mean[place]),
            float(error[place]),
            float(mean[place] / star.weights[place]),
        )
        for place in chosen
    )
    columns = ("region", "theta*", "the grid's error", "AWSGLD", "standard error", "ratio")
    return Table(f"{printed.target}: adapted weights against theta*", columns, rows)


def _mean(values: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Over chains, the last axis: the mean and its standard error."""
    return values.mean(axis=-1), values.std(axis=-1, ddof=1) / values.shape[-1] ** 0.5


def _rounded(values: np.ndarray) -> tuple[float, ...]:
    return tuple(float(f"{value:.{DIGITS}g}") for value in values)


def _shortened(effort: AdaptiveEffort) -> str:
    return "" if effort.share == 1 else f" (lengths times {effort.share:g}, cycles shortened with them)"


def _masses(name: str, partition: Partition, tau: float, reach: float, points: int) -> np.ndarray:
    function = FUNCTIONS[name]
    points //= 2
    axis = reach * (np.arange(points) + 0.5) / points
    total = np.zeros(partition.bins)
    for start in range(0, points, _STRIP):
        grid = np.stack(np.meshgrid(axis[start : start + _STRIP], axis, indexing="ij"), -1)
        energies = function.value(grid).ravel()
        # Regions are right-closed, as `weighting.region_of` reads them.
        regions = np.searchsorted(partition.inner, energies, side="left")
        total += np.bincount(regions, np.exp(-energies / tau), minlength=partition.bins)
    return np.asarray(total / total.sum())
