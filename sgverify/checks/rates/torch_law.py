"""How far is the invariant law of torch code from the stationary one on a Gaussian target, as a power of h?

X -> M X + c + noise has the invariant law that `OneStepMap.law` gives with a bound of its errors. M and c come from differences of
evaluations at unit vectors, and are tested at states out to 6 spreads of the target and of the chain's law. The stationary bias of
the test function, and every mean and covariance, are followed over h, h/2, .... A step that is not affine in the state is judged
by the change of the posterior's moments in one step.
"""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import Any, NamedTuple, cast

import flint
import numpy as np
from flint import arb, arb_mat

from sgverify.checks.question import Question
from sgverify.checks.rates.beyond_gaussians import bias_beyond_gaussians
from sgverify.checks.rates.halvings import Followed, StepValue
from sgverify.checks.rates.invariant_law import BOUND_NAME, COVARIANCE_NAME, DISTANCE_NAME
from sgverify.checks.settings.step_at_setting import FAR, Tried, try_setting
from sgverify.errors import Unreached
from sgverify.evidence import Evidence, Found, Point
from sgverify.exact.chain.ergodic import COVARIANCE, WASSERSTEIN, Distance, Moments
from sgverify.exact.numbers.ball import PrecisionLostError
from sgverify.exact.numbers.quadrature import normal_cubature
from sgverify.law.one_step_map import RARE, REACH, STATES, Law
from sgverify.law.torch_chain import BendsError, TorchChain, balls, chain_of
from sgverify.rates.verdict import Judgement, Rate
from sgverify.subject.caching import cached_per_subject
from sgverify.subject.composite import TorchSubject, limits
from sgverify.subject.subject import Subject

UNIT, NARROW_UNIT = 2.0**-53, 2.0**-24

REGULAR = 1e-6
"""The least eigenvalue of a covariance, relative to the largest, with which the derivatives of an average are computed."""

MOST_PAIRED = 12
"""The most coordinates for which every pair is followed; of more coordinates neighbours are paired, and positions with momenta."""

BITS = 160


def torch_bias(question: Question) -> Evidence:
    """E phi under the invariant law of the chain less the posterior's, at h, h/2, ..., and its powers of h."""
    subject = cast(TorchSubject, question.subject)
    if not subject.target.quadratic:
        return bias_beyond_gaussians(question)
    try:
        try:
            followed = followed_bias(subject)
        except BendsError:
            return _by_its_defect(question, chain_of(subject))
    except Unreached as error:
        return _not_read(question, error)
    prediction = question.prediction
    assert prediction.exponent is not None
    judgement, fitted, points = followed.judged(prediction.exponent), followed.fitted, followed.points
    if judgement.verdict == "violates" and fitted.rate.exponent is not None:
        size = abs(float(fitted.rate.coefficient or 0.0)) * points[0].step ** float(fitted.rate.exponent)
        judgement = _or_rounding(chain_of(subject), judgement, max(size, 0.0), followed.scale)
    return question.answered(
        method="quadrature",
        scope=question.scope(states=STATES),
        judgement=judgement,
        found=fitted.rate,
        points=[p.point for p in points],
        certificate=certificate_of(followed, subject),
    )


def _not_read(question: Question, error: Unreached) -> Evidence:
    return question.unanswered(f"its invariant law is not read: {error}", method="quadrature")


def certificate_of(followed: Followed, subject: TorchSubject) -> dict[str, Any]:
    """The fitted powers of h, and what was read."""
    powers = followed.fitted.powers
    return {
        "powers_of_h": powers.coefficients[:, 0].tolist(),
        "error_bounds": powers.bounds[:, 0].tolist(),
        "fitted_from": followed.below[0].step,
        **_told_of_reading(subject),
    }


def _told_of_reading(subject: TorchSubject) -> dict[str, Any]:
    """The certificate's part about the affine map of a step."""
    return {
        "read": "the affine map of one step, from evaluations at unit vectors of the state and of its draws",
        "affine_at": f"states out to {max(REACH):g} spreads of the target and of the chain's law, draws of up to "
        f"{max(RARE):g} standard deviations; not examined beyond",
        "limits": limits(subject.target.dim),
    }


