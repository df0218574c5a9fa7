"""The comparison of chen2015: SGLD, SGHMC by Euler and SGHMC by the splitting, each over its grid, by the test likelihood."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from reports.applications.application import Job
from reports.applications.chains import ChainRun
from reports.applications.optimum import Optimum, Point, locate, refine
from reports.applications.result import DivergedChain
from reports.applications.sbn.annealing import AnnealedSampling
from reports.applications.sbn.data import BinaryImages
from reports.applications.sbn.grids import GRIDS, METHODS, REFINED, GridPoint, Method, points, printed_value
from reports.applications.sbn.model import MOST_ENUMERATED, BeliefNetwork
from reports.applications.sbn.sampled_gradient import GibbsSweeps
from reports.applications.sbn.sampling import NetworkModel, TestLikelihoods
from reports.applications.statistics import Mean, mean_of
from sgverify.schemes import find_scheme

QUARTERS = 4
"""The test likelihood is estimated after each quarter of the steps; the predictive one averages over the states from the half
on."""


@dataclass(frozen=True, eq=False)
class NetworkRow:
    """One setting of one method on one grid: its chains' test likelihoods.

    `single` has shape (quarters, C): the mean over held-out images of -log p(v | theta) at the state after each quarter.
    `predictive` (C) is that of -log of the mean of p(v | theta) over the states from the half on, and `choosing` (C) the same over
    the other test images, by which the best setting of a grid is chosen. `last` is chain 0's last theta.
    """

    hidden: int
    grid: str
    method: Method
    point: GridPoint
    at: tuple[int, ...]
    single: np.ndarray
    predictive: np.ndarray
    choosing: np.ndarray
    last: np.ndarray

    @property
    def mean(self) -> Mean | None:
        """The mean of `predictive` over the chains; None if one has diverged."""
        return mean_of(self.predictive)

    @property
    def diverged(self) -> int:
        """How many chains have no likelihood to the end."""
        return int(np.isnan(self.predictive).sum())

    def told(self) -> dict[str, Any]:
        """The row of the result."""
        mean = self.mean
        return {
            "hidden": self.hidden,
            "grid": self.grid,
            "method": self.method.label,
            "scheme": self.method.scheme,
            "printed h": self.point.printed_step,
            "h": _rounded(self.point.step),
            "D sqrt(h)": self.point.factor,
            "D": None if self.point.friction is None else _rounded(self.point.friction),
            "negative log-likelihood": None if mean is None else _rounded(mean.value),
            "standard error": None if mean is None or mean.error is None else _rounded(mean.error),
            "of each seed": [_number(value) for value in self.predictive],
            "at steps": list(self.at),
            "of the state at each of these steps": [
                None if found is None else _rounded(found.value)
                for found in (mean_of(values) for values in self.single)
            ],
            "diverged chains": self.diverged,
            "printed negative log-likelihood": printed_value(self.method, self.hidden),
        }


def compare(job: Job, images: BinaryImages) -> tuple[list[NetworkRow], list[DivergedChain]]:
    """Run every setting of every grid, and settings around the best of each method; the rows in this order."""
    settings = job.settings
    rows: list[NetworkRow] = []
    diverged: list[DivergedChain] = []
    plan = [(hidden, grid, method) for hidden in settings["hidden"] for grid in GRIDS for method in METHODS]
    grids = [points(method, grid, len(images.train)) for _, grid, method in plan]
    each = [hidden * len(grid) for (hidden, _, _), grid in zip(plan, grids, strict=True)]
    total, before = sum(each) * settings["steps"], 0
    for (hidden, grid, method), of_grid, weight in zip(plan, grids, each, strict=True):
        started = before
        found, lost = _run(
            job,
            images,
            hidden,
            grid,
            method,
            of_grid,
            f"{hidden}-{grid}-{method.label}",
            lambda done, started=started, weight=weight: job.tell("steps", started + done * weight, total),
        )
        rows += found
        diverged += lost
        before += weight * settings["steps"]
    for hidden in settings["hidden"]:
        for method in METHODS:
            _refine(job, images, hidden, method, rows, diverged)
    return rows, diverged


def _refine(
    job: Job,
    images: BinaryImages,
    hidden: int,
    method: Method,
    rows: list[NetworkRow],
    diverged: list[DivergedChain],
) -> None:
    """Run settings around the best one of a method, over both grids, and add them to the rows."""

    def run(number: int, wanted: Sequence[Point]) -> dict[Point, np.ndarray]:
        part = f"{hidden}-{REFINED}-{method.label}-{number}"
        of_grid = tuple(GridPoint.added(point) for point in wanted)
        job.tell(f"{method.label}, refined", number, job.settings["refinements"])
        found, lost = _run(job, images, hidden, REFINED, method, of_grid, part, None)
        rows.extend(found)
        diverged.extend(lost)
        return _choosing(found)

    refine(
        _choosing(_of(rows, hidden, REFINED, method.label)), axes(method), run, job.settings["refinements"]
    )


def axes(method: Method) -> tuple[str, ...]:
    """The names of a setting's coordinates."""
    return ("step", "friction") if method.momentum else ("step",)


