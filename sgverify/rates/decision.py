"""From signed points with errors to a verdict: is an order that the claim forbids part of the error?

Notation: b(h) = sum_i b_i h^i, the claim b = O(h^K). A forbidden order j < K is tested in a fit of
c_j h^j + c_K h^K + c_(K+1) h^(K+1); its share rho_j = c_j h_max^j / b(h_max) is compared with a margin. No slope, no
logarithm: signs are kept, and a share has an exact confidence set where a slope has a bias.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from sgverify.errors import UserError
from sgverify.rates.fit import Fit, Regression, fit_terms, regress
from sgverify.rates.sample import Floats, Sample

MARGIN = 0.15
"""The share of the error that a forbidden order may carry and be overlooked. Terms that no fit holds leak into the
lower orders: h^(K+2), as large as the whole error, puts 0.09 into order 1 of K = 2 on five halvings."""

LACK_OF_FIT = 1e-3
"""The chance at which a right model is taken for a wrong one and the point of largest error is dropped."""

POWER = 1.28
"""Standard deviations beyond the bare verdict that the advised number of chains allows for: nine times in ten."""


@dataclass(frozen=True)
class Decision:
    """`conforms`, `violates` or `inconclusive`, why in one sentence, and the numbers behind it.

    `regression` describes all points that rise from their noise, those too that the deciding fits dropped; the verdict does
    not depend on it. `kept` counts the points that the deciding fits used. `more` is the factor by which the
    chains would have to grow, where it is known.
    """

    verdict: str
    reason: str
    regression: Regression | None = None
    certificate: dict[str, Any] = field(default_factory=dict)
    kept: int = 0
    more: float | None = None

    @property
    def exponent(self) -> float | None:
        """The slope of the regression, where there is one; `low` and `high` are the ends of its interval."""
        return None if self.regression is None else self.regression.exponent

    @property
    def low(self) -> float | None:
        """The lower end of the interval."""
        return None if self.regression is None else self.regression.low

    @property
    def high(self) -> float | None:
        """The upper end of the interval."""
        return None if self.regression is None else self.regression.high


@dataclass(frozen=True)
class ErrorTerm:
    """One term of the error: its printed form, and its values at the points (J,) up to a factor."""

    label: str
    column: Floats


def decide_order(
    steps: ArrayLike,
    sample: Sample,
    *,
    order: int,
    level: float,
    margin: float = MARGIN,
    what: str = "the bias",
) -> Decision:
    """Is b(h) = O(h^K), judged from the signed values of a sample at J >= 4 steps (J,), in any order?

    `level` bounds the chance of a false verdict in either direction, over all forbidden orders 0..K-1 together.

    Raises `UserError` for too few points, steps that repeat, values that are not finite, a level outside (0, 1/2).
    """
    h, sample = largest_error_first("steps", steps, sample, falling=True)
    if order < 1:
        raise UserError(f"order={order}: expected at least 1, for an error that vanishes with the step")
    terms = [ErrorTerm(f"h^{power}", h**power) for power in range(order + 3)]
    return decide_terms(h, sample, terms[:order], terms[order:], level=level, margin=margin, what=what)


def largest_error_first(
    name: str, places: ArrayLike, sample: Sample, *, falling: bool
) -> tuple[Floats, Sample]:
    """The points sorted by their places; raises `UserError` unless there are as many different positive numbers as values."""
    given = np.asarray(places, dtype=np.float64)
    if given.shape != sample.values.shape or np.any(~(given > 0)) or len(set(given.tolist())) != len(given):
        raise UserError(
            f"{name}={given.tolist()}: expected {len(sample.values)} different positive numbers, one for each value"
        )
    order = np.argsort(-given if falling else given)
    return given[order], sample.take(order.tolist())


def decide_terms(
    abscissae: Floats,
    sample: Sample,
    forbidden: Sequence[ErrorTerm],
    allowed: Sequence[ErrorTerm],
    *,
    level: float,
    margin: float = MARGIN,
    what: str = "the bias",
    name: str = "h",
) -> Decision:
    """Is any of the `forbidden` terms part of an error that should consist of the `allowed` ones, of which the last is the guard?

    The general form of `decide_order`: points sorted from the largest error to the smallest, any terms; `name` is that of the
    abscissa. Fewest points: one more than the terms of a fit, so that every fit can be seen to fail.
    """
    fewest = len(allowed) + 1
    if not 0 < level < 0.5:
        raise UserError(f"level={level}: expected a chance between 0 and 1/2, e.g. 0.01")
    if len(sample.values) < fewest:
        raise UserError(
            f"{len(sample.values)} points: expected at least {fewest}, one more than the {fewest - 1} terms of a fit"
        )
    if not forbidden:
        return Decision("conforms", f"the predicted rate of {what} forbids no term")
    if sample.vanishes:
        return Decision("conforms", f"{what} is identically zero at every point", kept=len(sample.values))
    tail = level / (2 * len(forbidden))
    trials = [try_term(sample, term, allowed, tail) for term in forbidden]
    verdict, deciding = _judge(trials, margin)
    dropped = max((trial.dropped for trial in deciding if trial.fits), default=0)
    at = {trial.dropped: f"at {name}={abscissae[trial.dropped]:.3g}" for trial in trials}
    shares = [f"{trial.term.label} carries {trial.share}" for trial in deciding]
    shares[0] += f", allowed {margin:.0%}"
    more = None
    if verdict == "violates":
        reason = f"{shares[0]}; of {what} {at[deciding[0].dropped]}"
    elif verdict == "inconclusive":
        reason, more = explain(trials, margin, what, f"{name}={abscissae[dropped]:.3g}")
    else:
        if len(at) == 1:
            reason = f"{'; '.join(shares)}; of {what} {at[dropped]}"
        else:
            placed = (f"{text}, {at[trial.dropped]}" for text, trial in zip(shares, trials, strict=True))
            reason = f"{'; '.join(placed)}; of {what}"
        if dropped:
            unjudged = ", ".join(f"{x:.3g}" for x in abscissae[:dropped])
            reason += f"; not judged at {name}={unjudged}, where the expansion does not hold yet"
    regression = regress(abscissae, sample)
    certificate = {
        "regression": regression.certificate(abscissae.tolist(), name),
        "level": level,
        "margin": margin,
        "chains": sample.chains,
        "coupled": sample.coupled,
        "terms": {trial.term.label: trial.certificate for trial in trials},
    }
    return Decision(verdict, reason, regression, certificate, len(sample.values) - dropped, more)


def _judge(trials: Sequence[ForbiddenTermFit], margin: float) -> tuple[str, list[ForbiddenTermFit]]:
    """The verdict, and the trials that decide it, with the one to name in the reason first."""
    against = [trial for trial in trials if trial.verdict(margin) == "violates"]
    if against:
        # Several fits may object to one wrong term; the one that describes most points best names it.
        return "violates", sorted(against, key=lambda trial: (trial.dropped, -trial.p_value))
    fine = all(trial.verdict(margin) == "conforms" for trial in trials)
    return "conforms" if fine else "inconclusive", list(trials)


# The test of one forbidden term: a fit, a guard fit, and the share of the error that the term carries.


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


def fieller(top: float, bottom: float, tops: float, both: float, bottoms: float, width: float) -> Ratio:
    """{r: |top - r bottom| <= width sd(top - r bottom)}, Fieller 1954.

    `tops`, `both`, `bottoms` are the estimates' variance, covariance and variance, `width` a quantile. No
    linearisation: the set errs as often as `width` says however near to 0 the denominator is, and is then unbounded.
    """
    a = bottom**2 - width**2 * bottoms
    b = top * bottom - width**2 * both
    c = top**2 - width**2 * tops
    inside = b * b - a * c
    root = math.sqrt(max(inside, 0.0))
    pieces: tuple[tuple[float, float], ...] = ((-math.inf, math.inf),)
    if a > 0:
        pieces = (((b - root) / a, (b + root) / a),)
    elif inside > 0 and a < 0:
        pieces = ((-math.inf, (b + root) / a), ((b - root) / a, math.inf))
    return Ratio(top / bottom if bottom else None, pieces)


@dataclass(frozen=True)
class TermShare:
    """One fit at the first point, where all columns are 1: what the first term carries of the error, the error, and the share.

    `carried` and `error` are (estimate, standard deviation), `share` the set at `width` standard deviations.
    """

    carried: tuple[float, float]
    error: tuple[float, float]
    share: Ratio
    width: float

    @classmethod
    def of(cls, fit: Fit, tail: float) -> TermShare:
        """The share that a fit gives, whose set errs with the chance `tail` on either side."""
        error, carried, width = float(fit.estimates.sum()), float(fit.estimates[0]), fit.quantile(tail)
        own, both, whole = (
            float(part.sum()) for part in (fit.covariance[0, 0], fit.covariance[0], fit.covariance)
        )
        share = fieller(carried, error, own, both, whole, width)
        return cls((carried, math.sqrt(own)), (error, math.sqrt(whole)), share, width)

    @property
    def scale(self) -> float:
        """The size of the error, or of its noise where that is larger."""
        return max(abs(self.error[0]), self.error[1])


@dataclass(frozen=True)
class ForbiddenTermFit:
    """The fit and the guard fit of one forbidden term, on all points but the first `dropped`."""

    term: ErrorTerm
    dropped: int
    p_value: float
    main: TermShare
    guard: TermShare

    @property
    def fits(self) -> bool:
        """Do the terms describe the points? Else no number of dropped points makes them, and the rest is of the last attempt."""
        return self.p_value >= LACK_OF_FIT

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
        guarded = self.guard.share.estimate
        objects = guarded is None or abs(guarded) > margin
        return "conforms" if self.share.within(margin) and not objects else "inconclusive"

    @property
    def rises(self) -> bool:
        """Is the error at the first kept point significantly different from zero?"""
        return abs(self.main.error[0]) > self.main.width * self.main.error[1]

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

    def wanted(self, margin: float) -> float:
        """The factor by which more chains would bring the interval of the share inside the margin, if the share is 0.

        The variance falls like 1 / chains. If the error is smaller than its noise, the noise replaces it, so that the factor is a
        lower bound.
        """
        inside = (self.main.width + POWER) * self.main.carried[1]
        return (max(inside, POWER * self.guard.carried[1]) / (margin * self.main.scale)) ** 2


def try_term(sample: Sample, term: ErrorTerm, allowed: Sequence[ErrorTerm], tail: float) -> ForbiddenTermFit:
    """Fit the term with the allowed ones but the last, dropping points of largest error until the fit holds; then the guard fit.

    Before a point is dropped the last leading term gives way to the guard term: a symmetric scheme has no odd orders,
    and one of higher order than claimed has no leading term. The columns are scaled to 1 at the first kept point, so
    that a coefficient is what its term carries there. The guard fit has all terms, the one that was left out shrunk by
    a pseudo-observation 0 +- |error|: a term that alone makes up the whole error is one standard deviation out.
    Without the limit the guard would have nearly as many terms as there are points and would never say anything.
    `tail` is the chance that either fit's set errs on one side.
    """
    *first, last, guard = allowed
    for dropped in range(len(sample.values) - len(allowed)):
        kept = sample.take(slice(dropped, None))
        for terms in ((term, *first, last, guard), (term, *first, guard, last)):
            columns = np.stack([t.column[dropped:] / t.column[dropped] for t in terms], axis=1)
            fit = fit_terms(kept, columns[:, :-1])
            if fit.p_value >= LACK_OF_FIT:
                break
        if fit.p_value >= LACK_OF_FIT:
            break
    main = TermShare.of(fit, tail)
    guarding = TermShare.of(fit_terms(kept, columns, shrink_last=main.scale), tail)
    return ForbiddenTermFit(term, dropped, fit.p_value, main, guarding)


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
    more = max(trial.wanted(margin) for trial in trials)
    if more > 1:
        times = f"{'about' if seen else 'at least'} {more:.{1 if more < 10 else 0}f} times"
        rises = "is too uncertain" if seen else "is within the sampling noise"
        return (
            f"the error {rises}; {what} at {at}: {times} as many chains would show whether it has slower terms",
            more,
        )
    near = next(trial for trial in trials if trial.verdict(margin) != "conforms")
    doubt = (
        "the guard fit with one more term disagrees"
        if near.share.within(margin)
        else "neither side is excluded"
    )
    return f"{near.term.label} carries {near.share}, allowed {margin:.0%}; of {what} at {at}: {doubt}", None
