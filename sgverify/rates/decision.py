"""From signed points with errors to a verdict: is an order that the claim forbids part of the error?

Notation: b(h) = sum_i b_i h^i, the claim b = O(h^K). A forbidden order j < K is tested in a fit of
c_j h^j + c_K h^K + c_(K+1) h^(K+1); its share rho_j = c_j h_max^j / b(h_max) is compared with a margin. No slope, no
logarithm: signs are kept, and a share has an exact confidence set where a slope has a bias.

The tested quantity is a contrast of the fit's coefficients: does the term in h^j differ from margin times the whole error at the
largest step? Its variance depends on how the work is shared among the step sizes, and its minimum, the sharpest decision at a
given work (`allocate`), is a c-optimal design (Elfving 1952; Pukelsheim 2006, chapter 2).
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
    chains would have to grow, where it is known. `lost`: the values do not rise from the noise, so that only a control
    can tell what their size means. `trials`: the fits of the forbidden terms, by which an inconclusive decision foresees others.
    """

    verdict: str
    reason: str
    regression: Regression | None = None
    certificate: dict[str, Any] = field(default_factory=dict)
    kept: int = 0
    more: float | None = None
    lost: bool = False
    trials: tuple[ForbiddenTermFit, ...] = ()

    def chance_of_verdict(self, growth: float, margin: float = MARGIN) -> float:
        """A bound of the chance that `growth` times as many chains decide; 1 where nothing is foreseen.

        All forbidden terms must lie within the margin to conform, and one of them beyond it to violate. Nothing is foreseen
        where a fit does not hold, as other points may, nor of values that do not rise from the noise, as a control may.
        """
        if not self.trials or self.lost or not all(trial.fits for trial in self.trials):
            return 1.0
        conforms, violates = zip(*(trial.chances(margin, growth) for trial in self.trials), strict=True)
        return min(1.0, min(conforms) + sum(violates))

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
    control: float | None = None,
    looks: int = 1,
) -> Decision:
    """Is b(h) = O(h^K), judged from signed values at J >= 4 steps?

    `steps` (J,) in any order, `values` (J,) with `standard_errors` (J,) of independent points or the `covariance`
    (J, J) of coupled ones; `chains` per point, None for errors that are known; `coupled` as for `Sample.of`. `level`
    bounds the chance of a false verdict in either direction, over all forbidden orders 0..K-1 together. `control` is
    what the first-order coefficient of an Euler scheme on the same configuration is at least, in size: a bias too small
    to rise from the noise conforms if the forbidden terms are below `margin` of the control's first-order error.
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
        control=None if control is None else abs(control) * float(h[0]),
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
    control: float | None = None,
    name: str = "h",
    looks: int = 1,
) -> Decision:
    """Is any of the `forbidden` terms part of an error that should consist of the `leading` ones?

    The general form of `decide_order`: points sorted from the largest error to the smallest, any terms. `guard` is the
    next term after the leading ones; `control` is the error of a control at the first point; `name` is that of the
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
        verdict, reason, more = explain(trials, margin, what, f"{name}={abscissae[dropped]:.3g}", control)
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
        lost=all(trial.fits and not trial.rises for trial in trials),
        trials=tuple(trials),
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


FEWEST = 256
"""Chains at any step, at least: fewer do not give the tails of a small level."""

MOST_EXTRA = 64
"""Chains of the largest step alone, at most, for each chain of a coupled sweep."""


@dataclass(frozen=True)
class Contrast:
    """The linear contrast that decides about one forbidden order: the columns (J, p) of its fit, the combination (p,)."""

    columns: Floats
    weights: Floats

    def variance(self, precision: Floats) -> float:
        """The contrast's variance by generalised least squares from points with this inverse covariance, (J, J)."""
        information = self.columns.T @ precision @ self.columns
        return float(self.weights @ np.linalg.solve(information, self.weights))

    def sensitivity(self, precisions: Floats) -> Floats:
        """d variance / d precision_j for independent points (J,): minus the squared influence of each."""
        information = self.columns.T @ (precisions[:, None] * self.columns)
        influence: Floats = self.columns @ np.linalg.solve(information, self.weights)
        return -(influence**2)


@dataclass(frozen=True)
class Allocation:
    """The number of chains at each step (J,), and the worst contrast's variance, beside that of equal numbers at the same work."""

    chains: tuple[int, ...]
    variance: float
    equal: float

    @property
    def gain(self) -> float:
        """The factor by which equal numbers of chains would need more work for the same variance."""
        return self.equal / self.variance


