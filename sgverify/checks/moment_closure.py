"""The bias at finite length beyond affine steps: exact where the moments that the test function needs close."""

from __future__ import annotations

import math
from typing import Any

from flint import arb

from sgverify.checks.exact_rung import exact_answers
from sgverify.checks.remembered import cached_per_subject
from sgverify.checks.subject import Subject
from sgverify.errors import OutOfReachError
from sgverify.exact.answers import ExactAnswers
from sgverify.exact.ball import number
from sgverify.exact.closure import ClosureAnswers, close_moments
from sgverify.exact.closure.moments import Monomial
from sgverify.exact.entrywise import coordinate_keys
from sgverify.schemes import exact


def answers_with_closure(subject: Subject, quantity: str) -> ExactAnswers:
    """The exact answers, else for a bias those of closed moments; raises `OutOfReachError` with the reasons of both."""
    try:
        return exact_answers(subject)
    except OutOfReachError as reason:
        if quantity not in ("bias", "stationary-bias"):
            raise
        try:
            return closure_answers(subject)
        except OutOfReachError as why:
            raise OutOfReachError(f"{reason}; no exact bias from moments: {why}") from None


@cached_per_subject
def closure_answers(subject: Subject) -> ClosureAnswers:
    """The answers from closed moments; raises `OutOfReachError` where they do not close."""
    gradient = subject.configuration.gradient
    if gradient.estimator.noisy or gradient.clip is not None:
        raise OutOfReachError("the moments are followed for full gradients that are not clipped")
    parameters = {name: subject.model_parameters[name] for name in subject.scheme.parameters}
    moments = close_moments(subject.scheme, subject.effective_target, subject.observable, parameters)
    return ClosureAnswers(moments, _Start(subject), subject.reference_average)


def closure_certificate(answers: ExactAnswers) -> dict[str, Any]:
    """The moments that close."""
    return {"closed_moments": answers.closed.texts()} if isinstance(answers, ClosureAnswers) else {}


class _Start:
    """E m(X_0): theta at its start, p at 0 or N(0, T), xi at D, as chains start."""

    def __init__(self, subject: Subject) -> None:
        self._subject = subject

    def __call__(self, monomial: Monomial) -> arb:
        subject, total = self._subject, arb(1)
        keys = coordinate_keys(subject.scheme.shapes, subject.target.dim)
        for (name, i), power in zip(keys, monomial, strict=True):
            total = total * self._moment(name, i, power)
        return total

    def _moment(self, name: str, place: int, power: int) -> arb:
        configuration, target = self._subject.configuration, self._subject.target
        if not power:
            return arb(1)
        T = number(exact(configuration.temperature))
        if name == "theta":
            if target.quadratic:
                middle, spread = (
                    number(target.mean[place]),
                    (T * number(target.covariance[place][place])).sqrt(),
                )
            else:
                middle, spread = (
                    arb(float(values[place]))
                    for values in (
                        target.location_float64(configuration.temperature),
                        target.spread_float64(configuration.temperature),
                    )
                )
            return (middle + number(exact(configuration.start_of())) * spread) ** power
        if name == "xi":
            return number(exact(configuration.friction)) ** power
        if name == "p" and configuration.start_momentum == "stationary" and power % 2 == 0:
            return T ** (power // 2) * math.prod(range(1, power, 2))
        return arb(0)
