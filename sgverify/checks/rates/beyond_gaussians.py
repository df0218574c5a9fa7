"""How large is the stationary bias of torch code beyond Gaussians? A Galerkin method finds the law at falling steps."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import cast

import numpy as np

from sgverify.checks.question import Question
from sgverify.checks.rates.halvings import Followed, StepValue
from sgverify.errors import Unreached
from sgverify.evidence import Evidence
from sgverify.law.galerkin import MOST_COORDINATES, GalerkinChain, GalerkinLaw
from sgverify.law.torch_chain import HALVINGS, configured_sweep
from sgverify.rates.verdict import Judgement
from sgverify.schemes.torch_step import TorchStep
from sgverify.subject.caching import cached_per_subject
from sgverify.subject.composite import TorchSubject, limits
from sgverify.subject.subject import Subject

FEW_HALVINGS = 5
"""The step sizes in the most coordinates, where each costs the most."""

ERRORS = (
    "estimates, and no enclosures: changes with a larger basis and with another rule for the draws, and rounding; all converge "
    "geometrically where the law is smooth"
)


def bias_beyond_gaussians(question: Question) -> Evidence:
    """pi_h(phi) - pi(phi) at h, h/2, ..., and its powers of h; also for every coordinate, square and product of two coordinates.

    In one to three coordinates of the state, on targets of the line.
    """
    subject = cast(TorchSubject, question.subject)
    predicted = question.prediction.exponent
    assert predicted is not None
    halvings = HALVINGS if len(subject.scheme.dynamics.state) < MOST_COORDINATES else FEW_HALVINGS
    steps = configured_sweep(subject) or [subject.step * 2.0**-k for k in range(halvings)]
    try:
        names = _names(subject)
        sizes = _sizes(subject)
        followed = [
            Followed.of(partial(_value, subject, k), steps, f"the stationary bias of {name}", float(sizes[k]))
            for k, name in enumerate(names)
        ]
    except Unreached as error:
        reason = (
            f"its invariant law is not read: {error}; on a Gaussian it may be (--set target.name=gaussian)"
        )
        return question.unanswered(reason, method="quadrature")
    judged = [part.judged(predicted) for part in followed]
    worst = next((k for k, item in enumerate(judged) if item.verdict == "violates"), None)
    if worst is None:
        worst = next((k for k, item in enumerate(judged) if item.verdict == "inconclusive"), 0)
    judgement, part = judged[worst], followed[0 if judged[worst].verdict == "conforms" else worst]
    unseen = _resolved(followed, float(predicted))
    if judgement.verdict == "conforms" and unseen:
        judgement = Judgement("inconclusive", False, unseen)
    elif judgement.verdict == "conforms" and subject.scheme.memory:
        why = "the law is right as h -> 0, and its order is not known; the memory is at rest as for h -> 0"
        judgement = Judgement("inconclusive", False, why)
    elif judgement.verdict == "conforms":
        judgement = Judgement(
            "conforms", judgement.sharp, f"{judgement.reason}; so it is of {len(judged) - 1} moments"
        )
    powers = part.fitted.powers
    return question.answered(
        method="quadrature",
        judgement=judgement,
        found=part.fitted.rate,
        points=[p.point for p in part.points],
        certificate={
            "powers_of_h": powers.coefficients[:, 0].tolist(),
            "error_bounds": powers.bounds[:, 0].tolist(),
            "exponents": {name: one.fitted.rate.exponent for name, one in zip(names, followed, strict=True)},
            "read": "the density of the invariant law in that of the dynamics, by orthonormal polynomials (Galerkin)",
            "error_bounds_are": ERRORS,
            "limits": limits(subject.target.dim),
        },
    )


RESOLVED = 1e-3
"""The largest error of a power of h below the predicted one, at the largest step, as a share of the size of the function: a power
below it would not be seen."""


def _resolved(followed: list[Followed], predicted: float) -> str:
    """A sentence about a bias whose errors may hide a lower power; "" if there is none."""
    for part in followed:
        hidden = max(
            (
                float(part.fitted.powers.bounds[j, 0]) * part.points[0].step ** j
                for j in range(int(predicted))
            ),
            default=0.0,
        )
        if hidden > RESOLVED * part.scale:
            return f"the bias is known to {hidden:.1g} only; {part.what}, by a basis that does not resolve the law"
    return ""


@cached_per_subject
def _chain(subject: Subject) -> GalerkinChain:
    return GalerkinChain(subject, cast(TorchStep, subject.scheme))


def _functions(subject: Subject) -> Callable[[np.ndarray], np.ndarray]:
    """The test function, then coordinates and their products in natural units about the location of the law."""
    chain, dim = _chain(subject), subject.target.dim
    mean, spreads = chain.setting.law[0], chain.setting.spreads
    i, j = np.triu_indices(len(spreads))

    def values(x: np.ndarray) -> np.ndarray:
        momentum = x[:, dim : 2 * dim] if "p" in chain.setting.dynamics.state else None
        natural = (x - mean) / spreads
        phi = np.asarray(subject.observable(x[:, :dim], momentum))
        return np.hstack([phi[:, None], natural, natural[:, i] * natural[:, j]])

    return values


def _names(subject: Subject) -> list[str]:
    names = _chain(subject).setting.names
    i, j = np.triu_indices(len(names))
    products = [f"{names[a]}^2" if a == b else f"{names[a]} {names[b]}" for a, b in zip(i, j, strict=True)]
    return [str(subject.observable), *names, *products]


@cached_per_subject
def _sizes(subject: Subject) -> np.ndarray:
    return _chain(subject).sizes(_functions(subject))


@cached_per_subject
def _biases(subject: Subject, h: float) -> GalerkinLaw:
    return _chain(subject).biases(_functions(subject), h)


def _value(subject: Subject, place: int, h: float) -> StepValue:
    found = _biases(subject, h)
    return StepValue(h, float(found.values[place]), float(found.errors[place]), None)