def contrasts_of(steps: ArrayLike, order: int, margin: float = MARGIN) -> list[Contrast]:
    """One contrast for each forbidden order j < K: c_j - margin (c_j + c_K + c_(K+1)), columns 1 at the first step."""
    h = np.asarray(steps, dtype=np.float64)
    weights = np.array([1 - margin, -margin, -margin])
    return [
        Contrast(np.stack([(h / h[0]) ** power for power in (j, order, order + 1)], axis=1), weights)
        for j in range(order)
    ]


def allocate(
    contrasts: Sequence[Contrast],
    variances: ArrayLike,
    costs: ArrayLike,
    work: float,
    *,
    fewest: int = FEWEST,
) -> Allocation:
    """The chains of independent steps that make the worst contrast's variance smallest, for so much work in all.

    `variances` (J,) of a single chain's average at each step, from a pilot; `costs` (J,) of a chain there, in the units of
    `work` (steps: 1/h at a fixed physical time). Minimises max_k c_k^T (sum_j n_j x_kj x_kj^T / v_j)^-1 c_k subject to sum_j n_j
    cost_j = work and n_j >= `fewest`: convex, solved by SLSQP. Numbers are rounded down, so that the work is kept; where the fit is
    saturated, n_j is proportional to |influence_j| sqrt(v_j / cost_j). Raises `UserError` where the work does not pay
    for the fewest chains, and for variances or costs that are not positive.
    """
    from scipy.optimize import minimize

    v, cost = np.asarray(variances, dtype=np.float64), np.asarray(costs, dtype=np.float64)
    if not (np.all(v > 0) and np.all(cost > 0)):
        raise UserError(f"variances={v.tolist()}, costs={cost.tolist()}: expected positive numbers")
    if fewest * cost.sum() > work:
        raise UserError(
            f"work={work:.3g}: expected at least {fewest * cost.sum():.3g}, {fewest} chains at every step"
        )
    spent = work / cost  # chains of a step that takes all the work

    def worst(shares: Floats) -> float:
        return max(contrast.variance(np.diag(shares * spent / v)) for contrast in contrasts)

    even = np.full(len(v), work / cost.sum()) / spent
    unit = worst(even)

    def room(x: Floats) -> Floats:
        return np.array([x[-1] - c.variance(np.diag(x[:-1] * spent / v)) / unit for c in contrasts])

    def room_slope(x: Floats) -> Floats:
        return np.array([[*(-c.sensitivity(x[:-1] * spent / v) * spent / v / unit), 1.0] for c in contrasts])

    found = minimize(
        lambda x: x[-1],
        [*even, 1.0],
        jac=lambda x: np.array([0.0] * len(v) + [1.0]),
        bounds=[*((fewest / most, 1.0) for most in spent), (0.0, None)],
        constraints=[
            {
                "type": "eq",
                "fun": lambda x: x[:-1].sum() - 1,
                "jac": lambda x: np.array([1.0] * len(v) + [0.0]),
            },
            {"type": "ineq", "fun": room, "jac": room_slope},
        ],
        method="SLSQP",
        options={"ftol": 1e-12, "maxiter": 500},
    )
    shares = np.asarray(found.x[:-1], dtype=np.float64)
    if not worst(shares) <= unit:
        shares = even
    chains = [max(fewest, int(number + 1e-9)) for number in shares * spent]
    return Allocation(tuple(chains), worst(np.asarray(chains, dtype=np.float64) / spent), unit)


def extra_of_the_first(
    contrasts: Sequence[Contrast], covariance: ArrayLike, costs: ArrayLike, *, most: int = MOST_EXTRA
) -> Allocation:
    """The number r of extra chains at the first step, for each chain that runs coupled at all steps.

    `covariance`, shape (J, J), is that of a single coupled chain's averages. Noise that is common to all steps cancels in the
    differences of the averages, but not in the averages themselves; r extra chains of the first step reduce it there. r minimises
    (sum_j cost_j + r cost_0) max_k Var_k(r) over integers, where the extra chains add r / S_00 to the precision of the first
    value. `chains` is (1 + r, 1, ..., 1); `variance` and `equal` are at the same work, `equal` without extra chains.
    """
    single, cost = np.asarray(covariance, dtype=np.float64), np.asarray(costs, dtype=np.float64)
    precision = np.asarray(np.linalg.inv(single), dtype=np.float64)

    def price(extra: int) -> float:
        added = precision.copy()
        added[0, 0] += extra / single[0, 0]
        return float(cost.sum() + extra * cost[0]) * max(c.variance(added) for c in contrasts)

    prices = [price(extra) for extra in range(most + 1)]
    best = int(np.argmin(prices))
    return Allocation((1 + best, *[1] * (len(cost) - 1)), prices[best], prices[0])
