"""The exact rung of a subject: its answers where it has any, else the reason why it has none."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from sgverify.checks.remembered import cached_per_subject
from sgverify.checks.subject import Subject
from sgverify.errors import NotExpandableError, OutOfReachError
from sgverify.exact.answers import ExactAnswers, answers_for, unreached
from sgverify.exact.ball import Certified
from sgverify.rates import Judgement

FAR_BELOW = (20, 21, 22)
"""Halvings below the sweep at which a step without an expansion shows whether its error vanishes."""


@cached_per_subject
def exact_answers(subject: Subject) -> ExactAnswers:
    """The exact answers about `subject`; raises `OutOfReachError` with a sentence for the reader."""
    if subject.why_not_affine:
        raise OutOfReachError(f"no exact law: {subject.why_not_affine}")
    if subject.scheme.starts.gradients and subject.noise.covariance is not None:
        raise OutOfReachError(
            "no exact law: the memory starts from gradients with noise, and the exact start law has none"
        )
    why = unreached(subject.model)
    if why:
        raise OutOfReachError(f"no exact law: {why}")
    return answers_for(subject.model)


def expansion_certificate(answers: ExactAnswers) -> dict[str, Any]:
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


def judge_far_below(
    subject: Subject, at: Callable[[float], Certified], step: float, what: str, why: str
) -> tuple[Judgement, dict[str, float]]:
    """A step without an expansion: exact values far below the sweep show whether a quantity goes to 0, and these values."""
    tiny = [step * 2.0**-k for k in FAR_BELOW]
    subject.check_stable(tiny, "schedule.step")
    values = [at(h) for h in tiny]
    before, last = values[-2:]
    certificate = {f"h={h:.3g}": value.value for h, value in zip(tiny, values, strict=True)}
    if last.vanishes or abs(last.value) <= last.error_bound or abs(last.value) < 0.75 * abs(before.value):
        return Judgement("inconclusive", False, why), certificate
    sizes = f"{last.value:.6g} at h={tiny[-1]:.3g} and {before.value:.6g} at twice that"
    reason = f"{what} does not vanish with h: it is {sizes}; {why}"
    return Judgement("violates", False, reason), certificate
