"""How much too wide or too narrow draws come out at a step size, told before they are drawn."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import cached_property

import flint
import numpy as np

from sgverify.checks.composite_subject import CompositeSubject
from sgverify.checks.known_law import why_no_law
from sgverify.checks.subject import Subject
from sgverify.errors import InstabilityError
from sgverify.exact.affine.gradient_noise import GradientNoise
from sgverify.exact.affine.model import Model, fixed_step
from sgverify.exact.ball import PrecisionLostError
from sgverify.exact.invariant import InvariantLaw
from sgverify.schemes.composites.exchange import ReplicaExchange

TOLD, SMALL = 0.10, 0.05
"""The share of its true value by which a standard deviation may be off before it is told, and after it is mended."""

LARGEST, LARGEST_MULTIPLICATIVE = 12, 2
"""Coordinates of a chain whose invariant law takes milliseconds: with noise that is added, and with random Hessians."""

MOST_HALVINGS = 40
_BITS = 128
_DATA = 10_000
"""Data of which the variance of a minibatch is estimated."""

_EXACT, _AT_THE_MEAN, _RULE = (
    "computed from the law of the chain",
    "computed with the gradient noise that there is at the mean",
    "by the rule that minibatch noise of variance V heats a step by h V/2",
)


@dataclass(frozen=True)
class StepBias:
    """The standard deviation that draws of one coordinate have at a step size, beside that of exp(-U/T).

    The coordinate is that which is furthest off; `better` is a step at which none is off by more than `SMALL`.
    """

    step: float
    coordinate: int
    found: float
    true: float
    better: float | None
    how: str

    @property
    def share(self) -> float:
        """By which share of its true value the standard deviation is off: 0.1 for ten per cent too wide."""
        return self.found / self.true - 1

    @property
    def matters(self) -> bool:
        """Whether it is worth a line."""
        return abs(self.share) > TOLD

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
    """What a fixed step does to the spread of draws; None where neither an exact law nor the rule says it cheaply.

    On quadratic targets it is the invariant law of the chain, minibatches and all; elsewhere noise of the variance V in
    the gradient adds h^2 V to the 2 T h of the step (2 D T h with a momentum), as if T were T + h V/2 (over D).
    Source: chen2015 section 2; Vollmer, Zygalakis, Teh 2016 for SGLD.
    """
    if not _plain(subject):
        return None
    widths = _exact_widths(subject) or _ruled_widths(subject)
    if widths is None:
        return None
    try:
        found = widths.at(step)
    except (InstabilityError, PrecisionLostError):
        return None
    ratios = np.abs(np.log(found / widths.true))
    place = int(np.argmax(ratios))
    if not np.isfinite(ratios).all():
        return None
    wide = ratios[place] > math.log(1 + TOLD)
    better = _better(widths, step, float((found / widths.true).max())) if wide else None
    return StepBias(step, place, float(found[place]), float(widths.true[place]), better, widths.how)


def _plain(subject: Subject) -> bool:
    """Whether chains move as the scheme alone does at the configured temperature, but for swaps."""
    if not isinstance(subject, CompositeSubject):
        return True
    if not isinstance(subject.composite, ReplicaExchange):
        return False
    table = subject.configuration.exchange
    return table is None or (table.ladder[0] == 1 and (table.step_factors or [1])[0] == 1)


@dataclass(frozen=True)
class _Law:
    """Spreads by the invariant law of an affine chain."""

    model: Model
    how: str

    @cached_property
    def law(self) -> InvariantLaw:
        return InvariantLaw(self.model)

    @cached_property
    def true(self) -> np.ndarray:
        return self._spread(self.law.truth.covariance)

    def at(self, step: float) -> np.ndarray:
        with flint.ctx.workprec(_BITS):
            return self._spread(self.law.at(fixed_step(step)).covariance)

    def _spread(self, covariance: object) -> np.ndarray:
        entries = [covariance[i, i] for i in range(self.model.target.dim)]  # type: ignore[index]
        variances = [float(entry.mid()) if hasattr(entry, "mid") else float(entry) for entry in entries]
        return np.array([math.sqrt(value) if value > 0 else math.nan for value in variances])


@dataclass(frozen=True)
class _Heated:
    """Spreads by the rule: every coordinate as if T were T + h V/2, or T + h V/(2 D) with a momentum."""

    true: np.ndarray
    heat: np.ndarray
    how: str = _RULE

    def at(self, step: float) -> np.ndarray:
        return np.asarray(self.true * np.sqrt(1 + step * self.heat))


def _exact_widths(subject: Subject) -> _Law | None:
    if why_no_law(subject) is not None or subject.model.size > LARGEST:
        return None
    noise = subject.noise
    if not noise.multiplicative or subject.model.size <= LARGEST_MULTIPLICATIVE:
        return _Law(subject.model, _EXACT)
    if noise.exchangeable or noise.refresh is not None or noise.covariance is None:
        return None
    return _Law(
        replace(subject.model, noise=GradientNoise(noise.kind, covariance=noise.covariance)), _AT_THE_MEAN
    )


def _ruled_widths(subject: Subject) -> _Heated | None:
    """None where gradients have no independent noise, or the dynamics itself answers it (a thermostat, a metric)."""
    c, state = subject.configuration, subject.scheme.dynamics.state
    variances = _noise_variances(subject)
    if variances is None or state not in (("theta",), ("theta", "p")) or subject.scheme.dynamics.riemannian:
        return None
    rate = c.friction if "p" in state else 1.0
    return _Heated(subject.target.spread_float64(c.temperature), variances / (2 * rate * c.temperature))


def _noise_variances(subject: Subject) -> np.ndarray | None:
    """The variances of the gradient estimate's coordinates at the target's location. Shape (d,)."""
    table, target = subject.configuration.gradient, subject.target
    if table.kind == "additive":
        covariance = np.asarray(table.covariance, dtype=np.float64)
        return np.full(target.dim, float(covariance)) if covariance.ndim == 0 else np.diag(covariance).copy()
    if table.kind not in ("iid", "without-replacement") or table.clip is not None or target.size is None:
        return None
    # It brings torch, which a run needs anyway.
    from sgverify.samplers.black_box import gradients_of_data
    from sgverify.samplers.module_target import ModuleTarget

    if isinstance(target, ModuleTarget):
        return None
    by_datum = gradients_of_data(target, target.location_float64(subject.configuration.temperature), _DATA)
    size, batch = target.size, table.batch
    left = (size - batch) / max(1, size - 1) if table.kind == "without-replacement" else 1.0
    return np.asarray((table.scale * size) ** 2 / batch * left * by_datum.var(0))


def _better(widths: _Law | _Heated, step: float, ratio: float) -> float | None:
    """A step, to two figures, at which no standard deviation is off by more than `SMALL`."""
    # The excess of a variance is of the first order in h in the schemes that are furthest off.
    excess = max(ratio**2 - 1, TOLD)
    trial = min(step / 2, step * SMALL / excess * 2)
    for _ in range(MOST_HALVINGS):
        rounded = _down(trial)
        if np.abs(np.log(widths.at(rounded) / widths.true)).max() <= math.log(1 + SMALL):
            return rounded
        trial /= 2
    return None


def _down(value: float) -> float:
    """The next number of two figures below."""
    unit = 10.0 ** (math.floor(math.log10(value)) - 1)
    return float(f"{math.floor(value / unit * (1 + 1e-12)) * unit:.2g}")


__all__ = ["StepBias", "step_bias"]
