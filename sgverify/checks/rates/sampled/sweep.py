"""Which errors have the chains of a sampled sweep after each look, and did the chains forget their start?"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from statistics import NormalDist
from typing import Any

import numpy as np

from sgverify.checks.rates.sampled.gaussian_control import corrected
from sgverify.checks.rates.sampled.method import DISAGREEMENT, SampledAverages, run_chains
from sgverify.checks.rates.sampled.plan import SweepPlan, extra_chains
from sgverify.checks.rates.sampled.reference import truth_of
from sgverify.rates import Sample
from sgverify.samplers import Divergence, Row
from sgverify.subject.caching import cached_per_subject
from sgverify.subject.seeds import run_seed
from sgverify.subject.subject import Subject


@dataclass(frozen=True)
class Sweep:
    """The errors `estimate - truth` of single chains: `halves`, shape (rows, 2, chains), for the rows that did not diverge.

    `level`, shape (chains,), holds the errors of extra chains at the largest step; it is empty if there are none. `taken`, shape
    (rows, chains), is the noise of a control that was taken away from the averages over both halves; None without a control.
    `reference_error` is the error of the reference average as a test counts it.
    """

    plan: SweepPlan
    steps: tuple[float, ...]
    halves: np.ndarray
    level: np.ndarray
    diverged: dict[float, Divergence]
    look: int
    taken: np.ndarray | None = None
    reference_error: float = 0.0

    @property
    def errors(self) -> np.ndarray:
        """The errors of the averages over both halves, shape (rows, chains)."""
        return np.asarray(self.halves.mean(1))

    @property
    def chains(self) -> int:
        """The number of chains per row."""
        return int(self.halves.shape[-1])

    @property
    def sample(self) -> Sample:
        """The means of the errors and their covariance; extra chains at the largest step enter by least squares.

        Let m be the means, V their covariance, a and v the mean of the extra chains and its variance, g = V e_0/(V_00 + v).
        The means become m + g (a - m_0), the covariance V - g g^T (V_00 + v).
        """
        coupled = Sample.of_chains(self.errors, coupled=self.plan.coupled)
        if not len(self.level):
            return coupled
        own, count = coupled.covariance, len(self.level)
        total = float(own[0, 0] + self.level.var(ddof=1) / count)
        gain = own[:, 0] / total
        values = coupled.values + gain * (float(self.level.mean()) - coupled.values[0])
        return Sample.of(values, covariance=own - total * np.outer(gain, gain), chains=self.chains)

    def disagreement(self) -> str:
        """A sentence about a row whose averages are not those of a stationary chain; "" if there is none.

        Each row's mean difference between the two halves, of which a burn-in may have left a transient, is tested as normal over
        chains, at the level `DISAGREEMENT` over all rows; so is the mean of a control less its exact expectation.
        """
        gaps = self.halves[:, 0] - self.halves[:, 1]
        means, errors = gaps.mean(-1), gaps.std(-1, ddof=1) / math.sqrt(self.chains)
        for step, mean, error in zip(self.steps, means, errors, strict=True):
            if abs(mean) > self._bound * error:
                return (
                    f"the start is not forgotten; at h={step:.3g} the halves of the run differ by {mean:.3g} +- "
                    f"{error:.2g}"
                )
        if self.taken is None:
            return ""
        for step, mean, seen in zip(self.steps, self.taken.mean(-1), self.control_resolution, strict=True):
            if abs(mean) > seen:
                return (
                    f"the control is none; at h={step:.3g} chains on a Gaussian target average {mean:.3g} +- "
                    f"{seen / self._bound:.2g} more than by their exact law"
                )
        return ""

    @property
    def _bound(self) -> float:
        """The standard errors from which on one of the rows disagrees."""
        return NormalDist().inv_cdf(1 - DISAGREEMENT / (2 * max(1, len(self.steps))))

    @property
    def control_resolution(self) -> list[float]:
        """The error of a control's average from which on it disagrees with its exact law, by step; empty without a control."""
        if self.taken is None:
            return []
        return [float(error) * self._bound / math.sqrt(self.chains) for error in self.taken.std(-1, ddof=1)]

    @property
    def error(self) -> float:
        """The size of the error that all points share, as a test counts it: of the reference average and of a control's."""
        control = self.plan.control
        bound = 0.0 if control is None else max((control.average(h)[1] for h in self.steps), default=0.0)
        return self.reference_error + bound

    @property
    def noise_left(self) -> list[float]:
        """The part of the variance of single chains' averages that a control leaves, by step; empty without a control."""
        if self.taken is None:
            return []
        plain = (self.errors + self.taken).var(-1, ddof=1)
        return [float(value) for value in self.errors.var(-1, ddof=1) / plain]


