"""In which lengths do chains forget their start? Before that, an average shows a transient and no rate."""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction

from sgverify.checks.rates.sampled.controlled_plan import plan_sweep
from sgverify.checks.rates.sampled.gaussian_control import gaussian_control
from sgverify.checks.rates.sampled.pilot import affine_time
from sgverify.errors import Unreached
from sgverify.subject.subject import Subject

FORGOTTEN = 5
"""The number of relaxation times tau that the shortest length must cover. From then on the start contributes tau/(L h) times
its offset to an average, as the first term of the theorems says, up to a relative error of e^-5."""

FEWEST = 4
"""The fewest lengths for a decision."""

DOUBLED = 2**7
"""The longest of eight doubling lengths, in units of the first."""


def check_forgotten(
    subject: Subject, kind: str, alpha: Fraction, scale: float, lengths: Sequence[int]
) -> None:
    """Raise `Unreached` if chains do not forget their start within some length: a transient is no rate."""
    tau = relaxation_time(subject, scale * lengths[-1] ** -float(alpha))
    least = _shortest(kind, alpha, scale, tau)
    if len(lengths) >= FEWEST and lengths[0] < least:
        raise Unreached(
            f"the chains do not forget their start within L={lengths[0]}: they relax in {tau:.3g} units of time, and the "
            f"lengths must cover {FORGOTTEN} times that; give sweep.lengths from {least} on, or a larger schedule.scale"
        )


def shortest_length(
    subject: Subject, kind: str, alpha: Fraction, scale: float, wanted: int, *, of_the_first: bool
) -> int:
    """The first of the doubling lengths: `wanted`, or the shortest in which chains forget their start. Raises `Unreached`.

    With `of_the_first`, `scale` is the step size h = C L^-alpha at the first length; otherwise `scale` is C.
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
    """The least L whose steps cover `FORGOTTEN` relaxation times tau: L h, or about C L^(1 - alpha)/(1 - alpha)."""
    span = scale / (1 - float(alpha) if kind == "power" else 1.0)
    return math.ceil((FORGOTTEN * tau / span) ** (1 / (1 - float(alpha))))


def relaxation_time(subject: Subject, step: float) -> float:
    """The relaxation time of the chain at one step size.

    It comes from the spectral radius of an affine step, else of the same step on the Gaussian control, else from a pilot run.
    """
    if subject.affine:
        return affine_time(subject, step)
    control = gaussian_control(subject)
    if control is not None and step < control.limit:
        return control.relaxation_time(step)
    return plan_sweep(subject).pilot.time


__all__ = ["FEWEST", "check_forgotten", "relaxation_time", "shortest_length"]
