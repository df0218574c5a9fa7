"""How the work of a sweep is spread over its steps: extra chains of the largest one, or averages of different lengths."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from sgverify.checks.subject import Subject
from sgverify.rates.allocation import allocate, contrasts_of, extra_of_the_first

MOST = 16
"""Chains of the largest step alone, at most, for each chain of a coupled sweep: a plan pays for so many. Noise that is common
to all steps cancels in their differences and not in their level, which is bought where a step costs least."""

LEAST = 0.25
"""Of the average's length at equal shares, at least: points that only test the fit are still worth something."""

UNITS = 10_000
"""Chains at equal shares in which the work is counted, so that whole numbers of them are fine enough."""


def shares_of(subject: Subject, steps: Sequence[float]) -> tuple[float, ...]:
    """How many times longer than at equal lengths each independent step's average should be, at the same work.

    At fixed physical time the variance of an average hardly depends on the step, and n chains average like one of n times
    the length: so the allocation of chains at variances 1 and costs 1/h. Empty where there are too few steps for a fit.
    """
    contrasts = contrasts_of(steps, subject.predicted_order)
    if len(steps) < contrasts[0].columns.shape[1]:
        return ()
    costs = [1 / step for step in steps]
    best = allocate(contrasts, [1.0] * len(steps), costs, UNITS * sum(costs), fewest=int(LEAST * UNITS))
    return tuple(chains / UNITS for chains in best.chains)


def extra_chains(subject: Subject, steps: Sequence[float], errors: np.ndarray) -> int:
    """The number that makes the decision sharpest for its work; `errors` (rows, chains), NaN where a row diverged.

    A covariance that was estimated from normal values is independent of their means, so that the choice does not bend
    the verdict.
    """
    kept = [int(i) for i in np.flatnonzero(np.isfinite(errors).all(axis=1))]
    contrasts = contrasts_of([steps[i] for i in kept], subject.predicted_order) if len(kept) else []
    if not contrasts or kept[0] != 0 or len(kept) < contrasts[0].columns.shape[1]:
        return 0
    costs = [1 / steps[i] for i in kept]
    try:
        best = extra_of_the_first(contrasts, np.cov(errors[kept]), costs, most=MOST)
    except np.linalg.LinAlgError:
        # Rows that are copies of one another: the decision will say so.
        return MOST
    return best.chains[0] - 1
