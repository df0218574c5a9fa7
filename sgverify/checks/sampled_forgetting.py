"""Whether chains forget their start within a length: before that an average shows a transient and no rate."""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction

from sgverify.checks.sampled_pilot import affine_time
from sgverify.checks.sampled_plan import NoSweep, plan_of
from sgverify.checks.sampled_steps import first_step
from sgverify.checks.subject import Subject

FORGOTTEN = 5
"""Relaxation times that the shortest length has to cover: from then on what the start leaves of an average is tau/(L h)
times its offset, as the theorems' first term says, but for e^-5 of it."""

FEWEST = 4
"""Lengths that a decision needs."""


class NoRun(Exception):
    """No chains from which a rate can be read; the message says why."""


def check_forgotten(subject: Subject, kind: str, alpha: Fraction, lengths: Sequence[int]) -> None:
    """Raise `NoRun` where a length does not let chains forget their start: a transient is no rate."""
    c = subject.configuration
    scale = c.schedule.scale or first_step(subject)
    tau = relaxation_time(subject, scale * lengths[-1] ** -float(alpha))
    # sum of the steps up to L: L h on a horizon, about C L^(1 - alpha)/(1 - alpha) on a power schedule.
    span = scale / (1 - float(alpha) if kind == "power" else 1.0)
    enough = [n for n in lengths if span * n ** (1 - float(alpha)) >= FORGOTTEN * tau]
    if len(lengths) >= FEWEST and enough != list(lengths):
        least = math.ceil((FORGOTTEN * tau / span) ** (1 / (1 - float(alpha))))
        raise NoRun(
            f"the chains do not forget their start within L={lengths[0]}: they relax in {tau:.3g} units of time, and the "
            f"lengths must cover {FORGOTTEN} times that; give sweep.lengths from {least} on, or a larger schedule.scale"
        )


def relaxation_time(subject: Subject, step: float) -> float:
    """The time in which chains forget their start: of the step's radius where it is affine, else from a pilot run."""
    if subject.affine:
        return affine_time(subject, step)
    try:
        return plan_of(subject).pilot.time
    except NoSweep as why:
        raise NoRun(str(why)) from None
