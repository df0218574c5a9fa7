"""At which order in h do all means, variances and covariances of torch code's invariant law approach the stationary ones?"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import NamedTuple, cast

import flint
import numpy as np
from flint import arb, arb_mat
from scipy.linalg import solve_discrete_lyapunov

from sgverify.checks.question import Question
from sgverify.checks.rates.halvings import Followed, StepValue
from sgverify.checks.rates.invariant_law import BOUND_NAME, COVARIANCE_NAME, DISTANCE_NAME
from sgverify.checks.rates.torch_bias import contracting, or_rounding, told_of_reading
from sgverify.errors import Unreached
from sgverify.evidence import Evidence, Point
from sgverify.exact.chain.ergodic import COVARIANCE, WASSERSTEIN, Distance, Moments
from sgverify.exact.numbers.ball import PrecisionLostError
from sgverify.law.one_step_map import STATES
from sgverify.law.torch_chain import TorchChain, chain_of
from sgverify.rates import Judgement, Rate
from sgverify.subject.caching import cached_per_subject
from sgverify.subject.composite import TorchSubject
from sgverify.subject.subject import Subject

MOST_PAIRED = 12
"""The most coordinates for which every pair is followed; of more coordinates neighbours are paired, and positions with momenta."""

BITS = 160


class MomentOfLaw(NamedTuple):
    """A mean (j is None) or a covariance of the law, by the places of its coordinates."""

    i: int
    j: int | None

    def named(self, names: Sequence[str]) -> str:
        """The entry as text."""
        if self.j is None:
            return f"the mean of {names[self.i]}"
        same = self.i == self.j
        return (
            f"the variance of {names[self.i]}"
            if same
            else f"the covariance of {names[self.i]} and {names[self.j]}"
        )


class _Law(NamedTuple):
    """Means and covariances at one step size in natural units, those of a memory left out, and a bound of every error."""

    mean: np.ndarray
    covariance: np.ndarray
    bound: float


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
        steps = chain.steps().tolist()
        entries = [entry for entry in _entries(chain) if means or entry.j is not None]
        followed = {entry: followed_entry(subject, entry) for entry in entries}
        points = [_point(chain, h, distance) for h in steps]
    except Unreached as error:
        return question.unanswered(f"its invariant law is not read: {error}", method="quadrature")
    names = chain.setting.names
    variables = chain.setting.dynamics.state
    of = variables[0] if len(variables) == 1 else f"({', '.join(variables)})"
    what = f"{name if _gaussian(chain) else of_moments} of {of}"
    judged = [(entry, part, part.judged(predicted)) for entry, part in followed.items()]
    slow = [item for item in judged if item[2].verdict == "violates"]
    open_ = [item for item in judged if item[2].verdict == "inconclusive"]
    seen = [part.fitted.rate for part in followed.values() if part.fitted.rate.exponent is not None]
    lowest = min((rate.exponent for rate in seen if rate.exponent is not None), default=None)
    if slow:
        _, part, judgement = max(slow, key=lambda item: abs(item[1].points[0].value))
        judgement = Judgement(
            "violates",
            False,
            f"{judgement.reason}; one of {len(slow)} of {len(judged)} moments, part of {what}",
        )
        judgement = or_rounding(chain, judgement, abs(part.points[0].value), part.scale)
    elif open_:
        judgement = open_[0][2]
        judgement = Judgement(
            "inconclusive", False, f"{judgement.reason}; one of {len(open_)} of {len(judged)} moments"
        )
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
            "exponents": {entry.named(names): part.fitted.rate.exponent for entry, part in followed.items()},
            **told_of_reading(subject),
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
def followed_entry(subject: TorchSubject, entry: MomentOfLaw) -> Followed:
    """The error of one moment of the invariant law, in natural units, at falling steps."""
    chain = chain_of(subject)
    what = f"the error of {entry.named(chain.setting.names)}"
    return Followed.of(partial(_error, chain, entry), chain.steps().tolist(), what, 1.0)


def _error(chain: TorchChain, entry: MomentOfLaw, h: float) -> StepValue:
    law, i, j = _law(chain.subject, h), entry.i, entry.j
    value = law.mean[i] if j is None else law.covariance[i, j] - _stationary(chain)[i, j]
    return StepValue(h, float(value), law.bound, chain.map(h))


@cached_per_subject
def _law(subject: Subject, h: float) -> _Law:
    """The moments of the invariant law.

    With G the solution of G = M G M^T + I, errors of at most e in the covariance of the noise, and of at most d in the entries
    of M, change the law's covariance by |G| (e + 4 d |covariance|) at most, to first order.
    """
    chain = chain_of(subject)
    seen, n = contracting(chain, h), chain.setting.known
    size = len(seen.matrix)
    mean = np.linalg.solve(np.eye(size) - seen.matrix, seen.still)
    covariance = solve_discrete_lyapunov(seen.matrix, seen.covariance)
    gain = float(np.linalg.norm(solve_discrete_lyapunov(seen.matrix, np.eye(size)), 2))
    largest = max(1.0, float(np.abs(covariance).sum(axis=1).max()), float(np.abs(mean).sum()))
    return _Law(mean[:n], covariance[:n, :n], gain * (seen.blur + 4 * seen.rounding * largest))


def _stationary(chain: TorchChain) -> np.ndarray:
    spreads, n = chain.setting.spreads, chain.setting.known
    law: np.ndarray = (chain.setting.law[1] / np.outer(spreads, spreads))[:n, :n]
    return law


def _gaussian(chain: TorchChain) -> bool:
    """Is the invariant law normal: are draws normal, and is the gradients' noise?"""
    drawn = chain.noise.covariance is not None and not chain.noise.each_evaluation
    return not drawn and chain.map(chain.first).noise_bend is None


def _point(chain: TorchChain, h: float, distance: Distance) -> Point:
    """The distance at one step size, in the user's units, with the bound that the errors of the reading give."""
    law, n = _law(chain.subject, h), chain.setting.known
    if n > MOST_PAIRED:
        return Point(step=h, note=f"not computed in {n} coordinates")
    units = chain.setting.spreads[:n]
    with flint.ctx.workprec(BITS):
        scale = arb_mat([[arb(float(x) if i == k else 0) for k in range(n)] for i, x in enumerate(units)])

        def moments(mean: np.ndarray, covariance: np.ndarray, radius: float) -> Moments:
            centre = arb_mat([[arb(float(x), radius)] for x in mean])
            spread = arb_mat(
                [[arb(float(x), radius) for x in row] for row in (covariance + covariance.T) / 2]
            )
            return Moments(scale * centre, scale * spread * scale)

        found, truth = (
            moments(law.mean, law.covariance, law.bound),
            moments(0 * law.mean, _stationary(chain), 0.0),
        )
        try:
            value = distance.between(found, truth)
        except PrecisionLostError:
            return Point(step=h, note="the invariant covariance is singular to the precision of the reading")
        return Point(step=h, value=float(value.mid()), error_bound=float(value.rad()) * (1 + 2.0**-20))


__all__ = ["torch_covariance", "torch_wasserstein"]
