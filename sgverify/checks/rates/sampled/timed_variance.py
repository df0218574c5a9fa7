"""Would a mean square error show the variance, and not the bias? Chains of the shortest length tell before all run."""

from __future__ import annotations

import math
from dataclasses import replace
from statistics import NormalDist

from sgverify.checks.rates.sampled.length_plan import LengthRun
from sgverify.checks.rates.sampled.method import DISAGREEMENT, SampledAverages, run_chains
from sgverify.checks.rates.sampled.reference import truth_of
from sgverify.rates import Decision
from sgverify.rates.length import variance_leads
from sgverify.subject.caching import cached_per_subject
from sgverify.subject.seeds import run_seed
from sgverify.subject.subject import Subject


def timed_variance(
    subject: Subject, run: LengthRun, order: int, what: str
) -> tuple[LengthRun, SampledAverages, Decision] | None:
    """The run of the shortest length alone, its averages, and that they decide nothing; None where all lengths have to run.

    A mean square error shows a rate where bias^2/variance >= 1 at every length. With n chains, z standard errors of their mean and
    of their standard deviation s, the ratio is below (|mean| + z s/sqrt(n))^2 / (s (1 - z/sqrt(2 n)))^2, but for the chance
    `DISAGREEMENT`.
    """
    first = replace(run.rows[0], lengths=run.rows[0].lengths[:1])
    short = replace(run, lengths=run.lengths[:1], rows=(first,), looks=run.looks[:1], control=None)
    found = _averages(subject, short)
    if found.diverged[0] is not None or found.chains < 2:
        return None
    truth, known = truth_of(subject)
    errors = found.values[0, 0] - truth
    mean, spread, n = float(errors.mean()), float(errors.std(ddof=1)), found.chains
    z = NormalDist().inv_cdf(1 - DISAGREEMENT / 4)
    narrow = spread * (1 - z / math.sqrt(2 * n))
    most = (abs(mean) + known + z * spread / math.sqrt(n)) ** 2
    if not 0 < most < narrow**2:
        return None
    ratio = max(0.0, (mean**2 - spread**2 / n) / spread**2)
    certificate = {"bias^2/variance": [ratio], "bias^2/variance_at_most": most / narrow**2}
    return short, found, Decision("inconclusive", variance_leads(ratio, n, order, what), None, certificate)


@cached_per_subject
def _averages(subject: Subject, run: LengthRun) -> SampledAverages:
    stage = ("timed-variance", run.kind, run.alpha, run.scale, run.lengths)
    return run_chains(
        subject, run.rows, seed=run_seed(subject, *stage), first=0, count=run.looks[0], progress=(0.0, 0.0)
    )[0]


__all__ = ["timed_variance"]
