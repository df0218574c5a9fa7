"""Which samplers are compared, and on which step sizes?

The paper's step sizes are for N = 10 million documents. The likelihood's part of U grows like N. With U divided by c, the chain of
SGHMC at step h and friction D is that at h sqrt(c) and D/sqrt(c), up to the temperature of its noise, and SGLD's that at h c. So
the printed h and D are multiplied by sqrt(c) and its inverse, h of SGLD by c, c = N_paper/N: h D, h^2 U'' and SGLD's h U'' are
the printed ones wherever the likelihood dominates.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from reports.applications.application import Job
from reports.applications.chains import ChainSetting
from reports.applications.lda.corpus import Corpus
from reports.applications.lda.gibbs import Sweeps
from reports.applications.lda.model import TopicModel
from reports.applications.lda.parametrisations import ExpandedMean, ExpandedNatural, Parametrisation
from sgverify.schemes import Scheme, find_scheme
from sgverify.schemes.catalogue.in_metric import sgrld_expanded_mean

SPLITTING, EULER, EXPLICIT, LANGEVIN, RIEMANNIAN = "SGHMC-S", "SGHMC-E", "SGHMC-E (I.1)", "SGLD-E", "SGRLD"
"""The splitting ABOBA, Euler's steps as Algorithm 2 has them and as Appendix I.1 has them, SGLD, and SGLD in the metric of the
expanded mean."""

BEYOND = (1.25, 1.5, 2.0)
"""Steps beyond the largest printed one, as multiples of it: where the printed grid shows no breakdown, a larger one may."""

OWN_LANGEVIN = (1e-4, 3e-4, 1e-3, 2e-3, 4e-3, 8e-3, 1.6e-2)
"""A grid of SGLD's own, below the scaled steps of the paper, at which it diverges here."""

REFINED = (SPLITTING, EULER, LANGEVIN)
"""The samplers of whose best setting the paper speaks."""

OWN_RIEMANNIAN = (2e-3, 5e-3, 8e-3, 2e-2, 5e-2, 8e-2)
"""Steps of SGRLD, whose drift towards the counts has the rate 1 whatever N is."""


@dataclass(frozen=True)
class GridRow:
    """One setting of a sampler; `printed` is the paper's step size that it stands for, None for steps of grids of ours.

    A `refined` one was added to the grid around its best setting.
    """

    setting: ChainSetting
    printed: float | None
    refined: bool = False

    @property
    def step(self) -> float:
        """h."""
        return float(self.setting.step)


@dataclass(frozen=True)
class ComparedSampler:
    """A scheme in a parametrisation, and the settings of its grid."""

    label: str
    scheme: Scheme
    parametrisation: Parametrisation
    rows: tuple[GridRow, ...]

    def model(self, job: Job, train: Corpus) -> TopicModel:
        """The model that the sampler runs on."""
        given = job.settings
        return TopicModel(
            train,
            self.parametrisation,
            topics=given["topics"],
            alpha=given["alpha"],
            batch=given["batch"],
            sweeps=Sweeps(given["burn"], given["sweeps"]),
            seed=job.seed,
            chains=range(job.seeds),
        )

    @property
    def settings(self) -> tuple[ChainSetting, ...]:
        """The settings alone."""
        return tuple(row.setting for row in self.rows)


def samplers(
    printed: Mapping[str, Any], *, documents: int, beta: float, frictions: Sequence[float]
) -> tuple[ComparedSampler, ...]:
    """The samplers of the comparison on N = `documents`, `frictions` as the paper prints them."""
    ratio = printed["documents"] / documents
    steps = [(step, step) for step in printed["steps"]]
    largest = max(printed["steps"])
    wide = [*steps, *((None, largest * factor) for factor in BEYOND)]
    momentum = tuple(
        GridRow(ChainSetting(step * math.sqrt(ratio), friction / math.sqrt(ratio)), shown)
        for friction in frictions
        for shown, step in wide
    )
    langevin = (
        *(GridRow(ChainSetting(step, name=f"h = {step:.4g}"), None) for step in OWN_LANGEVIN),
        *(
            GridRow(ChainSetting(step * ratio, name=f"h = {step * ratio:.4g}"), shown)
            for shown, step in steps
        ),
    )
    riemannian = tuple(GridRow(ChainSetting(step, name=f"h = {step:.4g}"), None) for step in OWN_RIEMANNIAN)
    natural, mean = ExpandedNatural(beta), ExpandedMean(beta)
    return (
        ComparedSampler(SPLITTING, find_scheme("sghmc-aboba"), natural, momentum),
        ComparedSampler(EULER, find_scheme("sghmc-euler"), natural, momentum),
        ComparedSampler(EXPLICIT, find_scheme("sghmc-euler-explicit"), natural, momentum),
        ComparedSampler(LANGEVIN, find_scheme("sgld-euler"), natural, langevin),
        ComparedSampler(RIEMANNIAN, sgrld_expanded_mean, mean, riemannian),
    )
