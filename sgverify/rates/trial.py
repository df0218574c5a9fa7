"""The test of one forbidden term: a fit, a guard fit, and the share of the error that the term carries."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from sgverify.rates.fit import Fit, fit_terms
from sgverify.rates.sample import Floats, Sample

LACK_OF_FIT = 1e-3
"""The chance at which a right model is taken for a wrong one and the point of largest error is dropped."""

POWER = 1.28
"""Standard deviations beyond the bare verdict that the advised number of chains allows for: nine times in ten."""


@dataclass(frozen=True)
class ErrorTerm:
    """One term of the error: its printed form, and its values at the points (J,) up to a factor."""

    label: str
    column: Floats


@dataclass(frozen=True)
class TermShare:
    """The result of one fit at the first point: the part of the error that the term carries, the error, and the share.

    `carried` and `error` are (estimate, standard deviation), `share` the set at `width` standard deviations.
    """

    carried: tuple[float, float]
    error: tuple[float, float]
    share: Ratio
    width: float


@dataclass(frozen=True)
class ForbiddenTermFit:
    """The fit and the guard fit of one forbidden term, on all points but the first `dropped`.

    `fits` is False where no number of dropped points makes the terms fit; the rest then speaks of the last attempt.
    """

    term: ErrorTerm
    dropped: int
    fits: bool
    p_value: float
    main: TermShare
    guard: TermShare

    @property
    def share(self) -> Ratio:
        """The confidence set for the term's share of the error, from the main fit."""
        return self.main.share

    def verdict(self, margin: float) -> str:
        """Both fits must exclude `margin` for a violation; to conform, the guard's estimate may not object.

        An error that may be 0 has no shares, so that nothing is a violation of it.
        """
        if not self.fits:
            return "inconclusive"
        if self.rises and self.share.beyond(margin) and self.guard.share.beyond(margin):
            return "violates"
        return "conforms" if self.share.within(margin) and not self.objects(margin) else "inconclusive"

    @property
    def rises(self) -> bool:
        """Is the error at the first kept point significantly different from zero?"""
        return abs(self.main.error[0]) > self.main.width * self.main.error[1]

    def objects(self, margin: float) -> bool:
        """Does the guard fit's estimate of the share lie outside the margin?"""
        estimate = self.guard.share.estimate
        return estimate is None or abs(estimate) > margin

    @property
    def certificate(self) -> dict[str, Any]:
        """The numbers behind the verdict."""
        return {
            "fits": self.fits,
            "lack_of_fit": self.p_value,
            "dropped": self.dropped,
            "share": self.main.share.estimate,
            "interval": self.main.share.printed,
            "guard_share": self.guard.share.estimate,
            "guard_interval": self.guard.share.printed,
        }


@dataclass(frozen=True)
class Ratio:
    """A confidence set for a ratio: an interval, the outside of one, or the whole line, as `pieces`.

    `estimate` is None where the denominator's estimate is 0.
    """

    estimate: float | None
    pieces: tuple[tuple[float, float], ...]

    def within(self, margin: float) -> bool:
        """Is every ratio in the set smaller than `margin` in absolute value?"""
        return all(-margin < low and high < margin for low, high in self.pieces)

    def beyond(self, margin: float) -> bool:
        """Is every ratio in the set larger than `margin` in absolute value?"""
        return all(high < -margin or margin < low for low, high in self.pieces)

    @property
    def printed(self) -> list[list[float | None]]:
        """The pieces with None for infinity, as a certificate holds them."""
        return [[end if math.isfinite(end) else None for end in piece] for piece in self.pieces]

    def __str__(self) -> str:
        if len(self.pieces) == 1:
            (low, high) = self.pieces[0]
            return "an unknown part" if math.isinf(low) else f"{low:.1%} to {high:.1%}"
        (_, low), (high, _) = self.pieces
        return f"below {low:.1%} or above {high:.1%}"