@cached_per_subject
def followed_bias(subject: TorchSubject) -> Followed:
    """The stationary bias of the test function at falling steps; raises `Unreached`, `BendsError`."""
    chain = chain_of(subject)
    if any(name not in ("theta", "p") for name in subject.scheme.dynamics.state):
        raise BendsError("the state has further variables, of which no test function speaks")
    what = f"the stationary bias of {subject.observable}"
    return Followed.of(partial(_bias, chain), chain.steps().tolist(), what, abs(float(subject.truth)))


def _bias(chain: TorchChain, h: float) -> StepValue:
    """The bias at one step size with its error bound."""
    law, seen, subject = _law(chain, h), chain.map(h), chain.subject
    drawn = chain.noise.covariance is not None and not chain.noise.each_evaluation
    if subject.observable.degree > 2 and (drawn or seen.noise_bend is not None):
        whose = "its noise" if seen.noise_bend is not None else "the noise of minibatches"
        raise Unreached(f"{whose} is not normal, and moments beyond the second are not read then")
    average, unsure = _average(chain, law)
    if chain.rows.narrow and seen.noise_bend is None:
        # Roundings of states differ in two readings, over different lengths; one of a factor, such as sqrt(2 T h), does not.
        read = 8 * abs(average - _average(chain, chain.linear_part(h, 2.0).law)[0])
        # A square root right to a unit in its last place, as torch's is, changes a second moment by twice that share.
        unsure = max(read, 4 * NARROW_UNIT * abs(average))
    truth = float(subject.truth)
    sizes = UNIT * max(abs(truth), abs(average)) / (1 - seen.radius)
    return StepValue(h, average - truth, unsure + 64 * sizes, seen)


def _law(chain: TorchChain, h: float) -> Law:
    """The invariant law at step size h, a memory's coordinates last; raises `Unreached` if the chain does not contract there."""
    seen = chain.map(h)
    if not seen.radius < 1:
        raise Unreached(f"the chain does not contract at h={h:.3g}: spectral radius {seen.radius:.6g}")
    return seen.law


def _average(chain: TorchChain, law: Law) -> tuple[float, float]:
    """E phi under a normal law, and a bound of its error to first order.

    A quadratic phi has it by hand. Else, with X = m + R Z, R R^T = C, the derivatives of E phi are R^-T E[phi Z] in m and
    R^-T E[phi (Z Z^T - I)] R^-1/2 in C; of the coordinates, those that phi depends on are enough.
    """
    dim, observable = chain.subject.target.dim, chain.subject.observable
    if observable.degree <= 2:
        constant, linear, form = (np.array(part, dtype=float) for part in observable.quadratic_form())
        n = len(linear)
        units = chain.setting.spreads[:n]
        mean = chain.setting.law[0][:n] + units * law.mean[:n]
        curved = form * np.outer(units, units)
        average = constant + (linear + form @ mean) @ mean + (curved * law.covariance[:n, :n]).sum()
        slope = units * (linear + 2 * form @ mean)
        return float(average), law.bound * float(np.abs(slope).sum() + np.abs(curved).sum())
    used = sorted({k for powers in observable.terms for k, power in enumerate(powers) if power}) or [0]
    covariance = law.covariance[np.ix_(used, used)]
    values, vectors = np.linalg.eigh((covariance + covariance.T) / 2)
    root = vectors * np.sqrt(np.maximum(values, 0.0))
    inverse = vectors / np.sqrt(np.maximum(values, REGULAR * values[-1]))
    nodes, weights = normal_cubature(len(used), (observable.degree + 2) | 1)
    at = np.tile(chain.setting.law[0], (len(nodes), 1))
    at[:, used] += chain.setting.spreads[used] * (law.mean[used] + nodes @ root.T)
    momentum = at[:, dim : 2 * dim] if "p" in chain.setting.dynamics.state else None
    weighted = weights * observable(at[:, :dim], momentum)
    average = float(weighted.sum())
    first = inverse @ (weighted @ nodes)
    second = inverse @ (nodes.T @ (weighted[:, None] * nodes) - average * np.eye(len(used))) @ inverse.T
    return average, law.bound * float(np.abs(first).sum() + np.abs(second).sum() / 2)


