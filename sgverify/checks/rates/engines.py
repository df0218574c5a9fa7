"""Which exact engine answers for a subject, and if none does, for which reason?"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from sgverify.errors import NotExpandableError, Unreached
from sgverify.exact.affine.marginal import marginal
from sgverify.exact.answers import ExactAnswers, answers_for
from sgverify.exact.numbers.ball import Certified
from sgverify.exact.transfer.result import FINE, GridAnswers
from sgverify.rates.verdict import Judgement
from sgverify.schemes import exact
from sgverify.subject.caching import cached_per_subject
from sgverify.subject.subject import Subject
from sgverify.targets import Observable

FAR_BELOW = (20, 21, 22)
"""Halvings below the sweep at which a step without an expansion shows whether its error vanishes."""


@cached_per_subject
def exact_answers(subject: Subject) -> ExactAnswers:
    """The exact answers about `subject`; raises `Unreached` with a sentence for the reader."""
    if subject.why_not_affine:
        raise Unreached(f"no exact law: {subject.why_not_affine}")
    if subject.scheme.starts.gradients and subject.noise.covariance is not None:
        raise Unreached(
            "no exact law: the memory starts from noisy gradients, and the exact law of the start has none"
        )
    try:
        return answers_for(marginal(subject.model, subject.configuration.gradient))
    except Unreached as why:
        raise Unreached(f"no exact law: {why}") from None


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
    """For a step without an expansion at h = 0: does the quantity go to 0 with h?

    The quantity is evaluated by `at` at step sizes far below the sweep. Returns the judgement and these values by step
    size. `what` names the quantity; `why` says why there is no expansion.
    """
    tiny = [step * 2.0**-k for k in FAR_BELOW]
    subject.check_stable(tiny, "schedule.step")
    values = [at(h) for h in tiny]
    before, last = values[-2:]
    certificate = {f"h={h:.3g}": value.value for h, value in zip(tiny, values, strict=True)}
    if last.vanishes or abs(last.value) <= last.error_bound or abs(last.value) < 0.75 * abs(before.value):
        return Judgement("inconclusive", False, why), certificate
    sizes = f"{last.value:.6g} at h={tiny[-1]:.3g} and {before.value:.6g} at twice that"
    reason = f"the error does not vanish with h; {what} is {sizes}; {why}"
    return Judgement("violates", False, reason), certificate


# The engines are imported where one is asked: a question about Gaussians needs neither grids nor closed moments.


def _on_the_line(*given: Any) -> GridAnswers:
    from sgverify.exact.transfer.line.bias import LineAnswers

    return LineAnswers(*given)


def _in_the_plane(*given: Any) -> GridAnswers:
    from sgverify.exact.transfer.plane.bias import PlaneAnswers

    return PlaneAnswers(*given)


ENGINES: dict[tuple[str, ...], Callable[..., GridAnswers]] = {
    ("theta",): _on_the_line,
    ("theta", "p"): _in_the_plane,
}
"""By the state of the dynamics."""


@cached_per_subject
def transfer_answers(subject: Subject) -> GridAnswers:
    """The answers of transfer operators on grids about `subject`; raises `Unreached` with a sentence for the reader."""
    try:
        return _on_a_grid(subject)
    except Unreached as error:
        raise Unreached(f"no transfer operator on a grid: {error}") from None


def _on_a_grid(subject: Subject) -> GridAnswers:
    gradient = subject.configuration.gradient
    if gradient.estimator.noisy and subject.scheme.dynamics.state in ENGINES:
        # The powers of h that are proved, with which these answers are compared, are those of full gradients.
        raise Unreached(f"gradient.kind={gradient.kind!r}: grids take full gradients alone")
    return grid_answers(subject, subject.observable, FINE)


def grid_answers(subject: Subject, observable: Observable, tolerances: tuple[float, float]) -> GridAnswers:
    """The answers on grids about a test function, with full gradients or normal noise that is added to each."""
    c, state = subject.configuration, subject.scheme.dynamics.state
    gradient = c.gradient
    if state not in ENGINES:
        raise Unreached(f"none for the state ({', '.join(state)})")
    if gradient.estimator.noisy and not gradient.estimator.each_evaluation:
        raise Unreached(f"gradient.kind={gradient.kind!r}: grids take no noise that depends on theta")
    if gradient.estimator.noisy and subject.scheme.census.parts:
        raise Unreached(
            "the step takes the gradients of prior and likelihood apart, to which no noise is added here"
        )
    if gradient.clip is not None:
        raise Unreached(f"gradient.clip={gradient.clip!r}: a clipped gradient is not smooth")
    if gradient.scale != 1:
        raise Unreached(f"gradient.scale={gradient.scale!r}: grids take unbiased gradients alone")
    noise = (
        0.0
        if not gradient.estimator.noisy
        else float(np.asarray(gradient.covariance, dtype=np.float64).flat[0])
    )
    given = subject.read_scheme, subject.target, observable, exact(c.temperature), exact(c.friction)
    return ENGINES[state](*given, noise, tolerances)
