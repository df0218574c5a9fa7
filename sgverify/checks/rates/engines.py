"""Which exact engine answers for a subject, and if none does, for which reason?"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from flint import arb

from sgverify.errors import NotExpandableError, Unreached
from sgverify.exact.affine.marginal import marginal
from sgverify.exact.answers import ExactAnswers, answers_for
from sgverify.exact.numbers.ball import Certified, number
from sgverify.exact.numbers.entrywise import coordinate_keys
from sgverify.exact.transfer.result import GridAnswers
from sgverify.rates import Judgement
from sgverify.schemes import exact
from sgverify.subject.caching import cached_per_subject
from sgverify.subject.subject import Subject

if TYPE_CHECKING:
    from sgverify.exact.closure import ClosureAnswers
    from sgverify.exact.closure.moments import ClosedMoments, Monomial

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
    c, state = subject.configuration, subject.scheme.dynamics.state
    gradient = c.gradient
    if state not in ENGINES:
        raise Unreached(f"none for the state ({', '.join(state)})")
    if gradient.estimator.noisy:
        raise Unreached(f"gradient.kind={gradient.kind!r}: grids take full gradients alone")
    if gradient.clip is not None:
        raise Unreached(f"gradient.clip={gradient.clip!r}: a clipped gradient is not smooth")
    if gradient.scale != 1:
        raise Unreached(f"gradient.scale={gradient.scale!r}: grids take unbiased gradients alone")
    given = subject.read_scheme, subject.target, subject.observable, exact(c.temperature), exact(c.friction)
    return ENGINES[state](*given)


def answers_with_closure(subject: Subject, quantity: str) -> ExactAnswers:
    """The exact answers or, for a bias, those of closed moments; raises `Unreached` with the reasons of both."""
    try:
        return exact_answers(subject)
    except Unreached as reason:
        if quantity not in ("bias", "stationary-bias"):
            raise
        try:
            return closure_answers(subject)
        except Unreached as why:
            raise Unreached(f"{reason}; no exact bias from moments: {why}") from None


@cached_per_subject
def closure_answers(subject: Subject) -> ClosureAnswers:
    """The answers from closed moments; raises `Unreached` if the moments do not close."""
    from sgverify.exact.closure import ClosureAnswers, close_moments

    gradient = subject.configuration.gradient
    if gradient.estimator.noisy or gradient.clip is not None:
        raise Unreached("moments close for full, unclipped gradients alone")
    parameters = {name: subject.model_parameters[name] for name in subject.scheme.parameters}
    moments = close_moments(subject.scheme, subject.effective_target, subject.observable, parameters)
    return ClosureAnswers(moments, _Start(subject), subject.reference_average)


def closure_certificate(answers: ExactAnswers) -> dict[str, Any]:
    """The certificate's entry with the monomials whose moments close; empty for answers from other engines."""
    closed: ClosedMoments | None = getattr(answers, "closed", None)
    return {} if closed is None else {"closed_moments": closed.texts()}


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
