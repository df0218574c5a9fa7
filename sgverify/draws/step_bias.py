"""The bias of the draws' standard deviations at a step size, estimated before they are drawn."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Protocol

import flint
import numpy as np

from sgverify.checks.subject.subject import Subject
from sgverify.draws.gaussian_closure import GaussianClosure
from sgverify.errors import InstabilityError, NotAffineError
from sgverify.exact.affine.model import Model, fixed_step
from sgverify.exact.answers.invariant import InvariantLaw
from sgverify.exact.numbers.ball import PrecisionLostError
from sgverify.schemes.composites.exchange import ReplicaExchange
from sgverify.targets import Target

TOLD, SMALL = 0.10, 0.05
"""The relative bias of a standard deviation from which a warning is given, and the one that the named step keeps below."""

LARGEST, LARGEST_MULTIPLICATIVE = 12, 2
"""The largest numbers of coordinates for an invariant law within milliseconds: with additive noise, and with random Hessians."""

MOST_TRIALS, NEAR = 40, 0.8
"""The largest number of trials in the search for the named step, and the share of `SMALL` at which the search ends."""

_BITS = 128

_MOST_HEATED = 1
"""Dimensions in which the spread of exp(-U/T') is an integral, whatever the form of U."""


@dataclass(frozen=True)
class StepBias:
    """The standard deviation that draws of one coordinate have at a step size, beside that of exp(-U/T).

    The coordinate is that which is furthest off; `better` is a step at which none is off by more than `SMALL`. `distrust`:
    why the two numbers are not to be relied upon, where they are an approximation that does not hold on this target.
    """

    step: float
    coordinate: int
    found: float
    true: float
    better: float | None
    how: str
    distrust: str | None = None

    @property
    def share(self) -> float:
        """The relative bias of the standard deviation: 0.1 for ten per cent too wide."""
        return self.found / self.true - 1

    @property
    def matters(self) -> bool:
        """Whether the bias is large enough for a warning."""
        return self.distrust is None and abs(self.share) > TOLD

    @property
    def note(self) -> str | None:
        """One line where nothing sure is said of the spread because the approximation does not hold; None elsewhere."""
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
        """One line: how large the bias is, and which step keeps it small."""
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


def step_bias(subject: Subject, step: float) -> StepBias | None:
    """The bias of the spread of draws at a fixed step size; None where there is no cheap way to know it.

    On quadratic targets it is the invariant law of the chain, minibatches and all. Elsewhere it is the law of the chain closed
    by Gaussians (`GaussianClosure`), an approximation. Where that does not hold, and gradient noise has the covariance v I,
    chains move as if T were T + h v/2, or T + h v/(2 D) with a momentum: h^2 v is added to the 2 T h (2 D T h) of a step.
    Source: chen2015 section 2; Mandt, Hoffman, Blei 2017 for the law at a mode; Vollmer, Zygalakis, Teh 2016.
    """
    if not _plain(subject):
        return None
    doubtful = None
    for widths in _ways(subject):
        try:
            found = _told(widths, step)
        except (InstabilityError, PrecisionLostError, NotAffineError):
            continue
        if found.distrust is None:
            return found
        doubtful = found
    return doubtful


class _Widths(Protocol):
    """The standard deviations of theta: those of exp(-U/T), and those of draws at a step size."""

    @property
    def how(self) -> str:
        """The method by which they were found, as a phrase."""

    @property
    def true(self) -> np.ndarray:
        """Shape (d,)."""

    def at(self, step: float) -> np.ndarray:
        """Shape (d,). Raises `InstabilityError` where the chain has no law."""

    def distrust(self, step: float) -> str | None:
        """Why they are not to be relied upon at this step size; None where they are."""


def _told(widths: _Widths, step: float) -> StepBias:
    distrust, better = widths.distrust(step), None
    try:
        found = widths.at(step)
    except InstabilityError:
        if distrust is None:
            raise
        return StepBias(step, 0, math.nan, math.nan, None, widths.how, distrust)
    ratios = np.log(found / widths.true)
    if not np.isfinite(ratios).all():
        raise InstabilityError(f"schedule.step={step:g}: a coordinate of the chain has no variance")
    place = int(np.argmax(np.abs(ratios)))
    if abs(ratios[place]) > math.log(1 + TOLD):
        better = _better(widths, step)
    if better is not None and distrust is not None and widths.distrust(better) is not None:
        better = None
    return StepBias(step, place, float(found[place]), float(widths.true[place]), better, widths.how, distrust)


def _ways(subject: Subject) -> Iterator[_Widths]:
    """The applicable methods for the widths, from the most to the least reliable."""
    exact = _exact_widths(subject)
    if exact is not None:
        yield exact
        return
    if GaussianClosure.why_not(subject) is None:
        yield GaussianClosure(subject)
    ruled = _ruled_widths(subject)
    if ruled is not None:
        yield ruled


def _plain(subject: Subject) -> bool:
    """Whether chains move as the scheme alone does at the configured temperature, but for swaps."""
    if subject.composite is None:
        return True
    if not isinstance(subject.composite, ReplicaExchange):
        return False
    table = subject.configuration.exchange
    return table is None or (table.ladder[0] == 1 and (table.step_factors or [1])[0] == 1)


@dataclass(frozen=True)
class _Law:
    """Spreads by the invariant law of an affine chain."""

    model: Model
    how: str = "computed from the law of the chain"

    @cached_property
    def law(self) -> InvariantLaw:
        return InvariantLaw(self.model)

    @cached_property
    def true(self) -> np.ndarray:
        return self._spread(self.law.truth.covariance)

    def at(self, step: float) -> np.ndarray:
        with flint.ctx.workprec(_BITS):
            return self._spread(self.law.at(fixed_step(step)).covariance)

    def distrust(self, step: float) -> None:
        """None: the invariant law is exact."""

    def _spread(self, covariance: object) -> np.ndarray:
        entries = [covariance[i, i] for i in range(self.model.target.dim)]  # type: ignore[index]
        variances = [float(entry.mid()) if hasattr(entry, "mid") else float(entry) for entry in entries]
        return np.array([math.sqrt(value) if value > 0 else math.nan for value in variances])


@dataclass(frozen=True)
class _Heated:
    """Spreads of exp(-U/T') with T' = T + h v/2, or T + h v/(2 D) with a momentum: gradient noise of the covariance v I."""

    target: Target
    temperature: float
    heat: float
    how: str = "by the rule that gradient noise of covariance v I heats a step by h v/2"

    @cached_property
    def true(self) -> np.ndarray:
        return self.target.spread_float64(self.temperature)

    def at(self, step: float) -> np.ndarray:
        return self.target.spread_float64(self.temperature + step * self.heat)

    def distrust(self, step: float) -> None:
        """None: the estimate is crude, but no other method applies."""


def _exact_widths(subject: Subject) -> _Law | None:
    if subject.why_no_law is not None or subject.model.size > LARGEST:
        return None
    noise = subject.noise
    if not noise.multiplicative or subject.model.size <= LARGEST_MULTIPLICATIVE:
        return _Law(subject.model)
    return None


def _ruled_widths(subject: Subject) -> _Heated | None:
    """None where the noise of gradients is not a known multiple of I, or the dynamics itself answers it (a thermostat, a metric).

    In more dimensions a noise that is no multiple of I heats coordinates that the Hessian couples, each by a share of the
    others' heat: a rule coordinate by coordinate would be wrong there.
    """
    c, state = subject.configuration, subject.scheme.dynamics.state
    if not c.gradient.estimator.each_evaluation or state not in (("theta",), ("theta", "p")):
        return None
    if subject.scheme.dynamics.riemannian or subject.target.dim > _MOST_HEATED:
        return None
    covariance = np.asarray(c.gradient.covariance, dtype=np.float64) * np.eye(subject.target.dim)
    if not np.array_equal(covariance, covariance[0, 0] * np.eye(len(covariance))):
        return None
    rate = float(c.friction) if "p" in state else 1.0
    return _Heated(subject.target, float(c.temperature), float(covariance[0, 0]) / (2 * rate))


def _better(widths: _Widths, step: float) -> float | None:
    """A step, to two figures, at which no standard deviation is off by more than `SMALL`; close to the largest one."""
    least, trial, found = NEAR * math.log(1 + SMALL), step, None
    for _ in range(MOST_TRIALS):
        off = float(np.abs(np.log(widths.at(trial) / widths.true)).max())
        if off <= math.log(1 + SMALL):
            found = trial
            if off >= least:
                break
        # The excess of a variance is of the first order in h in the schemes that are furthest off.
        following = _down(trial * math.expm1(2 * math.log(1 + SMALL)) / math.expm1(2 * off))
        if off > math.log(1 + SMALL):
            # Of a higher order, and just above: a step must fall all the same.
            following = min(following, _down(trial * 0.95))
        if following >= step or (found is not None and following <= found):
            break
        trial = following
    return found


def _down(value: float) -> float:
    """The next smaller number with two significant figures."""
    unit = 10.0 ** (math.floor(math.log10(value)) - 1)
    return float(f"{math.floor(value / unit * (1 + 1e-12)) * unit:.2g}")


__all__ = ["StepBias", "step_bias"]
