"""From signed points with errors to a verdict: is an order that the claim forbids part of the error?

Notation: b(h) = sum_i b_i h^i, the claim b = O(h^K). A forbidden order j < K is tested in a fit of
c_j h^j + c_K h^K + c_(K+1) h^(K+1); its share rho_j = c_j h_max^j / b(h_max) is compared with a margin. No slope, no
logarithm: signs are kept, and a share has an exact confidence set where a slope has a bias.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from sgverify.errors import UserError
from sgverify.rates.fit import Regression, regress
from sgverify.rates.sample import Floats, Sample
from sgverify.rates.trial import ErrorTerm, ForbiddenTermFit, explain, try_term

MARGIN = 0.15
"""The share of the error that a forbidden order may carry and be overlooked. Terms that no fit holds leak into the
lower orders: h^(K+2), as large as the whole error, puts 0.09 into order 1 of K = 2 on five halvings."""


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
        """The slope of the regression, where there is one."""
        return None if self.regression is None else self.regression.exponent

    @property
    def low(self) -> float | None:
        """The lower end of its interval."""
        return None if self.regression is None else self.regression.low

    @property
    def high(self) -> float | None:
        """The upper end of its interval."""
        return None if self.regression is None else self.regression.high


def decide_order(
    steps: ArrayLike,
    values: ArrayLike,
    *,
    standard_errors: ArrayLike | None = None,
    covariance: ArrayLike | None = None,
    order: int,
    level: float,
    chains: int | None,
    coupled: bool | None = None,
    margin: float = MARGIN,
    what: str = "the bias",
    looks: int = 1,
) -> Decision:
    """Is b(h) = O(h^K), judged from signed values at J >= 4 steps?

    `steps` (J,) in any order, `values` (J,) with `standard_errors` (J,) of independent points or the `covariance`
    (J, J) of coupled ones; `chains` per point, None for errors that are known; `coupled` as for `Sample.of`. `level`
    bounds the chance of a false verdict in either direction, over all forbidden orders 0..K-1 together.
    `looks`: the most that are taken at the growing sample; the level is that of this look, and the interval of the
    exponent allows for the others.

    Raises `UserError` for too few points, steps that repeat, values that are not finite, a level outside (0, 1/2).
    """
    sample = Sample.of(
        values, standard_errors=standard_errors, covariance=covariance, chains=chains, coupled=coupled
    )
    h = np.asarray(steps, dtype=np.float64)
    if order < 1:
        raise UserError(f"order={order}: expected at least 1, for an error that vanishes with the step")
    check_abscissae("steps", h, sample)
    largest_first = np.argsort(-h)
    h = h[largest_first]
    terms = [ErrorTerm(f"h^{power}", h**power) for power in range(order + 3)]
    return decide_terms(
        h,
        sample.take(largest_first.tolist()),
        forbidden=terms[:order],
        leading=terms[order : order + 2],
        guard=terms[order + 2],
        level=level,
        margin=margin,
        what=what,
        looks=looks,
    )


def check_abscissae(name: str, given: Floats, sample: Sample) -> None:
    """Raise `UserError` unless there are as many different positive numbers as values."""
    if given.shape != sample.values.shape or np.any(~(given > 0)) or len(set(given.tolist())) != len(given):
        raise UserError(
            f"{name}={given.tolist()}: expected {len(sample.values)} different positive numbers, one for each value"
        )


def decide_terms(
    abscissae: Floats,
    sample: Sample,
    *,
    forbidden: Sequence[ErrorTerm],
    leading: Sequence[ErrorTerm],
    guard: ErrorTerm,
    level: float,
    margin: float = MARGIN,
    what: str = "the bias",
    name: str = "h",
    looks: int = 1,
) -> Decision:
    """Is any of the `forbidden` terms part of an error that should consist of the `leading` ones?

    The general form of `decide_order`: points sorted from the largest error to the smallest, any terms. `guard` is the
    next term after the leading ones; `name` is that of the
    abscissa. Fewest points: one more than the terms of a fit, so that every fit can be seen to fail.
    """
    fewest = len(leading) + 2
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
    trials = [try_term(sample, term, leading, guard, tail) for term in forbidden]
    verdict, deciding = _judge(trials, margin)
    dropped = max((trial.dropped for trial in deciding if trial.fits), default=0)
    kept = len(sample.values) - dropped
    more = None

    def at(trial: ForbiddenTermFit) -> str:
        return f"at {name}={abscissae[trial.dropped]:.3g}"

    if verdict == "violates":
        worst = deciding[0]
        reason = f"{worst.term.label} carries {worst.share}, allowed {margin:.0%}; of {what} {at(worst)}"
    elif verdict == "conforms":
        first, *others = (f"{trial.term.label} carries {trial.share}" for trial in trials)
        carried = [f"{first}, allowed {margin:.0%}", *others]
        if len({trial.dropped for trial in trials}) == 1:
            reason = f"{'; '.join(carried)}; of {what} {at(trials[0])}"
        else:
            placed = (f"{text}, {at(trial)}" for text, trial in zip(carried, trials, strict=True))
            reason = f"{'; '.join(placed)}; of {what}"
        if dropped:
            unjudged = ", ".join(f"{x:.3g}" for x in abscissae[:dropped])
            reason += f"; not judged at {name}={unjudged}, where the expansion does not hold yet"
    else:
        reason, more = explain(trials, margin, what, f"{name}={abscissae[dropped]:.3g}")
    regression = regress(abscissae, sample, looks)
    return Decision(
        verdict,
        reason,
        regression,
        certificate={
            "regression": regression.certificate(abscissae.tolist(), name),
            "level": level,
            "margin": margin,
            "chains": sample.chains,
            "coupled": sample.coupled,
            "terms": {trial.term.label: trial.certificate for trial in trials},
        },
        kept=kept,
        more=more,
    )


def _judge(trials: Sequence[ForbiddenTermFit], margin: float) -> tuple[str, list[ForbiddenTermFit]]:
    """The verdict, and the trials that decide it, with the one to name in the reason first."""
    against = [trial for trial in trials if trial.verdict(margin) == "violates"]
    if against:
        # Several fits may object to one wrong term; the one that describes most points best names it.
        return "violates", sorted(against, key=lambda trial: (trial.dropped, -trial.p_value))
    if all(trial.verdict(margin) == "conforms" for trial in trials):
        return "conforms", list(trials)
    return "inconclusive", list(trials)