def _or_rounding(chain: TorchChain, judgement: Judgement, size: float, scale: float) -> Judgement:
    """The judgement, made inconclusive if rounding to float32 within the step is as large as the bias."""
    possible = chain.rows.operations * NARROW_UNIT * scale
    if not chain.rows.narrow or size > possible:
        return judgement
    return Judgement(
        "inconclusive",
        False,
        f"{judgement.reason}; but it is {size:.2g}, and the step's float32 roundings may do as much as {possible:.2g}: "
        "see the check dtype",
    )


def _by_its_defect(question: Question, chain: TorchChain) -> Evidence:
    """Evidence for a step that is not affine: the change of the posterior's moments in one step, as h falls."""
    subject = chain.subject
    if chain.noise.covariance is not None:
        return question.unanswered(
            f"its invariant law is not read: one step is not affine, and gradient.kind={subject.configuration.gradient.kind!r}: "
            "such a step is judged under full gradients alone (--set gradient.kind=full)",
            method="quadrature",
        )
    prediction = question.prediction
    assert prediction.exponent is not None
    tried = _tried(subject, int(prediction.exponent))
    reason = (
        tried.finding
        or f"means and covariances are right to h^{prediction.exponent}; those of the posterior are those of the chain"
    )
    verdict = tried.verdict
    if verdict == "conforms" and tried.bend is not None and tried.bend >= FAR:
        # The step bends only at states so rare that an integral over the posterior does not show them.
        verdict, reason = "inconclusive", f"{reason}; see the check settings"
    evidence = question.answered(
        method="quadrature",
        scope=question.scope(states=STATES),
        judgement=Judgement(verdict, False, reason),
        certificate={
            "steps": list(tried.steps),
            "read": "E f(X_1) - E f(X_0), X_0 from the posterior, for coordinates, their products, sines and cosines",
            "limits": limits(subject.target.dim),
        },
    )
    # Moments that change by no more than h^(K+1) bound the power of h; they do not give it.
    bounded = Found(None, prediction.exponent, None) if verdict == "conforms" else evidence.found
    return replace(evidence, found=bounded)


@cached_per_subject
def _tried(subject: Subject, order: int) -> Tried:
    """The change of the posterior's moments in one step, held against h^(order + 1)."""
    chain, steps = chain_of(subject), subject.configuration.sweep.steps or [subject.step]
    top = min(max(steps), 1 / chain.setting.rate)
    return try_setting(chain.step, chain.setting, order, flow=False, top=top, gradient=chain.gradient)


class MomentOfLaw(NamedTuple):
    """A mean (j is None) or a covariance of the law, by the places of its coordinates."""

    i: int
    j: int | None

    def named(self, chain: TorchChain) -> str:
        """The entry as text."""
        names = chain.setting.names
        if self.j is None:
            return f"the mean of {names[self.i]}"
        if self.i == self.j:
            return f"the variance of {names[self.i]}"
        return f"the covariance of {names[self.i]} and {names[self.j]}"

    def error(self, chain: TorchChain, h: float) -> StepValue:
        """Its error at one step size, in natural units."""
        law, i, j = _law(chain, h), self.i, self.j
        value = law.mean[i] if j is None else law.covariance[i, j] - chain.setting.correlation[i, j]
        return StepValue(h, float(value), law.bound, chain.map(h))


def torch_covariance(question: Question) -> Evidence:
    """Every variance and covariance of the chain's law is the stationary one to O(h^K): theta, momenta, and across them."""
    return _compared(question, COVARIANCE, COVARIANCE_NAME, COVARIANCE_NAME, means=False)


def torch_wasserstein(question: Question) -> Evidence:
    """Every mean, variance and covariance of the chain's law is the stationary one to O(h^K), and so is their distance W2."""
    return _compared(question, WASSERSTEIN, DISTANCE_NAME, BOUND_NAME, means=True)


