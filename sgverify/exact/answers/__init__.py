"""What the exact engines answer about a model, each question sent to the engine that reaches it."""

from __future__ import annotations

from sgverify.exact.affine.model import Model
from sgverify.exact.answers.coefficients import Coefficients
from sgverify.exact.answers.epochs import EpochAnswers
from sgverify.exact.answers.polynomial import HIGHEST_DEGREE, LARGEST, PolynomialAnswers
from sgverify.exact.answers.quadratic import QuadraticAnswers

Answers = QuadraticAnswers | EpochAnswers | PolynomialAnswers

__all__ = [
    "Answers",
    "Coefficients",
    "EpochAnswers",
    "PolynomialAnswers",
    "QuadraticAnswers",
    "answers_for",
    "unreached",
]


def unreached(model: Model) -> str | None:
    """Why no engine reaches this model; None where one does."""
    degree = model.observable.degree
    if degree <= 2:
        return None
    if model.noise.exchangeable:
        return f"the test function {model.observable} has degree {degree}; under reshuffling at most 2 is reached"
    if model.size > LARGEST:
        return f"the test function {model.observable} has degree {degree}; beyond one dimension at most 2 is reached"
    if degree > HIGHEST_DEGREE:
        return (
            f"the test function {model.observable} has degree {degree}; at most {HIGHEST_DEGREE} is reached"
        )
    return None


def answers_for(model: Model) -> Answers:
    """The engine for this model; ask `unreached` first."""
    if model.noise.exchangeable:
        return EpochAnswers(model)
    return QuadraticAnswers(model) if model.observable.degree <= 2 else PolynomialAnswers(model)
