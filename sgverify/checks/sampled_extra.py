"""How many chains of the largest step alone a coupled sweep is worth, from the covariance at its first look."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from sgverify.checks.subject import Subject
from sgverify.rates.allocation import contrasts_of, extra_of_the_first

MOST = 16
"""Chains of the largest step alone, at most, for each chain of a coupled sweep: a plan pays for so many. Noise that is common
to all steps cancels in their differences and not in their level, which is bought where a step costs least."""


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
