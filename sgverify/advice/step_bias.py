"""The bias of the draws' standard deviations at a step size, estimated before they are drawn."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Protocol

import flint
import numpy as np

from sgverify.checks.readings import why_no_law
from sgverify.errors import InstabilityError, NotAffineError
from sgverify.exact.affine.model import Model, fixed_step
from sgverify.exact.affine.stability import eigenvalues_of, spectral_radii
from sgverify.exact.answers.invariant import InvariantLaw
from sgverify.exact.numbers.ball import PrecisionLostError
from sgverify.schemes.composites.composite import ReplicaExchange
from sgverify.subject.caching import cached_per_subject
from sgverify.subject.subject import Subject
from sgverify.targets import Target

if TYPE_CHECKING:
    from sgverify.advice.closure.gaussian_closure import GaussianClosure

TOLD, SMALL = 0.10, 0.05
"""The relative bias of a standard deviation from which a warning is given, and the one that the named step keeps below."""

LARGEST, LARGEST_MULTIPLICATIVE = 12, 2
"""The largest numbers of coordinates for an invariant law within milliseconds: with additive noise, and with random Hessians."""

MOST_TRIALS, NEAR = 40, 0.8
"""The largest number of trials in the search for the named step, and the share of `SMALL` at which the search ends."""

MOST_QUARTERINGS = 12
"""The most quarterings of a step size at which the chain has no law: down to a 1.7e7th."""

_BITS = 128

_MOST_HEATED = 1
"""Dimensions in which the spread of exp(-U/T') is an integral, whatever the form of U."""


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

    On quadratic targets the bias is that of the chain's invariant law, with minibatches included. On other targets it is that of
    a Gaussian closure of the chain's law (`GaussianClosure`), an approximation. If the closure fails and gradient noise has the
    covariance v I, the chain moves as if T were T + h v/2, or T + h v/(2 D) with a momentum: the noise adds the variance h^2 v to
    the step's own 2 T h (2 D T h).
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


def step_bias_below(subject: Subject, step: float) -> StepBias | None:
    """The bias at a step size, or at a smaller one, step/4^k, if the chain has no law at it but exp(-U/T) has an approximation.

    None, or a bias that is not to be trusted, where no smaller step has a law either.
    """
    first = step_bias(subject, step)
    if first is None or not math.isnan(first.found):
        return first
    closure = _closure(subject)
    if closure is None or closure.distrust_of_target:
        return first
    for k in range(1, MOST_QUARTERINGS + 1):
        found = step_bias(subject, _down(step / 4**k))
        if found is not None and not math.isnan(found.found):
            return found
    return first


class _Widths(Protocol):
    """The standard deviations of theta: those of exp(-U/T), and those of draws at a step size."""

    @property
    def how(self) -> str:
        """The method that computes the standard deviations, as a phrase."""

    @property
    def true(self) -> np.ndarray:
        """Shape (d,)."""

    def at(self, step: float) -> np.ndarray:
        """Shape (d,). Raises `InstabilityError` where the chain has no law."""

    def forgetting(self, step: float) -> float | None:
        """1/(1 - rho), rho the spectral radius of a step; None where it is not known."""

    def distrust(self, step: float) -> str | None:
        """The reason why the standard deviations are unreliable at this step size; None if they are reliable."""


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
    if abs(ratios[place]) > math.log(1 + SMALL):
        better = _better(widths, step)
    if better is not None and distrust is not None and widths.distrust(better) is not None:
        better = None
    slow = widths.forgetting(better or step)
    return StepBias(
        step, place, float(found[place]), float(widths.true[place]), better, widths.how, distrust, slow
    )


def _ways(subject: Subject) -> Iterator[_Widths]:
    """The applicable methods for the widths, from the most to the least reliable."""
    exact = _exact_widths(subject)
    if exact is not None:
        yield exact
        return
    closure = _closure(subject)
    if closure is not None:
        yield closure
    ruled = _ruled_widths(subject)
    if ruled is not None:
        yield ruled


@cached_per_subject
def _closure(subject: Subject) -> GaussianClosure | None:
    from sgverify.advice.closure.gaussian_closure import GaussianClosure

    return GaussianClosure(subject) if GaussianClosure.why_not(subject) is None else None


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

    def forgetting(self, step: float) -> float:
        rates = eigenvalues_of(self.model.target.precision)
        (radius,) = spectral_radii(self.model.scheme, self.model.parameters, rates, [step])
        return 1 / (1 - float(radius))

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

    def forgetting(self, step: float) -> None:
        """None: the rule is about widths alone."""

    def distrust(self, step: float) -> None:
        """None: the estimate is crude, but no other method applies."""


def _exact_widths(subject: Subject) -> _Law | None:
    return _Law(subject.model) if exact_law_in_reach(subject) else None


def exact_law_in_reach(subject: Subject) -> bool:
    """Has the chain an exact Gaussian or second-moment law that takes a fraction of a second?"""
    if why_no_law(subject) is not None:
        return False
    return subject.model.size <= (LARGEST_MULTIPLICATIVE if subject.noise.multiplicative else LARGEST)


def _ruled_widths(subject: Subject) -> _Heated | None:
    """The spreads by the raised temperature T'.

    None if the covariance of the gradient noise is not a known multiple of I, or if the dynamics compensates the noise (a
    thermostat) or has a metric. With another covariance, coordinates that the Hessian couples share the added variance, so that
    a rule for each coordinate would be wrong.
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
        # In the schemes with the largest errors, the error of a variance is of first order in h.
        if off:
            following = _down(trial * math.expm1(2 * math.log(1 + SMALL)) / math.expm1(2 * off))
        else:
            # Below rounding there is no error by which a larger step could be told: one between this and the first is tried.
            following = _down(math.sqrt(trial * step))
        if off > math.log(1 + SMALL):
            # The error is of higher order and just above the limit: reduce the step nevertheless.
            following = min(following, _down(trial * 0.95))
        if following >= step or (found is not None and following <= found):
            break
        trial = following
    return found


def _down(value: float) -> float:
    """The next smaller number with two significant figures."""
    unit = 10.0 ** (math.floor(math.log10(value)) - 1)
    return float(f"{math.floor(value / unit * (1 + 1e-12)) * unit:.2g}")


__all__ = ["StepBias", "exact_law_in_reach", "step_bias", "step_bias_below"]