def try_term(
    sample: Sample, term: ErrorTerm, leading: Sequence[ErrorTerm], guard: ErrorTerm, tail: float
) -> ForbiddenTermFit:
    """Fit the term with the leading ones, dropping points of largest error until the fit holds; then the guard fit.

    Before a point is dropped the last leading term gives way to the guard term: a symmetric scheme has no odd orders,
    and one of higher order than claimed has no leading term. The columns are scaled to 1 at the first kept point, so
    that a coefficient is what its term carries there. The guard fit has all terms, the one that was left out shrunk by
    a pseudo-observation 0 +- |error|: a term that alone makes up the whole error is one standard deviation out.
    Without the limit the guard would have nearly as many terms as there are points and would never say anything.
    `tail` is the chance that either fit's set errs on one side.
    """
    fewest = len(leading) + 2
    for dropped in range(len(sample.values) - fewest + 1):
        kept = sample.take(slice(dropped, None))
        for terms in ((term, *leading, guard), (term, *leading[:-1], guard, leading[-1])):
            columns = np.stack([t.column[dropped:] / t.column[dropped] for t in terms], axis=1)
            fit = fit_terms(kept, columns[:, :-1])
            if fit.p_value >= LACK_OF_FIT:
                break
        if fit.p_value >= LACK_OF_FIT:
            break
    main = read(fit, tail)
    scale = max(abs(main.error[0]), main.error[1])
    guarding = fit_terms(kept, columns, shrink=[*[None] * (fewest - 1), scale])
    return ForbiddenTermFit(
        term, dropped, fit.p_value >= LACK_OF_FIT, fit.p_value, main, read(guarding, tail)
    )


def read(fit: Fit, tail: float) -> TermShare:
    """The error at the first point, where all columns are 1, and what the first term carries of it."""
    error = float(fit.estimates.sum())
    variances = (float(fit.covariance[0, 0]), float(fit.covariance[0].sum()), float(fit.covariance.sum()))
    width = fit.quantile(tail)
    carried = float(fit.estimates[0])
    share = fieller(carried, error, *variances, width)
    spreads = [math.sqrt(variances[k]) for k in (0, 2)]
    return TermShare((carried, spreads[0]), (error, spreads[1]), share, width)


def explain(
    trials: Sequence[ForbiddenTermFit], margin: float, what: str, at: str
) -> tuple[str, float | None]:
    """Why the trials decide nothing: the reason, and the factor of chains wanted."""
    for trial in trials:
        if not trial.fits:
            return (
                f"the expansion does not hold yet; at {at} {trial.term.label} and the predicted terms do not describe {what} "
                f"(p = {trial.p_value:.1g}), even without the {trial.dropped} points of largest error",
                None,
            )
    seen = all(trial.rises for trial in trials)
    more = max(_wanted(trial, margin) for trial in trials)
    if more > 1:
        many = ("about" if seen else "at least") + (
            f" {more:.1f} times" if more < 10 else f" {more:.0f} times"
        )
        rises = "is too uncertain" if seen else "is within the sampling noise"
        return (
            f"the error {rises}; {what} at {at}: {many} as many chains would show whether it has slower terms",
            more,
        )
    near = next(trial for trial in trials if trial.verdict(margin) != "conforms")
    doubt = (
        "the guard fit with one more term disagrees"
        if near.share.within(margin)
        else "neither side is excluded"
    )
    return f"{near.term.label} carries {near.share}, allowed {margin:.0%}; of {what} at {at}: {doubt}", None


def fieller(top: float, bottom: float, tops: float, both: float, bottoms: float, width: float) -> Ratio:
    """{r: |top - r bottom| <= width sd(top - r bottom)}, Fieller 1954.

    `tops`, `both`, `bottoms` are the estimates' variance, covariance and variance, `width` a quantile. No
    linearisation: the set errs as often as `width` says however near to 0 the denominator is, and is then unbounded.
    """
    a = bottom**2 - width**2 * bottoms
    b = top * bottom - width**2 * both
    c = top**2 - width**2 * tops
    estimate = top / bottom if bottom else None
    inside = b * b - a * c
    if a > 0:
        root = math.sqrt(max(inside, 0.0))
        pieces: tuple[tuple[float, float], ...] = (((b - root) / a, (b + root) / a),)
    elif inside <= 0 or a == 0:
        pieces = ((-math.inf, math.inf),)
    else:
        root = math.sqrt(inside)
        pieces = ((-math.inf, (b + root) / a), ((b - root) / a, math.inf))
    return Ratio(estimate, pieces)


def _wanted(trial: ForbiddenTermFit, margin: float) -> float:
    """The factor by which more chains would bring the interval of the share inside the margin, if the share is 0.

    The variance falls like 1 / chains. If the error is smaller than its noise, the noise replaces it, so that the factor is a
    lower bound.
    """
    main, guard = trial.main, trial.guard
    error = max(abs(main.error[0]), main.error[1])
    inside = (main.width + POWER) * main.carried[1] / (margin * error)
    quiet = POWER * guard.carried[1] / (margin * error)
    return max(inside, quiet) ** 2
