"""The bias of the draws' standard deviations at a step size, estimated before they are drawn."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from sgverify.advice.chain_laws import ChainLaws, ClosureLaws, ExactLaws, GridLaws
from sgverify.advice.product_laws import LinesLaws, laws_of
from sgverify.advice.size.finding import smallest_crossings
from sgverify.advice.size.model import below
from sgverify.errors import InstabilityError, Unreached
from sgverify.exact.numbers.ball import PrecisionLostError
from sgverify.schemes.composites.composite import ReplicaExchange
from sgverify.subject.caching import cached_per_subject
from sgverify.subject.subject import Subject

TOLD, SMALL = 0.10, 0.05
"""The relative bias of a standard deviation from which a warning is given, and the one that the named step keeps below."""

TOLERANCE = 1e-2
"""The relative accuracy of the named step."""

MOST_QUARTERINGS = 12
"""The most quarterings of a step size at which the chain has no law: down to a 1.7e7th."""

HOW = {
    ExactLaws: "computed from the law of the chain",
    ClosureLaws: "approximated by a Gaussian law, U's Hessian and the minibatch noise averaged over it",
    GridLaws: "computed from the law of the chain on a grid",
    LinesLaws: "computed from the laws of its coordinates on grids",
}
"""The method behind the standard deviations, as a phrase."""


@dataclass(frozen=True)
class StepBias:
    """The standard deviation of draws in one coordinate at a step size, beside that under exp(-U/T).

    The coordinate is the one with the largest relative error. Where that is beyond `SMALL`, `better` is a step size at which no
    coordinate is off by more. `forgetting` are the steps in which a chain at `better`, else at `step`, forgets its start by a
    factor of about e; None where they are not known. `distrust` is the reason why both standard deviations are unreliable, if
    they come from an approximation that fails on this target.
    """

    step: float
    coordinate: int
    found: float
    true: float
    better: float | None
    how: str
    distrust: str | None = None
    forgetting: float | None = None

    @property
    def share(self) -> float:
        """The relative bias of the standard deviation: 0.1 for ten per cent too wide."""
        return self.found / self.true - 1

    @property
    def matters(self) -> bool:
        """Is the bias large enough for a warning?"""
        return self.distrust is None and abs(self.share) > TOLD

    @property
    def note(self) -> str | None:
        """One line if the spread is unknown because the approximation fails; else None."""
        if self.distrust is None:
            return None
        guess = "" if math.isnan(self.found) else f" (it says {self.found / self.true:.2g} times as wide)"
        mend = (
            f"compare runs at schedule.step={self.step:g} and {self.step / 4:g}"
            if self.better is None
            else f"it can be at schedule.step={self.better:g}, which keeps the spread within {SMALL:.0%}"
        )
        return (
            f"note: how wide schedule.step={self.step:g} makes the draws is not told: a Gaussian approximation{guess} is not to be "
            f"trusted here, {self.distrust}; {mend}"
        )

    def warning(self, *, default: bool, alone: bool = False) -> str:
        """The warning, in one line: the size of the bias, and a step size that keeps it small."""
        given = " (the default, half the stability limit or a share of the time scale)" if default else ""
        times = f"{self.found / self.true:.3g} times as wide as"
        mend = (
            f"schedule.step={self.better:g} keeps it within {SMALL:.0%}"
            if self.better is not None
            else "a smaller schedule.step or a larger gradient.batch makes it smaller"
        )
        return (
            f"warning: schedule.step={self.step:g}{given} makes draws {times} the target: theta[{self.coordinate}] has the sd "
            f"{self.found:.3g}, and exp(-U/T) has {self.true:.3g} ({self.how}{', without swaps' if alone else ''}); {mend}"
        )


@cached_per_subject
def step_bias(subject: Subject, step: float) -> StepBias | None:
    """The bias of the spread of draws at a fixed step size; None if there is no cheap way to compute it.

    On quadratic targets, and on a line with noise that is added to the gradient, the bias is that of the chain's invariant law,
    minibatches included. On other targets it is that of a Gaussian closure of this law (`ClosureLaws`), an approximation.
    """
    if not _plain(subject):
        return None
    doubtful = None
    for laws in laws_of(subject, quick=True):
        try:
            found = _told(laws, step)
        except (InstabilityError, PrecisionLostError, Unreached):
            continue
        if found.distrust is None:
            return found
        doubtful = found
    return doubtful


def step_bias_below(subject: Subject, step: float) -> StepBias | None:
    """The bias at a step size, or at a smaller one, step/4^k, if the chain has no law at it but exp(-U/T) has an approximation.

    None, or a bias that is not to be trusted, where no smaller step has a law either.
    """
    first = step_bias(subject, step)
    if first is None or not math.isnan(first.found):
        return first
    closure = next((laws for laws in laws_of(subject, quick=True) if isinstance(laws, ClosureLaws)), None)
    if closure is None or closure.distrust_of_target:
        return first
    for k in range(1, MOST_QUARTERINGS + 1):
        found = step_bias(subject, below(step / 4**k))
        if found is not None and not math.isnan(found.found):
            return found
    return first


def _told(laws: ChainLaws, step: float) -> StepBias:
    how, distrust, better = HOW[type(laws)], laws.distrust(step), None
    try:
        found = laws.at(step).sd
    except InstabilityError:
        if distrust is None:
            raise
        return StepBias(step, 0, math.nan, math.nan, None, how, distrust)
    true, ratios = laws.target.sd, _log_ratios(laws, found)
    if not np.isfinite(ratios).all():
        raise InstabilityError(f"schedule.step={step:g}: a coordinate of the chain has no variance")
    place = int(np.argmax(np.abs(ratios)))
    if abs(ratios[place]) > math.log(1 + SMALL):
        better = _better(laws, step)
    if better is not None and distrust is not None and laws.distrust(better) is not None:
        better = None
    slow = laws.forgetting(better or step)
    return StepBias(step, place, float(found[place]), float(true[place]), better, how, distrust, slow)


def _log_ratios(laws: ChainLaws, found: np.ndarray) -> np.ndarray:
    """log(found / true) for each coordinate; not finite where a coordinate has no variance."""
    with np.errstate(divide="ignore"):
        return np.asarray(np.log(found / laws.target.sd))


def _plain(subject: Subject) -> bool:
    """Do chains, apart from swaps, move by the scheme alone at the configured temperature, all along the run?"""
    if subject.changes_along_run is not None:
        return False
    if subject.composite is None:
        return True
    if not isinstance(subject.composite, ReplicaExchange):
        return False
    table = subject.configuration.exchange
    return table is None or (table.ladder[0] == 1 and (table.step_factors or [1])[0] == 1)


def _better(laws: ChainLaws, step: float) -> float | None:
    """The largest step, to two figures, below which no standard deviation is off by more than `SMALL`."""

    def error(trial: float) -> float:
        try:
            return float(np.expm1(np.abs(_log_ratios(laws, laws.at(trial).sd)).max()))
        except (InstabilityError, PrecisionLostError, Unreached):
            return math.inf

    (level,) = smallest_crossings(error, (SMALL,), step, laws.largest_step, 2.0, TOLERANCE)
    return None if level.step is None else below(min(level.step, step))
