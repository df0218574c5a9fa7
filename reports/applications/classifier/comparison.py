"""The comparison of vr-resgld, sections 5.2 and 5.3: all methods and seeds in one tensor, cycSGHMC, which runs longer, after it."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from reports.applications.application import Job
from reports.applications.chains import ChainRun
from reports.applications.classifier.methods import SCHEME, ComparedMethod, Scaled, long_method, methods
from reports.applications.classifier.model import ClassifierModel, Posterior
from reports.applications.classifier.outcomes import Outcome, outcome
from reports.applications.classifier.predictions import Predictions
from reports.applications.classifier.swapping import Swapping
from reports.applications.classifier.variances import Monitor, times
from reports.applications.result import DivergedChain
from sgverify.errors import ConfigurationError
from sgverify.schemes import find_scheme

MOST_STEPS = 10**7
"""The steps of the longest chain; those of the paper are 196,000."""


@dataclass(frozen=True, eq=False)
class MethodsCompared:
    """The outcomes by label, the variances of energies along the run, and the chains that have diverged.

    `threshold` is the entropy above which a prediction counts as unsure: the printed one, of 10 classes, times log R / log 10;
    `unseen` is the number of images of unseen classes, `classes` the number R of those that are learnt.
    """

    scaled: Scaled
    outcomes: dict[str, Outcome]
    monitor: Monitor
    diverged: tuple[DivergedChain, ...]
    threshold: float
    unseen: int
    classes: int


def compare(job: Job, posterior: Posterior, scaled: Scaled) -> MethodsCompared:
    """Run every method.

    Raises `ConfigurationError` for a run that is too long, or too short for a control variate to grow old in each part of it.
    """
    short, chains = methods(scaled), range(job.seeds)
    long = long_method(scaled)
    if scaled.long > MOST_STEPS:
        raise ConfigurationError(
            f"epochs={scaled.epochs}: {scaled.long} steps of cycSGHMC; expected at most {MOST_STEPS}; give fewer epochs"
        )
    at = times(scaled.steps, scaled.refreshes)
    if not any(number <= scaled.early for number in at) or not any(number > scaled.early for number in at):
        raise ConfigurationError(
            f"epochs={scaled.epochs}: expected a run in which a control variate of {max(scaled.refreshes)} steps grows old before "
            f"step {scaled.early}, where the step size begins to fall, and after it; give more epochs"
        )
    monitor = Monitor(posterior, scaled.batch, at, job.seeds)
    threshold = scaled.printed["entropy"] * math.log(posterior.images.classes) / math.log(10)
    swapping = Swapping(short, posterior, scaled, seed=job.seed, chains=chains, monitor=monitor)
    rows = sum(len(method.rows) for method in short)
    total = scaled.steps * rows + scaled.long
    found: dict[str, Outcome] = {}
    lost: list[DivergedChain] = []
    before = 0
    # A run goes on with the images with which it began.
    held = posterior.images.told["sha256 of the images"]
    for part, (group, steps, after) in {
        "all": (short, scaled.steps, swapping),
        "cycSGHMC": ((long,), scaled.long, None),
    }.items():
        width = sum(len(method.rows) for method in group)
        seen = Predictions(
            group,
            posterior,
            steps=steps,
            thinning=scaled.thinning,
            scales=(1.0, scaled.printed["scale"]),
            chains=job.seeds,
        )
        run = ChainRun(
            find_scheme(SCHEME),
            ClassifierModel(posterior, batch=scaled.batch, seed=job.seed, chains=chains),
            [row for method in group for row in method.rows],
            steps=steps,
            seed=job.seed,
            chains=chains,
            # Replicas of one method have noise of their own; methods are compared on the same noise.
            coupled=[replica for method in group for replica in range(len(method.rows))],
            after=after,
        )

        def tell(done: int, width: int = width, before: int = before) -> None:
            job.tell("steps", before + done * width, total)

        run.run(seen, kept=job.kept, part=f"{part}-{held}", tell=tell)
        before += steps * width
        for place, method in enumerate(group):
            found[method.label] = _outcome(method, place, seen, posterior, threshold, swapping)
        lost += run.diverged()
    return MethodsCompared(
        scaled, found, monitor, tuple(lost), threshold, len(posterior.images.unseen), posterior.images.classes
    )


def _outcome(
    method: ComparedMethod,
    place: int,
    seen: Predictions,
    posterior: Posterior,
    threshold: float,
    swapping: Swapping,
) -> Outcome:
    swaps: np.ndarray | None = next(
        (pair.swaps for pair in swapping.pairs if pair.method.label == method.label), None
    )
    return outcome(
        method.label,
        (seen.average(0, place), seen.average(1, place)),
        seen.last[place],
        posterior.images,
        eta=method.rows[0].step.at(1) ** 2,
        threshold=threshold,
        states=int(seen.counts[place]),
        swaps=swaps,
        theta=seen.theta[place],
    )
