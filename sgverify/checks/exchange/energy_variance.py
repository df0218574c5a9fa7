"""Check: how does the variance of variance-reduced energies along the chain depend on h, m and n (vr-resgld Lemma 1)?"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import partial
from itertools import pairwise

import flint
from flint import arb, arb_mat

from sgverify.checks.question import Question
from sgverify.configuration import GradientTable
from sgverify.evidence import Evidence, Point
from sgverify.exact.affine.model import Model
from sgverify.exact.affine.noise import gradient_noise
from sgverify.exact.exchange.acceptance import (
    CONTROL,
    FULL,
    HERE,
    MEANS,
    EnergyShare,
    ages,
    reduced_variance,
)
from sgverify.exact.numbers.ball import column, number
from sgverify.gradients import IID, WITHOUT_REPLACEMENT
from sgverify.rates.verdict import Judgement
from sgverify.schemes import exact
from sgverify.schemes.composites.composite import reduced_energy
from sgverify.subject.composite import Ladder
from sgverify.subject.subject import Subject

BITS = 320
VANISHING = 2**-80
"""The step size, in units of the configured one, at which exponents in h are read; their error is of this order."""

LONGEST = 40
"""The doublings of a control's age: far beyond the correlation time of any chain at a useful step size."""

CLOSE = 1e-6
"""The tolerance within which an exponent counts as a multiple of 1/2; at vanishing steps its error is about 1e-20."""


@dataclass(frozen=True)
class Replica:
    """One replica: its model, the covariance of the gradient noise in its energies, and the energies' share after the control."""

    model: Model
    noise: arb_mat
    combined: EnergyShare

    def variance(self, step: arb, refreshed: int, age: int) -> arb:
        """E Var L~, `age` steps after a refresh of the control at step `refreshed`."""
        chain, centre = self.model.chain(step), column(self.model.target.mean)
        return reduced_variance(chain, self.noise, centre, self.combined, refreshed=refreshed, age=age)


def check_energy_variance(question: Question) -> Evidence:
    """E Var(L~(B | theta_k)), the control m floor(k/m) steps old, against O(m^2 eta/n): in h, in m and in n.

    Exact where the chain is affine, its energies have linear noise and the coefficient is -1. Elsewhere the chains of the running
    composite are sampled, and the variance over minibatches is exact at every state (`sampled_variance`).

    Cannot see: what the variance does to swaps; where chains are sampled, periods m beyond 200 steps, and other steps than those
    from the configured start to the end of the second period.
    """
    subject = question.subject
    ladder = Ladder.of(subject)
    combined = reduced_energy(HERE, CONTROL, FULL)
    settle = partial(question.evidence, method="exact")
    prediction = question.prediction
    why = _why_sampled(subject)
    if why:
        if subject.method == "exact":
            return question.unanswered(f"no exact law; {why}")
        # Imported here: the module imports torch, which the exact answer never needs.
        from sgverify.checks.exchange.sampled_variance import sampled_energy_variance

        return sampled_energy_variance(question, why)
    mean = reduced_energy(*MEANS)
    if mean != MEANS[0]:
        return settle(
            judgement=Judgement(
                "violates",
                False,
                f"the mean of the energy is not U(theta); over minibatches it is {mean.here} U(theta) + {mean.control} U(control)",
            ),
            prediction=prediction,
        )
    if combined.constant != 0:
        return settle(
            judgement=Judgement(
                "violates",
                False,
                f"noise stays at every step size; the rule leaves {combined.constant} of the part that does not move with theta",
            ),
            prediction=prediction,
            found=Fraction(0),
        )
    with flint.ctx.workprec(BITS):
        return _judged(question, ladder, combined)


def _why_sampled(subject: Subject) -> str:
    """Why no exact law of the energies along the chain is known; empty where one is."""
    if getattr(subject.composite, "adaptive", False):
        return "the coefficient is learnt along the chain"
    if not subject.target.common_curvature:
        return "the noise of the energies is not linear in theta"
    if not subject.affine:
        return subject.why_not_affine or ""
    return "the gradient noise of svrg follows its own snapshots" if subject.noise.refresh is not None else ""


