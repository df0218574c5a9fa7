"""The exact rung of a subject: its answers where it has any, else the reason why it has none."""

from __future__ import annotations

from typing import Any

from sgverify.checks.remembered import remembered
from sgverify.checks.subject import Subject
from sgverify.errors import NotExpandableError
from sgverify.exact.answers import Answers, answers_for, unreached


class NoExactRung(Exception):
    """No exact engine reaches this scheme, target and test function; the message says why."""


@remembered
def exact_answers(subject: Subject) -> Answers:
    """The exact answers about `subject`; raises `NoExactRung` with a sentence for the reader."""
    if subject.why_not_affine:
        raise NoExactRung(f"no exact law: {subject.why_not_affine}")
    if subject.scheme.starts.gradients and subject.noise.covariance is not None:
        raise NoExactRung(
            "no exact law: the memory starts from gradients with noise, and the exact start law has none"
        )
    why = unreached(subject.model)
    if why:
        raise NoExactRung(f"no exact law: {why}")
    return answers_for(subject.model)


def expansion_certificate(answers: Answers) -> dict[str, Any]:
    """The coefficients behind an exact verdict, as text."""
    bias = answers.expansion
    certificate: dict[str, Any] = {
        "stationary_bias": {f"h^{j}": text for j, text in enumerate(bias.texts)},
        "zeros_are": "proved in rational arithmetic" if bias.exact else "balls that contain 0",
        "posterior_average": answers.truth,
    }
    if answers.steps is not None:
        ends = answers.expansion_at(answers.steps)
        certificate["steps_per_epoch"] = answers.steps
        certificate["stationary_bias_at_epoch_ends"] = {f"h^{j}": text for j, text in enumerate(ends.texts)}
    return certificate


def why_no_expansion(error: NotExpandableError) -> str:
    """The sentence for a step that has no expansion at h = 0."""
    return f"no expansion at h = 0: {error}"
