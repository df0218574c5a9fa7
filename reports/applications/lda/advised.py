"""What does `advise` answer? About a Gaussian of a few coordinates of theta, since there is none of all of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch

from reports.applications.application import Job
from reports.applications.lda.corpus import Corpus
from reports.applications.lda.outcomes import SamplerOutcome
from reports.applications.lda.parametrisations import ExpandedNatural
from reports.applications.result import AdviceBeside
from reports.applications.statistics import mean_of
from sgverify.advice.plans import advise

SHARES = (0.5, 0.9, 0.99, 1.0)
"""The quantiles of the curvature whose coordinates stand for all."""

MINIBATCHES = 16
"""The minibatches from which the variance of the gradient is estimated."""

ERROR = 0.2
"""The error that is asked for, in standard deviations."""


@dataclass(frozen=True, eq=False)
class Coordinates:
    """A few coordinates of theta at one place: the curvature of U with the tokens' topics known, and the gradient's variance."""

    curvature: np.ndarray
    variance: np.ndarray


def advice_beside(
    job: Job, outcomes: Sequence[SamplerOutcome], train: Corpus, truth: np.ndarray | None
) -> tuple[AdviceBeside, ...]:
    """The answer for each sampler of the catalogue, beside the best step of its grid."""
    found = []
    held = None if truth is None else coordinates_at(job, outcomes[0], train, truth)
    for outcome in outcomes:
        best = outcome.best()
        grid = (
            "a chain diverged at every setting"
            if best is None
            else f"{outcome.sampler.rows[best].setting}, test perplexity {mean_of(outcome.at_end(best))}"
        )
        if held is None or not isinstance(outcome.sampler.parametrisation, ExpandedNatural):
            why = (
                "the true topics are not known, and the posterior has one mode for each order of the topics"
                if held is None
                else "the scheme keeps theta > 0 and the catalogue's Gaussians live on all of R^d"
            )
            found.append(
                AdviceBeside(
                    sampler=outcome.sampler.label, applies=False, approximation="none", answer=why, grid=grid
                )
            )
            continue
        found.append(_asked(outcome, held, grid, train.size * job.settings["topics"]))
    return tuple(found)


def coordinates_at(job: Job, outcome: SamplerOutcome, train: Corpus, truth: np.ndarray) -> Coordinates:
    """The coordinates at quantiles of the curvature, at theta = log of the true topics.

    With z known, U'' in theta_kw is n_k pi_kw (1 - pi_kw) + exp theta_kw, n_k the tokens of topic k; off the diagonal it is -n_k
    pi_kw pi_kv, which is left out, and so is what is lost as z is not known.
    """
    model = outcome.sampler.model(job, train)
    # A word that a topic never has is given the smallest positive probability there is.
    pi = np.maximum(np.ascontiguousarray(truth.T), np.finfo(np.float64).tiny)
    theta = torch.from_numpy(np.log(pi / pi.sum(0))).reshape(1, 1, -1).expand(1, job.seeds, -1)
    gradients = torch.stack([model.gradient(theta, step, 0)[0, 0] for step in range(MINIBATCHES)])
    tokens = len(train.tokens) / truth.shape[0]
    curvature = (tokens * pi * (1 - pi) + pi).reshape(-1)
    order = np.argsort(curvature)
    chosen = order[[min(len(order) - 1, int(share * len(order))) for share in SHARES]]
    return Coordinates(curvature[chosen], gradients.var(0).numpy()[chosen])


def _asked(outcome: SamplerOutcome, held: Coordinates, grid: str, dim: int) -> AdviceBeside:
    shares = ", ".join(f"{share:g}" for share in SHARES)
    approximation = (
        f"diagonal and of low rank: a Gaussian of {len(SHARES)} of the {dim:,} coordinates, those at the quantiles {shares} of the "
        "curvature with the tokens' topics known, at the true topics, with the variance of the gradient that minibatches have there"
    )
    advice = advise(
        {
            "name": "gaussian",
            "dim": len(SHARES),
            "precision": [float(value) for value in held.curvature],
        },
        [outcome.sampler.scheme],
        error=ERROR,
        gradient={"kind": "additive", "covariance": [max(float(value), 1e-12) for value in held.variance]},
    )
    best = advice.plans[0] if advice.plans else None
    if best is None or not advice.trusted:
        why = advice.distrust or "; ".join(advice.left_out) or "there is no plan within the error"
        return AdviceBeside(
            sampler=outcome.sampler.label, applies=False, approximation=approximation, answer=why, grid=grid
        )
    friction = "" if best.friction is None else f", D = {best.friction:.3g}"
    return AdviceBeside(
        sampler=outcome.sampler.label,
        applies=True,
        approximation=approximation,
        answer=f"h = {best.step:.3g}{friction} for an error of {ERROR:g} standard deviations, {best.steps:,} steps of "
        f"{best.chains} chains; no larger step than {best.largest_step:.3g}",
        grid=grid,
    )