def _compared(question: Question, distance: Distance, name: str, of_moments: str, *, means: bool) -> Evidence:
    subject = cast(TorchSubject, question.subject)
    predicted = question.prediction.exponent
    assert predicted is not None
    try:
        chain = chain_of(subject)
        entries = [entry for entry in _entries(chain) if means or entry.j is not None]
        followed = {entry: _followed_entry(subject, entry) for entry in entries}
        points = [_point(chain, h, distance) for h in chain.steps().tolist()]
    except Unreached as error:
        return _not_read(question, error)
    variables = chain.setting.dynamics.state
    of = variables[0] if len(variables) == 1 else f"({', '.join(variables)})"
    what = f"{name if _gaussian(chain) else of_moments} of {of}"
    judged = [(part, part.judged(predicted)) for part in followed.values()]
    slow = [item for item in judged if item[1].verdict == "violates"]
    open_ = [judgement for _, judgement in judged if judgement.verdict == "inconclusive"]
    seen = [part.fitted.rate.exponent for part in followed.values()]
    lowest = min((exponent for exponent in seen if exponent is not None), default=None)
    if slow:
        part, judgement = max(slow, key=lambda item: abs(item[0].points[0].value))
        reason = f"{judgement.reason}; one of {len(slow)} of {len(judged)} moments, part of {what}"
        size = abs(part.points[0].value)
        judgement = _or_rounding(chain, Judgement("violates", False, reason), size, part.scale)
    elif open_:
        reason = f"{open_[0].reason}; one of {len(open_)} of {len(judged)} moments"
        judgement = Judgement("inconclusive", False, reason)
    elif lowest is None:
        reason = f"{what} is not told from 0: no power of h is seen in any of {len(judged)} moments"
        judgement = Judgement("conforms", False, reason)
    else:
        relation = (
            "exactly as predicted" if lowest == predicted else f"faster than the predicted h^{predicted}"
        )
        reason = f"{what} is of order h^{lowest} as h -> 0, {relation}; in all of {len(judged)} moments"
        judgement = Judgement("conforms", lowest == predicted, reason)
    return question.answered(
        method="quadrature",
        scope=question.scope(states=STATES),
        judgement=judgement,
        found=Rate(lowest),
        points=points,
        certificate={
            "exponents": {entry.named(chain): part.fitted.rate.exponent for entry, part in followed.items()},
            **_told_of_reading(subject),
        },
    )


def _entries(chain: TorchChain) -> list[MomentOfLaw]:
    n, dim = chain.setting.known, chain.setting.dim
    paired = [
        MomentOfLaw(i, j)
        for i in range(n)
        for j in range(i, n)
        if n <= MOST_PAIRED or j - i < 2 or j - i == dim
    ]
    return [*(MomentOfLaw(i, None) for i in range(n)), *paired]


@cached_per_subject
def _followed_entry(subject: TorchSubject, entry: MomentOfLaw) -> Followed:
    """The error of one moment of the invariant law at falling steps."""
    chain = chain_of(subject)
    what = f"the error of {entry.named(chain)}"
    return Followed.of(partial(entry.error, chain), chain.steps().tolist(), what, 1.0)


def _gaussian(chain: TorchChain) -> bool:
    """Is the invariant law normal: are draws normal, and is the gradients' noise?"""
    drawn = chain.noise.covariance is not None and not chain.noise.each_evaluation
    return not drawn and chain.map(chain.first).noise_bend is None


def _point(chain: TorchChain, h: float, distance: Distance) -> Point:
    """The distance at one step size, in the user's units, with the bound that the errors of the reading give."""
    law, n = _law(chain, h), chain.setting.known
    if n > MOST_PAIRED:
        return Point(step=h, note=f"not computed in {n} coordinates")
    with flint.ctx.workprec(BITS):
        units = chain.setting.spreads[:n]
        scale = arb_mat([[arb(float(x) if i == k else 0) for k in range(n)] for i, x in enumerate(units)])

        def moments(mean: np.ndarray, covariance: np.ndarray, radius: float) -> Moments:
            spread = ((covariance + covariance.T) / 2)[:n, :n]
            return Moments(scale * balls(mean[:n, None], radius), scale * balls(spread, radius) * scale)

        found = moments(law.mean, law.covariance, law.bound)
        try:
            value = distance.between(found, moments(0 * law.mean, chain.setting.correlation, 0.0))
        except PrecisionLostError:
            return Point(step=h, note="the invariant covariance is singular to the precision of the reading")
        return Point(step=h, value=float(value.mid()), error_bound=float(value.rad()) * (1 + 2.0**-20))
