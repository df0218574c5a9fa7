"""How large is the stationary bias of torch code on a Gaussian target? It follows from the affine map of one step."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, cast

import numpy as np
from scipy.linalg import solve_discrete_lyapunov

from sgverify.checks.question import Question
from sgverify.checks.rates.beyond_gaussians import bias_beyond_gaussians
from sgverify.checks.rates.halvings import Followed, StepValue
from sgverify.checks.settings.step_at_setting import FAR, Tried, try_setting
from sgverify.errors import Unreached
from sgverify.evidence import Evidence, Found
from sgverify.exact.numbers.quadrature import normal_cubature
from sgverify.law.one_step_map import RARE, REACH, STATES, OneStepMap
from sgverify.law.torch_chain import BendsError, TorchChain, chain_of
from sgverify.rates import Judgement
from sgverify.subject.caching import cached_per_subject
from sgverify.subject.composite import TorchSubject, limits
from sgverify.subject.subject import Subject

UNIT = 2.0**-53


def torch_bias(question: Question) -> Evidence:
    """E phi under the invariant law of X -> M X + c + noise less the posterior's, at h, h/2, ..., and its powers of h.

    M and c come from differences of evaluations at unit vectors, and are tested at states out to 6 spreads of the target and of
    the chain's law. The invariant law has the covariance C = M C M^T + Q, with Q the covariance of the noise, of draws and of
    minibatches. A step that is not affine in the state is judged by the change of the posterior's moments in one step.
    """
    subject = cast(TorchSubject, question.subject)
    if not subject.target.quadratic:
        return bias_beyond_gaussians(question)
    try:
        try:
            followed = followed_bias(subject)
        except BendsError:
            return _by_its_defect(question, chain_of(subject))
    except Unreached as error:
        reason = f"its invariant law is not read: {error}"
        return question.unanswered(reason, method="quadrature")
    prediction = question.prediction
    assert prediction.exponent is not None
    judgement, fitted, points = followed.judged(prediction.exponent), followed.fitted, followed.points
    if judgement.verdict == "violates" and fitted.rate.exponent is not None:
        size = abs(float(fitted.rate.coefficient or 0.0)) * points[0].step ** float(fitted.rate.exponent)
        judgement = or_rounding(chain_of(subject), judgement, max(size, 0.0), followed.scale)
    return question.answered(
        method="quadrature",
        scope=question.scope(states=STATES),
        judgement=judgement,
        found=fitted.rate,
        points=[p.point for p in points],
        certificate=certificate_of(followed, subject),
    )


def certificate_of(followed: Followed, subject: TorchSubject) -> dict[str, Any]:
    """The fitted powers of h, and what was read."""
    powers = followed.fitted.powers
    return {
        "powers_of_h": powers.coefficients[:, 0].tolist(),
        "error_bounds": powers.bounds[:, 0].tolist(),
        "fitted_from": followed.below[0].step,
        **told_of_reading(subject),
    }


def told_of_reading(subject: TorchSubject) -> dict[str, Any]:
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
    return Followed.of(lambda h: _bias(chain, h), chain.steps().tolist(), what, abs(float(subject.truth)))


def _bias(chain: TorchChain, h: float) -> StepValue:
    """The bias at one step size with its error bound, from two maps with differences over vectors of different length."""
    seen, subject = contracting(chain, h), chain.subject
    once = _average(chain, seen)
    if seen.noise_bend is None:
        twice = _average(chain, chain.linear_part(h, 2.0))
        unsure = 8 * abs(once - twice)
    else:
        if subject.observable.degree > 2:
            raise Unreached("its noise is not normal, and moments beyond the second are not read then")
        gain = float(np.linalg.norm(solve_discrete_lyapunov(seen.matrix, np.eye(len(seen.matrix))), 2))
        wider = OneStepMap(
            **{**vars(seen), "covariance": seen.covariance + seen.blur * np.eye(len(seen.matrix))}
        )
        unsure = abs(_average(chain, wider) - once) + gain * seen.blur * abs(once)
    if (
        chain.noise.covariance is not None
        and not chain.noise.each_evaluation
        and subject.observable.degree > 2
    ):
        raise Unreached(
            "the noise of minibatches is not normal, and moments beyond the second are not read then"
        )
    truth = float(subject.truth)
    sizes = UNIT * max(abs(truth), abs(once)) / (1 - seen.radius)
    return StepValue(h, once - truth, unsure + 64 * sizes, seen)


def contracting(chain: TorchChain, h: float) -> OneStepMap:
    """The map at step size h; raises `Unreached` if the chain does not contract there."""
    seen = chain.map(h)
    if not seen.radius < 1:
        raise Unreached(f"the chain does not contract at h={h:.3g}: spectral radius {seen.radius:.6g}")
    return seen


def _average(chain: TorchChain, seen: OneStepMap) -> float:
    """E phi under the invariant law."""
    n, dim, observable = len(seen.still), chain.subject.target.dim, chain.subject.observable
    spreads, centre = chain.setting.spreads, chain.setting.law[0]
    mean = centre + spreads * np.linalg.solve(np.eye(n) - seen.matrix, seen.still)
    covariance = solve_discrete_lyapunov(seen.matrix, seen.covariance) * np.outer(spreads, spreads)
    values, vectors = np.linalg.eigh((covariance + covariance.T) / 2)
    root = vectors * np.sqrt(np.maximum(values, 0.0))
    nodes, weights = normal_cubature(n, observable.degree | 1)
    at = mean + nodes @ root.T
    momentum = at[:, dim : 2 * dim] if "p" in chain.setting.dynamics.state else None
    return float(weights @ observable(at[:, :dim], momentum))


def or_rounding(chain: TorchChain, judgement: Judgement, size: float, scale: float) -> Judgement:
    """The judgement, made inconclusive if rounding to float32 within the step is as large as the bias."""
    possible = chain.rows.operations * 2.0**-24 * scale
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


__all__ = ["certificate_of", "contracting", "followed_bias", "told_of_reading", "torch_bias"]
