"""Check: the running code samples the law that the proof is about."""

from __future__ import annotations

import math

import flint
import numpy as np

from sgverify.checks.exact_rung import NoExactRung, exact_answers
from sgverify.checks.making import make_evidence, unsettled
from sgverify.checks.subject import Subject
from sgverify.claims import Claim
from sgverify.errors import MomentsDivergeError
from sgverify.evidence import Evidence, Point
from sgverify.exact.affine.model import fixed_step
from sgverify.exact.ball import Certified
from sgverify.rates import Judgement, Nulls, decide_point_null, mean_null, variance_null
from sgverify.rates.point_null import GROWTH, LOOKS
from sgverify.rates.sample import Floats
from sgverify.samplers import Averages, Settings, fixed, sample

CHECK = "agreement"

LEVEL = 1e-6
"""Probability of a false alarm, over all looks and both components."""

LONGEST = 10_000
"""Steps that are sampled at most; the exact law is asked for the same number."""

WORK = 1e8
"""Steps of all chains together beyond which no further look is planned."""

MEAN, VARIANCE = "mean in sd", "log variance"

MARGINS = {MEAN: 1.0, VARIANCE: math.log(4)}
"""What has to be found for an agreement to conform: a mean that is off by a standard deviation of the single average, and a
variance by a factor of 4, noise of half or twice the amplitude. Both in the units of their deviations."""

LOST = 0.1
"""The relative error beyond which an exact variance says nothing about chains."""

LARGEST = 10
"""The largest number of coordinates for which the exact variance of the average is computed."""


def check_agreement(subject: Subject, claim: Claim) -> Evidence:
    """Mean and variance over chains of the sampled average against their exact values at the same L.

    Two point nulls, decided together by growing fresh samples: the mean, in units of the single average's standard
    deviation, with the *exact* variance where there is one, and the log of the ratio of variances. Chains that share
    their noise fail both.
    """
    if subject.observable.degree == 0:
        reason = f"the test function {subject.observable} is constant, so its average says nothing about the chains"
        return unsettled(subject, claim, CHECK, reason, "not-applicable")
    c = subject.configuration
    if c.burn_in or c.thinning != 1:
        reason = (
            f"burn_in={c.burn_in}, thinning={c.thinning}: the exact law is that of the average over every step l = 1..L; "
            "leave both at their defaults to compare the sampled average with it"
        )
        return unsettled(subject, claim, CHECK, reason, "not-applicable")
    try:
        answers = exact_answers(subject)
    except NoExactRung as no_rung:
        return unsettled(subject, claim, CHECK, str(no_rung))
    step, length = subject.step, min(c.steps, LONGEST)
    subject.check_stable([step], "schedule.step")
    bias, variance = answers.bias(fixed_step(step), length), None
    if subject.model.size <= LARGEST and answers.has_mean_square_error:
        try:
            variance = _variance(bias, answers.mean_square_error(fixed_step(step), length))
        except MomentsDivergeError as error:
            return unsettled(subject, claim, CHECK, f"the average has no variance to compare: {error}")
        if variance[1] >= LOST * variance[0]:
            reason = (
                f"the exact variance of the average is lost: {variance[0]:.3g} +- {variance[1]:.1g}, because the chain hardly "
                f"moves in {length} steps"
            )
            return unsettled(subject, claim, CHECK, reason)
    looked: list[Floats] = []

    def draw(chains: int) -> Nulls:
        values = _averages(subject, step, length, chains)
        looked.append(values)
        return _nulls(values, bias, variance)

    looks = sum(c.chains * GROWTH**look * length <= WORK for look in range(LOOKS)) or 1
    try:
        decision = decide_point_null(
            draw,
            first=c.chains,
            level=LEVEL,
            margins=MARGINS,
            looks=looks,
            what=f"averages of {length} steps that the running code returns",
        )
    except ChainsDiverged as how:
        judgement = Judgement("violates", False, f"the sampled chains diverged: {how}")
        return make_evidence(subject, claim, CHECK, method="monte-carlo", judgement=judgement)
    values = looked[-1]
    spread = float(np.std(values, ddof=1)) / math.sqrt(len(values))
    points = [
        Point(step=step, length=length, value=bias.value, error_bound=bias.error_bound),
        Point(step=step, length=length, value=float(values.mean()), standard_error=spread, kind="sampled"),
    ]
    return make_evidence(
        subject,
        claim,
        CHECK,
        method="monte-carlo",
        judgement=Judgement(decision.verdict, False, decision.reason),
        points=points,
        certificate=decision.certificate,
    )


class ChainsDiverged(Exception):
    """Chains left the numbers that float64 holds; the message says how."""


def check_complete(averages: Averages) -> None:
    """Hand on the Ctrl-C that ended a run of the sampler early: half a run is no evidence."""
    if not averages.complete:
        raise KeyboardInterrupt


def _averages(subject: Subject, step: float, length: int, chains: int) -> Floats:
    """Errors of the single averages of fresh chains: those of one look are numbered apart from those of another."""
    c = subject.configuration
    averages = sample(
        subject.scheme,
        subject.target,
        fixed([step], [length]),
        observables=[subject.observable],
        settings=Settings.of(c, chains=chains, first_chain=0 if chains == c.chains else chains),
    )
    check_complete(averages)
    if averages.diverged[0] is not None:
        raise ChainsDiverged(str(averages.diverged[0]))
    values: Floats = averages.values[0, 0, 0] - float(subject.truth)
    return values


def _variance(bias: Certified, square: Certified) -> tuple[float, float]:
    """E (phi_hat - phi_bar)^2 - b^2 with a bound of its error, in balls: where the chain hardly moves all of it cancels."""
    with flint.ctx.workprec(max(bias.bits, square.bits)):
        difference = square.ball - bias.ball**2
    value, radius = float(difference.mid()), float(difference.rad())
    return value, radius + abs(value) * float(np.finfo(np.float64).eps)


def _nulls(values: Floats, expected: Certified, variance: tuple[float, float] | None) -> Nulls:
    """The mean in units of the single average's standard deviation, and the variance where it is known."""
    if variance is None:
        unit = float(np.std(values, ddof=1)) or 1.0
        return mean_null(MEAN, values / unit, expected.value / unit, bound=expected.error_bound / unit)
    exact, error = variance
    unit = math.sqrt(exact + error)
    mean = mean_null(
        MEAN, values / unit, expected.value / unit, variance=1.0, bound=expected.error_bound / unit
    )
    spread = variance_null(VARIANCE, values, exact, bound=error)
    return Nulls.joined(mean, spread)