def _choosing(rows: Sequence[NetworkRow]) -> dict[Point, np.ndarray]:
    """The likelihoods by which the best setting is chosen."""
    return {row.point.coordinates: row.choosing for row in rows}


def _of(rows: Sequence[NetworkRow], hidden: int, grid: str, method: str) -> list[NetworkRow]:
    """The rows of a method on a grid; the refined one has them all."""
    return [
        row
        for row in rows
        if (row.hidden, row.method.label) == (hidden, method) and grid in (row.grid, REFINED)
    ]


def optimum(rows: Sequence[NetworkRow], hidden: int, grid: str, method: str) -> Optimum | None:
    """The setting of a grid that is best on the images for choosing, among those whose chains have all stayed, if there is one."""
    among = _of(rows, hidden, grid, method)
    return locate(_choosing(among), axes(among[0].method)) if among else None


def best(rows: Sequence[NetworkRow], hidden: int, grid: str, method: str) -> NetworkRow | None:
    """The row of the optimum of a grid; None if there is none."""
    found = optimum(rows, hidden, grid, method)
    among = _of(rows, hidden, grid, method)
    return None if found is None else next(row for row in among if row.point.coordinates == found.point)


def _run(
    job: Job,
    images: BinaryImages,
    hidden: int,
    grid: str,
    method: Method,
    grid_points: Sequence[GridPoint],
    part: str,
    tell: Any,
) -> tuple[list[NetworkRow], tuple[DivergedChain, ...]]:
    settings, chains = job.settings, range(job.seeds)
    network = BeliefNetwork(images.height * images.width, hidden)
    sweeps = GibbsSweeps(settings["burn-in"], settings["kept"]) if hidden > MOST_ENUMERATED else None
    model = NetworkModel(
        network, images.train, batch=settings["batch"], sweeps=sweeps, seed=job.seed, chains=chains
    )
    steps = settings["steps"]
    at = tuple(sorted({max(1, steps * k // QUARTERS) for k in range(1, QUARTERS + 1)}))
    seen = TestLikelihoods(
        network,
        images.test,
        AnnealedSampling(settings["temperatures"]) if sweeps else None,
        at=at,
        settings=len(grid_points),
        chains=chains,
        seed=job.seed,
    )
    run = ChainRun(
        find_scheme(method.scheme),
        model,
        [point.setting() for point in grid_points],
        steps=steps,
        seed=job.seed,
        chains=chains,
        start_momentum="stationary",
    )
    run.run(seen, kept=job.kept, part=part, tell=tell)
    rows = [_row(hidden, grid, method, point, seen, s) for s, point in enumerate(grid_points)]
    return rows, run.diverged(f"{method.label} ({grid} grid, {hidden} units)")


def _row(
    hidden: int, grid: str, method: Method, point: GridPoint, seen: TestLikelihoods, place: int
) -> NetworkRow:
    """Odd test images are held out, even ones choose the setting."""
    found = seen.found[:, place]
    late = [k for k, number in enumerate(seen.at) if 2 * number >= seen.at[-1]]
    whole = np.logaddexp.reduce(found[late], axis=0) - math.log(len(late))
    return NetworkRow(
        hidden,
        grid,
        method,
        point,
        tuple(seen.at),
        -found[..., 1::2].mean(-1),
        -whole[:, 1::2].mean(-1),
        -whole[:, ::2].mean(-1),
        seen.last[place],
    )


def _rounded(value: float) -> float:
    return float(f"{value:.6g}")


def _number(value: float) -> float | None:
    return _rounded(float(value)) if math.isfinite(value) else None
