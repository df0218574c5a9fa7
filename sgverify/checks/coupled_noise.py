"""Step sizes h and h/2 on one Brownian path, as sampled sweeps run them: the path that the two share."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np

from sgverify.checks.subject import Subject
from sgverify.checks.transcripts import Runs
from sgverify.errors import ConfigurationError
from sgverify.samplers import GradientChoice, fixed
from sgverify.samplers.noise import check_path
from sgverify.samplers.transcript import transcribe

STEPS = 28
"""Steps that are run: a few blocks of the shorter step size, and as many of the longer."""

ROUNDINGS = 4
"""Of a draw over two fine steps: of each fine one to the dtype, of their sum, and of its quotient by sqrt(2)."""


def coupled_runs(subject: Subject, runs: Runs) -> Runs | None:
    """The runs again, steps h and h/2 on one path; None where a step draws what no path has increments of, or diverges."""
    try:
        check_path(subject.scheme)
    except ConfigurationError:
        return None
    step = runs.batches[0].rows[0].schedule.at(1)
    # The noise is drawn the same way whatever the gradients; full ones cost least.
    settings = replace(runs.settings, coupled="brownian", chains=len(runs.chains), gradient=GradientChoice())
    found = transcribe(subject.scheme, subject.target, fixed([step, step / 2], [STEPS]), settings)
    return None if found.diverged else Runs(settings, (found,))


def off_the_path(runs: Runs, unit: float) -> str:
    """Where a draw at h is not (z_(2l-1) + z_(2l))/sqrt(2) of those at h/2, in words; "" where every one is."""
    for batch in runs.batches:
        # (L, K, C, d) of each row.
        coarse, fine = batch.draws[:, :, 0], batch.draws[:, :, 1]
        half = len(fine) // 2
        one, other = fine[0 : 2 * half : 2], fine[1 : 2 * half : 2]
        expected = (one + other) / math.sqrt(2)
        bound = ROUNDINGS * unit * (np.abs(one) + np.abs(other))
        apart = np.argwhere(~(np.abs(coarse[:half] - expected) <= bound))
        if len(apart):
            step, draw, chain, place = (int(i) for i in apart[0])
            return (
                f"step sizes that should share a Brownian path do not: draw {draw + 1} of step {step + 1} of chain "
                f"{batch.chains[chain]} at h is {coarse[step, draw, chain, place]:.6g}, and the two of h/2 that it spans make "
                f"{expected[step, draw, chain, place]:.6g}"
            )
    return ""


__all__ = ["coupled_runs", "off_the_path"]
