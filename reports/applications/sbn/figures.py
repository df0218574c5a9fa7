"""The studies of a run, and the dictionary that a network has learnt."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import torch

from reports.applications.sbn.comparison import NetworkRow, best
from reports.applications.sbn.data import BinaryImages
from reports.applications.sbn.grids import GRIDS, METHODS, REFINED, printed_value
from reports.applications.sbn.model import BeliefNetwork
from reports.applications.statistics import difference, mean_of
from sgverify.evidence import Panel, Series, Study, Table

MOST_TILES = 100
"""Hidden units of a dictionary that are shown, those with the largest weights first."""


def table(rows: Sequence[NetworkRow], hidden: Sequence[int]) -> Study:
    """The best setting of each method on each grid, beside Table 1."""
    cells: list[tuple[str | int | float | None, ...]] = []
    for units in hidden:
        for grid in (*GRIDS, REFINED):
            for method in METHODS:
                row = best(rows, units, grid, method.label)
                mean = None if row is None else row.mean
                cells.append(
                    (
                        units,
                        grid,
                        method.label,
                        "every setting diverged" if row is None else str(row.point),
                        None if mean is None else round(mean.value, 3),
                        None if mean is None or mean.error is None else round(mean.error, 3),
                        printed_value(method, units),
                    )
                )
    return Study(
        id="sbn/table",
        title="Best test negative log-likelihood of each sampler",
        source="Chen, Ding, Carin 2015, Table 1",
        summary=(
            "The setting of each grid, and of all that were run, that is best on the even test images, and its negative "
            "log-likelihood on the odd ones, in nats for each image: of the mean of p(v | theta) over the states after half, three "
            "quarters and all of the steps. "
            "The printed numbers are those of MNIST, of 784 pixels: their order is to be compared, not their size."
        ),
        tables=(
            Table(
                "Best of each grid",
                (
                    "hidden units",
                    "grid",
                    "sampler",
                    "setting",
                    "negative log-likelihood",
                    "standard error",
                    "printed (MNIST)",
                ),
                tuple(cells),
            ),
        ),
    )


def against_steps(rows: Sequence[NetworkRow], hidden: Sequence[int]) -> Study:
    """The test negative log-likelihood against the step size, for each friction."""
    panels = []
    for units in hidden:
        for grid in GRIDS:
            series = []
            for method in METHODS:
                of = [row for row in rows if (row.hidden, row.grid, row.method) == (units, grid, method)]
                for factor in dict.fromkeys(row.point.factor for row in of):
                    name = method.label if factor is None else f"{method.label}, D = {factor:g}/sqrt(h)"
                    series.append(_series(name, [row for row in of if row.point.factor == factor]))
            panels.append(
                Panel(
                    f"{grid} grid, {units} units",
                    "printed step size",
                    "negative log-likelihood",
                    tuple(series),
                )
            )
            panels.append(_differences(rows, units, grid))
        panels.append(_around_the_best(rows, units))
    return Study(
        id="sbn/steps",
        title="Test negative log-likelihood against the step size",
        source="Chen, Ding, Carin 2015, section 5",
        summary=(
            "Every setting of both grids, means over the seeds with standard errors, and the difference of the two integrators of "
            "SGHMC at the same setting, seed by seed. The abscissa is the printed step size that a setting stands for; on the "
            "rescaled grid the step that is run is larger by 60000/N for SGLD and by its square root for SGHMC. The last panel has "
            "the steps that were run, of both grids and around the best of them, at the friction of the best one."
        ),
        panels=tuple(panels),
    )


def against_time(rows: Sequence[NetworkRow], hidden: Sequence[int]) -> Study:
    """The test negative log-likelihood of the best settings after each quarter of the steps."""
    panels = []
    for units in hidden:
        for grid in (*GRIDS, REFINED):
            series = []
            for method in METHODS:
                row = best(rows, units, grid, method.label)
                if row is None:
                    continue
                means = [mean_of(values) for values in row.single]
                errors = [None if mean is None else mean.error for mean in means]
                series.append(
                    Series(
                        f"{method.label}, {row.point}",
                        "sampled",
                        tuple(float(number) for number in row.at),
                        tuple(None if mean is None else mean.value for mean in means),
                        tuple(errors) if any(error is not None for error in errors) else (),
                    )
                )
            if series:
                panels.append(
                    Panel(
                        f"{grid} grid, {units} units",
                        "step",
                        "negative log-likelihood",
                        tuple(series),
                        x_scale="linear",
                    )
                )
    return Study(
        id="sbn/training",
        title="Test negative log-likelihood of single states along the run",
        source="Chen, Ding, Carin 2015, section 5",
        summary="The best setting of each sampler on each grid, and of all: the state after each quarter of the steps, on held-out "
        "images.",
        panels=tuple(panels),
    )


def dictionary(row: NetworkRow, images: BinaryImages) -> np.ndarray:
    """The pixel probabilities sigma(c + W_j) of each hidden unit alone, largest W_j first; shape (tiles, height, width)."""
    network = BeliefNetwork(images.height * images.width, row.hidden)
    weights, pixels, _ = network.parts(torch.from_numpy(row.last))
    order = weights.norm(dim=-1).argsort(descending=True)[:MOST_TILES]
    tiles = torch.sigmoid(pixels + weights[order])
    return tiles.reshape(-1, images.height, images.width).numpy()


def _around_the_best(rows: Sequence[NetworkRow], hidden: int) -> Panel:
    """Every step that was run at the friction of the best setting."""
    series = []
    for method in METHODS:
        chosen = best(rows, hidden, REFINED, method.label)
        if chosen is None:
            continue
        of = [
            row
            for row in rows
            if (row.hidden, row.method) == (hidden, method) and row.point.factor == chosen.point.factor
        ]
        of.sort(key=lambda row: row.point.step)
        name = (
            method.label
            if chosen.point.factor is None
            else f"{method.label}, D = {chosen.point.factor:g}/sqrt(h)"
        )
        series.append(_series(name, of, [row.point.step for row in of]))
    return Panel(f"all steps, {hidden} units", "step size h", "negative log-likelihood", tuple(series))


def _differences(rows: Sequence[NetworkRow], hidden: int, grid: str) -> Panel:
    """The splitting less Euler at the same setting; their curves would cover one another."""
    of = {
        label: [row for row in rows if (row.hidden, row.grid, row.method.label) == (hidden, grid, label)]
        for label in ("SGHMC-S", "SGHMC-E")
    }
    series = []
    for factor in dict.fromkeys(row.point.factor for row in of["SGHMC-S"]):
        pairs = [
            (one, two)
            for one, two in zip(of["SGHMC-S"], of["SGHMC-E"], strict=True)
            if one.point.factor == factor
        ]
        gaps = [difference(one.predictive, two.predictive) for one, two in pairs]
        errors = tuple(None if gap is None else gap.error for gap in gaps)
        series.append(
            Series(
                f"D = {factor:g}/sqrt(h)",
                "sampled",
                tuple(one.point.abscissa for one, _ in pairs),
                tuple(None if gap is None else gap.value for gap in gaps),
                errors if any(error is not None for error in errors) else (),
                "a chain diverged" if None in gaps else "",
            )
        )
    return Panel(
        f"SGHMC-S less SGHMC-E, {grid} grid, {hidden} units",
        "printed step size",
        "difference of negative log-likelihoods",
        tuple(series),
        y_scale="linear",
    )


def _series(name: str, rows: Sequence[NetworkRow], steps: Sequence[float] = ()) -> Series:
    means = [row.mean for row in rows]
    lost = [str(row.point) for row in rows if row.diverged]
    errors = [None if mean is None else mean.error for mean in means]
    return Series(
        name,
        "sampled",
        tuple(steps) or tuple(row.point.abscissa for row in rows),
        tuple(None if mean is None else mean.value for mean in means),
        tuple(errors) if any(error is not None for error in errors) else (),
        note=f"diverged: {', '.join(lost)}" if lost else "",
    )
