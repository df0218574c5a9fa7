"""Check: does the running code's average have the exact mean and variance that the proofs refer to?"""

from __future__ import annotations

import math

import numpy as np

from sgverify.checks.rates.sampled.method import check_complete, share_of
from sgverify.draws.sampling import row_of_length as row_of
from sgverify.errors import MomentsDivergeError, Unreached
from sgverify.evidence import Point
from sgverify.rates.sample import Floats
from sgverify.rates.verdict import Judgement
from sgverify.samplers import Settings, sample
from sgverify.subject.seeds import run_seed
from sgverify.subject.subject import Subject
from tests.self_checks.finding import Finding, finding, unanswered
from tests.self_checks.nulls import Nulls, bounded_nulls, mean_null
from tests.self_checks.point_null import GROWTH, LOOKS, decide_point_null
from tests.self_checks.running_average_law import AverageLaw, law_of_average

STAGE = "agreement"

LONGEST = 10_000
"""The largest number of sampled steps; the exact law is computed for the same number."""

WORK = 1e8
"""The largest total number of steps over all chains; no further look is planned beyond it."""

FEWEST = 128
"""The fewest chains in the first look, even if fewer are configured. 64 chains resolve the margin of the variance if the
kurtosis is known to be a normal law's; with an estimated kurtosis they fail to one time in ten."""

MOST_FIRST = 4096
"""The most chains in the first look, unless more are configured."""

MEAN, VARIANCE = "mean in sd", "log variance"

SPREAD = 1024
"""The smallest standard deviation of an average, in roundings of a state. A step makes about ten roundings, which are then
below the 1/64 of a standard deviation to which the largest look, of 4,096 chains, determines a mean."""

MARGINS = {MEAN: 1.0, VARIANCE: math.log(4)}
"""The deviations that a conforming answer must be able to detect: a mean that is off by one standard deviation of a single
average, and a variance that is off by a factor of 4 (noise of half or twice the amplitude)."""


def check_agreement(subject: Subject) -> Finding:
    """Mean and variance over chains of the sampled average against their exact values at the same L.

    Two point nulls, decided together by growing fresh samples: the mean, in units of the single average's standard
    deviation, with the *exact* variance where there is one, and the log of the ratio of variances. Only bounds that hold
    for every law with the moments that are known violate; chains that all share their noise have no variance and
    fail, and copies of some chains are for `independent-chains` to find.

    Cannot see: deviations smaller than its margins, which the certificate shows; averages other than the configured
    one; runs of more than 10,000 steps; and whether the definition is right.
    """
    if subject.observable.degree == 0:
        reason = (
            f"a constant average says nothing about the chains; the test function is {subject.observable}"
        )
        return unanswered(reason, "not-applicable")
    c = subject.configuration
    if c.burn_in or c.thinning != 1:
        reason = (
            f"burn_in={c.burn_in}, thinning={c.thinning} leave states out; the exact law is that of the average over every step "
            "l = 1..L: leave both at their defaults to compare the sampled average with it"
        )
        return unanswered(reason, "not-applicable")
    try:
        law = law_of_average(subject)
    except Unreached as unreached:
        return unanswered(str(unreached))
    except MomentsDivergeError as error:
        return unanswered(f"the average has no variance to compare: {error}")
    if law.variance is not None and math.sqrt(law.variance[0]) < SPREAD * _rounding(subject, law):
        reason = (
            f"rounding hides how chains differ; at h={law.step:.6g} their averages differ by {math.sqrt(law.variance[0]):.1e}: "
            "the step forgets its draws; take another schedule.step"
        )
        return unanswered(reason)
    looked: list[Floats] = []
    first = max(c.chains, FEWEST, _needed(law) if subject.target.rugged else 0)

    def draw(chains: int) -> Nulls:
        values = _averages(subject, law, chains)
        looked.append(values)
        return _nulls(values, law)

    looks = sum(first * GROWTH**look * law.length <= WORK for look in range(LOOKS)) or 1
    try:
        decision = decide_point_null(
            draw,
            first=first,
            level=share_of(subject).point_null,
            margins=MARGINS,
            looks=looks,
            what=f"averages of {law.length} steps",
        )
    except ChainsDiverged as how:
        # The expected number of escaping chains over all looks bounds the probability that any chain escapes by chance.
        if law.escaping * first * GROWTH**LOOKS > share_of(subject).point_null:
            return unanswered(f"escape; the sampled chains diverged, as chains may here: {how}")
        judgement = Judgement("violates", False, f"the sampled chains diverged; {how}")
        return finding(method="monte-carlo", judgement=judgement)
    values = looked[-1]
    spread = float(np.std(values, ddof=1)) / math.sqrt(len(values))
    points = [
        Point(step=law.step, length=law.length, value=law.mean, error_bound=law.error_bound),
        Point(
            step=law.step,
            length=law.length,
            value=float(values.mean()),
            standard_error=spread,
            kind="sampled",
        ),
    ]
    return finding(
        method="monte-carlo",
        judgement=Judgement(decision.verdict, False, decision.reason),
        points=points,
        certificate={**decision.certificate, **law.certificate, "level_of_call": share_of(subject).call},
    )


def _rounding(subject: Subject, law: AverageLaw) -> float:
    """The change of an average that the rounding of a state alone causes."""
    return (
        2.0**-53 * abs(law.origin) if subject.configuration.dtype == "float64" else 2.0**-24 * abs(law.origin)
    )


def _needed(law: AverageLaw) -> int:
    """The number of chains that estimate the variance as precisely as `FEWEST` chains of a normal law.

    The number is proportional to (excess kurtosis + 2). It matters on targets with many modes, where the few chains that
    change their mode make the tails.
    """
    if law.kurtosis is None or not math.isfinite(law.kurtosis):
        return 0
    return min(MOST_FIRST, math.ceil(FEWEST * (1 + law.kurtosis / 2)))


class ChainsDiverged(Exception):
    """Raised if chains overflowed float64; the message says how."""


def _averages(subject: Subject, law: AverageLaw, chains: int) -> Floats:
    """The averages of new chains less the law's `origin`, shape (chains,).

    The first chain's number is `chains`, so that no two looks share a chain.
    """
    averages = sample(
        subject.scheme,
        subject.target,
        [row_of(subject, law.length)],
        observables=[subject.observable],
        settings=Settings.of(
            subject.configuration, seed=run_seed(subject, STAGE), chains=chains, first_chain=chains
        ),
    )
    check_complete(averages)
    if averages.diverged[0] is not None:
        raise ChainsDiverged(str(averages.diverged[0]))
    values: Floats = averages.values[0, 0, 0] - law.origin
    return values


def _nulls(values: Floats, law: AverageLaw) -> Nulls:
    """The nulls of mean and variance, with bounds that hold for the law of the average.

    If the variance is unknown, nothing bounds the chance of a deviating mean, since rare events may carry it. A mean that
    looks wrong is then inconclusive.
    """
    if law.variance is None:
        unit = float(np.std(values, ddof=1)) or 1.0
        null = mean_null(MEAN, values / unit, law.mean / unit, bound=law.error_bound / unit)
        return null.bounded(1.0)
    exact, error = law.variance
    return bounded_nulls(
        (MEAN, VARIANCE),
        values,
        law.mean,
        exact,
        mean_bound=law.error_bound,
        variance_bound=error,
        kurtosis=law.kurtosis,
        most=law.largest_kurtosis,
        normal=law.polynomial == 1,
        quadratic=law.polynomial == 2,
    )
