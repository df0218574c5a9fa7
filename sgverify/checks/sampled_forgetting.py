"""Whether chains forget their start within a length: before that an average shows a transient and no rate."""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction

from sgverify.checks.sampled_pilot import affine_time
from sgverify.checks.sampled_plan import NoSweep, plan_sweep
from sgverify.checks.subject import Subject

FORGOTTEN = 5
"""Relaxation times that the shortest length has to cover: from then on what the start leaves of an average is tau/(L h)
times its offset, as the theorems' first term says, but for e^-5 of it."""

FEWEST = 4
"""Lengths that a decision needs."""

DOUBLED = 2**7
"""The longest of eight doubling lengths, in units of the first."""


class NoRun(Exception):
    """No chains from which a rate can be read; the message says why."""


def check_forgotten(
    subject: Subject, kind: str, alpha: Fraction, scale: float, lengths: Sequence[int]
) -> None:
    """Raise `NoRun` where a length does not let chains forget their start: a transient is no rate."""
    tau = relaxation_time(subject, scale * lengths[-1] ** -float(alpha))
    least = _shortest(kind, alpha, scale, tau)
    if len(lengths) >= FEWEST and lengths[0] < least:
        raise NoRun(
            f"the chains do not forget their start within L={lengths[0]}: they relax in {tau:.3g} units of time, and the "
            f"lengths must cover {FORGOTTEN} times that; give sweep.lengths from {least} on, or a larger schedule.scale"
        )


def shortest_length(
    subject: Subject, kind: str, alpha: Fraction, scale: float, wanted: int, *, of_the_first: bool
) -> int:
    """The first of doubling lengths: `wanted`, or the least in which chains forget their start. Raises `NoRun`.

    `of_the_first`: `scale` is the step h = C L^-alpha of the first length, whatever that is, and not C.
    """
    least, power = wanted, float(alpha)
    while True:
        C = scale * least**power if of_the_first else scale
        tau = relaxation_time(subject, C * (DOUBLED * least) ** -power)
        needed = _shortest(kind, alpha, C, tau)
        if needed <= least:
            return least
        least = max(least + 1, math.ceil(FORGOTTEN * tau / scale)) if of_the_first else needed


def _shortest(kind: str, alpha: Fraction, scale: float, tau: float) -> int:
    """The least L whose steps add up to `FORGOTTEN` relaxation times: L h, or about C L^(1 - alpha)/(1 - alpha)."""
    span = scale / (1 - float(alpha) if kind == "power" else 1.0)
    return math.ceil((FORGOTTEN * tau / span) ** (1 / (1 - float(alpha))))


def relaxation_time(subject: Subject, step: float) -> float:
    """The time in which chains forget their start: of the step's radius where it is affine, else from a pilot run."""
    if subject.affine:
        return affine_time(subject, step)
    try:
        return plan_sweep(subject).pilot.time
    except NoSweep as why:
        raise NoRun(str(why)) from None