def looks_at(subject: Subject, plan: SweepPlan, *stage: Any, first: int = 0) -> Iterator[Sweep]:
    """The sweep after each look, from look `first` on; the caller stops iterating once a look decides.

    Claims about the same quantity share the chains.
    """
    rows = plan.rows()
    known = _known(subject, *stage, plan.steps, plan.looks, first)
    extra = done = 0
    for look, chains in enumerate(plan.looks):
        if look < first:
            continue
        if look not in known:
            made: list[SampledAverages] = []
            for number, part in enumerate(("sweep", "level")[: 1 + plan.coupled]):
                if number and look == first:
                    extra = extra_chains(subject, plan.steps, _errors(made[0], rows))
                times = extra if number else 1
                if times:
                    more = _run(
                        subject,
                        plan,
                        rows[:1] if number else rows,
                        seed=run_seed(subject, *stage, part),
                        first=times * done,
                        count=times * (chains - done),
                        coupled=plan.coupled and not number,
                        progress=(done / plan.looks[-1], chains / plan.looks[-1]),
                    )
                    made.append(known[look - 1][number].joined(more) if look > first else more)
            known[look] = made
        extra = known[look][1].chains // chains if known[look][1:] else 0
        done = chains
        yield _sweep(subject, plan, rows, known[look], look)


def _run(subject: Subject, plan: SweepPlan, rows: list[Row], **given: Any) -> SampledAverages:
    """The averages of chains, less what the chains of the Gaussian control add to their expectation, if there is one.

    Such chains start at the target's centre; the expectation of the control is that of its invariant law, so that both share
    what is left of the start, and only the difference counts.
    """
    control = plan.control
    if control is None:
        return run_chains(subject, rows, **given)[0]
    found, beside = (run_chains(item, rows, start=0.0, **given)[0] for item in (subject, control.subject))
    steps = [row.at(1) for row in rows]
    return corrected(
        found,
        beside,
        [[control.average(step)[0]] * len(row.lengths) for step, row in zip(steps, rows, strict=True)],
    )


def _sweep(
    subject: Subject, plan: SweepPlan, rows: list[Row], found: list[SampledAverages], look: int
) -> Sweep:
    (truth, error), diverged = truth_of(subject), dict(plan.diverged)
    kept = []
    for i, step in enumerate(plan.steps):
        why = next((part.diverged[i] for part in found if i < len(part.diverged) and part.diverged[i]), None)
        if why is None:
            kept.append(i)
        else:
            diverged[step] = why
    halves = _halves(found[0], rows)[kept] - truth
    level = _halves(found[1], rows[:1])[0].mean(0) - truth if len(found) > 1 and 0 in kept else np.empty(0)
    taken = None
    if found[0].taken is not None:
        taken = _halves(replace(found[0], values=found[0].taken), rows)[kept].mean(1)
    return Sweep(plan, tuple(plan.steps[i] for i in kept), halves, level, diverged, look, taken, error)


@cached_per_subject
def _known(subject: Subject, *stage: Any) -> dict[int, list[SampledAverages]]:
    """The averages of the looks that were taken, by look; the next look adds its own chains to them."""
    return {}


def _errors(found: SampledAverages, rows: list[Row]) -> np.ndarray:
    """The averages over both halves, shape (rows, chains); NaN in rows that diverged."""
    diverged = np.array([how is not None for how in found.diverged])
    return np.where(diverged[:, None], np.nan, _halves(found, rows).mean(1))


def _halves(found: SampledAverages, rows: list[Row]) -> np.ndarray:
    """The averages over the two halves after the burn-in, shape (rows, 2, chains), from the running averages."""
    lengths = np.array([row.lengths for row in rows], dtype=np.float64)
    sums = found.values * lengths[:, :, None]
    return np.asarray(np.diff(sums, axis=1) / np.diff(lengths, axis=1)[:, :, None])
