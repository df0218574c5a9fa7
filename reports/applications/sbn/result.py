"""The run of the belief network: the comparison, the paper's statements beside it, what the estimates are worth, the dictionary."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import torch

from reports.applications.application import Job
from reports.applications.judging import verdicts_told
from reports.applications.result import AppFindings, Picture
from reports.applications.samplers_checked import checked
from reports.applications.sbn import exactness, figures
from reports.applications.sbn.annealing import AnnealedSampling, log_likelihood
from reports.applications.sbn.asking import ask
from reports.applications.sbn.comparison import NetworkRow, best, compare
from reports.applications.sbn.data import BinaryImages, digits, from_idx
from reports.applications.sbn.findings import findings
from reports.applications.sbn.grids import GRIDS, METHODS, REFINED
from reports.applications.sbn.model import MOST_ENUMERATED, BeliefNetwork
from sgverify.errors import ConfigurationError
from sgverify.schemes import find_scheme

LONGER, CHECKED_IMAGES = 10, 50
"""Annealing is repeated with this many times the temperatures, on this many test images."""


def run(job: Job) -> AppFindings:
    """The comparison of chen2015 on the images of the job; see `DECLARED` for its settings."""
    settings = job.settings
    images = _images(settings, job.seed)
    hidden = tuple(dict.fromkeys(settings["hidden"]))
    rows, diverged = compare(job, images)
    chosen = {
        (units, grid, method.label): row
        for units in hidden
        for grid in (*GRIDS, REFINED)
        for method in METHODS
        if (row := best(rows, units, grid, method.label)) is not None
    }
    told = [row.told() for row in rows]
    biases = {
        row: _annealed_longer(row, images, settings, job.seed) for row in dict.fromkeys(chosen.values())
    }
    too_large = {group: biases[row] for group, row in chosen.items()}
    for row, bias in biases.items():
        told[rows.index(row)] |= {"best of its grid": True, "negative log-likelihood too large by": bias}
    statements = findings(rows, hidden, too_large)
    return AppFindings(
        summary=(
            f"{len(rows)} settings of {len(METHODS)} samplers on {images.told['name']} ({images.told['training images']} training "
            f"images), {settings['steps']} steps. {verdicts_told(statements)}"
        ),
        data=dict(images.told),
        samplers=checked([find_scheme(method.scheme) for method in METHODS]),
        rows=tuple(told),
        findings=statements,
        advice=tuple(
            ask(row, images, batch=settings["batch"], seed=job.seed)
            for (_, grid, _), row in chosen.items()
            if grid == REFINED
        ),
        diverged=tuple(diverged),
        not_tested=_not_tested(settings, images),
        studies=(
            figures.table(rows, hidden),
            figures.against_steps(rows, hidden),
            figures.against_time(rows, hidden),
            exactness.study(exactness.measure(images, seed=job.seed)),
        ),
        pictures=_pictures([*chosen.values()], images),
    )


def _images(settings: Mapping[str, Any], seed: int) -> BinaryImages:
    """The images that the settings name. Raises `ConfigurationError` for one file without the other."""
    train, test = settings["train"], settings["test"]
    if bool(train) != bool(test):
        raise ConfigurationError(
            f"--train {train!r} --test {test!r}: expected both files or none; give the other one too, or leave both out "
            "for the digits"
        )
    return from_idx(train, test) if train else digits(seed)


def _pictures(chosen: list[NetworkRow], images: BinaryImages) -> tuple[Picture, ...]:
    """The dictionary of SGHMC by the splitting, as in chen2015, Figure 9, at its best setting."""
    of = [row for row in chosen if row.method.label == "SGHMC-S"]
    if not of:
        return ()
    row = of[-1]
    tiles = figures.dictionary(row, images)
    return (
        Picture(
            id="dictionary",
            title="Dictionary learnt by SGHMC with the splitting",
            summary=(
                f"sigma(c + W_j), the probability of each pixel where hidden unit j alone is 1, for {len(tiles)} of {row.hidden} "
                f"units, largest W_j first: chain 0 after {row.at[-1]} steps at {row.point} ({row.grid} grid). chen2015, Figure "
                "9, has that of MNIST."
            ),
            height=images.height,
            width=images.width,
            tiles=tuple(tuple(round(float(level), 3) for level in tile.ravel()) for tile in tiles),
        ),
    )


def _annealed_longer(row: NetworkRow, images: BinaryImages, settings: Mapping[str, Any], seed: int) -> float:
    """By how much the negative log-likelihood of chain 0's last state is too large, as far as longer annealing shows."""
    if row.hidden <= MOST_ENUMERATED:
        return 0.0
    network = BeliefNetwork(images.height * images.width, row.hidden)
    theta, few = torch.from_numpy(row.last), images.test[:CHECKED_IMAGES]
    short, long = (
        log_likelihood(
            network, theta, few, AnnealedSampling(times * settings["temperatures"], chains), seed=seed
        )
        for times, chains in ((1, 1), (LONGER, 2))
    )
    gap = float((long.log_likelihood - short.log_likelihood).mean())
    return float(f"{gap:.3g}")


def _not_tested(settings: Mapping[str, Any], images: BinaryImages) -> tuple[str, ...]:
    told = [
        f"{settings['steps']} steps were taken, and the paper takes 5000 with minibatches of 200 out of 60,000 images",
        "the paper prints neither prior, start nor the average over hidden states; prior N(0, 1), start and Gibbs sampling "
        f"follow the code of its reference [18], here with {settings['burn-in']} sweeps before {settings['kept']} kept, there "
        "with 20 before 3",
        f"grids were refined around their best setting at most {settings['refinements']} times",
        "one step size of SGLD stands for the printed h; whether the paper's h of SGLD is that of equation (10) is not printed",
    ]
    if not settings["train"]:
        told.append(
            f"MNIST was not read: the images are {images.told['name']}, of {images.told['pixels']} pixels"
        )
    if not {100, 200} <= set(settings["hidden"]):
        told.append(f"of 100 and 200 hidden units, the run has {', '.join(map(str, settings['hidden']))}")
    return tuple(told)