def _judged(question: Question, ladder: Ladder, combined: EnergyShare) -> Evidence:
    subject = question.subject
    batch = subject.configuration.gradient.batch
    replicas = [_replica(subject, temperature, batch, combined) for temperature in ladder.temperatures]
    h = [number(exact(subject.step) * factor) for factor in ladder.factors]
    age = max(1, ladder.period - 1)
    starts = (0, ladder.period)
    in_h = [
        _slope(*(replica.variance(step * VANISHING / k, refreshed, age) for k in (1, 2)))
        for replica, step in zip(replicas, h, strict=True)
        for refreshed in starts
    ]
    exponent, by_n = min(in_h), _by_batch(subject, ladder, combined, h)
    hottest, step = replicas[-1], h[-1]
    grown = [hottest.variance(step, 0, k) for k in ages(ladder.period)]
    constants = [
        replica.variance(step, 0, 2**k) * batch / (number((2**k + 1) ** 2) * step)
        for replica, step in zip(replicas, h, strict=True)
        for k in range(LONGEST)
    ]
    largest = max(range(len(constants)), key=lambda k: float(constants[k].mid()))
    bounded = largest % LONGEST < LONGEST - 1
    fresh = [replica.variance(step, ladder.period, 0) for replica, step in zip(replicas, h, strict=True)]
    prediction = question.prediction
    said = (
        f"E Var L~ falls as eta^{exponent:g} as eta -> 0, as n^{by_n:.4g} in the minibatch, and n/(m^2 eta) times it is at most "
        f"{float(constants[largest].mid()):.4g} over every m, attained at m = {2 ** (largest % LONGEST) + 1}"
    )
    holds = exponent >= prediction.exponent and by_n <= -1 + CLOSE and bounded and all(v == 0 for v in fresh)
    if not all(v == 0 for v in fresh):
        said = f"the energy has noise at its control; its variance there is {float(fresh[0].mid()):.4g}"
    return question.answered(
        Judgement("conforms" if holds else "violates", exponent == prediction.exponent, said),
        found=Fraction(exponent).limit_denominator(100),
        points=[
            Point(step=float(step.mid()), length=k + 1, value=float(v.mid()), error_bound=float(v.rad()))
            for k, v in zip(ages(ladder.period), grown, strict=True)
        ],
        certificate={
            "m": ladder.period,
            "n": batch,
            "temperatures": [str(T) for T in ladder.temperatures],
            "exponents in eta, replica by replica, control refreshed at 0 and m": in_h,
            "exponent in n": by_n,
            "exponents in m between doublings, at the step size": _growth(grown),
            "and at a thousandth of it, from the start": _growth(
                [hottest.variance(step / 1000, 0, k) for k in ages(ladder.period)]
            ),
            "constant c": float(constants[largest].mid()),
            "minibatches": "of their own, in closed form over all of them",
        },
    )


def _growth(values: list[arb]) -> list[float]:
    return [_slope(later, earlier) for earlier, later in pairwise(values)]


def _by_batch(subject: Subject, ladder: Ladder, combined: EnergyShare, h: list[arb]) -> float:
    """The largest exponent in n at vanishing steps, between n and 2 n; between n/2 and n if there are fewer than 2 n data."""
    batch, size = subject.configuration.gradient.batch, subject.target.size
    assert size is not None
    low = batch if 2 * batch <= size else max(1, batch // 2)
    if low == batch and 2 * batch > size:
        return -1.0
    age = max(1, ladder.period - 1)
    found = [
        _replica(subject, ladder.temperatures[0], n, combined).variance(h[0] * VANISHING, 0, age)
        for n in (low, 2 * low)
    ]
    return -_slope(*found)


def _replica(subject: Subject, temperature: Fraction, batch: int, combined: EnergyShare) -> Replica:
    kind = (IID if subject.configuration.gradient.estimator.energies_replaced else WITHOUT_REPLACEMENT).name
    noise = gradient_noise(GradientTable(kind=kind, batch=batch), subject.target).covariance
    dim = subject.target.dim
    spread = arb_mat(dim, dim) if noise is None else arb_mat(noise)
    model = replace(subject.model, temperature=temperature)
    if noise is not None and subject.noise.covariance is not None and not subject.noise.exchangeable:
        # The minibatches that move the chain have the same size.
        model = replace(model, noise=replace(model.noise, covariance=noise, third=None, fourth=None))
    return Replica(model, spread, combined)


def _slope(more: arb, less: arb) -> float:
    """log2 of the ratio, rounded to a multiple of 1/2 if it is within `CLOSE` of one."""
    if less.contains(0) or more.contains(0):
        return 0.0 if not (more.contains(0) and less.contains(0)) else math.inf
    value = float((more / less).log().mid()) / math.log(2)
    near = round(2 * value) / 2
    return near if abs(value - near) < CLOSE else value
